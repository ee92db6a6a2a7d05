//! The asset score as data.

use super::{ByName, percent, points, steps};
use crate::scoring::asset::{
    AssetCategory, AttestationCadence, ChainSubScore, Dimension, FreshnessStatus, HardFailFlag, OverlayKind,
    ReviewStatus, cadence_seconds,
};
use crate::scoring::number::{Decimal, MilliPoints, Ppm};
use crate::scoring::tables;
use alloc::vec::Vec;
use serde::Serialize;

/// Declares the published numbers of overlays, one type each.
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

/// The asset score's rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetRules {
    /// What to do, in order.
    pub steps: &'static [&'static str],
    /// Every dimension there is.
    pub dimensions: &'static [Dimension],
    /// What each category weighs.
    pub categories: ByName<Category>,
    /// What a weighted dimension or a chain sub-score without evidence counts.
    pub missing_evidence: MilliPoints,
    /// The most weight that may be without evidence.
    pub max_missing_weight: Decimal,
    /// What an unscored underlying or dependency counts.
    pub unscored_counts: MilliPoints,
    /// In the order in which they apply.
    pub overlays: Vec<OverlayEntry>,
    /// How often an issuer that attests must, in seconds.
    pub attestation_cadence_seconds: ByName<i64>,
    /// What an age is called, by the number of cadences that it does not exceed; older is expired.
    pub freshness: Vec<FreshnessStep>,
    /// A recomputed score this close to the stored one is reconstructed in full.
    pub reconstruction_tolerance: MilliPoints,
    /// The dimensions of which the greatest stands for an unscored real-world asset.
    pub rwa_headline_dimensions: [Dimension; 5],
}

/// One category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Category {
    /// Fractions; they sum to 1. Empty for a category that is never scored.
    pub weights: ByName<Decimal>,
    /// How often evidence should be renewed where nothing is attested.
    pub cadence_seconds: i64,
}

/// One overlay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverlayEntry {
    /// As applied overlays carry it, before any colon.
    pub id: &'static str,
    /// What it does.
    pub kind: OverlayKind,
    /// Its numbers.
    pub rule: OverlayNumbers,
}

/// The numbers of an overlay's rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
// Each alternative is a type of its own: client generators lose alternatives that have no name.
pub enum OverlayNumbers {
    /// Of `lockup`.
    Lockup(LockupNumbers),
    /// Of `yield-bearing`.
    YieldBearing(YieldBearingNumbers),
    /// Of `dependency`.
    Dependency(DependencyNumbers),
    /// Of `chain`.
    Chain(ChainNumbers),
    /// Of `staleness`.
    Staleness(StalenessNumbers),
    /// Of `staleness:cap`.
    StalenessCap(StalenessCapNumbers),
    /// Of `review`.
    Review(ReviewNumbers),
    /// Of `hard_fail`.
    HardFail(HardFailNumbers),
}

overlay_numbers! {
    /// Numbers of the overlay `lockup`.
    LockupNumbers {
        /// What each length of lockup takes.
        less_by_days: Vec<LockupStep>,
    }
    /// Numbers of the overlay `yield-bearing`.
    YieldBearingNumbers {
        /// How far below its underlying asset a yield-bearing asset scores at most.
        below_underlying: MilliPoints,
    }
    /// Numbers of the overlay `dependency`.
    DependencyNumbers {
        /// How far above each of its dependencies an asset scores at most.
        above_dependency: MilliPoints,
    }
    /// Numbers of the overlay `chain`: the multiplier is floor plus gain for each summed thousandth of a point, rounded to parts
    /// per million.
    ChainNumbers {
        /// The sub-scores that are summed.
        sub_scores: &'static [ChainSubScore],
        /// The multiplier when all of them are 0.
        floor: Ppm,
        /// Parts per million for each thousandth of a point.
        gain_ppm: Gain,
    }
    /// Numbers of the overlay `staleness`.
    StalenessNumbers {
        /// The multiplier once the evidence is older than one cadence.
        factor: Gain,
    }
    /// Numbers of the overlay `staleness:cap`.
    StalenessCapNumbers {
        /// Caps by age; the first whose age is exceeded applies.
        older_than_cadences: Vec<StalenessStep>,
    }
    /// Numbers of the overlay `review`.
    ReviewNumbers {
        /// What an asset scores at most, by review status.
        caps: ByName<MilliPoints>,
    }
    /// Numbers of the overlay `hard_fail`.
    HardFailNumbers {
        /// What each flag does, in table order.
        flags: ByName<HardFail>,
    }
}

/// A factor as a fraction of two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gain {
    /// Above the line.
    pub numerator: u64,
    /// Below it.
    pub denominator: u64,
}

impl From<(u128, u128)> for Gain {
    fn from((numerator, denominator): (u128, u128)) -> Self {
        let narrow = |part| u64::try_from(part).unwrap_or(u64::MAX);
        Gain { numerator: narrow(numerator), denominator: narrow(denominator) }
    }
}

/// What a lockup of at most so many days takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockupStep {
    /// Null is any longer one.
    pub up_to_days: Option<u32>,
    /// Points taken.
    pub less: MilliPoints,
}

/// The cap of evidence older than so many cadences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StalenessStep {
    /// So many cadences.
    pub cadences: i64,
    /// What the asset scores at most.
    pub cap: MilliPoints,
}

/// One hard-fail flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HardFail {
    /// What the asset scores at most.
    pub cap: MilliPoints,
    /// How long the cap holds once the flag is cleared.
    pub cooldown_days: i64,
}

/// The name of an age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FreshnessStep {
    /// At most so many cadences.
    pub up_to_cadences: i64,
    /// The name.
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
        entry(
            "hard_fail",
            Cap,
            OverlayNumbers::HardFail(HardFailNumbers {
                flags: ByName(HardFailFlag::ALL.iter().map(hard_fail).collect())
            })
        ),
    ]
}
