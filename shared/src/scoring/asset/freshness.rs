//! How often an asset's evidence should be renewed, and the freshness status of its age.

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

/// Interval, in seconds, in which an asset's evidence should be renewed: the attestation cadence or, without one, the default of the
/// category.
pub const fn cadence_seconds(category: AssetCategory, attestation: Option<AttestationCadence>) -> i64 {
    match attestation {
        Some(cadence) => tables::attestation_cadence_seconds(cadence),
        None if category.evidence_is_on_chain() => tables::ON_CHAIN_CADENCE_SECONDS,
        None => tables::OFF_CHAIN_CADENCE_SECONDS,
    }
}

named_enum! {
    /// The age of an asset's evidence, measured in cadences.
    pub enum FreshnessStatus {
        /// At most 1 cadence old.
        Fresh = "fresh",
        /// More than 1 and at most 2 cadences old.
        Aging = "aging",
        /// More than 2 and at most 4 cadences old.
        Stale = "stale",
        /// More than 4 cadences old.
        Expired = "expired",
    }
}

impl FreshnessStatus {
    /// The status of evidence of this age. The bounds are the same as in the staleness overlays (`overlays.rs`).
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
    fn evidence_exactly_on_a_bound_has_the_fresher_status() {
        let names = [10, 11, 20, 21, 40, 41].map(|age| FreshnessStatus::of(age, 10).as_str());
        assert_eq!(names, ["fresh", "aging", "aging", "stale", "stale", "expired"]);
    }

    #[test]
    fn an_attestation_cadence_precedes_the_default_of_the_category() {
        assert_eq!(cadence_seconds(AssetCategory::Lst, None), 604_800);
        assert_eq!(cadence_seconds(AssetCategory::TokenizedEquity, None), 2_678_400);
        assert_eq!(cadence_seconds(AssetCategory::Lst, Some(AttestationCadence::Annual)), 31_622_400);
    }
}
