//! Base64 for URLs, without padding (RFC 4648, section 5).

use alloc::string::String;
use alloc::vec::Vec;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let digit = (bits >> (18 - 6 * place)) & 63;
            text.push(char::from(ALPHABET.get(digit as usize).copied().unwrap_or(b'A')));
        }
    }
    text
}

/// Decodes `text`; `None` if it is not exactly what [`encode`] writes for the decoded bytes.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for digit in chunk {
            bits = bits << 6 | u32::try_from(ALPHABET.iter().position(|letter| letter == digit)?).ok()?;
        }
        let whole = chunk.len() * 6 / 8;
        let spare = chunk.len() * 6 % 8;
        // A single letter encodes no byte, and spare bits must be zero, so every value has exactly one encoding.
        if whole == 0 || bits & ((1 << spare) - 1) != 0 {
            return None;
        }
        let bits = bits >> spare;
        bytes.extend((0..whole).rev().map(|place| (bits >> (8 * place)) as u8));
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_test_vectors_of_rfc_4648_hold() {
        for (bytes, text) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(encode(&[0xfb, 0xff]), "-_8");
    }

    #[test]
    fn a_non_canonical_encoding_is_refused() {
        for text in ["Zh", "Zg==", "Z", "Zm9vY", "a+b/", "Zm 8"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn bytes_read_back_as_written(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
    }
}
