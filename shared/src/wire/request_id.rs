//! Request ids: 128 random bits, as 32 hex characters.

use super::{hex, unhex};
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
        if text.len() != 32 || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return None;
        }
        unhex(text)?.try_into().ok().map(RequestId)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
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
