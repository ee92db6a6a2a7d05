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
pub struct VaultRules {
    /// What to do, a sentence each.
    pub steps: &'static [&'static str],
    /// Of the four vectors, as fractions.
    pub weights: ByName<Decimal>,
    /// Inputs without which there is no score.
    pub required: &'static [RequiredInput],
    /// What it holds or lends against.
    pub asset_vector: AssetVectorRules,
    /// The protocol it runs on.
    pub platform: PlatformRules,
    /// Who can change it, and how fast.
    pub control: ControlRules,
    /// What has happened to it.
    pub history: HistoryRules,
    /// In table order.
    pub caps: Vec<CapRule>,
    /// The numbers of the informational flags, which no score depends on.
    pub flags: FlagRules,
}

/// What a vault holds or lends against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetVectorRules {
    /// What to do, a sentence each.
    pub steps: &'static [&'static str],
    /// What an asset without a score counts, in points.
    pub unscored_counts: MilliPoints,
    /// What a collateral counts at most, by where its price comes from.
    pub oracle_caps: ByName<MilliPoints>,
    /// What the liquidation loan-to-value takes of a collateral.
    pub lltv_haircuts: Vec<Haircut>,
    /// The same where collateral and loan track one reference.
    pub same_peg_haircuts: Vec<Haircut>,
    /// Weight of the mean over all exposures, as a fraction.
    pub mean_weight: Decimal,
    /// Weight of the worst exposure, as a fraction.
    pub worst_weight: Decimal,
    /// The share from which an exposure can be the worst.
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
pub struct PlatformRules {
    /// What to do, a sentence each.
    pub steps: &'static [&'static str],
    /// Of its parts, as fractions.
    pub weights: ByName<Decimal>,
    /// By their number, from none.
    pub audits: [MilliPoints; 5],
    /// What a bounty adds.
    pub bounty: Bounty,
    /// What an old audit takes.
    pub stale_audit: StaleAudit,
    /// By what the protocol does with funds, in points.
    pub strategies: ByName<MilliPoints>,
    /// Descending; below the last one `scale_below`.
    pub scale: Vec<ScaleStep>,
    /// What a smaller protocol counts, in points.
    pub scale_below: MilliPoints,
    /// What protocols that it depends upon take.
    pub dependency: DependencyRules,
}

/// What a bounty adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bounty {
    /// The least bounty that counts, in USD.
    pub from_usd: u64,
    /// Points added.
    pub adds: MilliPoints,
}

/// What an old audit takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StaleAudit {
    /// The age in days beyond which it takes.
    pub older_than_days: u32,
    /// Points taken.
    pub less: MilliPoints,
}

/// What the size of the protocol counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScaleStep {
    /// The least value of the protocol, in USD.
    pub from_usd: u64,
    /// What that counts, in points.
    pub counts: MilliPoints,
}

/// What protocols that it depends upon take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DependencyRules {
    /// By the worst one.
    pub factors: ByName<Decimal>,
    /// So many dependencies take nothing.
    pub free: u32,
    /// What each further one takes of the factor.
    pub step: Decimal,
    /// The factor is never less.
    pub floor: Decimal,
}

/// Who can change it, and how fast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ControlRules {
    /// What to do, a sentence each.
    pub steps: &'static [&'static str],
    /// Of its parts, as fractions.
    pub weights: ByName<Decimal>,
    /// How long a change waits.
    pub timelock: TimelockRules,
    /// Who must agree to a change.
    pub signers: SignerRules,
    /// By how a depositor leaves, in points.
    pub exits: ByName<MilliPoints>,
    /// By whether the deployed code can be read, in points.
    pub sources: ByName<MilliPoints>,
}

/// What the delay of changes counts, in points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimelockRules {
    /// Nothing can be changed.
    pub immutable: MilliPoints,
    /// Descending.
    pub steps: Vec<TimelockStep>,
    /// Changes do not wait.
    pub none: MilliPoints,
    /// It was not established.
    pub unknown: MilliPoints,
}

/// What a delay of at least so much counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimelockStep {
    /// The least delay, in seconds.
    pub from_seconds: u64,
    /// What that counts, in points.
    pub counts: MilliPoints,
}

/// What those who must agree to a change count, in points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignerRules {
    /// Nobody can change it.
    pub immutable: MilliPoints,
    /// An on-chain vote can.
    pub dao: MilliPoints,
    /// Best first.
    pub steps: Vec<SignerStep>,
    /// One key can.
    pub one_key: MilliPoints,
    /// It was not established.
    pub unknown: MilliPoints,
}

/// What a multisig of at least so many keys counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignerStep {
    /// Signatures that are needed, at least.
    pub threshold: u32,
    /// Keys there are, at least.
    pub owners: u32,
    /// What that counts, in points.
    pub counts: MilliPoints,
}

/// What has happened to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryRules {
    /// What to do, a sentence each.
    pub steps: &'static [&'static str],
    /// Of its parts, as fractions.
    pub weights: ByName<Decimal>,
    /// What a fresh incident takes, by its class.
    pub incidents: ByName<MilliPoints>,
    /// Returned funds from which an incident counts as recovered, as a share of the loss.
    pub recovered_from: Ppm,
    /// What a fall of the share price takes.
    pub drawdown: DrawdownRules,
    /// What three days of high utilization take, in points.
    pub high_util_72h: MilliPoints,
    /// What losing half of the value within a week takes, in points.
    pub tvl_halved_7d: MilliPoints,
}

/// What a fall of the share price takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrawdownRules {
    /// Points taken for each basis point.
    pub loss_per_basis_point: MilliPoints,
    /// The fall that takes everything, as a fraction.
    pub takes_all_at: Decimal,
    /// What counts where it was not observed, in points.
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
