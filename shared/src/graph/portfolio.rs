//! A portfolio: positions merged by vault, with a total above zero.

use super::amount::Usd;
use crate::model::content_hash::ContentHash;
use crate::model::ids::VaultKey;
use crate::scoring::canonical::{Canonical, Canonicalize};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use core::fmt;

/// Maximum number of positions in a check.
pub const MAX_POSITIONS: usize = 1_000;

/// Positions by vault. Repeated positions in one vault are added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portfolio {
    positions: BTreeMap<VaultKey, Usd>,
    total: Usd,
}

/// Why positions are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortfolioError {
    Empty,
    /// More than [`MAX_POSITIONS`], counted before merging.
    TooMany,
    /// The total is zero, so shares are undefined.
    ZeroTotal,
}

impl fmt::Display for PortfolioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortfolioError::Empty => f.write_str("must not be empty"),
            PortfolioError::TooMany => write!(f, "must have at most {MAX_POSITIONS} positions"),
            PortfolioError::ZeroTotal => f.write_str("must have a total value greater than 0"),
        }
    }
}

impl core::error::Error for PortfolioError {}

impl Portfolio {
    /// Adds up the positions in each vault.
    pub fn new(positions: impl IntoIterator<Item = (VaultKey, Usd)>) -> Result<Self, PortfolioError> {
        let (mut merged, mut total) = (BTreeMap::<VaultKey, Usd>::new(), Usd::ZERO);
        for (place, (vault, amount)) in positions.into_iter().enumerate() {
            if place >= MAX_POSITIONS {
                return Err(PortfolioError::TooMany);
            }
            let held = merged.entry(vault).or_default();
            *held = held.plus(amount);
            total = total.plus(amount);
        }
        match (merged.is_empty(), total) {
            (true, _) => Err(PortfolioError::Empty),
            (false, Usd::ZERO) => Err(PortfolioError::ZeroTotal),
            (false, _) => Ok(Portfolio { positions: merged, total }),
        }
    }

    pub fn positions(&self) -> impl Iterator<Item = (&VaultKey, Usd)> {
        self.positions.iter().map(|(vault, amount)| (vault, *amount))
    }

    /// Sum of all positions; above zero.
    pub const fn total(&self) -> Usd {
        self.total
    }

    /// Hash of the canonical form; the envelope's `positionsHash`.
    pub fn hash(&self) -> ContentHash {
        ContentHash::of(&self.canonical())
    }
}

/// Array of `{amountUsd, vaultKey}`, sorted by the key's text; amounts are exact decimal strings.
impl Canonicalize for Portfolio {
    fn canonical(&self) -> Canonical {
        let by_text: BTreeMap<String, Usd> = self.positions().map(|(vault, usd)| (vault.to_string(), usd)).collect();
        Canonical::list(by_text.into_iter().map(|(vault, amount)| {
            Canonical::object([("amountUsd", amount.into()), ("vaultKey", Canonical::Text(vault))])
        }))
    }
}
