//! The asset score: weighted dimensions, then overlays that may only lower the running score.
//!
//! An approved review is published at once: the dwell of [`crate::rules::dwell`] applies to vaults only.

mod breakdown;
mod chain;
mod dimensions;
mod freshness;
mod hard_fail;
mod headline;
mod input;
mod overlays;
mod review;

pub use breakdown::{AppliedOverlay, AssetBreakdown, Reconstructed, breakdown};
pub use chain::{ChainOverlay, ChainSubScore, ChainSubScores, chain_overlay, multiplier_ppm};
pub use dimensions::{Dimension, Dimensions};
pub use freshness::{AttestationCadence, FreshnessStatus, cadence_seconds};
pub use hard_fail::{FlagState, HardFailEvent, HardFailFlag, HardFailSet, Override, OverrideError, Transition};
pub use headline::{Headline, RwaScoreStatus, rwa_headline};
pub use input::{AssetCategory, AssetInput, ReviewStatus};
pub use overlays::{Overlay, OverlayKind, OverlayRule};
pub use review::{Backing, ReviewError, check_review, has_backing};

use super::number::{MilliPoints, SumUnits};
use super::tables;
use crate::rules::tiers::{Tier, tier_of};
use alloc::vec::Vec;
use core::fmt;
use serde::{Serialize, Serializer};

/// The result for an [`AssetInput`]. Score, tier and sum are all null if the asset is unscored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssetOutcome {
    /// Σ weight · value over the category's weighted dimensions, before any overlay.
    pub weighted_sum: Option<SumUnits>,
    /// The published score, two decimals.
    pub score: Option<MilliPoints>,
    /// The tier of `score`.
    pub tier: Option<Tier>,
    /// The overlays that lowered the score, in order. The `before` of an overlay is the `after` of the previous overlay.
    pub overlays: Vec<Overlay>,
    /// The values that were counted conservatively because evidence is missing.
    pub flags: Vec<AssetFlag>,
}

impl AssetOutcome {
    /// The applied overlays of kind cap, in order; published as `caps_applied[]`.
    pub fn caps_applied(&self) -> impl Iterator<Item = &OverlayRule> {
        self.overlays.iter().filter(|overlay| overlay.rule.kind() == OverlayKind::Cap).map(|overlay| &overlay.rule)
    }
}

/// Evidence that was missing when an asset was scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssetFlag {
    /// `missing_evidence:<dimension>`: a weighted dimension counted 2.50.
    MissingEvidence(Dimension),
    /// `chain_unprofiled`: all four chain sub-scores counted 2.50.
    ChainUnprofiled,
    /// `missing_evidence:chain.<sub-score>`: one chain sub-score counted 2.50.
    MissingChainEvidence(ChainSubScore),
    /// `circular_dependency`: the asset depends on itself through others, so one of its dependencies counted as unscored.
    CircularDependency,
}

impl fmt::Display for AssetFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssetFlag::MissingEvidence(dimension) => write!(f, "missing_evidence:{dimension}"),
            AssetFlag::ChainUnprofiled => f.write_str("chain_unprofiled"),
            AssetFlag::CircularDependency => f.write_str("circular_dependency"),
            AssetFlag::MissingChainEvidence(sub_score) => write!(f, "missing_evidence:chain.{sub_score}"),
        }
    }
}

impl Serialize for AssetFlag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Scores an asset.
///
/// The asset is unscored if its category has no weights, or if dimensions with more than 40 percent of the weight have no evidence.
/// Source: methodology, "Asset score".
pub fn evaluate(input: &AssetInput) -> AssetOutcome {
    let weights = tables::weights(input.category);
    let mut outcome = AssetOutcome::default();
    let (mut sum, mut missing_weight) = (0, 0);
    for (dimension, weight) in weights {
        let value = input.dimensions.get(*dimension).unwrap_or_else(|| {
            missing_weight += u32::from(*weight);
            outcome.flags.push(AssetFlag::MissingEvidence(*dimension));
            tables::MISSING_EVIDENCE
        });
        sum += i64::from(*weight) * i64::from(value.get());
    }
    if weights.is_empty() || missing_weight > tables::MAX_MISSING_WEIGHT {
        return outcome;
    }
    let sum = SumUnits::new(sum);
    outcome.flags.extend(input.chain.iter().flat_map(chain::flags));
    outcome.overlays = overlays::apply(input, sum);
    let score = outcome.overlays.last().map_or(sum, |overlay| overlay.after).to_score();
    outcome.weighted_sum = Some(sum);
    outcome.score = Some(score);
    outcome.tier = Some(tier_of(score));
    outcome
}
