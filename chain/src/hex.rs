//! Lower-case hexadecimal with the prefix `0x`, as JSON-RPC writes byte strings.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Writes `bytes` as `0x…`.
pub fn write(f: &mut impl fmt::Write, bytes: &[u8]) -> fmt::Result {
    f.write_str("0x")?;
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

/// Parses `0x` and exactly `N` bytes.
pub fn decode_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    decode(text)?.try_into().ok()
}

fn digit(char: u8) -> Option<u8> {
    char::from(char).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_with_a_prefix_and_read_in_either_case() {
        assert_eq!(encode(&[0, 0xab]), "0x00ab");
        assert_eq!(decode("0x00aB"), Some([0, 0xab].into()));
        assert_eq!(decode("0x"), Some(Vec::new()));
        for wrong in ["", "00", "0x0", "0X00", "0x0g", "0x+1", "0x 1", "0xé"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
