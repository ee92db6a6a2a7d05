//! Vaults: identity and control, state, rewards, exposures.

use super::At;
use super::fact::{Fact, observations};
use super::reading::ReadField;
use super::{Share, Signing};
use rds_shared::model::status::{BorrowStatus, DepositStatus, RewardSide, RewardType, WithdrawStatus};
use rds_shared::scoring::provenance::ChainEvidence;
use rds_shared::scoring::rubric::SourceKind;
use rds_shared::scoring::vault::{AssetMode, Exit, ExposureRule, ExposuresStatus, Oracle, Source, Strategy};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

fn exit_unknown() -> Exit {
    Exit::Unknown
}

fn source_unknown() -> Source {
    Source::Unknown
}

fn borrow_unknown() -> BorrowStatus {
    BorrowStatus::Unknown
}

fn deposit_unknown() -> DepositStatus {
    DepositStatus::Unknown
}

fn withdraw_unknown() -> WithdrawStatus {
    WithdrawStatus::Unknown
}

fn no_oracle() -> Oracle {
    Oracle::None
}

/// Whether the vault's borrower reward campaigns were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IncentivesStatus {
    /// The source answered; its campaigns are `reward` observations.
    Checked,
    /// The source did not answer, or was not queried.
    #[default]
    Unavailable,
    /// The vault has no borrower side.
    NotApplicable,
}

impl std::str::FromStr for IncentivesStatus {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        match word {
            "checked" => Ok(IncentivesStatus::Checked),
            "unavailable" => Ok(IncentivesStatus::Unavailable),
            "not_applicable" => Ok(IncentivesStatus::NotApplicable),
            _ => Err(()),
        }
    }
}

observations! {
    /// Identity and control of a vault.
    Vault in "vault" by [id] {
        /// `{protocol_id}-{chain_id}-{address}`; computed, not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        id: String,
        /// Slug of the protocol; a known protocol.
        protocol_id: String,
        /// Id of the chain; a known chain.
        chain_id: i64,
        /// Contract of the share token.
        address: String,
        /// The vault's own name.
        name: String,
        /// Symbol of the share token.
        symbol: Option<String>,
        /// Symbol of the deposit asset.
        asset_symbol: Option<String>,
        /// Contract of the deposit asset.
        asset_address: Option<String>,
        /// Decimals of the deposit asset.
        asset_decimals: Option<u32>,
        /// Slug of the curator; a known curator.
        curator_id: Option<String>,
        /// How the vault uses deposits; defaults to the protocol's strategy.
        strategy: Option<Strategy>,
        /// Whether the vault lends one asset against collateral, or holds assets.
        asset_mode: AssetMode,
        /// When the contract was made.
        deployed_at: Option<At>,
        /// First activity seen: a lower bound of the age, used if the deployment time is unknown.
        first_seen_at: Option<At>,
        /// True if no key can change the contract; timelock and signers are then immutable too.
        is_immutable: Option<bool>,
        /// Timelock: seconds between the decision on a change and its execution; 0 means no timelock.
        timelock_seconds: Option<u64>,
        /// `immutable`, `dao`, `eoa` or `{"threshold": n, "owners": m}`.
        signers: Option<Signing>,
        /// How a depositor can leave.
        #[serde(default = "exit_unknown")]
        exit: Exit,
        /// Whether the source of the deployed code is available.
        #[serde(default = "source_unknown")]
        source_code: Source,
        /// False once the vault no longer exists.
        #[serde(default = "super::yes")]
        is_active: bool,
        /// True if its contracts report a shutdown.
        #[serde(default)]
        is_shutdown: bool,
        /// True if it holds a stablecoin.
        #[serde(default)]
        is_stablecoin: bool,
        /// True if it holds a liquid staking derivative.
        #[serde(default)]
        is_lsd: bool,
        /// True if it is exposed to one asset only.
        #[serde(default)]
        single_exposure: bool,
        /// True if it bears no impermanent loss.
        #[serde(default)]
        no_il: bool,
        /// Annual fee, as a fraction.
        management_fee: Option<f64>,
        /// Fee on gains, as a fraction.
        performance_fee: Option<f64>,
        /// The source's own tags.
        #[serde(default)]
        tags: Vec<String>,
        /// Warnings of the source.
        #[serde(default)]
        flags: Vec<String>,
        /// Basis of a derived value, by field name; shown as the source in provenance.
        #[serde(default)]
        evidence: BTreeMap<String, String>,
    }

    /// A vault at one instant. Every observation stays in the history; the newest is the current state. Null means "not observed".
    VaultState in "vault_state" by [vault_id] {
        /// Id of the vault; a known vault.
        vault_id: String,
        /// Supplied value; null if it was not read or has no price.
        tvl_usd: Option<f64>,
        /// Supplied amount, in whole units of the deposit asset.
        tvl_native: Option<f64>,
        /// Annual interest net of the protocol's fee, as a fraction.
        base_apr: Option<f64>,
        /// Borrowed divided by supplied; may exceed 1.
        utilization: Option<f64>,
        /// Gross annual borrow rate, as a fraction.
        borrow_apr: Option<f64>,
        /// Value lent out.
        active_loans_usd: Option<f64>,
        /// Whether the vault's asset can be borrowed.
        #[serde(default = "borrow_unknown")]
        borrow_status: BorrowStatus,
        /// Whether the vault's borrower reward campaigns could be read.
        #[serde(default)]
        incentives: IncentivesStatus,
        /// Whether deposits are accepted.
        #[serde(default = "deposit_unknown")]
        deposit_status: DepositStatus,
        /// Whether withdrawals are possible.
        #[serde(default = "withdraw_unknown")]
        withdraw_status: WithdrawStatus,
        /// Remaining deposit capacity.
        deposit_capacity_usd: Option<f64>,
        /// Amount of the deposit asset per share, both in whole units.
        price_per_share: Option<f64>,
        /// Unrecoverable debt.
        bad_debt_usd: Option<f64>,
        /// Whether the data is quarantined for poor quality.
        #[serde(default)]
        needs_risk_review: bool,
    }

    /// State of one campaign from `observed_at` on. A campaign that ended is observed with `active` false.
    Reward in "reward" by [vault_id, source, campaign_id, side, observed_at] {
        /// Id of the vault; a known vault.
        vault_id: String,
        /// The source's id of the campaign.
        campaign_id: String,
        /// Whether suppliers or borrowers are paid.
        side: RewardSide,
        /// Kind of reward.
        reward_type: RewardType,
        /// Symbol of the paid token.
        token_symbol: Option<String>,
        /// Contract of the paid token.
        token_address: Option<String>,
        /// Annual rate as a fraction; 0 for points, null without a price.
        apr: Option<f64>,
        /// Link to a page on which the data can be verified.
        source_url: Option<String>,
        /// Whether the campaign still runs.
        #[serde(default = "super::yes")]
        active: bool,
    }

    /// All assets that a vault holds or lends against, in one observation, so that the set is always complete.
    Exposure in "exposure" by [vault_id] {
        /// Id of the vault; a known vault.
        vault_id: String,
        /// `unavailable` has no parts and counts as one exposure with a score of 3.00; `shares_unknown` has parts with a share of 0.
        status: ExposuresStatus,
        /// The assets and nested vaults; their shares sum to at most 1.
        #[serde(default)]
        parts: Vec<ExposurePart>,
        /// How the exposures were derived; absent for exposures that were read, so that these serialise as they did before the field
        /// existed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        basis: Option<ExposureBasis>,
        /// Where the exposures were read on a chain; absent for exposures that a source stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<ChainEvidence>,
    }
}

impl VaultState {
    /// A state in which nothing is known.
    pub fn unknown(vault_id: &str, source: &str, observed_at: At) -> Self {
        VaultState {
            kind: super::fact::Kind,
            observed_at,
            source: source.to_owned(),
            vault_id: vault_id.to_owned(),
            tvl_usd: None,
            tvl_native: None,
            base_apr: None,
            utilization: None,
            borrow_apr: None,
            active_loans_usd: None,
            borrow_status: borrow_unknown(),
            incentives: IncentivesStatus::default(),
            deposit_status: deposit_unknown(),
            withdraw_status: withdraw_unknown(),
            deposit_capacity_usd: None,
            price_per_share: None,
            bad_debt_usd: None,
            needs_risk_review: false,
        }
    }

    /// Sets the column that was read. A value of another type, and a column of another table, change nothing.
    pub fn set(&mut self, field: ReadField, value: &Value) {
        match field {
            ReadField::TvlUsd => self.tvl_usd = value.as_f64(),
            ReadField::TvlNative => self.tvl_native = value.as_f64(),
            ReadField::PricePerShare => self.price_per_share = value.as_f64(),
            ReadField::DepositCapacityUsd => self.deposit_capacity_usd = value.as_f64(),
            ReadField::Utilization => self.utilization = value.as_f64(),
            ReadField::BaseApr => self.base_apr = value.as_f64(),
            ReadField::BorrowApr => self.borrow_apr = value.as_f64(),
            ReadField::ActiveLoansUsd => self.active_loans_usd = value.as_f64(),
            ReadField::BadDebtUsd => self.bad_debt_usd = value.as_f64(),
            ReadField::NeedsRiskReview => self.needs_risk_review = value.as_bool().unwrap_or_default(),
            ReadField::DepositStatus => {
                self.deposit_status = Deserialize::deserialize(value).unwrap_or(self.deposit_status);
            }
            ReadField::WithdrawStatus => {
                self.withdraw_status = Deserialize::deserialize(value).unwrap_or(self.withdraw_status);
            }
            ReadField::BorrowStatus => {
                self.borrow_status = Deserialize::deserialize(value).unwrap_or(self.borrow_status);
            }
            ReadField::DeployedAt
            | ReadField::IsImmutable
            | ReadField::TimelockSeconds
            | ReadField::Signers
            | ReadField::IsShutdown
            | ReadField::Exit => {}
        }
    }
}

/// The rule by which exposures were derived, and the source of the facts it used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExposureBasis {
    /// The rule.
    pub rule: ExposureRule,
    /// Title of the source.
    pub source_title: String,
    /// Link to the source.
    pub source_url: String,
    /// Kind of source.
    pub source_kind: SourceKind,
}

/// A vault state as a row of the history.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(transparent)]
pub struct Snapshot<'a>(pub &'a VaultState);

impl Fact for Snapshot<'_> {
    const TABLE: &'static str = "vault_snapshot";
    const KEY: &'static [&'static str] = &["vault_id", "observed_at"];
    const COLUMNS: &'static [&'static str] = &[
        "vault_id",
        "observed_at",
        "tvl_usd",
        "base_apr",
        "utilization",
        "borrow_apr",
        "incentives",
        "price_per_share",
    ];

    fn observed_at(&self) -> At {
        self.0.observed_at
    }

    fn key(&self) -> String {
        format!("{}|{}", self.0.vault_id, self.0.observed_at.0.as_micros())
    }
}

/// One asset or nested vault that a vault holds or lends against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExposurePart {
    /// The asset; null for a nested vault.
    pub asset_id: Option<String>,
    /// The nested vault; null for an asset.
    pub vault_id: Option<String>,
    /// Part of the vault's value, as a fraction.
    pub share: Share,
    /// Kind of source from which the price of the asset comes.
    #[serde(default = "no_oracle")]
    pub oracle: Oracle,
    /// Liquidation loan-to-value, as a fraction.
    pub lltv: Option<f64>,
    /// Whether collateral and loan asset are pegged to the same reference.
    #[serde(default)]
    pub same_peg: bool,
    // Empty lists are omitted, so that an exposure without them serialises as it did before these fields existed.
    /// Tokens that wrap the asset in this vault, as `{chain_id}:{address}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrappers: Vec<String>,
    /// Price feeds used by this vault, as `{chain_id}:{address}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub oracles: Vec<String>,
    /// Bridges through which the asset came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bridges: Vec<PartBridge>,
}

impl ExposurePart {
    /// A part of which only the subject and the share are known.
    pub fn plain(asset_id: Option<String>, vault_id: Option<String>, share: Share) -> Self {
        ExposurePart {
            asset_id,
            vault_id,
            share,
            oracle: no_oracle(),
            lltv: None,
            same_peg: false,
            wrappers: Vec::new(),
            oracles: Vec::new(),
            bridges: Vec::new(),
        }
    }
}

/// A bridge through which part of a vault's assets came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PartBridge {
    /// Id of the bridge's mapping, if there is one; otherwise the id that the source uses for the bridge.
    pub id: String,
    /// Whether a source confirms the bridge; if false, it is provisional.
    pub verified: bool,
    /// Confidence, as a fraction.
    pub confidence: Share,
}
