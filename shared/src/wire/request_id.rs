//! Request ids: 128 random bits, as 32 hex characters.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Serialize, Serializer};

/// Names one request in answers and logs. The host brings the randomness.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId([u8; 16]);

impl RequestId {
    /// An id made of the host's random bytes.
    pub const fn from_random(bytes: [u8; 16]) -> Self {
        RequestId(bytes)
    }

    /// Reads the text form; anything but 32 lower-case hex characters is refused.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0u8; 16];
        if text.len() != 32 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let [high, low] = pair else { return None };
            *byte = (hex_value(*high)? << 4) | hex_value(*low)?;
        }
        Some(RequestId(bytes))
    }

    /// The text form.
    pub fn to_text(self) -> [u8; 32] {
        let mut text = [0; 32];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[hex_digit(byte >> 4), hex_digit(byte & 15)]);
        }
        text
    }
}

fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Lower-case hex of any bytes.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(bytes.len() * 2);
    push_hex(bytes, &mut text);
    String::from_utf8(text).unwrap_or_default()
}

/// Appends the same.
pub fn push_hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend(bytes.iter().flat_map(|byte| [hex_digit(byte >> 4), hex_digit(byte & 15)]));
}

const fn hex_digit(nibble: u8) -> u8 {
    match nibble {
        0..=9 => b'0' + nibble,
        _ => b'a' + nibble - 10,
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(core::str::from_utf8(&self.to_text()).unwrap_or_default())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn an_id_survives_the_trip_from_edge_to_origin() {
        let id = RequestId::from_random([0xab; 16]);
        assert_eq!(RequestId::parse(&id.to_string()), Some(id));
    }

    #[test]
    fn nothing_but_lower_case_hex_is_taken_for_an_id() {
        for bad in ["", "ABABABABABABABABABABABABABABABAB", "zz", "ab\nabababababababababababababababab"] {
            assert_eq!(RequestId::parse(bad), None, "{bad:?}");
        }
    }
}
