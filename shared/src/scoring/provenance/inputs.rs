//! The published inputs of a vault's score, each with its value, its source and the time of observation.
//!
//! Shares, rates and drawdown are fractions; dollars are whole; ages are whole days or seconds. An unknown value is null, or `unknown`
//! where the vocabulary has that value.

use super::evidence::ChainEvidence;
use crate::scoring::number::{Decimal, MilliPoints, Ppm};
use crate::scoring::vault::{
    AssetMode, Exit, Exposure, ExposuresStatus, Incident, IncidentClass, Oracle, Signers, Source, Strategy, Timelock,
    VaultInput, WorstDependency,
};
use crate::wire::time::Timestamp;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The origin of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The source, for example an adapter or a reviewer.
    pub source: String,
    /// The instant at which the input had this value.
    pub observed_at: Timestamp,
    /// Where the value was read on a chain; `None` if a source stated it.
    pub evidence: Option<ChainEvidence>,
}

impl Observation {
    /// What a source stated.
    pub fn stated(source: impl Into<String>, observed_at: Timestamp) -> Self {
        Observation { source: source.into(), observed_at, evidence: None }
    }
}

/// The origin of each input. An input without an entry is published with `source` and `observed_at` null.
pub type Observations = BTreeMap<InputField, Observation>;

/// An input whose source and time of observation are recorded separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InputField {
    DepositScore,
    DepositHardFail,
    Exposures,
    VersionAgeDays,
    Audits,
    NewestAuditDays,
    BountyUsd,
    Strategy,
    ProtocolTvlUsd,
    WorstDependency,
    Dependencies,
    Timelock,
    Signers,
    Exit,
    Source,
    VaultAgeDays,
    Drawdown,
    HighUtil72h,
    TvlHalved7d,
    TvlUsd,
    Utilization,
    BadDebt,
    NeedsRiskReview,
    BaseApr,
    AprNet,
}

/// An input with its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct Observed<T> {
    /// The value that the score was computed from.
    pub value: T,
    /// The source of the value, for example an adapter or a reviewer; null if none is recorded.
    pub source: Option<String>,
    /// The instant at which the input had this value; null if none is recorded.
    pub observed_at: Option<Timestamp>,
    /// The calls that read the value on its chain, at one block; present only for values that were read on a chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<ChainEvidence>,
}

/// Every input of a vault's score, grouped by vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ScoreInputs"))]
pub struct Inputs {
    /// Inputs of the asset vector.
    pub asset: AssetInputs,
    /// Inputs of the platform vector.
    pub platform: PlatformInputs,
    /// Inputs of the control vector.
    pub control: ControlInputs,
    /// Inputs of the history vector.
    pub history: HistoryInputs,
    /// Inputs that caps and flags use, but no vector.
    pub caps: CapInputs,
    /// Inputs that only flags use.
    pub flags: FlagInputs,
}

/// Inputs of the asset vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetInputs {
    /// How the vault uses deposits.
    pub asset_mode: AssetMode,
    /// The deposit asset; present for a lending vault only.
    #[serde(flatten)]
    pub deposit: Option<DepositInputs>,
    /// Whether the exposures could be read.
    pub exposures_status: Observed<ExposuresStatus>,
    /// The exposures, in the order they were observed.
    pub exposures: Vec<PublishedExposure>,
}

/// The deposit asset of a lending vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DepositInputs {
    /// Published score of the deposit asset, 0 to 10; null if it is unscored.
    pub deposit_score: Observed<Option<MilliPoints>>,
    /// Whether the deposit asset has an active hard-fail flag.
    pub deposit_hard_fail: Observed<bool>,
}

/// An asset or nested vault that the vault holds or lends against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedExposure {
    /// Id of the asset or vault.
    pub id: String,
    /// Share of the vault, as a fraction; 0 and without meaning if `exposures_status` is `shares_unknown`.
    pub share: Ppm,
    /// Published score of the asset, or asset vector of the nested vault; null if unscored.
    pub score: Option<MilliPoints>,
    /// Lowest cap of the asset's active hard-fail flags; null without any.
    pub hard_fail_cap: Option<MilliPoints>,
    /// How the collateral is priced and lent against; present for a lending vault only.
    #[serde(flatten)]
    pub collateral: Option<CollateralTerms>,
}

/// How a collateral is priced and lent against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CollateralTerms {
    /// The price source.
    pub oracle: Oracle,
    /// Liquidation loan-to-value as a fraction; null where nothing is borrowed against the asset.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Decimal>"))]
    #[serde(serialize_with = "basis_points")]
    pub lltv: Option<u32>,
    /// Whether collateral and loan asset track the same reference.
    pub same_peg: bool,
}

/// Inputs of the platform vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlatformInputs {
    /// Age of the deployed version in days.
    pub version_age_days: Observed<Option<u32>>,
    /// Number of audits of the deployed version.
    pub audits: Observed<Option<u32>>,
    /// Age of the newest audit of the deployed version, in days.
    pub newest_audit_days: Observed<Option<u32>>,
    /// Largest live bounty, in whole USD.
    pub bounty_usd: Observed<Option<u64>>,
    /// How the protocol uses funds.
    pub strategy: Observed<Option<Strategy>>,
    /// TVL of the protocol, in whole USD.
    pub protocol_tvl_usd: Observed<Option<u64>>,
    /// Worst tier of the protocols that the protocol depends on: `none`, `unknown` or a tier.
    pub worst_dependency: Observed<WorstDependency>,
    /// Number of protocols that the protocol depends on.
    pub dependencies: Observed<u32>,
}

/// Inputs of the control vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ControlInputs {
    /// Delay of a change in seconds, `immutable`, or null if unknown.
    pub timelock_seconds: Observed<Timelock>,
    /// Who must agree to a change: `{threshold, owners}`, `immutable`, `dao`, `eoa`, or null if unknown.
    pub signers: Observed<Signers>,
    /// How depositors exit.
    pub exit: Observed<Exit>,
    /// Whether the source code of the deployed contracts is published and verified.
    pub source: Observed<Source>,
}

/// Inputs of the history vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryInputs {
    /// Age of the vault in days.
    pub vault_age_days: Observed<Option<u32>>,
    /// The incidents that count against the vault.
    pub incidents: Vec<PublishedIncident>,
    /// Largest fall of the share price from its running peak in 365 days, as a fraction.
    #[cfg_attr(feature = "schema", schemars(with = "Observed<Option<Decimal>>"))]
    #[serde(serialize_with = "observed_basis_points")]
    pub drawdown: Observed<Option<u32>>,
    /// Whether utilization was above 0.95 in every sample of 72 hours.
    pub high_util_72h: Observed<bool>,
    /// Whether TVL is at most half of its value 7 days before.
    pub tvl_halved_7d: Observed<bool>,
}

/// An incident that counts against the vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedIncident {
    /// The severity of the incident.
    pub class: IncidentClass,
    /// Whole days since the incident.
    pub age_days: u32,
    /// Whether the incident is resolved.
    pub resolved: bool,
}

/// Inputs that caps and flags use, but no vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapInputs {
    /// TVL of the vault, in whole USD.
    pub tvl_usd: Observed<Option<u64>>,
    /// Borrowed over supplied, as a fraction; may exceed 1.
    pub utilization: Observed<Option<Ppm>>,
    /// Bad debt over TVL, as a fraction.
    pub bad_debt: Observed<Option<Ppm>>,
    /// Whether a data-quality quarantine is active.
    pub needs_risk_review: Observed<bool>,
}

/// Inputs that only flags use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlagInputs {
    /// Rate without rewards, as a fraction.
    pub base_apr: Observed<Option<Ppm>>,
    /// Net rate, as a fraction.
    pub apr_net: Observed<Option<Ppm>>,
}

impl Inputs {
    /// Pairs every input with its observation.
    pub(super) fn new(input: &VaultInput, observations: &Observations) -> Self {
        let from = Origins(observations);
        let (platform, control, history) = (&input.platform, &input.control, &input.history);
        let lending = input.asset_mode == AssetMode::Lending;
        let deposit = || DepositInputs {
            deposit_score: from.observed(InputField::DepositScore, input.deposit_score),
            deposit_hard_fail: from.observed(InputField::DepositHardFail, input.deposit_hard_fail),
        };
        Inputs {
            asset: AssetInputs {
                asset_mode: input.asset_mode,
                deposit: lending.then(deposit),
                exposures_status: from.observed(InputField::Exposures, input.exposures_status),
                exposures: input.exposures.iter().map(|exposure| published_exposure(exposure, lending)).collect(),
            },
            platform: PlatformInputs {
                version_age_days: from.observed(InputField::VersionAgeDays, platform.version_age_days),
                audits: from.observed(InputField::Audits, platform.audits),
                newest_audit_days: from.observed(InputField::NewestAuditDays, platform.newest_audit_days),
                bounty_usd: from.observed(InputField::BountyUsd, platform.bounty_usd),
                strategy: from.observed(InputField::Strategy, platform.strategy),
                protocol_tvl_usd: from.observed(InputField::ProtocolTvlUsd, platform.protocol_tvl_usd),
                worst_dependency: from.observed(InputField::WorstDependency, platform.worst_dependency),
                dependencies: from.observed(InputField::Dependencies, platform.dependencies),
            },
            control: ControlInputs {
                timelock_seconds: from.observed(InputField::Timelock, control.timelock),
                signers: from.observed(InputField::Signers, control.signers),
                exit: from.observed(InputField::Exit, control.exit),
                source: from.observed(InputField::Source, control.source),
            },
            history: HistoryInputs {
                vault_age_days: from.observed(InputField::VaultAgeDays, history.vault_age_days),
                incidents: history.incidents.iter().map(published_incident).collect(),
                drawdown: from.observed(InputField::Drawdown, history.drawdown_bp),
                high_util_72h: from.observed(InputField::HighUtil72h, history.high_util_72h),
                tvl_halved_7d: from.observed(InputField::TvlHalved7d, history.tvl_halved_7d),
            },
            caps: CapInputs {
                tvl_usd: from.observed(InputField::TvlUsd, input.tvl_usd),
                utilization: from.observed(InputField::Utilization, input.utilization_ppm.map(Ppm)),
                bad_debt: from.observed(InputField::BadDebt, input.bad_debt_ppm.map(Ppm)),
                needs_risk_review: from.observed(InputField::NeedsRiskReview, input.needs_risk_review),
            },
            flags: FlagInputs {
                base_apr: from.observed(InputField::BaseApr, input.base_apr_ppm.map(Ppm)),
                apr_net: from.observed(InputField::AprNet, input.apr_net_ppm.map(Ppm)),
            },
        }
    }
}

struct Origins<'a>(&'a Observations);

impl Origins<'_> {
    fn observed<T>(&self, field: InputField, value: T) -> Observed<T> {
        let observation = self.0.get(&field);
        Observed {
            value,
            source: observation.map(|observation| observation.source.clone()),
            observed_at: observation.map(|observation| observation.observed_at),
            evidence: observation.and_then(|observation| observation.evidence.clone()),
        }
    }
}

fn published_exposure(exposure: &Exposure, lending: bool) -> PublishedExposure {
    let terms = || CollateralTerms { oracle: exposure.oracle, lltv: exposure.lltv_bp, same_peg: exposure.same_peg };
    PublishedExposure {
        id: exposure.id.clone(),
        share: Ppm(exposure.share_ppm.into()),
        score: exposure.score,
        hard_fail_cap: exposure.hard_fail_cap,
        collateral: lending.then(terms),
    }
}

fn published_incident(incident: &Incident) -> PublishedIncident {
    PublishedIncident { class: incident.class, age_days: incident.age_days, resolved: incident.resolved }
}

fn as_fraction(bp: Option<u32>) -> Option<Decimal> {
    bp.map(|bp| Decimal { units: bp.into(), scale: 4 })
}

fn basis_points<S: Serializer>(bp: &Option<u32>, serializer: S) -> Result<S::Ok, S::Error> {
    as_fraction(*bp).serialize(serializer)
}

fn observed_basis_points<S: Serializer>(bp: &Observed<Option<u32>>, serializer: S) -> Result<S::Ok, S::Error> {
    let Observed { value, source, observed_at, evidence } = bp.clone();
    Observed { value: as_fraction(value), source, observed_at, evidence }.serialize(serializer)
}

impl Serialize for WorstDependency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for Timelock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Timelock::Immutable => serializer.serialize_str("immutable"),
            Timelock::Seconds(seconds) => serializer.serialize_u64(*seconds),
            Timelock::Unknown => serializer.serialize_none(),
        }
    }
}

impl Serialize for Signers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Signers::Immutable => serializer.serialize_str("immutable"),
            Signers::Dao => serializer.serialize_str("dao"),
            Signers::Eoa => serializer.serialize_str("eoa"),
            Signers::Multisig { threshold, owners } => {
                let mut quorum = serializer.serialize_map(Some(2))?;
                quorum.serialize_entry("threshold", threshold)?;
                quorum.serialize_entry("owners", owners)?;
                quorum.end()
            }
            Signers::Unknown => serializer.serialize_none(),
        }
    }
}
