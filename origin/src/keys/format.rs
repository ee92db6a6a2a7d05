//! The text of a credential: a prefix that says what it opens, and 128 random bits in hex.

use crate::entropy;
use rds_shared::wire::request_id::hex;
use sha2::{Digest, Sha256};
use std::fmt;

/// What a credential opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The commercial routes.
    ApiKey,
    /// The private index and rate routes.
    IndexToken,
}

impl Kind {
    /// What its text starts with.
    pub const fn prefix(self) -> &'static str {
        match self {
            Kind::ApiKey => "pk_live_",
            Kind::IndexToken => "ix_live_",
        }
    }
}

/// Hex digits of the random part that lists show.
const SHOWN_DIGITS: usize = 4;

/// A new credential. Its text leaves through [`into_text`](Self::into_text) only; `Debug` shows the prefix.
pub struct Credential {
    kind: Kind,
    text: String,
}

impl Credential {
    /// A fresh one out of the operating system's randomness.
    pub fn new(kind: Kind) -> Self {
        Credential { kind, text: format!("{}{}", kind.prefix(), hex(&entropy::random_bytes::<16>())) }
    }

    /// What people recognise it by.
    pub fn prefix(&self) -> String {
        self.text.chars().take(self.kind.prefix().len() + SHOWN_DIGITS).collect()
    }

    /// What is stored: the SHA-256 of the whole text. 128 random bits need no slow hash.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.text).into()
    }

    /// The text, for the one time it is shown.
    pub fn into_text(self) -> String {
        self.text
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({}…)", self.prefix())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_has_the_documented_form_and_its_digest_is_of_the_whole_text() {
        for (kind, prefix) in [(Kind::ApiKey, "pk_live_"), (Kind::IndexToken, "ix_live_")] {
            let new = Credential::new(kind);
            let (digest, shown) = (new.digest(), new.prefix());
            assert!(!format!("{new:?}").contains(&new.text));
            let text = new.into_text();
            let random = text.strip_prefix(prefix).unwrap();
            assert!(
                random.len() == 32 && random.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
                "{text}"
            );
            assert_eq!(digest[..], Sha256::digest(text.as_bytes())[..]);
            assert_eq!(shown, text[..12]);
        }
    }
}
