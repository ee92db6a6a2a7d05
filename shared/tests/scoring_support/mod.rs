//! Random inputs for the methodology's property tests, concentrated around the thresholds of the rules.
#![allow(dead_code, reason = "each test program uses its part")]

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use rds_shared::rules::tiers::Tier;
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::asset::{AssetCategory, AssetInput, Dimension, Dimensions, HardFailFlag, ReviewStatus};
use rds_shared::scoring::vault::{
    AssetMode, ControlInput, Exit, Exposure, ExposuresStatus, HistoryInput, Incident, IncidentClass, Oracle,
    PlatformInput, Signers, Source, Strategy as Business, Timelock, VaultInput, WorstDependency,
};

/// 1000 cases per property, not counting up to 50 000 inputs that `prop_assume!` rejects.
pub fn config() -> ProptestConfig {
    ProptestConfig { cases: 1000, max_global_rejects: 50_000, failure_persistence: None, ..ProptestConfig::default() }
}

/// A score with two decimals.
pub fn score() -> impl Strategy<Value = MilliPoints> {
    prop_oneof![0..=1000_i64, 600..=1000_i64, select(vec![0, 250, 490, 500, 650, 790, 795, 800, 1000])]
        .prop_map(|hundredths| MilliPoints::saturating(10 * hundredths))
}

/// An optional published score.
pub fn published() -> impl Strategy<Value = Option<MilliPoints>> {
    weighted(0.85, score())
}

fn dimensions() -> impl Strategy<Value = Dimensions> {
    vec(weighted(0.9, score()), 16).prop_map(|values| {
        let answered = Dimension::ALL.iter().zip(values);
        answered.filter_map(|(dimension, value)| Some((*dimension, value?))).collect()
    })
}

/// An asset of any category.
pub fn asset() -> impl Strategy<Value = AssetInput> {
    let evidence = (0..400_000_i64, select(vec![1_i64, 86_400, 100_000]));
    let dependencies = vec(("[a-f]", published()), 0..4);
    let parts = (
        (select(AssetCategory::ALL), dimensions(), select(ReviewStatus::ALL)),
        (select(vec![0_u32, 0, 1, 7, 8, 30, 31, u32::MAX]), weighted(0.3, published()), dependencies),
        (weighted(0.5, [published(), published(), published(), published()]), evidence),
        (subsequence(HardFailFlag::ALL, 0..=HardFailFlag::ALL.len()), weighted(0.2, score())),
    );
    parts.prop_map(
        |((category, dimensions, review_status), (lockup_days, underlying, dependencies), (chain, age), last)| {
            let (flags, supply_ceiling) = last;
            AssetInput {
                review_status,
                supply_ceiling,
                lockup_days,
                underlying,
                dependencies,
                chain,
                age_seconds: age.0,
                cadence_seconds: age.1,
                hard_fail_flags: flags.into_iter().take(2).collect(),
                ..AssetInput::new(category, dimensions)
            }
        },
    )
}

/// One exposure, from few ids so that some are merged.
pub fn exposure() -> impl Strategy<Value = Exposure> {
    let share = prop_oneof![Just(0_u32), Just(50_000), 1..400_000_u32];
    let cap = weighted(0.2, select(HardFailFlag::ALL).prop_map(rds_shared::scoring::tables::hard_fail_cap));
    let lltv = weighted(0.9, select(vec![7700_u32, 8000, 8001, 8600, 9000, 9001, 9150, 9151, 10_000]));
    ("[a-e]", share, published(), cap, select(Oracle::ALL), lltv, any::<bool>()).prop_map(
        |(id, share_ppm, score, hard_fail_cap, oracle, lltv_bp, same_peg)| Exposure {
            id,
            share_ppm,
            score,
            hard_fail_cap,
            oracle,
            lltv_bp,
            same_peg,
        },
    )
}

fn platform() -> impl Strategy<Value = PlatformInput> {
    let worst = select(vec![
        WorstDependency::None,
        WorstDependency::Unknown,
        WorstDependency::Known(Tier::Prime),
        WorstDependency::Known(Tier::Core),
        WorstDependency::Known(Tier::Edge),
    ]);
    let audits = (weighted(0.97, 0..7_u32), weighted(0.8, select(vec![0_u32, 200, 730, 731])));
    let money = (weighted(0.8, select(vec![0_u64, 249_999, 250_000])), weighted(0.9, 0..2_000_000_000_u64));
    let version = (weighted(0.97, 0..9000_u32), weighted(0.97, select(Business::ALL)));
    (version, audits, money, worst, 0..12_u32).prop_map(
        |(
            (version_age_days, strategy),
            (audits, newest_audit_days),
            (bounty_usd, protocol_tvl_usd),
            worst,
            dependencies,
        )| {
            PlatformInput {
                version_age_days,
                audits,
                newest_audit_days,
                bounty_usd,
                strategy,
                protocol_tvl_usd,
                worst_dependency: worst,
                dependencies,
            }
        },
    )
}

fn control() -> impl Strategy<Value = ControlInput> {
    let timelock = prop_oneof![
        Just(Timelock::Unknown),
        Just(Timelock::Immutable),
        select(vec![0_u64, 1, 21_600, 86_400, 604_800, u64::MAX]).prop_map(Timelock::Seconds),
    ];
    let signers = prop_oneof![
        select(vec![Signers::Unknown, Signers::Immutable, Signers::Dao, Signers::Eoa]),
        (0..7_u32, 0..10_u32).prop_map(|(threshold, owners)| Signers::Multisig { threshold, owners }),
    ];
    (timelock, signers, select(Exit::ALL), select(Source::ALL))
        .prop_map(|(timelock, signers, exit, source)| ControlInput { timelock, signers, exit, source })
}

/// An incident of any class and age.
pub fn incident() -> impl Strategy<Value = Incident> {
    let age = prop_oneof![select(vec![0_u32, 29, 30, 89, 90, 179, 180]), 0..9000_u32];
    (select(IncidentClass::ALL), age, any::<bool>()).prop_map(|(class, age_days, resolved)| Incident {
        class,
        age_days,
        resolved,
    })
}

fn history() -> impl Strategy<Value = HistoryInput> {
    let age = weighted(0.9, prop_oneof![0..40_u32, 0..3000_u32]);
    let drawdown = weighted(0.85, select(vec![0_u32, 1, 249, 250, 10_000, u32::MAX]));
    (age, vec(incident(), 0..3), drawdown, any::<bool>(), any::<bool>()).prop_map(
        |(vault_age_days, incidents, drawdown_bp, high_util_72h, tvl_halved_7d)| HistoryInput {
            vault_age_days,
            incidents,
            drawdown_bp,
            high_util_72h,
            tvl_halved_7d,
        },
    )
}

/// Mostly observed exposures.
fn statuses() -> impl Strategy<Value = ExposuresStatus> {
    use ExposuresStatus::{Observed, SharesUnknown, Unavailable};
    prop_oneof![8 => Just(Observed), 1 => Just(SharesUnknown), 1 => Just(Unavailable)]
}

/// A vault of either mode.
pub fn vault() -> impl Strategy<Value = VaultInput> {
    let deposit = (weighted(0.95, score()), weighted(0.1, Just(())));
    let held = (select(AssetMode::ALL), vec(exposure(), 0..7), statuses());
    let money = (weighted(0.9, 0..2_000_000_u64), weighted(0.6, 0..1_200_000_i64), weighted(0.3, 0..20_000_i64));
    let rates = (any::<bool>(), weighted(0.5, -10_000..200_000_i64), weighted(0.5, -10_000..400_000_i64));
    (deposit, held, (platform(), control(), history()), money, rates).prop_map(
        |(deposit, (asset_mode, exposures, exposures_status), (platform, control, history), money, rates)| VaultInput {
            asset_mode,
            deposit_score: deposit.0,
            deposit_hard_fail: deposit.1.is_some(),
            exposures_status,
            exposures,
            platform,
            control,
            history,
            tvl_usd: money.0,
            utilization_ppm: money.1,
            bad_debt_ppm: money.2,
            needs_risk_review: rates.0,
            base_apr_ppm: rates.1,
            apr_net_ppm: rates.2,
        },
    )
}
