//! The asset vector: the assets that a vault holds or lends against.

use super::{AssetMode, Exposure, ExposuresStatus, VaultInput};
use crate::scoring::number::{MilliPoints, cents, milli};
use crate::scoring::tables;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// All exposures to one id: the sum of their shares, and their mean points.
struct Merged {
    share: u128,
    points: MilliPoints,
}

/// The asset vector; null when a lending vault's deposit asset is unscored, or when a holdings vault has no holdings.
///
/// Lending: a blend of the mean and the worst collateral, at most the deposit asset's score. Holdings: the mean.
pub(super) fn score(input: &VaultInput) -> Option<MilliPoints> {
    let merged = merged(input);
    let total: u128 = merged.iter().map(|one| one.share).sum();
    let points: u128 = merged.iter().map(|one| one.share * one.points.wide()).sum();
    if input.asset_mode == AssetMode::Holdings {
        return (total > 0).then(|| cents(points, total));
    }
    let deposit = input.deposit_score?;
    let reaching = merged.iter().filter(|one| one.share * tables::WORST_ONE_IN >= total);
    let Some(worst) = reaching.map(|one| one.points).min().or_else(|| merged.iter().map(|one| one.points).min()) else {
        return Some(deposit);
    };
    let (mean_part, worst_part) = tables::BLEND;
    let blended = cents(mean_part * points + worst_part * worst.wide() * total, (mean_part + worst_part) * total);
    Some(deposit.min(blended))
}

/// Merges the exposures by id. Otherwise an asset split over many markets could stay below the 5 percent from which an exposure can count
/// as the worst exposure.
fn merged(input: &VaultInput) -> Vec<Merged> {
    match input.exposures_status {
        ExposuresStatus::Observed => {}
        ExposuresStatus::SharesUnknown => {
            // A bound below 3.00 would make knowing the members worse than knowing nothing.
            let bound = weakest(input).map_or(tables::UNSCORED_COUNTS, |points| points.max(tables::UNSCORED_COUNTS));
            return alloc::vec![Merged { share: 1, points: bound }];
        }
        ExposuresStatus::Unavailable => return alloc::vec![Merged { share: 1, points: tables::UNSCORED_COUNTS }],
    }
    let mut by_id: BTreeMap<&str, (u128, u128)> = BTreeMap::new();
    for exposure in &input.exposures {
        let points = points(input.asset_mode, exposure);
        let (share, sum) = by_id.entry(&exposure.id).or_default();
        *share += u128::from(exposure.share_ppm);
        *sum += u128::from(exposure.share_ppm) * points.wide();
    }
    let held = by_id.into_values().filter(|(share, _)| *share > 0);
    held.map(|(share, sum)| Merged { share, points: milli(sum, share) }).collect()
}

/// The points of the weakest exposure; `None` without exposures.
pub(super) fn weakest(input: &VaultInput) -> Option<MilliPoints> {
    input.exposures.iter().map(|exposure| points(input.asset_mode, exposure)).min()
}

pub(super) fn points(mode: AssetMode, exposure: &Exposure) -> MilliPoints {
    match mode {
        AssetMode::Lending => lent_against(exposure),
        AssetMode::Holdings => counted(exposure),
    }
}

/// Points of an exposure: the score of its asset; for an unscored asset, the lower of 3.00 and the hard-fail cap.
pub(super) fn counted(exposure: &Exposure) -> MilliPoints {
    let unscored = || exposure.hard_fail_cap.map_or(tables::UNSCORED_COUNTS, |cap| cap.min(tables::UNSCORED_COUNTS));
    exposure.score.unwrap_or_else(unscored)
}

/// Points of a collateral: the points of its asset, at most the cap of its price source, less the haircut for its loan-to-value.
fn lent_against(exposure: &Exposure) -> MilliPoints {
    let haircuts: &[(u32, MilliPoints)] =
        if exposure.same_peg { &tables::SAME_PEG_HAIRCUTS } else { &tables::LLTV_HAIRCUTS };
    let haircut = exposure.lltv_bp.and_then(|lltv| haircuts.iter().find(|(up_to, _)| lltv <= *up_to));
    let priced = counted(exposure).min(tables::oracle_cap(exposure.oracle));
    priced.offset(-haircut.map_or(0, |(_, loss)| loss.get()))
}
