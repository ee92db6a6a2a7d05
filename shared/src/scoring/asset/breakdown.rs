//! `risk_score_breakdown`: all inputs and steps that a client needs to recompute an asset's score.

use super::{
    AssetCategory, AssetFlag, AssetInput, AssetOutcome, Dimension, Overlay, OverlayKind, OverlayRule, Override,
};
use crate::rules::tiers::Tier;
use crate::scoring::number::{Decimal, MilliPoints, SumUnits};
use crate::scoring::rubric::DimensionBasis;
use crate::scoring::{METHODOLOGY_VERSION, named_enum, tables};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Serialize, Serializer};

named_enum! {
    /// Whether the stored score can be recomputed from the stored evidence.
    pub enum Reconstructed {
        /// Every weighted dimension has evidence, and the recomputed score differs from the stored one by at most 0.05.
        Full = "full",
        /// A weighted dimension has no evidence, or the recomputed score differs from the stored one by more than 0.05.
        Partial = "partial",
    }
}

/// An overlay that lowered the score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppliedOverlay {
    /// Identifies the rule, for example `dependency:usdc`.
    pub id: OverlayRule,
    /// How the overlay changed the running score.
    pub kind: OverlayKind,
    /// The running score before the overlay, in points, not rounded to two decimals.
    pub before: SumUnits,
    /// The running score after the overlay, in points, not rounded to two decimals.
    pub after: SumUnits,
    /// A short explanation, fixed per rule.
    pub reason: String,
}

impl From<&Overlay> for AppliedOverlay {
    fn from(overlay: &Overlay) -> Self {
        AppliedOverlay {
            id: overlay.rule.clone(),
            kind: overlay.rule.kind(),
            before: overlay.before,
            after: overlay.after,
            reason: overlay.rule.reason().to_string(),
        }
    }
}

/// How an asset's score was computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetBreakdown {
    /// The category, which determines the weights.
    pub category: AssetCategory,
    /// The category's weights as fractions; they sum to 1.
    #[cfg_attr(feature = "schema", schemars(with = "alloc::collections::BTreeMap<Dimension, Decimal>"))]
    #[serde(serialize_with = "fractions")]
    pub weights: &'static [(Dimension, u8)],
    /// The values of the category's weighted dimensions, 0 to 10; null where there is no evidence.
    #[cfg_attr(feature = "schema", schemars(with = "alloc::collections::BTreeMap<Dimension, Option<MilliPoints>>"))]
    #[serde(serialize_with = "object")]
    pub dimensions: Vec<(Dimension, Option<MilliPoints>)>,
    /// Where each of these values comes from.
    #[cfg_attr(feature = "schema", schemars(with = "alloc::collections::BTreeMap<Dimension, DimensionBasis>"))]
    #[serde(serialize_with = "bases")]
    pub dimension_basis: Vec<(Dimension, DimensionBasis)>,
    /// The weighted sum of the dimensions, in points, before any overlay.
    pub weighted_sum: SumUnits,
    /// The overlays that lowered the score, in the order they applied.
    pub overlays_applied: Vec<AppliedOverlay>,
    /// The recomputed score, 0 to 10, rounded to two decimals.
    pub score: MilliPoints,
    /// The tier of `score`.
    pub tier: Tier,
    /// Version of the methodology that computed the score.
    pub methodology_version: &'static str,
    /// Whether the stored score can be recomputed from this evidence.
    pub reconstructed: Reconstructed,
    /// Missing evidence, each item counted with a conservative value.
    pub flags: Vec<AssetFlag>,
    /// Overrides in force, which lift hard-fail flags until they expire.
    pub hard_fail_overrides: Vec<Override>,
}

/// The breakdown of an outcome, compared with the stored score; `None` for an unscored asset.
pub fn breakdown(input: &AssetInput, outcome: &AssetOutcome, stored: Option<MilliPoints>) -> Option<AssetBreakdown> {
    let (weighted_sum, score, tier) = (outcome.weighted_sum?, outcome.score?, outcome.tier?);
    let weights = tables::weights(input.category);
    let dimensions: Vec<_> = weights.iter().map(|(key, _)| (*key, input.dimensions.get(*key))).collect();
    let complete = dimensions.iter().all(|(_, value)| value.is_some());
    let close = stored.is_some_and(|stored| stored.get().abs_diff(score.get()) <= tables::RECONSTRUCTION_TOLERANCE);
    Some(AssetBreakdown {
        category: input.category,
        weights,
        dimension_basis: Vec::new(),
        dimensions,
        weighted_sum,
        overlays_applied: outcome.overlays.iter().map(AppliedOverlay::from).collect(),
        score,
        tier,
        methodology_version: METHODOLOGY_VERSION,
        reconstructed: if complete && close { Reconstructed::Full } else { Reconstructed::Partial },
        flags: outcome.flags.clone(),
        hard_fail_overrides: input.overrides.clone(),
    })
}

fn fractions<S: Serializer>(weights: &&'static [(Dimension, u8)], serializer: S) -> Result<S::Ok, S::Error> {
    let fraction = |percent: u8| Decimal { units: i64::from(percent), scale: 2 };
    serializer.collect_map(weights.iter().map(|(dimension, percent)| (dimension, fraction(*percent))))
}

fn bases<S: Serializer>(bases: &[(Dimension, DimensionBasis)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(bases.iter().map(|(dimension, basis)| (dimension, basis)))
}

fn object<S: Serializer>(dimensions: &[(Dimension, Option<MilliPoints>)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(dimensions.iter().map(|(dimension, value)| (dimension, value)))
}
