//! Request ids: 128 random bits, as 32 hex characters.

use super::hex::{pair, unhex_array};
use core::fmt;
use serde::{Serialize, Serializer};

/// Identifies a request in answers and logs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId([u8; 16]);

impl RequestId {
    /// An id made of random bytes, which the host supplies because this crate has no source of randomness.
    pub const fn from_random(bytes: [u8; 16]) -> Self {
        RequestId(bytes)
    }

    /// Reads the text form: exactly 32 lower-case hex characters.
    pub fn parse(text: &str) -> Option<Self> {
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return None;
        }
        unhex_array(text).map(RequestId)
    }

    /// The random bytes. They also are the id of the request's trace.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// The text form: 32 lower-case hex characters.
    pub fn to_text(self) -> [u8; 32] {
        let mut text = [0; 32];
        for (digits, byte) in text.chunks_exact_mut(2).zip(self.0) {
            digits.copy_from_slice(&pair(byte));
        }
        text
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
    fn an_id_reads_back_as_written() {
        let id = RequestId::from_random([0xab; 16]);
        assert_eq!(RequestId::parse(&id.to_string()), Some(id));
    }

    #[test]
    fn an_id_that_is_not_lower_case_hex_is_rejected() {
        for bad in ["", "ABABABABABABABABABABABABABABABAB", "zz", "ab\nabababababababababababababababab"] {
            assert_eq!(RequestId::parse(bad), None, "{bad:?}");
        }
    }
}
