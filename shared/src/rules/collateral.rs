//! Summary of the collateral of the lending markets that a vault's deposits are allocated to.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

use crate::rules::tiers::{Tier, tier_of};
use crate::scoring::number::cents;
use crate::scoring::{MilliPoints, Ppm};

/// The collateral of one market, and the vault's allocation to the market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarketCollateral<'a> {
    /// Part of the vault allocated to the market, in parts per million.
    pub share: u32,
    /// The collateral's published score.
    pub score: Option<MilliPoints>,
    /// Liquidation loan-to-value, a fraction; null if unknown.
    pub lltv: Option<Ppm>,
    /// Whether collateral and loan asset track the same reference price, for example USD.
    pub same_peg: bool,
    /// The collateral's hard-fail flags.
    pub hard_fail_flags: &'a [String],
}

/// Summary of the collateral in all of a vault's markets. Shares are fractions of the vault.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CollateralSummary {
    /// Mean score of the scored collateral, weighted by share, rounded to two decimals; null when none is scored.
    pub weighted_score: Option<MilliPoints>,
    /// Tier of `weighted_score`; null if `weighted_score` is null.
    pub weighted_tier: Option<Tier>,
    /// The lowest score of any collateral; null when none is scored.
    pub lowest_score: Option<MilliPoints>,
    /// Tier of `lowest_score`; null if `lowest_score` is null.
    pub lowest_tier: Option<Tier>,
    /// Share lent against collateral that has a score.
    pub scored_share: Ppm,
    /// Share lent against collateral that has no score.
    pub unscored_share: Ppm,
    /// The largest market's share; null without markets.
    pub largest_market_share: Option<Ppm>,
    /// Share lent in markets whose collateral and loan asset track the same reference.
    pub same_peg_share: Ppm,
    /// The highest liquidation loan-to-value of any market, as a fraction; null when none is known.
    pub highest_lltv: Option<Ppm>,
    /// Hard-fail flags of any collateral, each once, in alphabetical order.
    pub hard_fail_flags: Vec<String>,
}

/// The summary of `markets`. A market with a zero share is ignored.
pub fn summary(markets: &[MarketCollateral<'_>]) -> CollateralSummary {
    let lent = || markets.iter().filter(|market| market.share > 0);
    let shares = |filter: fn(&MarketCollateral<'_>) -> bool| {
        Ppm(lent().filter(|market| filter(market)).map(|market| i64::from(market.share)).sum())
    };
    let weigh = |market: &MarketCollateral<'_>| Some(u128::from(market.share) * market.score?.wide());
    let weighted: u128 = lent().filter_map(weigh).sum();
    let scored_share = shares(|market| market.score.is_some());
    let weighted_score = (scored_share.0 > 0).then(|| cents(weighted, scored_share.0.unsigned_abs().into()));
    let lowest_score = lent().filter_map(|market| market.score).min();
    let flags: BTreeSet<&String> = lent().flat_map(|market| market.hard_fail_flags).collect();
    CollateralSummary {
        weighted_score,
        weighted_tier: weighted_score.map(tier_of),
        lowest_score,
        lowest_tier: lowest_score.map(tier_of),
        scored_share,
        unscored_share: shares(|market| market.score.is_none()),
        largest_market_share: lent().map(|market| Ppm(market.share.into())).max(),
        same_peg_share: shares(|market| market.same_peg),
        highest_lltv: lent().filter_map(|market| market.lltv).max(),
        hard_fail_flags: flags.into_iter().cloned().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn market(share: u32, milli: Option<i64>) -> MarketCollateral<'static> {
        let score = milli.map(MilliPoints::saturating);
        MarketCollateral { share, score, lltv: Some(Ppm(860_000)), same_peg: false, hard_fail_flags: &[] }
    }

    #[test]
    fn the_mean_is_of_scored_collateral_and_the_lowest_is_shown_beside_it() {
        let summary = summary(&[market(600_000, Some(9_000)), market(200_000, Some(4_000)), market(100_000, None)]);
        assert_eq!(summary.weighted_score, Some(MilliPoints::saturating(7_750)));
        assert_eq!((summary.weighted_tier, summary.lowest_tier), (Some(Tier::Core), Some(Tier::Edge)));
        assert_eq!((summary.scored_share, summary.unscored_share), (Ppm(800_000), Ppm(100_000)));
        assert_eq!(summary.largest_market_share, Some(Ppm(600_000)));
    }

    #[test]
    fn a_market_with_a_zero_share_is_ignored() {
        let flags = ["depeg".to_string()];
        let empty = MarketCollateral { lltv: Some(Ppm(980_000)), hard_fail_flags: &flags, ..market(0, Some(1_000)) };
        let summary = summary(&[market(1_000_000, Some(8_000)), empty]);
        assert_eq!(
            (summary.lowest_score, summary.highest_lltv),
            (Some(MilliPoints::saturating(8_000)), Some(Ppm(860_000)))
        );
        assert!(summary.hard_fail_flags.is_empty());
    }

    #[test]
    fn without_markets_there_is_no_score() {
        assert_eq!(summary(&[]), CollateralSummary::default());
    }
}
