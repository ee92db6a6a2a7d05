//! Whether lower values preceded losses: the area under the ROC curve, with an interval that knows how few vaults there are.

use crate::rules::tiers::{Tier, tier_of};
use crate::scoring::number::rhe;
use crate::scoring::{MilliPoints, Ppm, named_enum};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use serde::Serialize;

/// One vault at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Which vault: readings of one vault are not independent of each other.
    pub vault_id: &'a str,
    /// What is tested, as it stood then.
    pub value: MilliPoints,
    /// Whether its window saw a loss.
    pub lost: bool,
}

named_enum! {
    /// What a backtest shows.
    pub enum Verdict {
        /// The whole interval lies above one half.
        LowerLostMore = "lower_values_lost_more",
        /// The interval holds one half: chance explains it as well.
        NoneShown = "no_difference_shown",
        /// The whole interval lies below one half.
        HigherLostMore = "higher_values_lost_more",
    }
}

/// One band of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Band {
    /// The tier whose range the values lie in.
    pub tier: Tier,
    /// How many there were.
    pub samples: u64,
    /// How many of them lost.
    pub losses: u64,
}

/// How well lower values told losses from the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discrimination {
    /// Samples.
    pub samples: u64,
    /// Samples that lost.
    pub losses: u64,
    /// Vaults among the samples.
    pub vaults: u64,
    /// Vaults that lost at least once.
    pub loss_vaults: u64,
    /// Values that differ.
    pub distinct_values: u64,
    /// How often a sample that lost had a lower value than one that did not, ties counting half; null without both kinds.
    pub auc: Option<Ppm>,
    /// The 95 percent interval of it. Its width follows from the number of vaults, not of samples.
    pub interval: Option<(Ppm, Ppm)>,
    /// By the tiers' ranges, best first; those without samples too.
    pub bands: Vec<Band>,
}

impl Discrimination {
    /// Counts and compares.
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
        // A vault that lost once and kept its price otherwise stands on both sides; it counts as lossy.
        let (lossy_vaults, other_vaults) = (lossy.len() as u64, (vaults.len() - lossy.len()) as u64);
        Discrimination {
            samples: samples.len() as u64,
            losses,
            vaults: vaults.len() as u64,
            loss_vaults: lossy_vaults,
            distinct_values: by_value.len() as u64,
            auc,
            interval: auc.and_then(|auc| interval(auc, lossy_vaults, other_vaults)),
            bands,
        }
    }

    /// What that shows; null without an interval.
    pub fn verdict(&self) -> Option<Verdict> {
        const HALF: i64 = 500_000;
        let (low, high) = self.interval?;
        Some(match () {
            () if low.0 > HALF => Verdict::LowerLostMore,
            () if high.0 < HALF => Verdict::HigherLostMore,
            () => Verdict::NoneShown,
        })
    }

    /// The share of samples that lost; null without samples.
    pub fn base_rate(&self) -> Option<Ppm> {
        share(self.losses, self.samples)
    }
}

/// A part of a whole; null where there is no whole.
pub fn share(part: u64, whole: u64) -> Option<Ppm> {
    let ppm = rhe(u128::from(part) * 1_000_000, u128::from(whole));
    (whole > 0).then(|| Ppm(i64::try_from(ppm).unwrap_or(i64::MAX)))
}

/// Pairs of a lossy and a lossless sample in which the lossy one is lower, ties counting half, over all pairs.
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

/// The 95 percent interval of the rank statistic, as wide as chance alone would make it with so many vaults on each side.
///
/// (1.96)² · (p + n + 1) / (12 · p · n), the variance of Mann and Whitney's statistic when values say nothing. It does not
/// shrink where few vaults happen to lie in perfect order.
fn interval(auc: Ppm, lossy: u64, others: u64) -> Option<(Ppm, Ppm)> {
    const SQUARED_WIDTH: u128 = 3_841_600_000_000;
    let (p, n) = (u128::from(lossy), u128::from(others));
    let squared = (SQUARED_WIDTH * (p + n + 1)).checked_div(12 * p * n)?;
    let width = i64::try_from(squared.isqrt()).unwrap_or(i64::MAX);
    Some((Ppm((auc.0 - width).max(0)), Ppm((auc.0 + width).min(1_000_000))))
}
