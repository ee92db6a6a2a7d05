//! Hexadecimal text of digests, keys, nonces and ids.

use alloc::string::String;
use alloc::vec::Vec;

/// Lower-case hex of any bytes.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(bytes.len() * 2);
    push_hex(bytes, &mut text);
    // Hex digits are ASCII, so this cannot fail.
    String::from_utf8(text).unwrap_or_default()
}

/// Appends lower-case hex to `out`.
pub fn push_hex(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + bytes.len() * 2, b'0');
    let digits = out.get_mut(start..).unwrap_or_default();
    // The lengths are equal and the loop has no early exit, so that the compiler vectorises it.
    for (digits, byte) in digits.as_chunks_mut().0.iter_mut().zip(bytes) {
        *digits = pair(*byte);
    }
}

/// The two digits of one byte.
pub const fn pair(byte: u8) -> [u8; 2] {
    [digit(byte >> 4), digit(byte & 15)]
}

const fn digit(nibble: u8) -> u8 {
    match nibble {
        0..=9 => b'0' + nibble,
        _ => b'a' + nibble - 10,
    }
}

/// Decodes hex in upper or lower case.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    text.as_bytes().chunks(2).map(byte).collect()
}

/// Decodes hex of exactly `N` bytes, in upper or lower case.
pub fn unhex_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != N * 2 {
        return None;
    }
    let mut bytes = [0; N];
    // Invalid digits do not end the loop: without an early exit the compiler vectorises it.
    let mut all = 0;
    for (place, [high, low]) in bytes.iter_mut().zip(text.as_bytes().as_chunks().0) {
        let (high, low) = (value(*high), value(*low));
        *place = high << 4 | low;
        all |= high | low;
    }
    (all < 16).then_some(bytes)
}

fn byte(pair: &[u8]) -> Option<u8> {
    let [high, low] = pair else { return None };
    let (high, low) = (value(*high), value(*low));
    ((high | low) < 16).then_some(high << 4 | low)
}

/// The value of a hex digit; 255 for any other character.
const fn value(digit: u8) -> u8 {
    let (number, letter) = (digit.wrapping_sub(b'0'), (digit | 0x20).wrapping_sub(b'a'));
    if number < 10 {
        number
    } else if letter < 6 {
        letter + 10
    } else {
        u8::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_pairs_of_hex_digits_are_decoded() {
        assert_eq!(unhex("00fFAb"), Some([0x00, 0xff, 0xab].into()));
        assert_eq!(unhex(""), Some([].into()));
        for bad in ["0", "000", "0x00", "+1", " 0", "g0", "ü", "０"] {
            assert_eq!(unhex(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn bytes_read_back_as_written_in_either_case(bytes: Vec<u8>) {
            prop_assert_eq!(unhex(&hex(&bytes)), Some(bytes.clone()));
            prop_assert_eq!(unhex(&hex(&bytes).to_ascii_uppercase()), Some(bytes));
        }

        #[test]
        fn an_array_is_decoded_only_from_text_of_its_length(bytes: [u8; 4], length in 0_usize..8, text in "\\PC{0,12}") {
            prop_assert_eq!(unhex_array(&hex(&bytes)), Some(bytes));
            prop_assert_eq!(unhex_array::<4>(&hex(&bytes).chars().take(length).collect::<String>()), None);
            prop_assert_eq!(unhex_array::<4>(&text).map(Vec::from), unhex(&text).filter(|bytes| bytes.len() == 4));
        }
    }
}
