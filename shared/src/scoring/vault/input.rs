//! What a vault is scored from. "Unknown" is a value of every input, not an error.

use crate::rules::tiers::Tier;
use crate::scoring::{MilliPoints, named_enum, tables};
use alloc::string::String;
use alloc::vec::Vec;

named_enum! {
    /// What the vault does with deposits.
    pub enum AssetMode {
        /// One deposit asset, lent against collateral.
        Lending = "lending",
        /// Savings, liquidity positions, direct holdings.
        Holdings = "holdings",
    }
}

named_enum! {
    /// Whether the exposures could be read.
    pub enum ExposuresStatus {
        Observed = "observed",
        /// Counts as one exposure of 3.00.
        Unavailable = "unavailable",
    }
}

named_enum! {
    /// Where the price of a collateral comes from.
    pub enum Oracle {
        /// Deviation and heartbeat feed of a decentralised network.
        PushFeed = "push_feed",
        /// Signed, validator-attested push feed.
        AttestedPush = "attested_push",
        /// Price brought by the caller.
        PullFeed = "pull_feed",
        /// Rate read from the token's own contract.
        ExchangeRate = "exchange_rate",
        /// On-chain time-weighted price.
        Twap = "twap",
        /// Hard-coded.
        Fixed = "fixed",
        /// Anything else.
        Custom = "custom",
        Unknown = "unknown",
        /// No price involved: nested vaults, holdings.
        None = "none",
    }
}

/// One thing a vault holds or lends against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposure {
    /// The asset; exposures of one id are merged.
    pub id: String,
    /// Share of the vault, in parts per million.
    pub share_ppm: u32,
    /// Published score of the asset, or the asset vector of a nested vault; null counts at most 3.00.
    pub score: Option<MilliPoints>,
    /// Lowest cap of the asset's active hard-fail flags.
    pub hard_fail_cap: Option<MilliPoints>,
    /// Where its price comes from.
    pub oracle: Oracle,
    /// Liquidation loan-to-value in basis points; null where nothing is borrowed against it.
    pub lltv_bp: Option<u32>,
    /// Collateral and loan track one reference.
    pub same_peg: bool,
}

named_enum! {
    /// What the protocol does with funds.
    pub enum Strategy {
        LendingPool = "lending_pool",
        IsolatedLending = "isolated_lending",
        Savings = "savings",
        CuratedLending = "curated_lending",
        AutoCompound = "auto_compound",
        VaultOfVaults = "vault_of_vaults",
        Leveraged = "leveraged",
        Offchain = "offchain",
    }
}

/// The worst tier among the protocols depended upon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorstDependency {
    /// Depends on no other protocol.
    None,
    /// Dependencies could not be established.
    #[default]
    Unknown,
    /// The worst of them, each by [`platform_sum_tier`](super::platform_sum_tier).
    Known(Tier),
}

impl WorstDependency {
    /// The name in provenance: `none`, `unknown` or the tier.
    pub const fn as_str(self) -> &'static str {
        match self {
            WorstDependency::None => "none",
            WorstDependency::Unknown => "unknown",
            WorstDependency::Known(tier) => tier.as_str(),
        }
    }
}

/// The protocol a vault runs on. The default knows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlatformInput {
    /// Age of the deployed version, not of the brand. Required.
    pub version_age_days: Option<u32>,
    /// Audits of the deployed version. Required.
    pub audits: Option<u32>,
    /// Age of the newest audit that covers the deployed version.
    pub newest_audit_days: Option<u32>,
    /// Greatest live bounty, in whole dollars.
    pub bounty_usd: Option<u64>,
    /// Required.
    pub strategy: Option<Strategy>,
    /// In whole dollars.
    pub protocol_tvl_usd: Option<u64>,
    /// Worst tier among the protocols depended upon.
    pub worst_dependency: WorstDependency,
    /// How many protocols are depended upon.
    pub dependencies: u32,
}

/// How long a change waits before it takes effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timelock {
    /// Nothing can be changed.
    Immutable,
    /// Seconds; 0 is no timelock.
    Seconds(u64),
    /// Not established.
    #[default]
    Unknown,
}

/// Who must agree to a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signers {
    /// Nobody can.
    Immutable,
    /// An on-chain vote.
    Dao,
    /// One externally owned key.
    Eoa,
    /// So many of so many keys.
    Multisig {
        /// Keys that must sign.
        threshold: u32,
        /// Keys there are.
        owners: u32,
    },
    /// Not established.
    #[default]
    Unknown,
}

named_enum! {
    /// How a depositor leaves.
    pub enum Exit {
        Instant = "instant",
        /// A queue of up to seven days.
        Queue7d = "queue_7d",
        QueueLong = "queue_long",
        Gated = "gated",
        /// An administrator can stop it.
        Blockable = "blockable",
        Unknown = "unknown",
    }
}

named_enum! {
    /// Whether the deployed code can be read.
    #[cfg_attr(feature = "schema", schemars(rename = "SourceVerification"))]
    pub enum Source {
        Verified = "verified",
        Partial = "partial",
        None = "none",
        Unknown = "unknown",
    }
}

/// Who can change a vault, and how fast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlInput {
    /// How long a change waits.
    pub timelock: Timelock,
    /// Who must agree to it.
    pub signers: Signers,
    /// How a depositor leaves.
    pub exit: Exit,
    /// Whether the code can be read.
    pub source: Source,
}

impl Default for ControlInput {
    fn default() -> Self {
        ControlInput {
            timelock: Timelock::Unknown,
            signers: Signers::Unknown,
            exit: Exit::Unknown,
            source: Source::Unknown,
        }
    }
}

named_enum! {
    /// How bad an incident was. Recovered means that at least 90 % of the loss came back.
    pub enum IncidentClass {
        MajorUnrecovered = "major_unrecovered",
        MajorRecovered = "major_recovered",
        Minor = "minor",
    }
}

impl IncidentClass {
    /// The class of a major incident, by what was lost and what came back, in millionths of a dollar.
    ///
    /// A loss that is unknown or nothing cannot have been recovered.
    pub fn of_major(loss: Option<u64>, returned: Option<u64>) -> Self {
        let (loss, returned) = (u128::from(loss.unwrap_or(0)), u128::from(returned.unwrap_or(0)));
        if loss > 0 && returned * 1_000_000 >= loss * tables::RECOVERED_FROM_PPM {
            IncidentClass::MajorRecovered
        } else {
            IncidentClass::MajorUnrecovered
        }
    }

    /// Whether incidents of the class cap the score.
    pub const fn is_major(self) -> bool {
        !matches!(self, IncidentClass::Minor)
    }
}

/// A published, unretracted incident that counts for the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incident {
    /// How bad it was.
    pub class: IncidentClass,
    /// Whole days since it happened.
    pub age_days: u32,
    /// Whether it is over.
    pub resolved: bool,
}

/// What has happened to a vault. The default knows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryInput {
    /// Whole days since deployment.
    pub vault_age_days: Option<u32>,
    /// None known is an empty list.
    pub incidents: Vec<Incident>,
    /// Greatest fall of the share price from its running peak in 365 days, in basis points.
    pub drawdown_bp: Option<u32>,
    /// Utilization above 0.95 in every sample of 72 hours.
    pub high_util_72h: bool,
    /// TVL at or under half of what it was 7 days before.
    pub tvl_halved_7d: bool,
}

/// Everything a vault's score depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultInput {
    /// What it does with deposits.
    pub asset_mode: AssetMode,
    /// Published score of the deposit asset; required when lending.
    pub deposit_score: Option<MilliPoints>,
    /// Whether the deposit asset has an active hard-fail flag.
    pub deposit_hard_fail: bool,
    /// Whether the exposures could be read.
    pub exposures_status: ExposuresStatus,
    /// In any order.
    pub exposures: Vec<Exposure>,
    /// The protocol.
    pub platform: PlatformInput,
    /// Who can change it.
    pub control: ControlInput,
    /// What has happened.
    pub history: HistoryInput,
    /// Whole dollars; unknown counts 0.
    pub tvl_usd: Option<u64>,
    /// Raw utilization, may exceed one; parts per million.
    pub utilization_ppm: Option<i64>,
    /// Bad debt over TVL; parts per million.
    pub bad_debt_ppm: Option<i64>,
    /// A data-quality quarantine is active.
    pub needs_risk_review: bool,
    /// Rate without rewards; parts per million. Only flags read it.
    pub base_apr_ppm: Option<i64>,
    /// Net rate; parts per million. Only flags read it.
    pub apr_net_ppm: Option<i64>,
}

impl VaultInput {
    /// A vault of which nothing else is known.
    pub fn new(asset_mode: AssetMode) -> Self {
        VaultInput {
            asset_mode,
            deposit_score: None,
            deposit_hard_fail: false,
            exposures_status: ExposuresStatus::Observed,
            exposures: Vec::new(),
            platform: PlatformInput::default(),
            control: ControlInput::default(),
            history: HistoryInput::default(),
            tvl_usd: None,
            utilization_ppm: None,
            bad_debt_ppm: None,
            needs_risk_review: false,
            base_apr_ppm: None,
            apr_net_ppm: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::IncidentClass;

    #[test]
    fn an_incident_is_recovered_from_ninety_percent_of_a_known_loss() {
        let recovered = |loss, returned| IncidentClass::of_major(loss, returned) == IncidentClass::MajorRecovered;
        assert!(recovered(Some(1_000), Some(900)) && !recovered(Some(1_000), Some(899)));
        assert!(!recovered(None, Some(900)) && !recovered(Some(0), Some(0)) && !recovered(Some(1), None));
    }
}
