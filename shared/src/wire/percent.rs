//! Percent-encoding (RFC 3986), used to write canonical URLs and to parse paths and queries.

use alloc::string::String;
use alloc::vec::Vec;

/// Decodes `%XX`. With `plus_is_space`, `+` reads as a space (query strings). `None` for a broken escape or text that is not UTF-8.
pub fn decode(text: &str, plus_is_space: bool) -> Option<String> {
    if !text.bytes().any(|b| b == b'%' || (plus_is_space && b == b'+')) {
        return Some(String::from(text));
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let high = char::from(bytes.next()?).to_digit(16)?;
                let low = char::from(bytes.next()?).to_digit(16)?;
                out.push((high * 16 + low) as u8);
            }
            b'+' if plus_is_space => out.push(b' '),
            other => out.push(other),
        }
    }
    String::from_utf8(out).ok()
}

/// Encodes all bytes except RFC 3986's unreserved characters and those in `keep`, with upper-case escapes.
pub fn encode_into(text: &str, keep: &[u8], out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || keep.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            for nibble in [byte >> 4, byte & 15] {
                out.extend(char::from_digit(u32::from(nibble), 16).map(|c| c.to_ascii_uppercase()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_broken_escape_is_refused() {
        for bad in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(decode(bad, true), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn decoding_reverses_encoding(text in "\\PC{0,40}") {
            let mut encoded = String::new();
            encode_into(&text, b"", &mut encoded);
            prop_assert_eq!(decode(&encoded, true), Some(text));
        }
    }
}
