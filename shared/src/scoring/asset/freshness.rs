//! How old an asset's evidence may be, and what its age is called.

use super::AssetCategory;
use crate::scoring::{named_enum, tables};

named_enum! {
    /// How often an issuer attests its reserves.
    pub enum AttestationCadence {
        Daily = "daily",
        Weekly = "weekly",
        Monthly = "monthly",
        Quarterly = "quarterly",
        SemiAnnual = "semi-annual",
        Annual = "annual",
    }
}

/// How often an asset's evidence should be renewed: its attestation cadence, else the default of its category.
pub const fn cadence_seconds(category: AssetCategory, attestation: Option<AttestationCadence>) -> i64 {
    match attestation {
        Some(cadence) => tables::attestation_cadence_seconds(cadence),
        None if category.evidence_is_on_chain() => tables::ON_CHAIN_CADENCE_SECONDS,
        None => tables::OFF_CHAIN_CADENCE_SECONDS,
    }
}

named_enum! {
    /// The published name of an age: at most 1, 2, 4 cadences, or more.
    pub enum FreshnessStatus {
        Fresh = "fresh",
        Aging = "aging",
        Stale = "stale",
        Expired = "expired",
    }
}

impl FreshnessStatus {
    /// Names an age. The bounds are those of the staleness overlays, and as strict.
    pub fn of(age_seconds: i64, cadence_seconds: i64) -> Self {
        let within = |cadences: i64| age_seconds <= cadence_seconds.saturating_mul(cadences);
        let named = tables::FRESHNESS.iter().find(|(cadences, _)| within(*cadences));
        named.map_or(FreshnessStatus::Expired, |(_, status)| *status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_exactly_on_its_bound_has_not_crossed_it() {
        let names = [10, 11, 20, 21, 40, 41].map(|age| FreshnessStatus::of(age, 10).as_str());
        assert_eq!(names, ["fresh", "aging", "aging", "stale", "stale", "expired"]);
    }

    #[test]
    fn an_attestation_cadence_wins_over_the_category() {
        assert_eq!(cadence_seconds(AssetCategory::Lst, None), 604_800);
        assert_eq!(cadence_seconds(AssetCategory::TokenizedEquity, None), 2_678_400);
        assert_eq!(cadence_seconds(AssetCategory::Lst, Some(AttestationCadence::Annual)), 31_622_400);
    }
}
