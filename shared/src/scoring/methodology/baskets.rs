//! The rules common to all baskets, as data; each basket's own rules are served with the basket.

use super::{points, steps};
use crate::model::basket::RefreshRule;
use crate::rules::baskets::definition::{Caps, Weighting};
use crate::rules::baskets::rebalance_triggers::{SCORE_DOWN, SCORE_UP, Trigger};
use crate::scoring::number::MilliPoints;
use serde::Serialize;

/// How constituents of baskets are weighted, and when a basket is rebalanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketRules {
    /// The computation of weights, one step per entry.
    pub steps: &'static [&'static str],
    /// Default caps of a basket of vaults.
    pub vault_caps: Caps,
    /// Default caps of a basket of assets.
    pub asset_caps: Caps,
    /// Default pivot of a basket of Prime constituents only; weights are proportional to score minus pivot.
    pub prime_pivot: MilliPoints,
    /// Default pivot of a basket of several tiers.
    pub mixed_pivot: MilliPoints,
    /// When the quarterly rebalance is due, as text.
    pub calendar: &'static str,
    /// What triggers a rebalance, most severe first.
    pub triggers: &'static [Trigger],
    /// Drop of a constituent's score since the last version, in points, that triggers a rebalance.
    pub score_down: MilliPoints,
    /// Rise of a constituent's score since the last version, in points, that triggers a rebalance.
    pub score_up: MilliPoints,
}

impl BasketRules {
    pub(super) fn current() -> Self {
        BasketRules {
            steps: steps::BASKETS,
            vault_caps: Caps::VAULTS,
            asset_caps: Caps::ASSETS,
            prime_pivot: Weighting::PRIME_PIVOT,
            mixed_pivot: Weighting::MIXED_PIVOT,
            calendar: RefreshRule::PUBLISHED.calendar,
            triggers: RefreshRule::PUBLISHED.triggers,
            score_down: points(SCORE_DOWN),
            score_up: points(SCORE_UP),
        }
    }
}
