//! The vault score as data.

use super::caps::{self, CapRule, FlagRules};
use super::{ByName, basis_points, one_in, percent, points, steps, tenths};
use crate::rules::tiers::Tier;
use crate::scoring::number::{Decimal, MilliPoints, Ppm};
use crate::scoring::tables;
use crate::scoring::vault::{Exit, IncidentClass, Oracle, RequiredInput, Source, Strategy, WorstDependency};
use alloc::vec::Vec;
use serde::Serialize;

/// The vault score's rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "named as the vectors and lists they hold")]
pub struct VaultRules {
    pub steps: &'static [&'static str],
    /// Of the four vectors, as fractions.
    pub weights: ByName<Decimal>,
    /// Inputs without which there is no score.
    pub required: &'static [RequiredInput],
    pub asset_vector: AssetVectorRules,
    pub platform: PlatformRules,
    pub control: ControlRules,
    pub history: HistoryRules,
    /// In table order.
    pub caps: Vec<CapRule>,
    /// The numbers of the informational flags, which no score depends on.
    pub flags: FlagRules,
}

/// What a vault holds or lends against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "named as in the steps")]
pub struct AssetVectorRules {
    pub steps: &'static [&'static str],
    pub unscored_counts: MilliPoints,
    pub oracle_caps: ByName<MilliPoints>,
    pub lltv_haircuts: Vec<Haircut>,
    pub same_peg_haircuts: Vec<Haircut>,
    pub mean_weight: Decimal,
    pub worst_weight: Decimal,
    pub worst_from_share: Decimal,
}

/// What a loan-to-value of at most so much takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Haircut {
    /// Null is any higher one.
    pub up_to: Option<Decimal>,
    /// Points taken.
    pub less: MilliPoints,
}

/// The protocol it runs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "named as in the steps")]
pub struct PlatformRules {
    pub steps: &'static [&'static str],
    pub weights: ByName<Decimal>,
    /// By their number, from none.
    pub audits: [MilliPoints; 5],
    pub bounty: Bounty,
    pub stale_audit: StaleAudit,
    pub strategies: ByName<MilliPoints>,
    /// Descending; below the last one `scale_below`.
    pub scale: Vec<ScaleStep>,
    pub scale_below: MilliPoints,
    pub dependency: DependencyRules,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "named as in the steps")]
pub struct Bounty {
    pub from_usd: u64,
    pub adds: MilliPoints,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "named as in the steps")]
pub struct StaleAudit {
    pub older_than_days: u32,
    pub less: MilliPoints,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "named as in the steps")]
pub struct ScaleStep {
    pub from_usd: u64,
    pub counts: MilliPoints,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "named as in the steps")]
pub struct DependencyRules {
    /// By the worst one.
    pub factors: ByName<Decimal>,
    pub free: u32,
    pub step: Decimal,
    pub floor: Decimal,
}

/// Who can change it, and how fast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "named as in the steps")]
pub struct ControlRules {
    pub steps: &'static [&'static str],
    pub weights: ByName<Decimal>,
    pub timelock: TimelockRules,
    pub signers: SignerRules,
    pub exits: ByName<MilliPoints>,
    pub sources: ByName<MilliPoints>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "named as in the steps")]
pub struct TimelockRules {
    pub immutable: MilliPoints,
    /// Descending.
    pub steps: Vec<TimelockStep>,
    pub none: MilliPoints,
    pub unknown: MilliPoints,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "named as in the steps")]
pub struct TimelockStep {
    pub from_seconds: u64,
    pub counts: MilliPoints,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "named as in the steps")]
pub struct SignerRules {
    pub immutable: MilliPoints,
    pub dao: MilliPoints,
    /// Best first.
    pub steps: Vec<SignerStep>,
    pub one_key: MilliPoints,
    pub unknown: MilliPoints,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "named as in the steps")]
pub struct SignerStep {
    pub threshold: u32,
    pub owners: u32,
    pub counts: MilliPoints,
}

/// What has happened to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "named as in the steps")]
pub struct HistoryRules {
    pub steps: &'static [&'static str],
    pub weights: ByName<Decimal>,
    /// What a fresh incident takes, by its class.
    pub incidents: ByName<MilliPoints>,
    /// Returned funds from which an incident counts as recovered, as a share of the loss.
    pub recovered_from: Ppm,
    pub drawdown: DrawdownRules,
    pub high_util_72h: MilliPoints,
    pub tvl_halved_7d: MilliPoints,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "named as in the steps")]
pub struct DrawdownRules {
    pub loss_per_basis_point: MilliPoints,
    pub takes_all_at: Decimal,
    pub unknown: MilliPoints,
}

impl VaultRules {
    pub(super) fn current() -> Self {
        VaultRules {
            steps: steps::VAULT,
            weights: weights(
                &["asset", "platform", "control", "history"],
                tables::VECTOR_WEIGHTS.map(i64::unsigned_abs).map(u128::from),
            ),
            required: RequiredInput::ALL,
            asset_vector: asset_vector(),
            platform: platform(),
            control: control(),
            history: history(),
            caps: caps::rules(),
            flags: FlagRules::current(),
        }
    }
}

fn weights<const N: usize>(names: &[&'static str; N], percents: [u128; N]) -> ByName<Decimal> {
    ByName::zip(names, percents.into_iter().map(|weight| percent(i128::try_from(weight).unwrap_or_default())))
}

fn asset_vector() -> AssetVectorRules {
    let haircuts = |table: &[(u32, MilliPoints)]| {
        let step = |(up_to, less): &(u32, MilliPoints)| Haircut {
            up_to: Some(*up_to).filter(|up_to| *up_to < u32::MAX).map(basis_points),
            less: *less,
        };
        table.iter().map(step).collect()
    };
    let (mean, worst) = tables::BLEND;
    AssetVectorRules {
        steps: steps::ASSET_VECTOR,
        unscored_counts: tables::UNSCORED_COUNTS,
        oracle_caps: ByName(Oracle::ALL.iter().map(|it| (it.as_str(), tables::oracle_cap(*it))).collect()),
        lltv_haircuts: haircuts(&tables::LLTV_HAIRCUTS),
        same_peg_haircuts: haircuts(&tables::SAME_PEG_HAIRCUTS),
        mean_weight: tenths(mean),
        worst_weight: tenths(worst),
        worst_from_share: one_in(tables::WORST_ONE_IN),
    }
}

fn platform() -> PlatformRules {
    let known = Tier::ALL.iter().rev().map(|tier| WorstDependency::Known(*tier));
    let worst = known.chain([WorstDependency::Unknown, WorstDependency::None]);
    let factor = |it: WorstDependency| (it.as_str(), basis_points(tables::dependency_factor_bp(it)));
    let scale = |(from_usd, counts): &(u64, MilliPoints)| ScaleStep { from_usd: *from_usd, counts: *counts };
    PlatformRules {
        steps: steps::PLATFORM,
        weights: weights(&["maturity", "audits", "strategy", "scale"], tables::PLATFORM_WEIGHTS),
        audits: tables::AUDITS,
        bounty: Bounty { from_usd: tables::BOUNTY_USD, adds: points(tables::BOUNTY_BONUS) },
        stale_audit: StaleAudit { older_than_days: tables::AUDIT_STALE_DAYS, less: points(tables::STALE_AUDIT_LOSS) },
        strategies: ByName(Strategy::ALL.iter().map(|it| (it.as_str(), tables::strategy_points(*it))).collect()),
        scale: tables::SCALE.iter().map(scale).collect(),
        scale_below: tables::SCALE_BELOW,
        dependency: DependencyRules {
            factors: ByName(worst.map(factor).collect()),
            free: tables::FREE_DEPENDENCIES,
            step: basis_points(tables::DEPENDENCY_STEP_BP),
            floor: basis_points(tables::DEPENDENCY_FLOOR_BP),
        },
    }
}

fn control() -> ControlRules {
    let held =
        |(from_seconds, counts): &(u64, MilliPoints)| TimelockStep { from_seconds: *from_seconds, counts: *counts };
    let signed = |((threshold, owners), counts): &((u32, u32), MilliPoints)| SignerStep {
        threshold: *threshold,
        owners: *owners,
        counts: *counts,
    };
    ControlRules {
        steps: steps::CONTROL,
        weights: weights(&["timelock", "signers", "exit", "source"], tables::CONTROL_WEIGHTS),
        timelock: TimelockRules {
            immutable: tables::TIMELOCK_IMMUTABLE,
            steps: tables::TIMELOCK.iter().map(held).collect(),
            none: tables::TIMELOCK_NONE,
            unknown: tables::TIMELOCK_UNKNOWN,
        },
        signers: SignerRules {
            immutable: tables::SIGNERS_NOBODY_OR_VOTE,
            dao: tables::SIGNERS_NOBODY_OR_VOTE,
            steps: tables::MULTISIG.iter().map(signed).collect(),
            one_key: tables::SIGNERS_SINGLE,
            unknown: tables::SIGNERS_UNKNOWN,
        },
        exits: ByName(Exit::ALL.iter().map(|it| (it.as_str(), tables::exit_points(*it))).collect()),
        sources: ByName(Source::ALL.iter().map(|it| (it.as_str(), tables::source_points(*it))).collect()),
    }
}

fn history() -> HistoryRules {
    HistoryRules {
        steps: steps::HISTORY,
        weights: weights(&["seasoning", "incidents", "stability"], tables::HISTORY_WEIGHTS),
        incidents: ByName(IncidentClass::ALL.iter().map(|it| (it.as_str(), tables::incident_loss(*it))).collect()),
        recovered_from: Ppm(i64::try_from(tables::RECOVERED_FROM_PPM).unwrap_or_default()),
        drawdown: DrawdownRules {
            loss_per_basis_point: MilliPoints::saturating(tables::DRAWDOWN_LOSS_PER_BP.into()),
            takes_all_at: basis_points(tables::DRAWDOWN_TAKES_ALL_BP),
            unknown: tables::STABILITY_UNKNOWN,
        },
        high_util_72h: points(tables::HIGH_UTILIZATION_LOSS),
        tvl_halved_7d: points(tables::TVL_HALVED_LOSS),
    }
}
