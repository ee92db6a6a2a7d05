//! The rules of the vault score, as data.

use super::caps::{self, CapRule, FlagRules};
use super::{ByName, basis_points, one_in, percent, points, steps, tenths};
use crate::rules::tiers::Tier;
use crate::scoring::number::{Decimal, MilliPoints, Ppm};
use crate::scoring::tables;
use crate::scoring::vault::{
    Exit, ExposureRule, IncidentClass, Oracle, RequiredInput, Source, Strategy, WorstDependency,
};
use alloc::vec::Vec;
use serde::Serialize;

/// The rules of the vault score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VaultRules {
    /// The computation, one step per entry.
    pub steps: &'static [&'static str],
    /// Weights of the four vectors, as fractions that sum to 1.
    pub weights: ByName<Decimal>,
    /// Inputs without which a vault is unscored.
    pub required: &'static [RequiredInput],
    /// The asset vector: the assets that the vault holds or lends against.
    pub asset_vector: AssetVectorRules,
    /// The platform vector: the protocol that the vault runs on.
    pub platform: PlatformRules,
    /// The control vector: who can change the vault, how fast, and how depositors exit.
    pub control: ControlRules,
    /// The history vector: the vault's age, incidents and stability.
    pub history: HistoryRules,
    /// The caps, in table order.
    pub caps: Vec<CapRule>,
    /// The thresholds of the informational flags, which do not affect the score.
    pub flags: FlagRules,
}

/// The rules of the asset vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetVectorRules {
    /// The computation, one step per entry.
    pub steps: &'static [&'static str],
    /// Points of an asset without a score.
    pub unscored_counts: MilliPoints,
    /// The rules by which exposures may be derived instead of read.
    pub exposure_rules: ByName<DerivedExposures>,
    /// Maximum age in seconds of exposures by a rule that ages.
    pub expires_after_seconds: i64,
    /// Maximum points of a collateral, by its price source.
    pub oracle_caps: ByName<MilliPoints>,
    /// Haircuts by the collateral's liquidation loan-to-value, ascending; the first that fits applies.
    pub lltv_haircuts: Vec<Haircut>,
    /// Haircuts where collateral and loan asset track the same reference.
    pub same_peg_haircuts: Vec<Haircut>,
    /// Weight of the mean over all exposures, as a fraction.
    pub mean_weight: Decimal,
    /// Weight of the worst exposure, as a fraction.
    pub worst_weight: Decimal,
    /// Minimum share, as a fraction, from which an exposure can count as the worst exposure.
    pub worst_from_share: Decimal,
}

/// A rule by which exposures are derived from facts about the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DerivedExposures {
    /// What the rule concludes from which facts.
    pub statement: &'static str,
    /// Whether the exposures go out of date.
    pub ages: bool,
}

/// A haircut for a liquidation loan-to-value up to a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Haircut {
    /// Upper bound of the loan-to-value, inclusive, as a fraction; null for no bound.
    pub up_to: Option<Decimal>,
    /// Points that the rule subtracts.
    pub less: MilliPoints,
}

/// The rules of the platform vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlatformRules {
    /// The computation, one step per entry.
    pub steps: &'static [&'static str],
    /// Weights of the vector's parts, as fractions that sum to 1.
    pub weights: ByName<Decimal>,
    /// Points by number of audits, from 0; the last entry also applies to more.
    pub audits: [MilliPoints; 5],
    /// Points added for a bounty.
    pub bounty: Bounty,
    /// Points subtracted for an old audit.
    pub stale_audit: StaleAudit,
    /// Points by strategy.
    pub strategies: ByName<MilliPoints>,
    /// Points by the protocol's TVL, descending; below the last step `scale_below` applies.
    pub scale: Vec<ScaleStep>,
    /// Points of a protocol below every step of `scale`.
    pub scale_below: MilliPoints,
    /// The factor for the protocols that the protocol depends on.
    pub dependency: DependencyRules,
}

/// Points added for a bounty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bounty {
    /// Smallest bounty that counts, in USD.
    pub from_usd: u64,
    /// Points that the rule adds.
    pub adds: MilliPoints,
}

/// Points subtracted when the newest audit is old or undated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StaleAudit {
    /// An audit older than this many days is old.
    pub older_than_days: u32,
    /// Points that the rule subtracts.
    pub less: MilliPoints,
}

/// Points of a protocol by its TVL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScaleStep {
    /// Minimum TVL of the protocol for this step, in USD.
    pub from_usd: u64,
    /// Points of this step.
    pub counts: MilliPoints,
}

/// The factor by which a protocol's dependencies multiply its platform vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DependencyRules {
    /// The factor by the worst dependency.
    pub factors: ByName<Decimal>,
    /// Number of dependencies that do not lower the factor.
    pub free: u32,
    /// Amount by which each further dependency lowers the factor.
    pub step: Decimal,
    /// The lowest factor.
    pub floor: Decimal,
}

/// The rules of the control vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ControlRules {
    /// The computation, one step per entry.
    pub steps: &'static [&'static str],
    /// Weights of the vector's parts, as fractions that sum to 1.
    pub weights: ByName<Decimal>,
    /// Points by the delay of changes.
    pub timelock: TimelockRules,
    /// Points by who must agree to a change.
    pub signers: SignerRules,
    /// Points by how depositors exit.
    pub exits: ByName<MilliPoints>,
    /// Points by whether the deployed code's source is verified.
    pub sources: ByName<MilliPoints>,
}

/// Points by the delay of changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimelockRules {
    /// Points of a vault that cannot be changed.
    pub immutable: MilliPoints,
    /// Points by delay, longest first.
    pub steps: Vec<TimelockStep>,
    /// Points if changes take effect without a delay.
    pub none: MilliPoints,
    /// Points if the delay is not known.
    pub unknown: MilliPoints,
}

/// Points of a delay of at least this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimelockStep {
    /// Minimum delay for this step, in seconds.
    pub from_seconds: u64,
    /// Points of this step.
    pub counts: MilliPoints,
}

/// Points by who must agree to a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignerRules {
    /// Points of a vault that cannot be changed.
    pub immutable: MilliPoints,
    /// Points if an on-chain vote decides changes.
    pub dao: MilliPoints,
    /// Points of a multisig, best first.
    pub steps: Vec<SignerStep>,
    /// Points if one key can make changes.
    pub one_key: MilliPoints,
    /// Points if the signers are not known.
    pub unknown: MilliPoints,
}

/// Points of a multisig that reaches both bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignerStep {
    /// Minimum number of required signatures.
    pub threshold: u32,
    /// Minimum number of keys.
    pub owners: u32,
    /// Points of this step.
    pub counts: MilliPoints,
}

/// The rules of the history vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryRules {
    /// The computation, one step per entry.
    pub steps: &'static [&'static str],
    /// Weights of the vector's parts, as fractions that sum to 1.
    pub weights: ByName<Decimal>,
    /// Points that an incident of age 0 subtracts, by its class.
    pub incidents: ByName<MilliPoints>,
    /// Minimum fraction of the loss that must be returned for an incident to count as recovered.
    pub recovered_from: Ppm,
    /// Points subtracted for a drawdown of the share price.
    pub drawdown: DrawdownRules,
    /// Points subtracted for 72 hours of high utilization.
    pub high_util_72h: MilliPoints,
    /// Points subtracted if TVL halved within 7 days.
    pub tvl_halved_7d: MilliPoints,
}

/// Points subtracted for a drawdown of the share price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrawdownRules {
    /// Points subtracted per basis point.
    pub loss_per_basis_point: MilliPoints,
    /// Drawdown from which no points are left, as a fraction.
    pub takes_all_at: Decimal,
    /// Points if the drawdown is not known.
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

const fn derived(rule: ExposureRule) -> DerivedExposures {
    DerivedExposures { statement: rule.statement(), ages: rule.ages() }
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
        exposure_rules: ByName(ExposureRule::ALL.iter().map(|it| (it.as_str(), derived(*it))).collect()),
        expires_after_seconds: tables::EXPOSURE_CADENCE_SECONDS * tables::rubric::EXPIRES_AFTER_CADENCES,
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
    let delayed =
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
            steps: tables::TIMELOCK.iter().map(delayed).collect(),
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
