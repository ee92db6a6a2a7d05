//! A secret that names of addresses are made with: nobody outside can compute which addresses are counted together.

use alloc::string::ToString;
use core::fmt;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The secret. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Salt([u8; 32]);

impl Salt {
    /// The salt with these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Salt(bytes)
    }

    /// The keyed hash of a name.
    pub fn hash(&self, name: &impl fmt::Display) -> [u8; 32] {
        // HMAC takes keys of every length.
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
    fn a_name_has_another_hash_under_another_salt() {
        let (one, other) = (Salt::new([1; 32]), Salt::new([2; 32]));
        assert_eq!(one.hash(&"192.0.2.7"), one.hash(&"192.0.2.7"));
        assert_ne!(one.hash(&"192.0.2.7"), one.hash(&"192.0.2.8"));
        assert_ne!(one.hash(&"192.0.2.7"), other.hash(&"192.0.2.7"));
        assert_eq!(std::format!("{one:?}"), "Salt(secret)");
    }
}
