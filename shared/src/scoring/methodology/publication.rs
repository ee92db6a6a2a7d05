//! Publication and runs as data.

use super::{one_in, points, steps};
use crate::rules::{dwell, tiers};
use crate::scoring::number::{Decimal, MilliPoints};
use crate::scoring::tables::run;
use crate::scoring::vault::CapId;
use alloc::vec::Vec;
use serde::Serialize;

/// When a result becomes the published score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicationRules {
    /// What to do.
    pub steps: &'static [&'static str],
    /// How long a higher floor must be held.
    pub promote_after_seconds: i64,
    /// How long the published floor must be missed.
    pub demote_after_seconds: i64,
    /// So far under the published floor demotes at once.
    pub hard_below_floor: MilliPoints,
    /// So far under the last score outside a dwell does too.
    pub hard_below_anchor: MilliPoints,
    /// Caps that demote at once while they bind.
    pub at_once: Vec<CapId>,
    /// The smallest move that is published, and the distance that a held score keeps from the next floor.
    pub score_step: MilliPoints,
}

impl PublicationRules {
    pub(super) fn current() -> Self {
        PublicationRules {
            steps: steps::PUBLICATION,
            promote_after_seconds: dwell::PROMOTE_SECONDS,
            demote_after_seconds: dwell::DEMOTE_SECONDS,
            hard_below_floor: points(dwell::HARD_BELOW_FLOOR),
            hard_below_anchor: points(dwell::HARD_BELOW_ANCHOR),
            at_once: CapId::ALL.iter().copied().filter(|id| id.demotes_at_once()).collect(),
            score_step: points(tiers::SCORE_STEP),
        }
    }
}

/// When a whole run is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunRules {
    /// At least this share of the published tiers would move.
    pub mass_move_share: Decimal,
    /// Asked only from so many published tiers on.
    pub mass_move_min_published: u64,
}

impl RunRules {
    pub(super) fn current() -> Self {
        RunRules {
            mass_move_share: one_in(run::MASS_MOVE_ONE_IN.into()),
            mass_move_min_published: run::MASS_MOVE_MIN_PUBLISHED,
        }
    }
}
