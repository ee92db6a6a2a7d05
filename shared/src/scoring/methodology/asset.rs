//! The rules of the asset score, as data.

use super::{ByName, percent, points, steps};
use crate::scoring::asset::{
    AssetCategory, AttestationCadence, ChainSubScore, Dimension, FreshnessStatus, HardFailFlag, OverlayKind,
    ReviewStatus, cadence_seconds,
};
use crate::scoring::number::{Decimal, MilliPoints, Ppm};
use crate::scoring::tables;
use alloc::vec::Vec;
use serde::Serialize;

/// Declares one struct per overlay for the overlay's published numbers.
macro_rules! overlay_numbers {
    ($($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name {
            $($(#[$what])* pub $field: $type,)*
        }
    )*};
}

/// The rules of the asset score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetRules {
    /// The computation, one step per entry, in order.
    pub steps: &'static [&'static str],
    /// Ids of all dimensions that an asset's score can have.
    pub dimensions: &'static [Dimension],
    /// Weights of the dimensions and cadence of the evidence, by asset category.
    pub categories: ByName<Category>,
    /// Points of a weighted dimension or a chain sub-score without evidence.
    pub missing_evidence: MilliPoints,
    /// Maximum weight, as a fraction, of the dimensions without evidence; above it the asset is unscored.
    pub max_missing_weight: Decimal,
    /// Points of an unscored underlying or dependency.
    pub unscored_counts: MilliPoints,
    /// The overlays, in the order in which they apply.
    pub overlays: Vec<OverlayEntry>,
    /// Maximum interval between two attestations of an issuer, in seconds, by attestation cadence.
    pub attestation_cadence_seconds: ByName<i64>,
    /// Freshness status by age, ascending; evidence older than the last step is expired.
    pub freshness: Vec<FreshnessStep>,
    /// Maximum difference, in points, between a recomputed score and the stored one for a full reconstruction.
    pub reconstruction_tolerance: MilliPoints,
    /// The dimensions whose highest value is the headline of an unscored real-world asset.
    pub rwa_headline_dimensions: [Dimension; 5],
}

/// The weights and the evidence cadence of an asset category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Category {
    /// Weights by dimension, as fractions that sum to 1. Empty for a category that is never scored.
    pub weights: ByName<Decimal>,
    /// Interval at which evidence without an attestation should be renewed, in seconds.
    pub cadence_seconds: i64,
}

/// An overlay of the asset score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverlayEntry {
    /// The overlay's id. The id of an applied overlay may append a colon and a subject, as in `dependency:usdc`.
    pub id: &'static str,
    /// How the overlay changes the running score.
    pub kind: OverlayKind,
    /// The overlay's numbers.
    pub rule: OverlayNumbers,
}

/// The numbers of an overlay's rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
// Each alternative is a separate type, because client generators drop alternatives without a name.
pub enum OverlayNumbers {
    /// Numbers of `lockup`.
    Lockup(LockupNumbers),
    /// Numbers of `yield-bearing`.
    YieldBearing(YieldBearingNumbers),
    /// Numbers of `dependency`.
    Dependency(DependencyNumbers),
    /// Numbers of `chain`.
    Chain(ChainNumbers),
    /// Numbers of `staleness`.
    Staleness(StalenessNumbers),
    /// Numbers of `staleness:cap`.
    StalenessCap(StalenessCapNumbers),
    /// Numbers of `review` and `supply`.
    Review(ReviewNumbers),
    /// Numbers of `hard_fail`.
    HardFail(HardFailNumbers),
}

overlay_numbers! {
    /// Numbers of the overlay `lockup`.
    LockupNumbers {
        /// Points subtracted by length of the lockup, ascending; the first step that fits applies.
        less_by_days: Vec<LockupStep>,
    }
    /// Numbers of the overlay `yield-bearing`.
    YieldBearingNumbers {
        /// A yield-bearing asset scores at least this many points below its underlying asset.
        below_underlying: MilliPoints,
    }
    /// Numbers of the overlay `dependency`.
    DependencyNumbers {
        /// An asset scores at most this many points above each of its dependencies.
        above_dependency: MilliPoints,
    }
    /// Numbers of the overlay `chain`. The multiplier is `floor` plus `gain_ppm` for each thousandth of a point of the sum of the
    /// sub-scores, rounded to parts per million.
    ChainNumbers {
        /// The sub-scores that are summed.
        sub_scores: &'static [ChainSubScore],
        /// The multiplier when all sub-scores are 0.
        floor: Ppm,
        /// Increase of the multiplier per thousandth of a point, in parts per million.
        gain_ppm: Gain,
    }
    /// Numbers of the overlay `staleness`.
    StalenessNumbers {
        /// The multiplier if the evidence is older than one cadence.
        factor: Gain,
    }
    /// Numbers of the overlay `staleness:cap`.
    StalenessCapNumbers {
        /// Caps by age, oldest first; the first whose age is exceeded applies.
        older_than_cadences: Vec<StalenessStep>,
    }
    /// Numbers of the overlays `review` and `supply`.
    ReviewNumbers {
        /// Maximum score: of `review` by review status; of `supply`, under `unknown`, while a question with `limits_supply` has no evidence.
        /// `supply` applies to assets with answers, and `unknown` not to those with a signed review.
        caps: ByName<MilliPoints>,
    }
    /// Numbers of the overlay `hard_fail`.
    HardFailNumbers {
        /// Cap and cooldown of each flag, in table order.
        flags: ByName<HardFail>,
    }
}

/// A number given as an exact fraction of two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gain {
    /// Numerator of the fraction.
    pub numerator: u64,
    /// Denominator of the fraction.
    pub denominator: u64,
}

impl From<(u128, u128)> for Gain {
    fn from((numerator, denominator): (u128, u128)) -> Self {
        let narrow = |part| u64::try_from(part).unwrap_or(u64::MAX);
        Gain { numerator: narrow(numerator), denominator: narrow(denominator) }
    }
}

/// Points subtracted for a lockup of at most this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockupStep {
    /// Maximum length of the lockup in days, inclusive; null for no bound.
    pub up_to_days: Option<u32>,
    /// Points that the rule subtracts.
    pub less: MilliPoints,
}

/// The cap of evidence above an age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StalenessStep {
    /// The cap applies to evidence older than this many cadences.
    pub cadences: i64,
    /// Maximum score of the asset.
    pub cap: MilliPoints,
}

/// The effect of a hard-fail flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HardFail {
    /// Maximum score of the asset.
    pub cap: MilliPoints,
    /// How many days the cap remains after the flag was cleared.
    pub cooldown_days: i64,
}

/// The freshness status of evidence up to an age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FreshnessStep {
    /// Maximum age in cadences, inclusive.
    pub up_to_cadences: i64,
    /// Freshness status of evidence up to this age.
    pub status: FreshnessStatus,
}

impl AssetRules {
    pub(super) fn current() -> Self {
        let cadence = |it: &AttestationCadence| (it.as_str(), tables::attestation_cadence_seconds(*it));
        let freshness = |(up_to_cadences, status): &(i64, FreshnessStatus)| FreshnessStep {
            up_to_cadences: *up_to_cadences,
            status: *status,
        };
        AssetRules {
            steps: steps::ASSET,
            dimensions: Dimension::ALL,
            categories: ByName(AssetCategory::ALL.iter().map(|it| (it.as_str(), category(*it))).collect()),
            missing_evidence: tables::MISSING_EVIDENCE,
            max_missing_weight: percent(tables::MAX_MISSING_WEIGHT),
            unscored_counts: tables::UNSCORED_COUNTS,
            overlays: overlays(),
            attestation_cadence_seconds: ByName(AttestationCadence::ALL.iter().map(cadence).collect()),
            freshness: tables::FRESHNESS.iter().map(freshness).collect(),
            reconstruction_tolerance: MilliPoints::saturating(tables::RECONSTRUCTION_TOLERANCE.into()),
            rwa_headline_dimensions: tables::RWA_CORE_DIMENSIONS,
        }
    }
}

fn category(category: AssetCategory) -> Category {
    let weight = |(dimension, weight): &(Dimension, u8)| (dimension.as_str(), percent(*weight));
    Category {
        weights: ByName(tables::weights(category).iter().map(weight).collect()),
        cadence_seconds: cadence_seconds(category, None),
    }
}

/// The cap of an asset of which nobody knows who can raise the supply. The caps of the answers are `score_ceiling` in the rubric.
fn unknown_supply() -> Vec<(&'static str, MilliPoints)> {
    alloc::vec![("unknown", tables::rubric::UNKNOWN_SUPPLY_CEILING.into())]
}

fn overlays() -> Vec<OverlayEntry> {
    use OverlayKind::{Cap, Multiply, Subtract};
    let lockup = |(days, less): &(u32, MilliPoints)| LockupStep {
        up_to_days: Some(*days).filter(|days| *days < u32::MAX),
        less: *less,
    };
    let stale = |(cadences, cap): &(i64, MilliPoints)| StalenessStep { cadences: *cadences, cap: *cap };
    let review = |status: &ReviewStatus| (status.as_str(), tables::review_cap(*status));
    let hard_fail = |flag: &HardFailFlag| {
        let (cap, cooldown_days) = (tables::hard_fail_cap(*flag), tables::hard_fail_cooldown_days(*flag));
        (flag.as_str(), HardFail { cap, cooldown_days })
    };
    let entry = |id, kind, rule| OverlayEntry { id, kind, rule };
    alloc::vec![
        entry(
            "lockup",
            Subtract,
            OverlayNumbers::Lockup(LockupNumbers { less_by_days: tables::LOCKUP_STEPS.iter().map(lockup).collect() })
        ),
        entry(
            "yield-bearing",
            Cap,
            OverlayNumbers::YieldBearing(YieldBearingNumbers { below_underlying: points(tables::YIELD_BEARING_BELOW) })
        ),
        entry(
            "dependency",
            Cap,
            OverlayNumbers::Dependency(DependencyNumbers { above_dependency: points(tables::DEPENDENCY_ABOVE) })
        ),
        entry(
            "chain",
            Multiply,
            OverlayNumbers::Chain(ChainNumbers {
                sub_scores: ChainSubScore::ALL,
                floor: Ppm(i64::try_from(tables::CHAIN_FLOOR_PPM).unwrap_or_default()),
                gain_ppm: tables::CHAIN_GAIN.into(),
            }),
        ),
        entry(
            "staleness",
            Multiply,
            OverlayNumbers::Staleness(StalenessNumbers { factor: tables::STALENESS_FACTOR.into() })
        ),
        entry(
            "staleness:cap",
            Cap,
            OverlayNumbers::StalenessCap(StalenessCapNumbers {
                older_than_cadences: tables::STALENESS_CAPS.iter().map(stale).collect()
            }),
        ),
        entry(
            "review",
            Cap,
            OverlayNumbers::Review(ReviewNumbers { caps: ByName(ReviewStatus::ALL.iter().map(review).collect()) })
        ),
        entry("supply", Cap, OverlayNumbers::Review(ReviewNumbers { caps: ByName(unknown_supply()) })),
        entry(
            "hard_fail",
            Cap,
            OverlayNumbers::HardFail(HardFailNumbers {
                flags: ByName(HardFailFlag::ALL.iter().map(hard_fail).collect())
            })
        ),
    ]
}
