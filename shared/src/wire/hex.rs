//! Hex: how digests, keys, nonces and ids are written.

use alloc::string::String;
use alloc::vec::Vec;

/// Lower-case hex of any bytes.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0'));
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

/// The bytes that hex of either case stands for.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Vec::with_capacity(text.len() / 2);
    for pair in text.as_bytes().chunks(2) {
        let [high, low] = pair else { return None };
        bytes.push(digit(*high)? << 4 | digit(*low)?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_but_pairs_of_digits_is_hex() {
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
    }
}
