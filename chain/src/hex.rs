//! Lower-case hexadecimal with the prefix `0x`, as JSON-RPC writes byte strings.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Writes `bytes` as `0x…`.
pub fn write(f: &mut impl fmt::Write, bytes: &[u8]) -> fmt::Result {
    f.write_str("0x")?;
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).try_for_each(|digit| f.write_char(digit))
}

/// The text `0x…` of `bytes`.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().saturating_mul(2).saturating_add(2));
    // Writing to a `String` cannot fail.
    let _ = write(&mut text, bytes);
    text
}

/// Parses `0x` and an even number of digits in either case.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.strip_prefix("0x")?.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    // Answers are long: the digits are checked together at the end, so that the loop has no branch.
    let mut seen = 0;
    let bytes: Vec<u8> = pairs
        .iter()
        .map(|[high, low]| {
            let (high, low) = (digit(*high), digit(*low));
            seen |= high | low;
            high << 4 | low
        })
        .collect();
    (seen < 16).then_some(bytes)
}

/// Parses `0x` and exactly `N` bytes.
pub fn decode_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    decode(text)?.try_into().ok()
}

/// The value of a digit; 255 for every other character.
fn digit(char: u8) -> u8 {
    let (decimal, letter) = (char.wrapping_sub(b'0'), (char | 0x20).wrapping_sub(b'a'));
    if decimal < 10 {
        decimal
    } else if letter < 6 {
        letter.wrapping_add(10)
    } else {
        u8::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_with_a_prefix_and_read_in_either_case() {
        assert_eq!(encode(&[0, 0xab]), "0x00ab");
        assert_eq!(decode("0x00aB"), Some([0, 0xab].into()));
        assert_eq!(decode("0x"), Some(Vec::new()));
        for digit in u8::MIN..=u8::MAX {
            let text = alloc::format!("0x0{}", char::from(digit));
            let value = char::from(digit).to_digit(16).map(|value| Vec::from([u8::try_from(value).unwrap()]));
            assert_eq!(decode(&text), value.filter(|_| digit.is_ascii()), "{text}");
        }
        for wrong in ["", "00", "0x0", "0X00", "0x0g", "0x+1", "0x 1", "0xé"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
