//! Vaults: identity and control, state, rewards, exposures.

use super::At;
use super::fact::{Fact, observations};
use super::{Share, Signing};
use rds_shared::model::status::{BorrowStatus, DepositStatus, RewardSide, RewardType, WithdrawStatus};
use rds_shared::scoring::vault::{AssetMode, Exit, ExposuresStatus, Oracle, Source, Strategy};
use serde::{Deserialize, Serialize};
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

/// What one look at the source of borrower campaigns found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncentivesStatus {
    /// It answered; the campaigns are `reward` observations.
    Checked,
    /// It did not answer, or was not asked.
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
    /// What a vault is and who controls it.
    Vault in "vault" by [id] {
        /// `{protocol_id}-{chain_id}-{address}`; made here, never read.
        #[serde(default, skip_deserializing)]
        id: String,
        /// Protocol.
        protocol_id: String,
        /// Chain.
        chain_id: i64,
        /// The share token.
        address: String,
        /// Its own name.
        name: String,
        /// The share token's symbol.
        symbol: Option<String>,
        /// Deposit asset.
        asset_symbol: Option<String>,
        /// Deposit asset's contract.
        asset_address: Option<String>,
        /// Its decimals.
        asset_decimals: Option<u32>,
        /// Curator.
        curator_id: Option<String>,
        /// What it does with deposits; the protocol's strategy when absent.
        strategy: Option<Strategy>,
        /// Lends one asset against collateral, or holds assets.
        asset_mode: AssetMode,
        /// When it was deployed.
        deployed_at: Option<At>,
        /// The first activity seen: a lower bound of its age, used when the deployment is unknown.
        first_seen_at: Option<At>,
        /// True when no key can change it; then timelock and signers are immutable too.
        is_immutable: Option<bool>,
        /// How long a change waits; 0 is no timelock.
        timelock_seconds: Option<u64>,
        /// `immutable`, `dao`, `eoa` or `{"threshold": n, "owners": m}`.
        signers: Option<Signing>,
        /// How a depositor leaves.
        #[serde(default = "exit_unknown")]
        exit: Exit,
        /// Whether the deployed code can be read.
        #[serde(default = "source_unknown")]
        source_code: Source,
        /// False once it is gone.
        #[serde(default = "super::yes")]
        is_active: bool,
        /// True when its contracts say so.
        #[serde(default)]
        is_shutdown: bool,
        /// Holds a stablecoin.
        #[serde(default)]
        is_stablecoin: bool,
        /// Holds a staking derivative.
        #[serde(default)]
        is_lsd: bool,
        /// Exposed to one asset only.
        #[serde(default)]
        single_exposure: bool,
        /// Bears no impermanent loss.
        #[serde(default)]
        no_il: bool,
        /// A year, as a fraction.
        management_fee: Option<f64>,
        /// Of gains, as a fraction.
        performance_fee: Option<f64>,
        /// What the source calls it.
        #[serde(default)]
        tags: Vec<String>,
        /// What the source warns of.
        #[serde(default)]
        flags: Vec<String>,
        /// What a value above was derived from, by field; shown as the source in provenance.
        #[serde(default)]
        evidence: BTreeMap<String, String>,
    }

    /// A vault at one instant. Every reading stays in the history; the newest is the vault's state. Null is "not observed".
    VaultState in "vault_state" by [vault_id] {
        /// The vault.
        vault_id: String,
        /// Supplied value; null when it was not read or has no price.
        tvl_usd: Option<f64>,
        /// Supplied, in whole units of the deposit asset.
        tvl_native: Option<f64>,
        /// Interest net of the protocol's fee.
        base_apr: Option<f64>,
        /// Borrowed over supplied; may exceed 1.
        utilization: Option<f64>,
        /// Gross borrow quote.
        borrow_apr: Option<f64>,
        /// Value lent out.
        active_loans_usd: Option<f64>,
        /// Whether the market lends.
        #[serde(default = "borrow_unknown")]
        borrow_status: BorrowStatus,
        /// What is known of borrower campaigns.
        #[serde(default)]
        incentives: IncentivesStatus,
        /// Whether deposits are accepted.
        #[serde(default = "deposit_unknown")]
        deposit_status: DepositStatus,
        /// Whether withdrawals are served.
        #[serde(default = "withdraw_unknown")]
        withdraw_status: WithdrawStatus,
        /// Room for deposits.
        deposit_capacity_usd: Option<f64>,
        /// Assets a share is worth.
        price_per_share: Option<f64>,
        /// Owed and not recoverable.
        bad_debt_usd: Option<f64>,
        /// A data-quality quarantine is active.
        #[serde(default)]
        needs_risk_review: bool,
    }

    /// One campaign as it stands from `observed_at` on. A campaign that ended is observed with `active` false.
    Reward in "reward" by [vault_id, source, campaign_id, side, observed_at] {
        /// The vault.
        vault_id: String,
        /// The source's id of the campaign.
        campaign_id: String,
        /// Who is paid.
        side: RewardSide,
        /// What kind of campaign.
        reward_type: RewardType,
        /// The token paid.
        token_symbol: Option<String>,
        /// The token's contract.
        token_address: Option<String>,
        /// As a fraction; 0 for points, null without a price.
        apr: Option<f64>,
        /// Where it can be checked.
        source_url: Option<String>,
        /// Whether it still runs.
        #[serde(default = "super::yes")]
        active: bool,
    }

    /// Everything a vault holds or lends against, in one observation, so that it is never half known.
    Exposure in "exposure" by [vault_id] {
        /// The vault.
        vault_id: String,
        /// `unavailable` counts as one exposure of 3.00 and has no parts.
        status: ExposuresStatus,
        /// What it holds.
        #[serde(default)]
        parts: Vec<ExposurePart>,
    }
}

/// A state as it stays in the history.
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

/// One thing a vault holds or lends against: an asset, or another vault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExposurePart {
    /// The asset; null for a nested vault.
    pub asset_id: Option<String>,
    /// The nested vault; null for an asset.
    pub vault_id: Option<String>,
    /// Of the vault.
    pub share: Share,
    /// Where its price comes from.
    #[serde(default = "no_oracle")]
    pub oracle: Oracle,
    /// Liquidation loan-to-value, as a fraction.
    pub lltv: Option<f64>,
    /// Collateral and loan track one reference.
    #[serde(default)]
    pub same_peg: bool,
    // What follows is left out where there is none: an exposure that says nothing of it is the row that it always was.
    /// Tokens that wrap the asset where the vault holds it, as `{chain_id}:{address}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrappers: Vec<String>,
    /// Feeds that price it there, as `{chain_id}:{address}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub oracles: Vec<String>,
    /// Bridges that it came by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bridges: Vec<PartBridge>,
}

impl ExposurePart {
    /// A part of which nothing is known but what it is.
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

/// A bridge that part of a vault came by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartBridge {
    /// The bridge: the id of its mapping, where there is one.
    pub id: String,
    /// Whether a source says so; false is provisional.
    pub verified: bool,
    /// How sure that is, as a fraction.
    pub confidence: Share,
}
