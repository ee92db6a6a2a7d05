//! The headline score of a real-world asset: the stored score or, without one, a score derived from five dimensions.

use super::Dimensions;
use crate::rules::tiers::{Tier, tier_of};
use crate::scoring::{MilliPoints, named_enum, tables};

named_enum! {
    /// Where the headline score of a real-world asset comes from.
    pub enum RwaScoreStatus {
        /// The headline score is the stored score.
        Scored = "scored",
        /// There is no stored score; the headline score is the highest of the five core dimensions.
        Derived = "derived",
        /// There is neither a stored score nor a value of a core dimension.
        Unscored = "unscored",
    }
}

/// The headline of a real-world asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headline {
    /// Where `score` comes from.
    pub status: RwaScoreStatus,
    /// The score shown by the list route. The detail route shows null when the status is `derived`.
    pub score: Option<MilliPoints>,
    /// The tier of a stored score; a derived score has no tier.
    pub tier: Option<Tier>,
}

impl Headline {
    /// Whether the headline is derived from dimensions, without a stored score.
    pub fn dimensions_only(&self) -> bool {
        self.status == RwaScoreStatus::Derived
    }
}

/// The stored score and its tier; without a stored score, the highest value of a core dimension and no tier.
pub fn rwa_headline(stored: Option<MilliPoints>, dimensions: &Dimensions) -> Headline {
    if let Some(score) = stored {
        return Headline { status: RwaScoreStatus::Scored, score: Some(score), tier: Some(tier_of(score)) };
    }
    let derived = tables::RWA_CORE_DIMENSIONS.iter().filter_map(|core| dimensions.get(*core)).max();
    let status = if derived.is_some() { RwaScoreStatus::Derived } else { RwaScoreStatus::Unscored };
    Headline { status, score: derived, tier: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoring::asset::Dimension;

    #[test]
    fn a_derived_headline_shows_its_best_core_dimension_and_no_tier() {
        let value = |milli| MilliPoints::saturating(milli);
        let dimensions: Dimensions = [
            (Dimension::CreditQuality, value(9900)),
            (Dimension::Liquidity, value(4000)),
            (Dimension::IssuerCustody, value(8500)),
        ]
        .into_iter()
        .collect();
        let headline = rwa_headline(None, &dimensions);
        assert_eq!((headline.score, headline.tier, headline.dimensions_only()), (Some(value(8500)), None, true));
        let stored = rwa_headline(Some(value(6000)), &dimensions);
        assert_eq!((stored.score, stored.tier, stored.dimensions_only()), (Some(value(6000)), Some(Tier::Core), false));
        assert_eq!(rwa_headline(None, &Dimensions::default()).status, RwaScoreStatus::Unscored);
    }
}
