//! The vault: its list row, its detail and its rewards.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::evidence::{ScoreEvidence, VaultEvidence};
use super::ids::{Address, ChainId, VaultId};
use super::status::{
    AuditStatus, BorrowIncentiveStatus, BorrowStatus, DepositStatus, LiquidityStatus, RewardSide, RewardType,
    ScoreStatus, TvlStatus, WithdrawStatus,
};
use super::vault_history::{SnapshotPoint, VaultEvent};
use crate::rules::tiers::Tier;
use crate::scoring::MilliPoints;
use crate::scoring::provenance::{RiskVectors, ScoreProvenance};
use crate::wire::time::Timestamp;

/// A vault as every list serves it. Amounts are in USD, rates are decimal fractions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VaultRow {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub id: VaultId,
    /// The vault's own name.
    pub name: String,
    /// Address of the vault's share token.
    pub address: Address,
    /// Id of the protocol; `/v1/protocols` lists them.
    pub protocol_id: String,
    /// Name of the protocol, for display.
    pub protocol_name: String,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Name of the chain, for display.
    pub chain_name: String,
    /// Symbol of the deposit asset; null when its contract names none.
    pub asset_symbol: Option<String>,
    /// Supplied value in USD; 0 if `tvl_status` is `unavailable`.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
    /// Net annual rate of depositors: interest after fees plus priced rewards, as a fraction; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apr_net: Option<f64>,
    /// The interest in `apr_net`, after the protocol's fee, as a fraction; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub base_apr: Option<f64>,
    /// Borrowed over supplied value, as a fraction; not clamped, so it may exceed 1; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub utilization: Option<f64>,
    /// Gross annual rate that borrowers pay, as a fraction; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub borrow_apr: Option<f64>,
    /// Annual rate of the priced borrower incentives, as a fraction; null if it is unknown or there is no borrower side.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub borrow_reward_apr: Option<f64>,
    /// `borrow_apr` minus `borrow_reward_apr`, as a fraction; may be negative; null if either is null.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub borrow_apr_net: Option<f64>,
    /// Status of the campaigns that pay borrowers.
    pub borrow_incentive_status: BorrowIncentiveStatus,
    /// True if borrowers receive token incentives or points.
    pub has_borrow_rewards: bool,
    /// Whether the vault's market lends.
    pub borrow_status: BorrowStatus,
    /// `borrow_apr` times `utilization`, before fees, as a fraction; null if either is unknown or the vault is not a money market.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub gross_interest_apy: Option<f64>,
    /// Value lent out, in USD; null if unknown.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub active_loans_usd: Option<f64>,
    /// Supplied value that is not lent out, in USD; null if `liquidity_status` is `unknown`. It is not a withdrawal quote.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub available_liquidity_usd: Option<f64>,
    /// Value owed beyond the supplied value, in USD; 0 without a deficit; null if `liquidity_status` is `unknown`.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub liquidity_deficit_usd: Option<f64>,
    /// Classification of `available_liquidity_usd` and `liquidity_deficit_usd`.
    pub liquidity_status: LiquidityStatus,
    /// Published score, 0 to 10; null if the vault is unscored.
    pub total_score: Option<MilliPoints>,
    /// Published tier; null if the vault is unscored.
    pub risk_tier: Option<Tier>,
    /// Label of the vault's strategy; null if unknown.
    pub strategy_type: Option<String>,
    /// Name of the curator, for display; null if there is none.
    pub curator_name: Option<String>,
    /// True if an audit of the deployed protocol version is known.
    pub is_audited: bool,
    /// Whether deposits are accepted.
    pub deposit_status: DepositStatus,
    /// Whether withdrawals are possible.
    pub withdraw_status: WithdrawStatus,
    /// For older clients: true if `deposit_status` is `open`, false if it is `closed`, null if it is `unknown`.
    pub is_depositable: Option<bool>,
    /// Remaining deposit capacity in USD; null if it is uncapped, unpriced or unknown.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub deposit_capacity_usd: Option<f64>,
    /// Seconds since `last_synced_at`, as of this answer; null before the first sync.
    // `EncodedRow::write` fills it in when the row is served.
    pub freshness_seconds: Option<u64>,
    /// Instant of the latest successful sync that wrote the row, or found it unchanged on its chain; null before the first.
    pub last_synced_at: Option<Timestamp>,
    /// Whether the vault has a published score.
    pub score_status: ScoreStatus,
    /// Instant at which the published score or tier last changed; null if none was ever published.
    pub score_updated_at: Option<Timestamp>,
    /// Whether `tvl_usd` was read.
    pub tvl_status: TvlStatus,
    /// The part of `apr_net` that is interest and not rewards, 0 to 1; null if a rate is unknown or `apr_net` is not positive.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub real_yield_share: Option<f64>,
    /// Id of the curator, as filters use it; null if there is none.
    pub curator_id: Option<String>,
    /// What the score rests on.
    #[serde(flatten)]
    pub evidence: ScoreEvidence,
}

/// Whole seconds from the last sync to `now`: `None` before the first sync, 0 if the sync is later than `now`.
pub fn freshness_seconds(last_synced_at: Option<Timestamp>, now: Timestamp) -> Option<u64> {
    last_synced_at.map(|synced| u64::try_from(now.seconds_since(synced)).unwrap_or(0))
}

/// `data.vault` of the detail routes: the list row, the score's provenance and further facts about the vault.
// `V` and `P` are either the results of a score evaluation or the stored JSON of these results.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "VaultDetail"))]
pub struct VaultDetail<V = RiskVectors, P = ScoreProvenance> {
    /// The fields of the list row.
    #[serde(flatten)]
    pub row: VaultRow,
    /// Campaigns that currently pay borrowers, one row each.
    pub borrow_rewards: Vec<Reward>,
    /// The four risk vectors with their weights.
    pub risk_vectors: V,
    /// Whether audits of the deployed protocol version are known.
    pub audit_status: AuditStatus,
    /// Names of the auditors; empty if none is known.
    pub auditors: Vec<String>,
    /// Caps, flags and inputs behind the score; null before the first score run.
    pub score_provenance: Option<P>,
    /// Symbol of the share token; null if unknown.
    pub symbol: Option<String>,
    /// Address of the deposit asset's contract; null if unknown.
    pub asset_address: Option<Address>,
    /// Deployed version of the protocol; null if unknown.
    pub protocol_version: Option<String>,
    /// URL of the protocol's website; null if unknown.
    pub protocol_website: Option<String>,
    /// Instant at which the protocol first went live; null if unknown.
    pub protocol_launch_date: Option<Timestamp>,
    /// Date of the newest audit of the deployed version; null if none is known.
    pub audit_date: Option<Timestamp>,
    /// URL of the audit reports; null if unknown.
    pub audit_report_url: Option<String>,
    /// True if no key can change the vault's code; null if unknown.
    pub is_immutable: Option<bool>,
    /// Delay of administrative changes in seconds, 0 without a timelock; null if unknown.
    pub timelock_seconds: Option<u64>,
    /// Instant of the vault's deployment, or of its first activity if only that is known; null if neither is known.
    pub deployment_timestamp: Option<Timestamp>,
    /// False once the vault is shut down or gone.
    pub is_active: bool,
    /// True while a data-quality quarantine makes the score provisional.
    pub needs_risk_review: bool,
    /// True if the score is at least 7.5 and `apr_net` is between 3 and 10 percent.
    pub is_high_confidence: bool,
    /// Instant at which the score run that last confirmed the score completed; null before the first run.
    pub score_computed_at: Option<Timestamp>,
    /// The answers behind the inputs, and how the exposures were derived.
    pub score_evidence: VaultEvidence,
}

/// One campaign or fee stream that adds to a rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reward {
    /// The side of the market that is paid.
    pub side: RewardSide,
    /// Symbol of the token that is paid; null if unknown.
    pub token_symbol: Option<String>,
    /// Address of the token's contract; null if unknown.
    pub token_address: Option<Address>,
    /// Annual rate, as a fraction; 0 for points, null if it could not be priced.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apr: Option<f64>,
    /// Kind of campaign.
    pub reward_type: RewardType,
    /// Name of the source that reported the campaign.
    pub source: String,
    /// The source's id of the campaign; null if it has none.
    pub campaign_id: Option<String>,
    /// URL at which the campaign can be verified; null if unknown.
    pub source_url: Option<String>,
}

/// A list row with its rewards.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RewardedVault {
    /// The fields of the list row.
    #[serde(flatten)]
    pub row: VaultRow,
    /// Campaigns and fee streams that currently pay depositors or borrowers.
    pub rewards: Vec<Reward>,
}

/// `data` of `GET /v1/vault/{network}/{address}` and `GET /v1/vaults/{id}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "VaultPage"))]
pub struct VaultPage<V = RiskVectors, P = ScoreProvenance> {
    /// The vault's row with the evidence behind its score.
    pub vault: VaultDetail<V, P>,
    /// The vault's readings of the last 90 days, thinned, oldest first.
    pub snapshots: Vec<SnapshotPoint>,
    /// The vault's events, newest first; at most 500.
    pub events: Vec<VaultEvent>,
    /// Campaigns and fee streams that currently pay depositors.
    pub rewards: Vec<Reward>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use alloc::string::ToString;

    pub(crate) fn row(id: &str) -> VaultRow {
        VaultRow {
            id: VaultId::parse(id).unwrap(),
            name: "Demo \"Vault\"".to_string(),
            address: Address::parse_any("0x00000000000000000000000000000000000000aa").unwrap().1,
            protocol_id: "demo".to_string(),
            protocol_name: "Demo".to_string(),
            chain_id: ChainId(31_337),
            chain_name: "Devnet".to_string(),
            asset_symbol: Some("USDC".to_string()),
            tvl_usd: 1_500_000.25,
            apr_net: Some(0.05),
            base_apr: Some(0.04),
            utilization: None,
            borrow_apr: None,
            borrow_reward_apr: None,
            borrow_apr_net: None,
            borrow_incentive_status: BorrowIncentiveStatus::NotApplicable,
            has_borrow_rewards: false,
            borrow_status: BorrowStatus::NotApplicable,
            gross_interest_apy: None,
            active_loans_usd: None,
            available_liquidity_usd: None,
            liquidity_deficit_usd: None,
            liquidity_status: LiquidityStatus::Unknown,
            total_score: None,
            risk_tier: None,
            strategy_type: None,
            curator_name: None,
            is_audited: false,
            deposit_status: DepositStatus::Unknown,
            withdraw_status: WithdrawStatus::Unknown,
            is_depositable: None,
            deposit_capacity_usd: None,
            freshness_seconds: None,
            last_synced_at: None,
            score_status: ScoreStatus::Unscored,
            score_updated_at: None,
            tvl_status: TvlStatus::Observed,
            real_yield_share: Some(0.8),
            curator_id: None,
            evidence: ScoreEvidence::NONE,
        }
    }

    #[test]
    fn every_field_of_the_interface_is_written_even_when_null() {
        let json = serde_json::to_value(row("demo-31337-0x00000000000000000000000000000000000000aa")).unwrap();
        let fields = json.as_object().unwrap();
        let expected = "id name address protocol_id protocol_name chain_id chain_name asset_symbol tvl_usd apr_net base_apr \
             utilization borrow_apr borrow_reward_apr borrow_apr_net borrow_incentive_status has_borrow_rewards \
             borrow_status gross_interest_apy active_loans_usd available_liquidity_usd liquidity_deficit_usd \
             liquidity_status total_score risk_tier strategy_type curator_name is_audited deposit_status \
             withdraw_status is_depositable deposit_capacity_usd freshness_seconds last_synced_at score_status \
             score_updated_at tvl_status";
        for field in expected.split_whitespace() {
            assert!(fields.contains_key(field), "{field}");
        }
        assert!(fields["utilization"].is_null());
        assert_eq!(fields["chain_id"], 31_337);
    }

    #[test]
    fn the_detail_is_the_list_row_with_more() {
        let id = "demo-31337-0x00000000000000000000000000000000000000aa";
        let detail = VaultDetail {
            row: row(id),
            borrow_rewards: Vec::new(),
            risk_vectors: serde_json::json!({"asset": {"score": null, "weight": 0.35}}),
            audit_status: AuditStatus::Unknown,
            auditors: Vec::new(),
            score_provenance: None::<serde_json::Value>,
            symbol: None,
            asset_address: None,
            protocol_version: None,
            protocol_website: None,
            protocol_launch_date: None,
            audit_date: None,
            audit_report_url: None,
            is_immutable: None,
            timelock_seconds: Some(86_400),
            deployment_timestamp: None,
            is_active: true,
            needs_risk_review: false,
            is_high_confidence: false,
            score_computed_at: None,
            score_evidence: VaultEvidence { exposures: None, answers: Vec::new() },
        };
        let json = serde_json::to_value(&detail).unwrap();
        for (field, value) in serde_json::to_value(row(id)).unwrap().as_object().unwrap() {
            assert_eq!(&json[field], value, "{field}");
        }
        assert_eq!(json["audit_status"], "unknown");
        assert_eq!(json["timelock_seconds"], 86_400);
        assert!(json.as_object().unwrap().contains_key("score_provenance") && json["score_provenance"].is_null());
    }

    #[test]
    fn freshness_counts_from_the_last_sync_and_is_never_negative() {
        let synced = Timestamp::from_seconds(1_000);
        assert_eq!(freshness_seconds(None, synced), None);
        assert_eq!(freshness_seconds(Some(synced), synced.plus_seconds(61)), Some(61));
        assert_eq!(freshness_seconds(Some(synced), synced.plus_seconds(-5)), Some(0));
    }
}
