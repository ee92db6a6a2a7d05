//! The inputs of a vault's score as they are published: each with its value, its source and when it was observed.
//!
//! Shares, rates and drawdown are fractions, dollars whole, ages whole days or seconds. An unknown value is null, or
//! `unknown` where the vocabulary has that word.

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

/// Where an input came from, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// For example the adapter, or the reviewer.
    pub source: String,
    /// When it was true.
    pub observed_at: Timestamp,
}

/// What is known about the origin of each input; an input without an entry is published with nulls.
pub type Observations = BTreeMap<InputField, Observation>;

/// An input that has an observation of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "named as the inputs they stand for")]
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
    /// What was used.
    pub value: T,
    /// Where it came from.
    pub source: Option<String>,
    /// When it was true.
    pub observed_at: Option<Timestamp>,
}

/// Everything a vault's score depends on, grouped as the methodology groups it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ScoreInputs"))]
pub struct Inputs {
    /// What it holds or lends against.
    pub asset: AssetInputs,
    /// The protocol.
    pub platform: PlatformInputs,
    /// Who can change it.
    pub control: ControlInputs,
    /// What has happened.
    pub history: HistoryInputs,
    /// What only caps read.
    pub caps: CapInputs,
    /// What only flags read.
    pub flags: FlagInputs,
}

/// Inputs of the asset vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetInputs {
    /// Lending or holdings.
    pub asset_mode: AssetMode,
    /// The deposit asset; only when lending, for nothing else reads it.
    #[serde(flatten)]
    pub deposit: Option<DepositInputs>,
    /// Whether the exposures could be read.
    pub exposures_status: Observed<ExposuresStatus>,
    /// In the order they were observed.
    pub exposures: Vec<PublishedExposure>,
}

/// The asset a lending vault takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DepositInputs {
    /// Its published score.
    pub deposit_score: Observed<Option<MilliPoints>>,
    /// Whether it has an active hard-fail flag.
    pub deposit_hard_fail: Observed<bool>,
}

/// One exposure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedExposure {
    /// The asset.
    pub id: String,
    /// Fraction of the vault.
    pub share: Ppm,
    /// Published score of the asset.
    pub score: Option<MilliPoints>,
    /// Lowest cap of its active hard-fail flags.
    pub hard_fail_cap: Option<MilliPoints>,
    /// How it is priced; only when lending.
    #[serde(flatten)]
    pub collateral: Option<CollateralTerms>,
}

/// How a collateral is priced and lent against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CollateralTerms {
    /// Where the price comes from.
    pub oracle: Oracle,
    /// Liquidation loan-to-value as a fraction.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Decimal>"))]
    #[serde(serialize_with = "basis_points")]
    pub lltv: Option<u32>,
    /// Collateral and loan track one reference.
    pub same_peg: bool,
}

/// Inputs of the platform vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlatformInputs {
    /// Age of the deployed version in days.
    pub version_age_days: Observed<Option<u32>>,
    /// Audits of the deployed version.
    pub audits: Observed<Option<u32>>,
    /// Age of the newest of them in days.
    pub newest_audit_days: Observed<Option<u32>>,
    /// Greatest live bounty, in whole USD.
    pub bounty_usd: Observed<Option<u64>>,
    /// What the protocol does with funds.
    pub strategy: Observed<Option<Strategy>>,
    /// Value of the protocol, in whole USD.
    pub protocol_tvl_usd: Observed<Option<u64>>,
    /// `none`, `unknown` or a tier.
    pub worst_dependency: Observed<WorstDependency>,
    /// How many protocols are depended upon.
    pub dependencies: Observed<u32>,
}

/// Inputs of the control vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ControlInputs {
    /// Seconds, `immutable`, or null.
    pub timelock_seconds: Observed<Timelock>,
    /// `{threshold, owners}`, `immutable`, `dao`, `eoa`, or null.
    pub signers: Observed<Signers>,
    /// How a depositor leaves.
    pub exit: Observed<Exit>,
    /// Whether the deployed code can be read.
    pub source: Observed<Source>,
}

/// Inputs of the history vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryInputs {
    /// Age of the vault in days.
    pub vault_age_days: Observed<Option<u32>>,
    /// Incidents that counted.
    pub incidents: Vec<PublishedIncident>,
    /// A fraction.
    #[cfg_attr(feature = "schema", schemars(with = "Observed<Option<Decimal>>"))]
    #[serde(serialize_with = "observed_basis_points")]
    pub drawdown: Observed<Option<u32>>,
    /// Whether utilization was high for three days.
    pub high_util_72h: Observed<bool>,
    /// Whether half of the value left within a week.
    pub tvl_halved_7d: Observed<bool>,
}

/// An incident that counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedIncident {
    /// How bad it was.
    pub class: IncidentClass,
    /// Whole days since it happened.
    pub age_days: u32,
    /// Whether it is over.
    pub resolved: bool,
}

/// What only caps read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapInputs {
    /// Value of the vault, in whole USD.
    pub tvl_usd: Observed<Option<u64>>,
    /// Borrowed over supplied.
    pub utilization: Observed<Option<Ppm>>,
    /// Bad debt over supplied.
    pub bad_debt: Observed<Option<Ppm>>,
    /// Whether a data-quality quarantine is active.
    pub needs_risk_review: Observed<bool>,
}

/// What only flags read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlagInputs {
    /// The part of the rate that is interest.
    pub base_apr: Observed<Option<Ppm>>,
    /// The whole net rate.
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
    let Observed { value, source, observed_at } = bp.clone();
    Observed { value: as_fraction(value), source, observed_at }.serialize(serializer)
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
