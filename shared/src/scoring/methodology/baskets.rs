//! What every basket shares, as data; the rest is each basket's own, and served with it.

use super::{points, steps};
use crate::model::basket::RefreshRule;
use crate::rules::baskets::definition::{Caps, Weighting};
use crate::rules::baskets::refresh::{self, Trigger};
use crate::scoring::number::MilliPoints;
use serde::Serialize;

/// How baskets are weighed, and when that is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketRules {
    /// What to do.
    pub steps: &'static [&'static str],
    /// The caps of a basket of vaults that names no others.
    pub vault_caps: Caps,
    /// The caps of a basket of assets that names no others.
    pub asset_caps: Caps,
    /// What scores of a basket of Prime alone are measured from, where it names no other.
    pub prime_pivot: MilliPoints,
    /// The same of a basket of several tiers.
    pub mixed_pivot: MilliPoints,
    /// The quarter's day, in words.
    pub calendar: &'static str,
    /// What asks for a rebalance, the gravest first.
    pub triggers: &'static [Trigger],
    /// A constituent's fall since the last version that does.
    pub score_down: MilliPoints,
    /// The rise that does; smaller ones are suppressed.
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
            score_down: points(refresh::SCORE_DOWN),
            score_up: points(refresh::SCORE_UP),
        }
    }
}
