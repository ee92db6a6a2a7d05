//! The inputs of a vault's score. An unknown input is a valid value, not an error.

use crate::rules::tiers::Tier;
use crate::scoring::{MilliPoints, named_enum, tables};
use alloc::string::String;
use alloc::vec::Vec;

named_enum! {
    /// How a vault uses deposits.
    pub enum AssetMode {
        /// The vault lends one deposit asset against collateral.
        Lending = "lending",
        /// The vault holds assets: savings, liquidity positions, direct holdings.
        Holdings = "holdings",
    }
}

named_enum! {
    /// Whether the exposures could be read.
    pub enum ExposuresStatus {
        /// The exposures were read.
        Observed = "observed",
        /// All members are known, but not their shares; they count as one exposure with the points of the weakest member, at least 3.00.
        SharesUnknown = "shares_unknown",
        /// The exposures could not be read; they count as one exposure of 3.00 points.
        Unavailable = "unavailable",
    }
}

named_enum! {
    /// Where the price of a collateral comes from.
    pub enum Oracle {
        /// A feed of a decentralised network, updated on deviation and heartbeat.
        PushFeed = "push_feed",
        /// A signed push feed attested by validators.
        AttestedPush = "attested_push",
        /// The caller supplies the price.
        PullFeed = "pull_feed",
        /// The exchange rate is read from the token's own contract.
        ExchangeRate = "exchange_rate",
        /// An on-chain time-weighted average price.
        Twap = "twap",
        /// A hard-coded price.
        Fixed = "fixed",
        /// Any other price source.
        Custom = "custom",
        /// The price source is not known.
        Unknown = "unknown",
        /// No price is needed: nested vaults, holdings.
        None = "none",
    }
}

named_enum! {
    /// The rule by which exposures were derived from facts about the vault, instead of being read.
    pub enum ExposureRule {
        /// One isolated market, whose name states the collateral.
        IsolatedMarket = "isolated_market",
        /// Two isolated markets of one pair lend against each other and nothing else.
        IsolatedPair = "isolated_pair",
        /// A wrapper of one vault, which its name, chain and asset identify.
        WrappedVault = "wrapped_vault",
        /// The deposit asset is itself a vault share.
        DepositShare = "deposit_share",
        /// A vault that names one asset and does not lend.
        SingleAsset = "single_asset",
        /// A constant-product pool holds both of its assets at equal value.
        ConstantProduct = "constant_product",
        /// The assets of a pool are named; their shares change with every trade.
        PoolMembers = "pool_members",
        /// The debt of each strategy, as published.
        StrategyDebt = "strategy_debt",
        /// The supply to each market, as read.
        MarketSupply = "market_supply",
    }
}

impl ExposureRule {
    /// Whether the exposures go out of date. Those that a contract fixes do not.
    pub const fn ages(self) -> bool {
        matches!(self, ExposureRule::StrategyDebt | ExposureRule::MarketSupply)
    }

    /// Whether exposures of this age, in seconds, no longer count.
    pub const fn is_outdated(self, age_seconds: i64) -> bool {
        self.ages() && age_seconds > tables::EXPOSURE_CADENCE_SECONDS * tables::rubric::EXPIRES_AFTER_CADENCES
    }

    /// What the rule concludes from which facts.
    pub const fn statement(self) -> &'static str {
        match self {
            ExposureRule::IsolatedMarket => {
                "An isolated lending market has the one collateral that its contract's name states: share 1, oracle twap."
            }
            ExposureRule::IsolatedPair => {
                "The two markets of one isolated pair on one chain lend against each other and nothing else: share 1, oracle unknown."
            }
            ExposureRule::WrappedVault => {
                "A wrapper holds the one vault that its name, its chain and its deposit asset identify: share 1, no oracle."
            }
            ExposureRule::DepositShare => {
                "A vault whose deposit asset is a vault share holds that vault: share 1, no oracle."
            }
            ExposureRule::SingleAsset => "A vault that names one asset and does not lend holds that asset: share 1.",
            ExposureRule::ConstantProduct => {
                "A constant-product pool of two assets with different price references holds both at equal value: share 0.5 each."
            }
            ExposureRule::PoolMembers => {
                "A concentrated, stable or weighted pool holds the assets that it names, and no others; their shares are unknown."
            }
            ExposureRule::StrategyDebt => {
                "A vault of vaults holds what it lent to each of its strategies, as published."
            }
            ExposureRule::MarketSupply => {
                "A curated vault holds what it supplied to each of its markets, as read at a block."
            }
        }
    }
}

/// An asset or nested vault that a vault holds or lends against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposure {
    /// The asset's id; exposures with the same id are merged.
    pub id: String,
    /// Share of the vault, in parts per million; 0 and without meaning if shares are unknown.
    pub share_ppm: u32,
    /// Published score of the asset, or the asset vector of a nested vault; null counts at most 3.00.
    pub score: Option<MilliPoints>,
    /// Lowest cap of the asset's active hard-fail flags.
    pub hard_fail_cap: Option<MilliPoints>,
    pub oracle: Oracle,
    /// Liquidation loan-to-value in basis points; null where nothing is borrowed against the asset.
    pub lltv_bp: Option<u32>,
    /// Whether collateral and loan asset track the same reference.
    pub same_peg: bool,
}

named_enum! {
    /// How the protocol uses funds.
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

/// The worst tier of the protocols on which the vault's protocol depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorstDependency {
    /// The protocol depends on no other protocol.
    None,
    /// The dependencies could not be determined.
    #[default]
    Unknown,
    /// The worst tier of the dependencies, each rated by [`platform_sum_tier`](super::platform_sum_tier).
    Known(Tier),
}

impl WorstDependency {
    /// The value in `score_provenance`: `none`, `unknown` or the tier.
    pub const fn as_str(self) -> &'static str {
        match self {
            WorstDependency::None => "none",
            WorstDependency::Unknown => "unknown",
            WorstDependency::Known(tier) => tier.as_str(),
        }
    }
}

/// Inputs of the platform vector. By default every input is unknown; a vault is unscored while a required input is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlatformInput {
    /// Age in days of the deployed version, not of the protocol. Required.
    pub version_age_days: Option<u32>,
    /// Number of audits of the deployed version. Required.
    pub audits: Option<u32>,
    /// Age in days of the newest audit that covers the deployed version.
    pub newest_audit_days: Option<u32>,
    /// Largest live bounty, in whole dollars.
    pub bounty_usd: Option<u64>,
    /// How the protocol uses funds. Required.
    pub strategy: Option<Strategy>,
    /// TVL of the protocol, in whole dollars.
    pub protocol_tvl_usd: Option<u64>,
    pub worst_dependency: WorstDependency,
    /// Number of protocols that this protocol depends on.
    pub dependencies: u32,
}

/// How long a change waits before it takes effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timelock {
    /// Nothing can be changed.
    Immutable,
    /// Delay in seconds; 0 is no timelock.
    Seconds(u64),
    /// The delay could not be determined.
    #[default]
    Unknown,
}

/// Who must agree to a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signers {
    /// Nobody can change the vault.
    Immutable,
    /// An on-chain vote.
    Dao,
    /// One externally owned key.
    Eoa,
    /// `threshold` of `owners` keys must sign.
    Multisig { threshold: u32, owners: u32 },
    /// The signers could not be determined.
    #[default]
    Unknown,
}

named_enum! {
    /// How depositors exit a vault.
    pub enum Exit {
        /// Withdrawals are executed at once.
        Instant = "instant",
        /// Withdrawals wait in a queue for at most seven days.
        Queue7d = "queue_7d",
        /// Withdrawals wait in a queue for more than seven days.
        QueueLong = "queue_long",
        Gated = "gated",
        /// An administrator can stop withdrawals.
        Blockable = "blockable",
        /// The exit terms are not known.
        Unknown = "unknown",
    }
}

named_enum! {
    /// Whether the source code of the deployed contracts is published and verified.
    #[cfg_attr(feature = "schema", schemars(rename = "SourceVerification"))]
    pub enum Source {
        Verified = "verified",
        Partial = "partial",
        None = "none",
        Unknown = "unknown",
    }
}

/// Inputs of the control vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlInput {
    pub timelock: Timelock,
    pub signers: Signers,
    pub exit: Exit,
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
    /// The severity of an incident. Recovered means that at least 90 % of the loss was returned.
    pub enum IncidentClass {
        MajorUnrecovered = "major_unrecovered",
        MajorRecovered = "major_recovered",
        Minor = "minor",
    }
}

impl IncidentClass {
    /// The class of a major incident, by the loss and the returned amount in millionths of a dollar.
    ///
    /// With an unknown loss, or a loss of 0, the incident counts as unrecovered.
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

/// A published, unretracted incident that counts against the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incident {
    pub class: IncidentClass,
    /// Whole days since the incident.
    pub age_days: u32,
    pub resolved: bool,
}

/// Inputs of the history vector. By default every input is unknown and there are no incidents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryInput {
    /// Whole days since deployment.
    pub vault_age_days: Option<u32>,
    /// Incidents that count against the vault; empty if none is known.
    pub incidents: Vec<Incident>,
    /// Largest fall of the share price from its running peak in 365 days, in basis points.
    pub drawdown_bp: Option<u32>,
    /// Whether utilization was above 0.95 in every sample of the last 72 hours.
    pub high_util_72h: bool,
    /// Whether TVL is at most half of its value 7 days before.
    pub tvl_halved_7d: bool,
}

/// Everything a vault's score depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultInput {
    pub asset_mode: AssetMode,
    /// Published score of the deposit asset; required when lending.
    pub deposit_score: Option<MilliPoints>,
    /// Whether the deposit asset has an active hard-fail flag.
    pub deposit_hard_fail: bool,
    pub exposures_status: ExposuresStatus,
    /// The exposures, in any order.
    pub exposures: Vec<Exposure>,
    pub platform: PlatformInput,
    pub control: ControlInput,
    pub history: HistoryInput,
    /// TVL in whole dollars; an unknown TVL counts as 0.
    pub tvl_usd: Option<u64>,
    /// Utilization in parts per million; may exceed one.
    pub utilization_ppm: Option<i64>,
    /// Bad debt over TVL, in parts per million.
    pub bad_debt_ppm: Option<i64>,
    /// Whether a data-quality quarantine is active.
    pub needs_risk_review: bool,
    /// Rate without rewards; parts per million. Only flags read it.
    pub base_apr_ppm: Option<i64>,
    /// Net rate; parts per million. Only flags read it.
    pub apr_net_ppm: Option<i64>,
}

impl VaultInput {
    /// A vault of this mode whose other inputs are all unknown.
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
    fn an_incident_is_recovered_when_ninety_percent_of_a_known_loss_was_returned() {
        let recovered = |loss, returned| IncidentClass::of_major(loss, returned) == IncidentClass::MajorRecovered;
        assert!(recovered(Some(1_000), Some(900)) && !recovered(Some(1_000), Some(899)));
        assert!(!recovered(None, Some(900)) && !recovered(Some(0), Some(0)) && !recovered(Some(1), None));
    }
}
