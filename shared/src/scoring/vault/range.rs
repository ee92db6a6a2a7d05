//! What a vault's score rests on, and the range within which it could lie.
//!
//! The range is the score of two other inputs: one in which everything unknown is as bad as possible, and one in which it is as good as
//! possible. Every rule of the vault score is monotone in every input, so the score lies between the two. What is known only by a bound, such
//! as the age of a version, counts as known.

use super::asset_vector::weakest;
use super::{
    AssetMode, Exit, Exposure, ExposuresStatus, Oracle, Signers, Source, Strategy, Timelock, VaultInput, VaultOutcome,
    WorstDependency, evaluate,
};
use crate::rules::tiers::Tier;
use crate::scoring::{MilliPoints, Ppm, ScoreBasis, ScoreRange, tables};
use alloc::string::String;
use alloc::vec::Vec;

/// The ranges of the assets that a vault holds or lends against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetRanges {
    /// The range of the deposit asset; [`ScoreRange::UNKNOWN`] if it is not a registered asset.
    pub deposit: ScoreRange,
    /// The ranges of the exposures, in their order.
    pub exposures: Vec<ScoreRange>,
}

/// What a vault's score rests on, with its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VaultRange {
    pub basis: ScoreBasis,
    pub range: ScoreRange,
}

/// The basis and the range of the score of `input`, whose result is `outcome`.
///
/// Utilization, bad debt and the list of incidents are not part of the range: the methodology does not count their absence against a
/// vault.
pub fn range(input: &VaultInput, outcome: &VaultOutcome, assets: &AssetRanges) -> VaultRange {
    let score = |extreme: &VaultInput| evaluate(extreme).score;
    let (worst, best) = (worst_case(input, assets), best_case(input, assets));
    let (lowest, highest) = (score(&worst).unwrap_or(MilliPoints::ZERO), score(&best).unwrap_or(MilliPoints::MAX));
    let coverage = coverage(input, assets);
    let range = ScoreRange { lowest, highest, coverage };
    VaultRange { basis: basis(input, outcome, &range), range }
}

/// The range of the asset vector, which another vault that holds this one uses as the range of its exposure.
pub fn asset_range(input: &VaultInput, assets: &AssetRanges) -> ScoreRange {
    let vector = |extreme: &VaultInput| evaluate(extreme).vectors.asset;
    ScoreRange {
        lowest: vector(&worst_case(input, assets)).unwrap_or(MilliPoints::ZERO),
        highest: vector(&best_case(input, assets)).unwrap_or(MilliPoints::MAX),
        coverage: Ppm(asset_coverage(input, assets)),
    }
}

fn basis(input: &VaultInput, outcome: &VaultOutcome, range: &ScoreRange) -> ScoreBasis {
    let bound = weakest(input).filter(|bound| *bound > tables::UNSCORED_COUNTS);
    match input.exposures_status {
        _ if outcome.score.is_none() => ScoreBasis::Missing,
        ExposuresStatus::Unavailable => ScoreBasis::Assumed,
        ExposuresStatus::SharesUnknown if bound.is_none() => ScoreBasis::Assumed,
        ExposuresStatus::SharesUnknown => ScoreBasis::Bound,
        ExposuresStatus::Observed if range.coverage == Ppm::ONE && range.lowest == range.highest => {
            ScoreBasis::Complete
        }
        ExposuresStatus::Observed => ScoreBasis::Partial,
    }
}

/// The input with everything unknown as bad as the methodology knows.
fn worst_case(input: &VaultInput, assets: &AssetRanges) -> VaultInput {
    let mut worst = input.clone();
    worst.deposit_score = Some(assets.deposit.lowest);
    let members = members(
        input,
        assets,
        |range| range.lowest,
        |exposure| {
            if exposure.oracle == Oracle::Unknown && exposure.lltv_bp.is_none() {
                // The loan-to-value of a market that was not read may be the highest.
                exposure.lltv_bp = Some(10_000);
            }
        },
    );
    worst.exposures = match input.exposures_status {
        ExposuresStatus::Observed => members,
        ExposuresStatus::SharesUnknown if !members.is_empty() => {
            let failed = members.iter().filter_map(|member| member.hard_fail_cap).min();
            let weakest = one(members, |points| points.min(), input.asset_mode);
            weakest.into_iter().map(|member| Exposure { hard_fail_cap: failed, ..member }).collect()
        }
        _ => alloc::vec![whole(MilliPoints::ZERO)],
    };
    worst.exposures_status = ExposuresStatus::Observed;
    let platform = &mut worst.platform;
    platform.version_age_days = platform.version_age_days.or(Some(0));
    platform.audits = platform.audits.or(Some(0));
    platform.strategy = platform.strategy.or(Some(Strategy::Offchain));
    if platform.worst_dependency == WorstDependency::Unknown {
        platform.worst_dependency = WorstDependency::Known(Tier::Edge);
        platform.dependencies = u32::MAX;
    }
    let control = &mut worst.control;
    if control.timelock == Timelock::Unknown {
        control.timelock = Timelock::Seconds(0);
    }
    if control.signers == Signers::Unknown {
        control.signers = Signers::Eoa;
    }
    if control.exit == Exit::Unknown {
        control.exit = Exit::Blockable;
    }
    let history = &mut worst.history;
    history.drawdown_bp = history.drawdown_bp.or(Some(tables::DRAWDOWN_TAKES_ALL_BP));
    worst
}

/// The input with everything unknown as good as the methodology knows.
fn best_case(input: &VaultInput, assets: &AssetRanges) -> VaultInput {
    let mut best = input.clone();
    best.deposit_score = Some(assets.deposit.highest);
    let members = members(
        input,
        assets,
        |range| range.highest,
        |exposure| {
            if exposure.oracle == Oracle::Unknown {
                exposure.oracle = Oracle::PushFeed;
            }
        },
    );
    best.exposures = match (input.exposures_status, input.asset_mode) {
        (ExposuresStatus::Observed, _) => members,
        // Members below 3.00 count 3.00 together.
        (ExposuresStatus::SharesUnknown, mode) if !members.is_empty() => {
            one(members, |points| points.max().map(|best| best.max(tables::UNSCORED_COUNTS)), mode)
        }
        // A lending vault without loans has the score of its deposit asset.
        (_, AssetMode::Lending) => Vec::new(),
        (_, AssetMode::Holdings) => alloc::vec![whole(MilliPoints::MAX)],
    };
    best.exposures_status = ExposuresStatus::Observed;
    best.tvl_usd = best.tvl_usd.or(Some(u64::MAX));
    let platform = &mut best.platform;
    let audits_unknown = platform.audits.is_none();
    platform.version_age_days = platform.version_age_days.or(Some(u32::MAX));
    platform.audits = platform.audits.or(Some(u32::MAX));
    platform.newest_audit_days = platform.newest_audit_days.or(Some(0));
    platform.bounty_usd = platform.bounty_usd.or(Some(u64::MAX));
    platform.strategy = platform.strategy.or(Some(Strategy::LendingPool));
    platform.protocol_tvl_usd = platform.protocol_tvl_usd.or(Some(u64::MAX));
    if audits_unknown {
        platform.newest_audit_days = Some(0);
    }
    if platform.worst_dependency == WorstDependency::Unknown {
        platform.worst_dependency = WorstDependency::None;
    }
    let control = &mut best.control;
    if control.timelock == Timelock::Unknown {
        control.timelock = Timelock::Immutable;
    }
    if control.signers == Signers::Unknown {
        control.signers = Signers::Immutable;
    }
    if control.exit == Exit::Unknown {
        control.exit = Exit::Instant;
    }
    if control.source == Source::Unknown {
        control.source = Source::Verified;
    }
    let history = &mut best.history;
    history.vault_age_days = history.vault_age_days.or(Some(u32::MAX));
    history.drawdown_bp = history.drawdown_bp.or(Some(0));
    best
}

/// The exposures, each with a bound of its asset's range as score.
fn members(
    input: &VaultInput,
    assets: &AssetRanges,
    bound: impl Fn(&ScoreRange) -> MilliPoints,
    price: impl Fn(&mut Exposure),
) -> Vec<Exposure> {
    let ranges = assets.exposures.iter().chain(core::iter::repeat(&ScoreRange::UNKNOWN));
    let member = |(exposure, range): (&Exposure, &ScoreRange)| {
        // An unscored asset counts points that need not lie within its range.
        let counts = super::asset_vector::counted(exposure);
        let range = ScoreRange { lowest: range.lowest.min(counts), highest: range.highest.max(counts), ..*range };
        let mut member = Exposure { score: Some(bound(&range)), ..exposure.clone() };
        if input.asset_mode == AssetMode::Lending {
            price(&mut member);
        }
        member
    };
    input.exposures.iter().zip(ranges).map(member).collect()
}

/// One exposure in place of several whose shares are unknown.
fn one(
    members: Vec<Exposure>,
    choose: impl Fn(alloc::vec::IntoIter<MilliPoints>) -> Option<MilliPoints>,
    mode: AssetMode,
) -> Vec<Exposure> {
    let points: Vec<MilliPoints> = members.iter().map(|member| super::asset_vector::points(mode, member)).collect();
    choose(points.into_iter()).map(whole).into_iter().collect()
}

/// The whole vault in one asset with these points.
fn whole(points: MilliPoints) -> Exposure {
    Exposure {
        id: String::new(),
        share_ppm: 1_000_000,
        score: Some(points),
        hard_fail_cap: None,
        oracle: Oracle::None,
        lltv_bp: None,
        same_peg: false,
    }
}

/// The part of the score's weight for which there is evidence.
fn coverage(input: &VaultInput, assets: &AssetRanges) -> Ppm {
    let (platform, control, history) = (&input.platform, &input.control, &input.history);
    let known = |weights: &[u128], known: &[bool]| -> i64 {
        let weight: u128 = weights.iter().zip(known).filter(|(_, known)| **known).map(|(weight, _)| weight).sum();
        i64::try_from(weight * 10_000).unwrap_or(0)
    };
    let platform = known(
        &tables::PLATFORM_WEIGHTS,
        &[
            platform.version_age_days.is_some(),
            platform.audits.is_some(),
            platform.strategy.is_some(),
            platform.protocol_tvl_usd.is_some(),
        ],
    );
    let control = known(
        &tables::CONTROL_WEIGHTS,
        &[
            control.timelock != Timelock::Unknown,
            control.signers != Signers::Unknown,
            control.exit != Exit::Unknown,
            control.source != Source::Unknown,
        ],
    );
    let history =
        known(&tables::HISTORY_WEIGHTS, &[history.vault_age_days.is_some(), true, history.drawdown_bp.is_some()]);
    let parts = [asset_coverage(input, assets), platform, control, history];
    let weighted: i64 = tables::VECTOR_WEIGHTS.iter().zip(parts).map(|(weight, part)| weight * part).sum();
    Ppm(weighted / 100)
}

/// The part of the asset vector's weight for which there is evidence, in parts per million.
fn asset_coverage(input: &VaultInput, assets: &AssetRanges) -> i64 {
    let covered = |place: usize| assets.exposures.get(place).map_or(0, |range| range.coverage.0);
    match input.exposures_status {
        ExposuresStatus::Unavailable => 0,
        ExposuresStatus::SharesUnknown => (0..input.exposures.len()).map(covered).min().unwrap_or(0),
        ExposuresStatus::Observed => {
            let total: i64 = input.exposures.iter().map(|exposure| i64::from(exposure.share_ppm)).sum();
            let shares = input.exposures.iter().enumerate();
            let known: i128 = shares.map(|(place, one)| i128::from(one.share_ppm) * i128::from(covered(place))).sum();
            match known.checked_div(i128::from(total)) {
                Some(mean) => i64::try_from(mean).unwrap_or(0),
                None => assets.deposit.coverage.0,
            }
        }
    }
}
