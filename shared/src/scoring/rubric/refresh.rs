//! How old the evidence of a dimension or an asset is (rule R8).

use super::DimensionOutcome;
use crate::scoring::asset::AssetCategory;
use crate::scoring::tables;
use crate::wire::time::Timestamp;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// How old evidence is: the date of its deciding answer, and how often that answer should be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refresh {
    /// When the source showed the deciding answer.
    pub observed_at: Timestamp,
    /// Cadence of the question of the deciding answer, in seconds.
    pub cadence_seconds: i64,
}

impl Refresh {
    /// Age at `now` in whole seconds; 0 if `observed_at` is after `now`.
    pub fn age_seconds(self, now: Timestamp) -> i64 {
        now.seconds_since(self.observed_at).max(0)
    }

    /// Compares two ages exactly, each in units of its cadence. Of two equal ages, the one with the earlier date counts as older.
    fn compare(self, other: Refresh, now: Timestamp) -> Ordering {
        // Cross-multiplication avoids division: a/c < b/d if and only if a·d < b·c. Both products fit in an `i128`.
        let crossed = |it: Refresh, cadence: i64| i128::from(it.age_seconds(now)) * i128::from(cadence);
        let in_cadences = crossed(self, other.cadence_seconds).cmp(&crossed(other, self.cadence_seconds));
        in_cadences
            .then(other.observed_at.cmp(&self.observed_at))
            .then(self.cadence_seconds.cmp(&other.cadence_seconds))
    }
}

/// The date and the cadence of one answer, with the answer's weight.
pub(super) struct Age {
    pub(super) weight: u32,
    pub(super) refresh: Refresh,
}

/// The weighted median age: the first answer, in ascending order of age, at which half of the total weight is reached. `None` if the
/// total weight is 0.
pub(super) fn half_of(ages: impl Iterator<Item = Age>, now: Timestamp) -> Option<Refresh> {
    let mut ages: Vec<Age> = ages.filter(|age| age.weight > 0).collect();
    ages.sort_by(|a, b| a.refresh.compare(b.refresh, now));
    let total: u32 = ages.iter().map(|age| age.weight).sum();
    let mut reached = 0;
    let deciding = ages.iter().find(|age| {
        reached += age.weight;
        2 * reached >= total
    });
    deciding.map(|age| age.refresh)
}

/// The age of an asset's evidence over all dimensions that its category weighs; `None` without any answer.
///
/// The weight of an answer is the weight of its question times the weight of its dimension. The age and the cadence of the result are
/// the inputs `age_seconds` and `cadence_seconds` of the asset score.
pub fn asset_refresh(category: AssetCategory, outcomes: &[DimensionOutcome<'_>], now: Timestamp) -> Option<Refresh> {
    let weighed = tables::weights(category).iter();
    let ages = weighed.flat_map(|(dimension, weight)| {
        let outcome = outcomes.iter().find(|outcome| outcome.dimension == *dimension);
        outcome.into_iter().flat_map(|outcome| &outcome.parts).filter_map(|part| part.age(*weight))
    });
    half_of(ages, now)
}
