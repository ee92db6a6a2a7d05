//! Normalises path parameters whose letter case has no meaning, so that all spellings share one cached response.

use super::matching::Found;
use crate::model::content_hash::ContentHash;
use crate::model::ids::{Address, VaultId};
use alloc::string::{String, ToString};

/// How a path parameter of a route is normalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// An address of any namespace: an EVM address becomes lower-case, a base58 address stays unchanged.
    Address,
    /// A vault id: the address inside it is normalised.
    VaultId,
    /// A SHA-256 in hexadecimal becomes lower-case.
    Hash,
    /// Text becomes lower-case.
    Lower,
    /// Text becomes upper-case.
    Upper,
}

impl Fold {
    /// The normalised text; `None` if it is malformed, in which case the origin returns the error.
    fn apply(self, text: &str) -> Option<String> {
        match self {
            Fold::Address => Address::parse_any(text).map(|(_, address)| address.into_string()),
            Fold::VaultId => VaultId::parse(text).map(|id| id.to_string()),
            Fold::Hash => ContentHash::parse(text).map(|hash| hash.to_hex()),
            Fold::Lower => Some(text.to_lowercase()),
            Fold::Upper => Some(text.to_uppercase()),
        }
    }
}

impl Found {
    /// Normalises the path parameters that [`Route::fold`](super::entry::Route::fold) lists. Malformed values stay unchanged.
    pub fn fold(&mut self) {
        for (index, fold) in self.route.fold {
            if let Some(value) = self.path.get_mut(*index)
                && let Some(folded) = fold.apply(value)
            {
                *value = folded;
            }
        }
    }
}
