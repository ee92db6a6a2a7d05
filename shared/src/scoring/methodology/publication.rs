//! The rules of publication and of score runs, as data.

use super::{one_in, points, steps};
use crate::rules::{dwell, tiers};
use crate::scoring::number::{Decimal, MilliPoints};
use crate::scoring::tables::sanity_checks;
use crate::scoring::vault::CapId;
use alloc::vec::Vec;
use serde::Serialize;

/// When a computed score becomes the published score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicationRules {
    /// The procedure, one step per entry.
    pub steps: &'static [&'static str],
    /// How long the raw score must stay at or above a higher tier's floor before that tier is published, in seconds.
    pub promote_after_seconds: i64,
    /// How long the raw score must stay below the published tier's floor before the lower tier is published, in seconds.
    pub demote_after_seconds: i64,
    /// A raw score this many points or more below the published tier's floor demotes at once.
    pub hard_below_floor: MilliPoints,
    /// A raw score this many points or more below the last score published outside a dwell demotes at once.
    pub hard_below_anchor: MilliPoints,
    /// Caps that demote at once while they bind.
    pub at_once: Vec<CapId>,
    /// Smallest change of the score within a tier that is published. During a dwell, a score is clamped to this distance below the next
    /// tier's floor.
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

/// When a whole score run is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunRules {
    /// A run is held back if it would change at least this fraction of the published tiers at once.
    pub mass_move_share: Decimal,
    /// The check applies only if at least this many tiers are published.
    pub mass_move_min_published: u64,
}

impl RunRules {
    pub(super) fn current() -> Self {
        RunRules {
            mass_move_share: one_in(sanity_checks::MASS_MOVE_ONE_IN.into()),
            mass_move_min_published: sanity_checks::MASS_MOVE_MIN_PUBLISHED,
        }
    }
}
