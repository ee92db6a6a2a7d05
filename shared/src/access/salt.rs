//! The secret key of the hashes of client addresses, so that outsiders cannot compute which addresses share a counter.

use alloc::string::ToString;
use core::fmt;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// An HMAC key. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Salt([u8; 32]);

impl Salt {
    pub const fn new(bytes: [u8; 32]) -> Self {
        Salt(bytes)
    }

    /// HMAC-SHA-256 of the text form of `name`, for example of a neighbourhood.
    pub fn hash(&self, name: &impl fmt::Display) -> [u8; 32] {
        // HMAC accepts keys of any length, so the default is never used.
        Hmac::<Sha256>::new_from_slice(&self.0)
            .map(|mac| mac.chain_update(name.to_string()).finalize().into_bytes().into())
            .unwrap_or_default()
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_name_depends_on_the_salt() {
        let (one, other) = (Salt::new([1; 32]), Salt::new([2; 32]));
        assert_eq!(one.hash(&"192.0.2.7"), one.hash(&"192.0.2.7"));
        assert_ne!(one.hash(&"192.0.2.7"), one.hash(&"192.0.2.8"));
        assert_ne!(one.hash(&"192.0.2.7"), other.hash(&"192.0.2.7"));
        assert_eq!(std::format!("{one:?}"), "Salt(secret)");
    }
}
