//! The clients of a shared key: what the header names, and the bucket that a request falls into.
//!
//! Source: interface, "Authentication", 8, and "Rate limits".

use rds_shared::route::bounds::SUBCLIENT_BYTES;
use rds_shared::wire::headers::SUBCLIENT;
use rds_shared::wire::{ApiError, Detail, In, hex};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// Distinct clients of one key that are told apart within a window; later ones share a bucket.
pub const MOST: usize = 4_096;
/// Hex digits of a client's hash: 128 bits, so that nobody finds two names that share a bucket.
const DIGITS: usize = 32;

/// The bucket of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subclient {
    /// That of all requests which name no client.
    Pooled,
    /// A client's own, by the hash of its name: whose clients they are is their own matter.
    Named(String),
    /// That of all clients beyond [`MOST`].
    Overflow,
}

impl Subclient {
    /// Reads the header. A blank name is none.
    pub fn read(header: Option<&str>) -> Result<Self, ApiError> {
        let name = header.unwrap_or_default().trim();
        if name.len() > SUBCLIENT_BYTES {
            let reason = format!("must be at most {SUBCLIENT_BYTES} bytes long");
            return Err(ApiError::parameter(Detail::new(In::Header, SUBCLIENT, reason)));
        }
        if name.is_empty() {
            return Ok(Subclient::Pooled);
        }
        let mut digits = hex(&Sha256::digest(name));
        digits.truncate(DIGITS);
        Ok(Subclient::Named(digits))
    }

    /// The bucket's name on disk and between hosts.
    pub fn as_str(&self) -> &str {
        match self {
            Subclient::Pooled => "",
            Subclient::Named(digits) => digits,
            Subclient::Overflow => "*",
        }
    }

    /// Reads a bucket's name.
    pub fn parse(text: &str) -> Self {
        match text {
            "" => Subclient::Pooled,
            "*" => Subclient::Overflow,
            digits => Subclient::Named(digits.to_owned()),
        }
    }
}

impl Serialize for Subclient {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Subclient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Subclient::parse(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_known_by_the_hash_of_its_trimmed_name() {
        let client = Subclient::read(Some(" desk-7 ")).unwrap();
        assert_eq!(client, Subclient::read(Some("desk-7")).unwrap());
        assert_ne!(client, Subclient::read(Some("desk-8")).unwrap());
        assert!(!client.as_str().contains("desk") && client.as_str().len() == DIGITS);
        assert_eq!(Subclient::parse(client.as_str()), client);
    }

    #[test]
    fn without_a_name_everybody_shares_one_bucket() {
        for header in [None, Some(""), Some("  ")] {
            assert_eq!(Subclient::read(header), Ok(Subclient::Pooled));
        }
    }

    #[test]
    fn a_name_of_more_than_128_bytes_is_named_as_the_fault() {
        assert!(Subclient::read(Some(&"x".repeat(128))).is_ok());
        let error = Subclient::read(Some(&"x".repeat(129))).unwrap_err();
        assert_eq!((error.status(), error.details[0].location), (400, In::Header));
        assert_eq!(error.message, "x-service-subclient must be at most 128 bytes long");
    }
}
