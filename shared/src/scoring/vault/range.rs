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
use crate::scoring::number::rhe;
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
    let scores = |extremes: Vec<VaultInput>| extremes.into_iter().map(|extreme| evaluate(&extreme).score);
    let lowest = scores(worst_cases(input, assets)).map(|score| score.unwrap_or(MilliPoints::ZERO)).min();
    let highest = scores(best_cases(input, assets)).map(|score| score.unwrap_or(MilliPoints::MAX)).max();
    let range = ScoreRange {
        lowest: lowest.unwrap_or(MilliPoints::ZERO),
        highest: highest.unwrap_or(MilliPoints::MAX),
        coverage: coverage(input, assets),
    };
    VaultRange { basis: basis(input, outcome, &range, assets), range }
}

/// The range of the asset vector, which another vault that holds this one uses as the range of its exposure.
pub fn asset_range(input: &VaultInput, assets: &AssetRanges) -> ScoreRange {
    let vectors = |extremes: Vec<VaultInput>| extremes.into_iter().map(|extreme| evaluate(&extreme).vectors.asset);
    let lowest = vectors(worst_cases(input, assets)).map(|vector| vector.unwrap_or(MilliPoints::ZERO)).min();
    let highest = vectors(best_cases(input, assets)).map(|vector| vector.unwrap_or(MilliPoints::MAX)).max();
    ScoreRange {
        lowest: lowest.unwrap_or(MilliPoints::ZERO),
        highest: highest.unwrap_or(MilliPoints::MAX),
        coverage: asset_coverage(input, assets).ppm(),
    }
}

fn basis(input: &VaultInput, outcome: &VaultOutcome, range: &ScoreRange, assets: &AssetRanges) -> ScoreBasis {
    // An unscored member counts points that say nothing about it.
    let are_scored = input.exposures.iter().all(|exposure| exposure.score.is_some());
    let bound = weakest(input).filter(|bound| are_scored && *bound >= tables::UNSCORED_COUNTS);
    match input.exposures_status {
        _ if outcome.score.is_none() => ScoreBasis::Missing,
        ExposuresStatus::Unavailable => ScoreBasis::Assumed,
        ExposuresStatus::SharesUnknown if bound.is_none() => ScoreBasis::Assumed,
        ExposuresStatus::SharesUnknown => ScoreBasis::Bound,
        ExposuresStatus::Observed
            if range.coverage == Ppm::ONE && range.lowest == range.highest && is_known(input, assets) =>
        {
            ScoreBasis::Complete
        }
        ExposuresStatus::Observed => ScoreBasis::Partial,
    }
}

/// Whether the inputs without a weight of their own, which the coverage does not show, and the scores of the assets are known exactly. A cap
/// may hide that they are not.
fn is_known(input: &VaultInput, assets: &AssetRanges) -> bool {
    let platform = &input.platform;
    // Without audits neither their date nor a bounty counts.
    let audits_are_known =
        platform.audits == Some(0) || (platform.newest_audit_days.is_some() && platform.bounty_usd.is_some());
    let price_is_known = |exposure: &Exposure| exposure.oracle != Oracle::Unknown;
    let deposit = Some(&assets.deposit).filter(|_| input.asset_mode == AssetMode::Lending);
    let mut ranges = assets.exposures.iter().chain(deposit);
    audits_are_known
        && ranges.all(|range| range.lowest == range.highest && range.coverage == Ppm::ONE)
        && platform.worst_dependency != WorstDependency::Unknown
        && input.tvl_usd.is_some()
        && (input.asset_mode == AssetMode::Holdings || input.exposures.iter().all(price_is_known))
}

/// The inputs with everything unknown as bad as the methodology knows: one for each way in which unknown shares may lie.
fn worst_cases(input: &VaultInput, assets: &AssetRanges) -> Vec<VaultInput> {
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
    let sides = match input.exposures_status {
        ExposuresStatus::Observed => alloc::vec![members],
        ExposuresStatus::SharesUnknown if !members.is_empty() => {
            let members = alone(&members, input.asset_mode);
            let weakest = members.iter().min_by_key(|member| member.score);
            // A failed member caps the score from this share on.
            let failed = members.iter().filter(|member| member.hard_fail_cap.is_some()).min_by_key(|it| it.score);
            let capped =
                weakest.zip(failed).map(|(weakest, failed)| beside(weakest, failed, tables::HOLDING_HARD_FAIL_PPM));
            weakest.map(|weakest| alloc::vec![weakest.clone()]).into_iter().chain(capped).collect()
        }
        // It may hold an asset that failed.
        _ => alloc::vec![alloc::vec![Exposure { hard_fail_cap: Some(MilliPoints::ZERO), ..whole(MilliPoints::ZERO) }]],
    };
    worst.exposures_status = ExposuresStatus::Observed;
    let platform = &mut worst.platform;
    platform.version_age_days = platform.version_age_days.or(Some(0));
    platform.audits = platform.audits.or(Some(0));
    platform.strategy = platform.strategy.or(Some(Strategy::Offchain));
    if platform.worst_dependency == WorstDependency::Unknown {
        platform.worst_dependency = WorstDependency::Known(Tier::Edge);
        // Without a list their number is unknown too.
        platform.dependencies = if platform.dependencies == 0 { u32::MAX } else { platform.dependencies };
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
    sides.into_iter().map(|exposures| VaultInput { exposures, ..worst.clone() }).collect()
}

/// The inputs with everything unknown as good as the methodology knows: one for each way in which unknown shares may lie.
fn best_cases(input: &VaultInput, assets: &AssetRanges) -> Vec<VaultInput> {
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
    let sides = match (input.exposures_status, input.asset_mode) {
        (ExposuresStatus::Observed, _) => alloc::vec![members],
        (ExposuresStatus::SharesUnknown, mode) if !members.is_empty() => best_shares(alone(&members, mode)),
        // A lending vault without loans has the score of its deposit asset.
        (_, AssetMode::Lending) => alloc::vec![Vec::new()],
        (_, AssetMode::Holdings) => alloc::vec![alloc::vec![whole(MilliPoints::MAX)]],
    };
    best.exposures_status = ExposuresStatus::Observed;
    best.tvl_usd = best.tvl_usd.or(Some(u64::MAX));
    let platform = &mut best.platform;
    platform.version_age_days = platform.version_age_days.or(Some(u32::MAX));
    platform.audits = platform.audits.or(Some(u32::MAX));
    platform.newest_audit_days = platform.newest_audit_days.or(Some(0));
    platform.bounty_usd = platform.bounty_usd.or(Some(u64::MAX));
    platform.strategy = platform.strategy.or(Some(Strategy::LendingPool));
    platform.protocol_tvl_usd = platform.protocol_tvl_usd.or(Some(u64::MAX));
    if platform.worst_dependency == WorstDependency::Unknown {
        let is_listed = platform.dependencies > 0;
        platform.worst_dependency = if is_listed { WorstDependency::Known(Tier::Prime) } else { WorstDependency::None };
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
    sides.into_iter().map(|exposures| VaultInput { exposures, ..best.clone() }).collect()
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

/// Each member as if the whole vault were in it, with the points that it counts as its score. A member keeps its hard fail.
fn alone(members: &[Exposure], mode: AssetMode) -> Vec<Exposure> {
    let of = |(place, member): (usize, &Exposure)| Exposure {
        id: alloc::format!("{place}"),
        hard_fail_cap: member.hard_fail_cap,
        ..whole(super::asset_vector::points(mode, member))
    };
    members.iter().enumerate().map(of).collect()
}

/// One member with `share_ppm` of the vault beside another with the rest.
fn beside(rest: &Exposure, member: &Exposure, share_ppm: u32) -> Vec<Exposure> {
    let left = 1_000_000_u32.saturating_sub(share_ppm);
    alloc::vec![Exposure { share_ppm: left, ..rest.clone() }, Exposure { share_ppm, ..member.clone() }]
}

/// The ways in which the unknown shares of `members` may be best: all in the strongest one, or in the strongest that has not failed, with as
/// much of a failed one as causes no cap. The score itself counts the weakest without its hard fail, and at least 3.00.
fn best_shares(members: Vec<Exposure>) -> Vec<Vec<Exposure>> {
    let strongest = |failed: bool| {
        let of = members.iter().filter(|member| member.hard_fail_cap.is_some() == failed);
        of.max_by_key(|member| member.score).cloned()
    };
    let (sound, failed) = (strongest(false), strongest(true));
    let uncapped = tables::HOLDING_HARD_FAIL_PPM.saturating_sub(1);
    let mixed = sound.as_ref().zip(failed.as_ref()).map(|(sound, failed)| beside(sound, failed, uncapped));
    let weakest = members.iter().filter_map(|member| member.score).min();
    let counts = weakest.map(|points| whole(points.max(tables::UNSCORED_COUNTS)));
    let single = [counts, sound, failed].into_iter().flatten();
    single.map(|member| alloc::vec![member]).chain(mixed).collect()
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
    let known = |weights: &[u128], known: &[bool]| -> i128 {
        let weight: u128 = weights.iter().zip(known).filter(|(_, known)| **known).map(|(weight, _)| weight).sum();
        i128::try_from(weight * 10_000).unwrap_or(0)
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
    let [asset_weight, platform_weight, control_weight, history_weight] = tables::VECTOR_WEIGHTS.map(i128::from);
    let others = platform_weight * platform + control_weight * control + history_weight * history;
    let asset = asset_coverage(input, assets);
    Fraction { part: asset_weight * asset.part + others * asset.whole, whole: 100 * asset.whole }.ppm()
}

/// A number of parts per million as an exact quotient, rounded only where it is published.
struct Fraction {
    part: i128,
    whole: i128,
}

impl Fraction {
    fn of(ppm: i64) -> Self {
        Fraction { part: ppm.into(), whole: 1 }
    }

    fn ppm(&self) -> Ppm {
        Ppm(i64::try_from(rhe(self.part.unsigned_abs(), self.whole.unsigned_abs())).unwrap_or(0))
    }
}

/// The part of the asset vector's weight for which there is evidence.
fn asset_coverage(input: &VaultInput, assets: &AssetRanges) -> Fraction {
    let covered = |place: usize| assets.exposures.get(place).map_or(0, |range| range.coverage.0);
    match input.exposures_status {
        ExposuresStatus::Unavailable => Fraction::of(0),
        ExposuresStatus::SharesUnknown => Fraction::of((0..input.exposures.len()).map(covered).min().unwrap_or(0)),
        ExposuresStatus::Observed => {
            let total: i128 = input.exposures.iter().map(|exposure| i128::from(exposure.share_ppm)).sum();
            let shares = input.exposures.iter().enumerate();
            let known: i128 = shares.map(|(place, one)| i128::from(one.share_ppm) * i128::from(covered(place))).sum();
            if total == 0 { Fraction::of(assets.deposit.coverage.0) } else { Fraction { part: known, whole: total } }
        }
    }
}
