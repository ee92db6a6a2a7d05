//! Clients of a shared key: the header that names one, and the bucket of a request.

use rds_shared::route::bounds::SUBCLIENT_BYTES;
use rds_shared::wire::headers::SUBCLIENT;
use rds_shared::wire::{ApiError, Detail, In, hex};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// Maximum number of clients of one key that are counted separately within a window; later ones share a bucket.
pub const MAX_CLIENTS: usize = 4_096;
/// Hex digits of a client's hash: 128 bits, so that collisions cannot be found.
const HASH_DIGITS: usize = 32;

/// The bucket in which a key's request is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subclient {
    /// Requests that name no client.
    Pooled,
    /// One client, by the hash of its name, so that the name itself is not stored.
    Named(String),
    /// All clients beyond [`MAX_CLIENTS`].
    Overflow,
}

impl Subclient {
    /// Reads the header; a blank name counts as none.
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
        digits.truncate(HASH_DIGITS);
        Ok(Subclient::Named(digits))
    }

    /// The bucket's name in storage and messages.
    pub fn as_str(&self) -> &str {
        match self {
            Subclient::Pooled => "",
            Subclient::Named(digits) => digits,
            Subclient::Overflow => "*",
        }
    }

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
    fn a_client_is_identified_by_the_hash_of_its_trimmed_name() {
        let client = Subclient::read(Some(" desk-7 ")).unwrap();
        assert_eq!(client, Subclient::read(Some("desk-7")).unwrap());
        assert_ne!(client, Subclient::read(Some("desk-8")).unwrap());
        assert!(!client.as_str().contains("desk") && client.as_str().len() == HASH_DIGITS);
        assert_eq!(Subclient::parse(client.as_str()), client);
    }

    #[test]
    fn requests_without_a_name_share_one_bucket() {
        for header in [None, Some(""), Some("  ")] {
            assert_eq!(Subclient::read(header), Ok(Subclient::Pooled));
        }
    }

    #[test]
    fn a_name_of_more_than_128_bytes_is_reported_with_its_header() {
        assert!(Subclient::read(Some(&"x".repeat(128))).is_ok());
        let error = Subclient::read(Some(&"x".repeat(129))).unwrap_err();
        assert_eq!((error.status(), error.details[0].location), (400, In::Header));
        assert_eq!(error.message, "x-service-subclient must be at most 128 bytes long");
    }
}
