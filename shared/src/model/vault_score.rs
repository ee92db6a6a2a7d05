//! The row of the bulk score routes: a vault's score, and the score run that last confirmed the score.

use alloc::string::String;
use serde::Serialize;

use super::evidence::ScoreEvidence;
use super::ids::{Address, ChainId, VaultId};
use super::status::TvlStatus;
use super::vault::VaultRow;
use crate::rules::high_confidence::is_high_confidence;
use crate::rules::tiers::Tier;
use crate::scoring::MilliPoints;
use crate::wire::time::Timestamp;

/// A vault's score as the bulk routes serve it. Amounts are in USD, rates are decimal fractions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VaultScoreRow {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub id: VaultId,
    /// Address of the vault's share token.
    pub address: Address,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Name of the chain, for display.
    pub chain_name: String,
    /// Id of the protocol; `/v1/protocols` lists them.
    pub protocol_id: String,
    /// Symbol of the deposit asset; null when its contract names none.
    pub asset_symbol: Option<String>,
    /// Supplied value in USD; 0 if `tvl_status` is `unavailable`.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
    /// Net annual rate of depositors: interest after fees plus priced rewards, as a fraction; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apr_net: Option<f64>,
    /// Published score, 0 to 10; null if the vault is unscored.
    pub total_score: Option<MilliPoints>,
    /// Published tier; null if the vault is unscored.
    pub risk_tier: Option<Tier>,
    /// False once the vault is shut down or gone.
    pub is_active: bool,
    /// Instant of the latest successful sync that wrote the row, or found it unchanged on its chain; null before the first.
    pub last_synced_at: Option<Timestamp>,
    /// Id of the score run that last confirmed the score; null before the first run.
    pub score_run_id: Option<String>,
    /// Instant at which that run completed; it changes with every run, even if the score does not; null before the first run.
    pub score_computed_at: Option<Timestamp>,
    /// Instant at which the published score or tier last changed; null if none was ever published.
    pub score_updated_at: Option<Timestamp>,
    /// Seconds since `last_synced_at`, as of this answer; null before the first sync.
    // `EncodedRow::write` fills it in when the row is served.
    pub freshness_seconds: Option<u64>,
    /// True while a data-quality quarantine makes the score provisional.
    pub needs_risk_review: bool,
    /// True if the score is at least 7.5 and `apr_net` is between 3 and 10 percent.
    pub is_high_confidence: bool,
    /// Whether `tvl_usd` was read.
    pub tvl_status: TvlStatus,
    /// What the score rests on.
    #[serde(flatten)]
    pub evidence: ScoreEvidence,
}

/// The facts of a score row that the list row does not contain.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreFacts {
    /// False once the vault is shut down or gone.
    pub is_active: bool,
    /// Id of the score run that last confirmed the score.
    pub run_id: Option<String>,
    /// Instant at which that run completed.
    pub computed_at: Option<Timestamp>,
    /// Whether a data-quality quarantine is active.
    pub needs_risk_review: bool,
}

impl VaultScoreRow {
    /// Builds the score row of a vault. The fields that the list row `row` also has are copied from it, so that both rows agree.
    pub fn of(row: &VaultRow, facts: ScoreFacts) -> Self {
        VaultScoreRow {
            id: row.id.clone(),
            address: row.address.clone(),
            chain_id: row.chain_id,
            chain_name: row.chain_name.clone(),
            protocol_id: row.protocol_id.clone(),
            asset_symbol: row.asset_symbol.clone(),
            tvl_usd: row.tvl_usd,
            apr_net: row.apr_net,
            total_score: row.total_score,
            risk_tier: row.risk_tier,
            is_active: facts.is_active,
            last_synced_at: row.last_synced_at,
            score_run_id: facts.run_id,
            score_computed_at: facts.computed_at,
            score_updated_at: row.score_updated_at,
            freshness_seconds: row.freshness_seconds,
            needs_risk_review: facts.needs_risk_review,
            is_high_confidence: is_high_confidence(row.total_score, row.apr_net),
            tvl_status: row.tvl_status,
            evidence: row.evidence,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::vault::tests::row;
    use super::*;

    #[test]
    fn every_field_of_the_interface_is_written_in_its_order_even_when_null() {
        let facts = ScoreFacts { is_active: true, run_id: None, computed_at: None, needs_risk_review: false };
        let vault = row("demo-31337-0x00000000000000000000000000000000000000aa");
        let text = serde_json::to_string(&VaultScoreRow::of(&vault, facts)).unwrap();
        let fields = "id address chain_id chain_name protocol_id asset_symbol tvl_usd apr_net total_score risk_tier is_active \
             last_synced_at score_run_id score_computed_at score_updated_at freshness_seconds needs_risk_review \
             is_high_confidence tvl_status score_basis score_coverage lowest_score highest_score";
        let positions: alloc::vec::Vec<_> =
            fields.split_whitespace().map(|field| text.find(&std::format!("\"{field}\":")).expect(field)).collect();
        assert!(positions.is_sorted(), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap().as_object().unwrap().len(), 23);
    }
}
