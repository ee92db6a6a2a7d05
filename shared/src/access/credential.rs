//! Credentials: the format of their text, their digests, and the reading of a request's `Authorization` header.

use crate::wire::{hex, unhex};
use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// The kind of a credential, by the routes it gives access to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Gives access to the commercial routes.
    ApiKey,
    /// Gives access to the private index and rate routes.
    IndexToken,
}

impl Kind {
    pub const fn prefix(self) -> &'static str {
        match self {
            Kind::ApiKey => "pk_live_",
            Kind::IndexToken => "ix_live_",
        }
    }
}

/// Number of hex digits after the prefix: 128 random bits.
const DIGITS: usize = 32;
/// Number of these digits that lists show, so that people can recognise a credential.
const SHOWN_DIGITS: usize = 4;

/// The SHA-256 of a credential's whole text, which identifies it everywhere except in requests. 128 random bits need no slow hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyDigest([u8; 32]);

impl KeyDigest {
    /// The digest of a credential's text.
    pub fn of(text: &str) -> Self {
        KeyDigest(Sha256::digest(text).into())
    }

    /// Reads 64 hex characters.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = unhex(text)?;
        Some(KeyDigest(bytes.try_into().ok()?))
    }

    /// Wraps the bytes of a stored digest.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        KeyDigest(bytes)
    }

    /// The digest's bytes, as they are stored.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// 64 lower-case hex characters.
    pub fn to_hex(&self) -> String {
        hex(&self.0)
    }
}

/// Shows only the first eight hex characters.
impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyDigest({}…)", self.to_hex().get(..8).unwrap_or_default())
    }
}

impl Serialize for KeyDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl<'de> Deserialize<'de> for KeyDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        KeyDigest::parse(&text).ok_or_else(|| serde::de::Error::custom("not 64 hex characters"))
    }
}

/// The content of a request's `Authorization` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presented<'a> {
    /// No such header.
    Nothing,
    /// Not in the format of this service's credentials.
    Malformed,
    /// The text of an API key: well-formed, not yet checked.
    Key(CredentialText<'a>),
    /// The text of an index token: well-formed, not yet checked.
    IndexToken(CredentialText<'a>),
}

/// The well-formed text of a credential. `Debug` shows only what [`CredentialText::shown`] returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CredentialText<'a>(&'a str);

impl<'a> CredentialText<'a> {
    /// Reads a credential of `kind`: its prefix and 32 lower-case hex digits.
    pub fn parse(kind: Kind, text: &'a str) -> Option<Self> {
        let digits = text.strip_prefix(kind.prefix())?;
        let well_formed = digits.len() == DIGITS && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        well_formed.then_some(CredentialText(text))
    }

    /// The whole text, for hashing and for verifying a key whose stored row has no digest yet.
    pub const fn expose(self) -> &'a str {
        self.0
    }

    /// The digest that identifies the credential.
    pub fn digest(self) -> KeyDigest {
        KeyDigest::of(self.0)
    }

    /// The prefix and the first four digits, as lists show them.
    pub fn shown(self) -> &'a str {
        self.0.get(..Kind::ApiKey.prefix().len() + SHOWN_DIGITS).unwrap_or_default()
    }
}

impl fmt::Debug for CredentialText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CredentialText({}…)", self.shown())
    }
}

impl<'a> Presented<'a> {
    /// Reads the header. The scheme's case does not matter (RFC 9110, section 11.1); the credential's does.
    pub fn read(authorization: Option<&'a str>) -> Self {
        let Some(header) = authorization else { return Presented::Nothing };
        let Some((scheme, text)) = header.trim().split_once(' ') else { return Presented::Malformed };
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Presented::Malformed;
        }
        let text = text.trim_start();
        let key = CredentialText::parse(Kind::ApiKey, text).map(Presented::Key);
        let token = || CredentialText::parse(Kind::IndexToken, text).map(Presented::IndexToken);
        key.or_else(token).unwrap_or(Presented::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::format;

    const KEY: &str = "pk_live_0123456789abcdef0123456789abcdef";

    #[test]
    fn a_key_is_identified_by_the_hash_of_its_whole_text() {
        let header = format!("Bearer {KEY}");
        let Presented::Key(text) = Presented::read(Some(&header)) else { panic!() };
        // printf %s "$KEY" | sha256sum
        let expected = "f5fcbc2c3a3f349e415f55ad898b6729302b22c1616d59883ef4e433db0c3afe";
        assert_eq!(text.digest().to_hex(), expected);
        assert_eq!(KeyDigest::parse(&text.digest().to_hex()), Some(text.digest()));
        assert_eq!(text.shown(), "pk_live_0123");
    }

    #[test]
    fn the_schemes_case_does_not_matter_and_the_keys_does() {
        for good in ["bearer", "BEARER", "Bearer ", " Bearer"] {
            assert!(matches!(Presented::read(Some(&format!("{good} {KEY}"))), Presented::Key(_)), "{good}");
        }
        for bad in [
            "",
            "Bearer",
            KEY,
            "Basic eA==",
            "Bearer pk_live_0123456789ABCDEF0123456789abcdef",
            "Bearer pk_live_0123456789abcdef0123456789abcde",
            "Bearer pk_live_0123456789abcdef0123456789abcdef0",
            "Bearer pk_test_0123456789abcdef0123456789abcdef",
            "Bearer pk_live_0123456789abcdef0123456789abcdef, Basic eA==",
        ] {
            assert_eq!(Presented::read(Some(bad)), Presented::Malformed, "{bad}");
        }
        assert_eq!(Presented::read(None), Presented::Nothing);
    }

    #[test]
    fn an_index_token_is_not_read_as_an_api_key() {
        let header = "Bearer ix_live_0123456789abcdef0123456789abcdef";
        assert!(matches!(Presented::read(Some(header)), Presented::IndexToken(_)));
    }

    #[test]
    fn neither_a_key_nor_its_digest_shows_in_debug_output() {
        let shown = format!("{:?} {:?}", Presented::read(Some(&format!("Bearer {KEY}"))), KeyDigest::of(KEY));
        assert!(!shown.contains("0123456789abcdef") && !shown.contains(&KeyDigest::of(KEY).to_hex()), "{shown}");
    }

    proptest! {
        #[test]
        fn no_header_breaks_the_parser(header in "\\PC{0,80}") {
            let _ = Presented::read(Some(&header));
        }
    }
}
