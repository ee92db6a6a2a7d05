//! Whether lower values preceded losses: the area under the ROC curve, with a 95 percent interval based on the effective number of
//! independent groups.

use crate::rules::tiers::{Tier, tier_of};
use crate::scoring::number::rhe;
use crate::scoring::{MilliPoints, Ppm, named_enum};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use serde::Serialize;

/// One vault at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    pub vault_id: &'a str,
    /// Vaults with correlated losses share a group; any other vault is its own group. Samples of one group are not independent.
    pub group: &'a str,
    /// Value of the tested score at that instant.
    pub value: MilliPoints,
    /// Whether there was a loss in the window.
    pub lost: bool,
}

named_enum! {
    /// The conclusion of a backtest.
    #[cfg_attr(feature = "schema", schemars(rename = "BacktestVerdict"))]
    pub enum Verdict {
        /// Lower values preceded losses: the whole interval lies above 0.5.
        LowerLostMore = "lower_values_lost_more",
        /// The interval contains 0.5, so the result may be due to chance.
        NoneShown = "no_difference_shown",
        /// Higher values preceded losses: the whole interval lies below 0.5.
        HigherLostMore = "higher_values_lost_more",
    }
}

/// The samples whose values lie in one tier's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Band {
    /// The tier whose score range the band covers.
    pub tier: Tier,
    /// Number of samples in the tier's range.
    pub samples: u64,
    /// Number of these samples with a loss in their window.
    pub losses: u64,
}

/// How well low values separate the samples with a loss from the samples without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discrimination {
    pub samples: u64,
    /// Samples with a loss.
    pub losses: u64,
    /// Vaults among the samples.
    pub vaults: u64,
    /// Vaults with at least one loss.
    pub loss_vaults: u64,
    /// Groups with at least one loss.
    pub loss_groups: u64,
    pub distinct_values: u64,
    /// Area under the ROC curve: the fraction of pairs (a sample with a loss, a sample without) in which the sample with the loss has the
    /// lower value. Ties count half. `None` unless both kinds of samples exist.
    pub auc: Option<Ppm>,
    /// Approximate 95 percent interval of `auc`. Its width follows from the effective number of groups, not of samples.
    pub interval: Option<(Ppm, Ppm)>,
    /// One band per tier, best first, including bands without samples.
    pub bands: Vec<Band>,
}

impl Discrimination {
    pub fn of(samples: &[Sample<'_>]) -> Self {
        let mut by_value: BTreeMap<MilliPoints, (u64, u64)> = BTreeMap::new();
        let mut bands: Vec<Band> =
            Tier::ALL.iter().rev().map(|tier| Band { tier: *tier, samples: 0, losses: 0 }).collect();
        for sample in samples {
            let (lost, kept) = by_value.entry(sample.value).or_default();
            *if sample.lost { lost } else { kept } += 1;
            if let Some(band) = bands.iter_mut().find(|band| band.tier == tier_of(sample.value)) {
                band.samples += 1;
                band.losses += u64::from(sample.lost);
            }
        }
        let vaults: BTreeSet<&str> = samples.iter().map(|sample| sample.vault_id).collect();
        let lossy: BTreeSet<&str> = samples.iter().filter(|sample| sample.lost).map(|sample| sample.vault_id).collect();
        let losses: u64 = by_value.values().map(|(lost, _)| lost).sum();
        let kept = samples.len() as u64 - losses;
        let auc = area(&by_value, losses, kept);
        let [lossy_groups, other_groups] = [true, false].map(|lost| by_group(samples, lost));
        Discrimination {
            samples: samples.len() as u64,
            losses,
            vaults: vaults.len() as u64,
            loss_vaults: lossy.len() as u64,
            loss_groups: lossy_groups.len() as u64,
            distinct_values: by_value.len() as u64,
            auc,
            interval: auc.and_then(|auc| interval(auc, effective(&lossy_groups), effective(&other_groups))),
            bands,
        }
    }

    /// The conclusion from `interval`; `None` without an interval.
    pub fn verdict(&self) -> Option<Verdict> {
        const HALF: i64 = 500_000;
        let (low, high) = self.interval?;
        Some(match () {
            () if low.0 > HALF => Verdict::LowerLostMore,
            () if high.0 < HALF => Verdict::HigherLostMore,
            () => Verdict::NoneShown,
        })
    }

    /// The share of samples with a loss; `None` without samples.
    pub fn base_rate(&self) -> Option<Ppm> {
        share(self.losses, self.samples)
    }
}

/// `part` / `whole`, rounded half to even to a millionth; `None` if `whole` is 0.
pub fn share(part: u64, whole: u64) -> Option<Ppm> {
    let ppm = rhe(u128::from(part) * 1_000_000, u128::from(whole));
    (whole > 0).then(|| Ppm(i64::try_from(ppm).unwrap_or(i64::MAX)))
}

/// [`Discrimination::auc`] from the number of samples with and without a loss per value.
fn area(by_value: &BTreeMap<MilliPoints, (u64, u64)>, losses: u64, kept: u64) -> Option<Ppm> {
    let pairs = u128::from(losses) * u128::from(kept);
    if pairs == 0 {
        return None;
    }
    let (mut twice, mut above) = (0_u128, u128::from(kept));
    for (lost, kept) in by_value.values().map(|(lost, kept)| (u128::from(*lost), u128::from(*kept))) {
        above -= kept;
        twice += lost * (2 * above + kept);
    }
    Some(Ppm(i64::try_from(rhe(twice * 1_000_000, 2 * pairs)).unwrap_or(i64::MAX)))
}

/// Number of samples per group, over the samples with a loss if `lost` is true, otherwise over the samples without a loss.
fn by_group<'a>(samples: &[Sample<'a>], lost: bool) -> BTreeMap<&'a str, u64> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.lost == lost) {
        *counts.entry(sample.group).or_default() += 1;
    }
    counts
}

/// Kish's effective number of groups, rounded down: the square of the sum over the sum of the squares. It is the number of groups when
/// all are of equal size, and close to 1 when one group holds nearly all samples.
fn effective(groups: &BTreeMap<&str, u64>) -> u64 {
    let (sum, squares) = groups.values().fold((0_u128, 0_u128), |(sum, squares), count| {
        let count = u128::from(*count);
        (sum + count, squares + count * count)
    });
    (sum * sum).checked_div(squares).and_then(|groups| u64::try_from(groups).ok()).unwrap_or(0)
}

/// The 95 percent interval around the rank statistic, from its variance under the null hypothesis with `lossy` and `others` independent
/// values. An approximation: each effective group counts as one value, and the statistic is taken to be normally distributed.
///
/// The interval extends by `width` to both sides: width² = 1.96² · (p + n + 1) / (12 · p · n). The second factor is the variance of the
/// Mann–Whitney statistic under the null hypothesis, so the width does not shrink if a few vaults happen to be in perfect order.
fn interval(auc: Ppm, lossy: u64, others: u64) -> Option<(Ppm, Ppm)> {
    const SQUARED_WIDTH: u128 = 3_841_600_000_000;
    let (p, n) = (u128::from(lossy), u128::from(others));
    let squared = (SQUARED_WIDTH * (p + n + 1)).checked_div(12 * p * n)?;
    let width = i64::try_from(squared.isqrt()).unwrap_or(i64::MAX);
    Some((Ppm((auc.0 - width).max(0)), Ppm((auc.0 + width).min(1_000_000))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;

    /// Samples of `sides` vaults with and without a loss, grouped by `group`; the value with a loss is lower in 3 of 4 pairs.
    fn found(sides: [usize; 2], group: impl Fn(bool, usize) -> String) -> Discrimination {
        let mut named: Vec<(String, String, i32, bool)> = Vec::new();
        for (lost, count) in [true, false].into_iter().zip(sides) {
            named.extend((0..count).map(|number| {
                let value = if lost { 4000 } else { 3000 + 2000 * i32::from(number % 4 > 0) };
                (format!("{lost}-{number}"), group(lost, number), value, lost)
            }));
        }
        let samples: Vec<Sample<'_>> = named
            .iter()
            .map(|(vault_id, group, value, lost)| Sample {
                vault_id,
                group,
                value: MilliPoints::saturating((*value).into()),
                lost: *lost,
            })
            .collect();
        Discrimination::of(&samples)
    }

    #[test]
    fn fewer_groups_give_a_wider_interval() {
        let each = found([40, 400], |lost, number| format!("{lost}-{number}"));
        // One incident caused all losses: it counts as one value, whatever the number of its vaults.
        let one = found([40, 400], |lost, number| if lost { "same".into() } else { format!("{number}") });
        assert_eq!((each.auc, one.auc), (Some(Ppm(750_000)), Some(Ppm(750_000))));
        assert_eq!((each.loss_groups, one.loss_groups, one.loss_vaults), (40, 1, 40));
        assert_eq!((each.verdict(), one.verdict()), (Some(Verdict::LowerLostMore), Some(Verdict::NoneShown)));
        // Many samples of one group count as one value, on the side without losses too.
        let few = found([40, 400], |lost, number| format!("{lost}-{}", if lost { number } else { number % 2 }));
        assert_eq!(few.verdict(), Some(Verdict::NoneShown));
    }

    #[test]
    fn the_effective_number_is_full_for_equal_groups_and_near_one_for_a_dominant_group() {
        let of = |counts: &[u64]| {
            let names: Vec<String> = (0..counts.len()).map(|number| format!("{number}")).collect();
            effective(&names.iter().map(String::as_str).zip(counts.iter().copied()).collect())
        };
        assert_eq!([of(&[]), of(&[7]), of(&[3, 3, 3]), of(&[97, 1, 1, 1])], [0, 1, 3, 1]);
    }
}
