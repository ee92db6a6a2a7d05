//! Content hashes: the SHA-256 of a document's canonical text, which serves as its id and verifies its content.

use crate::scoring::canonical::Canonical;
use crate::wire::{hex, unhex};
use alloc::string::String;
use core::fmt::{self, Write};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// The SHA-256 of canonical JSON; written as 64 lower-case hex characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of the value's canonical text.
    pub fn of(value: &Canonical) -> Self {
        let mut hash = Sha256::new();
        // Writing into a hash cannot fail.
        let _ = write!(Absorb(&mut hash), "{value}");
        ContentHash(hash.finalize().into())
    }

    /// The hash of a text that is already canonical, as stored.
    pub fn of_text(text: &str) -> Self {
        ContentHash(Sha256::digest(text.as_bytes()).into())
    }

    /// Wraps a hash that was computed elsewhere.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        ContentHash(bytes)
    }

    /// Parses 64 hex characters of either case.
    pub fn parse(text: &str) -> Option<Self> {
        unhex(text)?.try_into().ok().map(ContentHash)
    }

    /// The 64 lower-case hex characters.
    pub fn to_hex(self) -> String {
        hex(&self.0)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl From<ContentHash> for Canonical {
    fn from(hash: ContentHash) -> Self {
        Canonical::Text(hash.to_hex())
    }
}

/// Writes text into a hash, so that a document of any size is hashed without being kept in memory.
pub(crate) struct Absorb<'a>(pub(crate) &'a mut Sha256);

impl Write for Absorb<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_hash_is_the_sha_256_of_the_canonical_text() {
        // SHA-256 of the two bytes `{}`.
        let empty = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        assert_eq!(ContentHash::of(&Canonical::object([])).to_string(), empty);
        assert_eq!(ContentHash::of_text("{}").to_string(), empty);
    }

    #[test]
    fn a_hash_is_parsed_in_either_case_and_other_text_is_refused() {
        let hash = ContentHash::of_text("a");
        assert_eq!(ContentHash::parse(&hash.to_hex()), Some(hash));
        assert_eq!(ContentHash::parse(&hash.to_hex().to_uppercase()), Some(hash));
        for bad in ["", "00", &hash.to_hex()[1..], &std::format!("{hash}00"), &"zz".repeat(32), &"é".repeat(32)] {
            assert_eq!(ContentHash::parse(bad), None, "{bad}");
        }
    }
}
