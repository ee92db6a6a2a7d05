//! The inputs of a score run.

pub mod evidence_value;
pub mod fail_safe;
pub mod protocol_answers;
pub mod scores;

use super::{At, StoreError, Tx};
use sqlx::FromRow;
use sqlx::types::Json;
use std::collections::{BTreeMap, HashMap};

/// Vaults per statement. One year of hourly observations of 100 vaults takes about ten seconds; a statement must stay well below minutes.
const VAULTS_PER_STATEMENT: usize = 100;

/// The facts of a protocol from which the platform vector (the platform part of a vault's score) is computed.
#[derive(Debug, Clone, FromRow)]
pub struct ProtocolRow {
    pub id: String,
    pub version_deployed_at: Option<At>,
    pub audits: Option<i32>,
    pub newest_audit_at: Option<At>,
    pub bounty_usd: Option<f64>,
    pub tvl_usd: Option<f64>,
    pub strategy: Option<String>,
    pub dependencies: Option<Vec<String>>,
    pub evidence: Json<BTreeMap<String, String>>,
    pub source: String,
    pub observed_at: At,
}

/// An asset's published score, for exposures and deposit assets.
#[derive(Debug, Clone, FromRow)]
pub struct ScoredAsset {
    pub id: String,
    pub chain_id: i64,
    pub address: Option<String>,
    pub score: Option<i32>,
    pub hard_fail_cap: Option<i32>,
    /// Parts per million of the score's weight with evidence.
    pub coverage: Option<i32>,
    pub lowest: Option<i32>,
    pub highest: Option<i32>,
    pub source: String,
    pub observed_at: At,
}

/// A vault with its state, its exposures and its published score.
#[derive(Debug, Clone, FromRow)]
pub struct VaultRow {
    pub id: String,
    pub protocol_id: String,
    pub chain_id: i64,
    pub asset_address: Option<String>,
    pub asset_mode: String,
    pub strategy: Option<String>,
    pub deployed_at: Option<At>,
    pub first_seen_at: Option<At>,
    pub is_immutable: Option<bool>,
    pub timelock_seconds: Option<i64>,
    pub signers: Option<serde_json::Value>,
    pub exit: String,
    pub source_code: String,
    pub evidence: Json<BTreeMap<String, String>>,
    pub source: String,
    pub observed_at: At,
    pub tvl_usd: Option<f64>,
    pub base_apr: Option<f64>,
    pub utilization: Option<f64>,
    pub bad_debt_usd: Option<f64>,
    pub needs_risk_review: Option<bool>,
    pub state_source: Option<String>,
    /// When the source stated the state.
    pub state_observed_at: Option<At>,
    /// When the state was last stated or read on the chain.
    pub state_synced_at: Option<At>,
    /// `{column: {source, observed_at, evidence}}` of the columns that show a reading of the chain.
    pub readings: Option<serde_json::Value>,
    pub exposures_status: Option<String>,
    pub parts: Option<serde_json::Value>,
    pub exposures_source: Option<String>,
    pub exposures_observed_at: Option<At>,
    pub exposures_basis: Option<serde_json::Value>,
    pub exposures_evidence: Option<serde_json::Value>,
    pub score: Option<i32>,
    pub anchor: Option<i32>,
    pub core_above: Option<bool>,
    pub core_since: Option<At>,
    pub prime_above: Option<bool>,
    pub prime_since: Option<At>,
    pub raw: Option<i32>,
    pub methodology_version: Option<String>,
    pub updated_at: Option<At>,
    pub document_hash: Option<Vec<u8>>,
}

/// An incident that counts against a vault.
#[derive(Debug, Clone, FromRow)]
pub struct IncidentRow {
    pub vault_id: String,
    pub incident_severity: Option<String>,
    pub occurred_at: At,
    pub loss_usd: Option<f64>,
    pub returned_usd: Option<f64>,
    pub remediation_status: Option<String>,
}

/// Signals from the history of a vault's states.
#[derive(Debug, Clone, Default, FromRow)]
pub struct Signals {
    pub vault_id: String,
    /// Greatest drawdown of the share price from its running peak in 365 days, in basis points rounded down; null with fewer than
    /// two prices.
    pub drawdown_bp: Option<i64>,
    /// Time of the newest price.
    pub priced_at: Option<At>,
    /// Whether utilization was above 0.95 in every observation of the last 72 hours, the oldest of which is at least 71 hours old.
    pub high_util_72h: bool,
    /// Whether TVL is at most half of the TVL in the newest observation that is 7 to 8 days old.
    pub tvl_halved_7d: bool,
}

/// All protocols by id.
pub async fn protocols(tx: &mut Tx<'_>) -> Result<HashMap<String, ProtocolRow>, StoreError> {
    let rows: Vec<ProtocolRow> = sqlx::query_as(
        "SELECT id, version_deployed_at, audits, newest_audit_at, bounty_usd, tvl_usd, strategy, dependencies, evidence, \
                source, observed_at FROM protocol",
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id.clone(), row)).collect())
}

/// All assets with their published scores, by id. Source and instant are those of the newest review, if there is one.
pub async fn assets(tx: &mut Tx<'_>) -> Result<Vec<ScoredAsset>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT a.id, a.chain_id, a.address, s.score, s.hard_fail_cap, s.coverage, s.lowest, s.highest, \
                coalesce(r.source, a.source) AS source, coalesce(s.refreshed_at, r.observed_at, a.observed_at) AS observed_at \
         FROM asset a LEFT JOIN asset_score s ON s.asset_id = a.id \
         LEFT JOIN LATERAL (SELECT source, observed_at FROM asset_version WHERE asset_id = a.id \
                            ORDER BY observed_at DESC LIMIT 1) AS r ON true \
         ORDER BY a.id",
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// Ids of all vaults, in byte order.
pub async fn vault_ids(tx: &mut Tx<'_>) -> Result<Vec<String>, StoreError> {
    Ok(sqlx::query_scalar("SELECT id FROM vault ORDER BY id COLLATE \"C\"").fetch_all(&mut **tx).await?)
}

/// These vaults, in byte order of their ids.
pub async fn vaults(tx: &mut Tx<'_>, ids: &[String]) -> Result<Vec<VaultRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT v.id, v.protocol_id, v.chain_id, v.asset_address, v.asset_mode, v.strategy, v.deployed_at, v.first_seen_at, \
                v.is_immutable, v.timelock_seconds, v.signers, v.exit, v.source_code, v.evidence, v.source, v.observed_at, \
                s.tvl_usd, s.base_apr, s.utilization, s.bad_debt_usd, s.needs_risk_review, \
                CASE WHEN s.observed_at > 'epoch' THEN s.source END AS state_source, nullif(s.observed_at, 'epoch') AS state_observed_at, \
                greatest(s.observed_at, s.read_at) AS state_synced_at, \
                coalesce(v.readings || coalesce(s.readings, '{}'), s.readings) AS readings, \
                e.status AS exposures_status, e.parts, e.source AS exposures_source, e.observed_at AS exposures_observed_at, e.basis AS exposures_basis, \
                e.evidence AS exposures_evidence, \
                p.score, p.anchor, p.core_above, p.core_since, p.prime_above, p.prime_since, p.raw, p.methodology_version, \
                p.updated_at, p.document_hash \
         FROM vault v \
         LEFT JOIN vault_state s ON s.vault_id = v.id \
         LEFT JOIN exposure e ON e.vault_id = v.id \
         LEFT JOIN vault_score p ON p.vault_id = v.id \
         WHERE v.id = ANY($1) ORDER BY v.id COLLATE \"C\"",
    )
    .bind(ids)
    .fetch_all(&mut **tx)
    .await?)
}

/// The yield of an active vault before rewards.
#[derive(Debug, Clone, FromRow)]
pub struct BaseRate {
    pub id: String,
    pub chain_id: i64,
    pub asset_address: String,
    pub base_apr: Option<f64>,
}

/// The base rates of the active vaults with these deposit assets, given as chain and address.
pub async fn base_rates(tx: &mut Tx<'_>, places: &[(i64, String)]) -> Result<Vec<BaseRate>, StoreError> {
    let (chains, addresses): (Vec<i64>, Vec<&str>) =
        places.iter().map(|(chain, asset)| (*chain, asset.as_str())).unzip();
    Ok(sqlx::query_as(
        "SELECT v.id, v.chain_id, v.asset_address, s.base_apr \
         FROM UNNEST($1::bigint[], $2::text[]) AS place (chain_id, asset_address) \
         JOIN vault v USING (chain_id, asset_address) JOIN vault_state s ON s.vault_id = v.id WHERE v.is_active",
    )
    .bind(chains)
    .bind(addresses)
    .fetch_all(&mut **tx)
    .await?)
}

/// The published incidents that count against these vaults: linked to the vault, or to its protocol and flagged as affecting its score.
/// An incident counts once per vault.
pub async fn incidents(tx: &mut Tx<'_>, ids: &[String]) -> Result<HashMap<String, Vec<IncidentRow>>, StoreError> {
    let rows: Vec<IncidentRow> = sqlx::query_as(
        "SELECT v.id AS vault_id, e.incident_severity, e.occurred_at, e.loss_usd, e.returned_usd, e.remediation_status \
         FROM vault v \
         JOIN LATERAL (SELECT event_id FROM event_link WHERE scope = 'vault' AND subject_id = v.id \
                       UNION SELECT event_id FROM event_link \
                             WHERE scope = 'protocol' AND subject_id = v.protocol_id AND affects_protocol_score) AS l ON true \
         JOIN event e ON e.id = l.event_id AND e.event_type = 'Incident' AND e.state = 'published' \
         WHERE v.id = ANY($1) ORDER BY v.id, e.occurred_at, e.id",
    )
    .bind(ids)
    .fetch_all(&mut **tx)
    .await?;
    let mut incidents: HashMap<String, Vec<IncidentRow>> = HashMap::new();
    for row in rows {
        incidents.entry(row.vault_id.clone()).or_default().push(row);
    }
    Ok(incidents)
}

/// The signals of these vaults at `now`, from their observations of 365 days.
///
/// This query defines the signals. [`crate::vaults::days`] computes the same from daily sums at a lower cost.
pub async fn signals_from_readings(
    tx: &mut Tx<'_>,
    ids: &[String],
    now: At,
) -> Result<HashMap<String, Signals>, StoreError> {
    let mut signals = HashMap::new();
    for ids in ids.chunks(VAULTS_PER_STATEMENT) {
        let rows = read_signals(tx, ids, now).await?;
        signals.extend(rows.into_iter().map(|row| (row.vault_id.clone(), row)));
    }
    Ok(signals)
}

async fn read_signals(tx: &mut Tx<'_>, ids: &[String], now: At) -> Result<Vec<Signals>, StoreError> {
    Ok(sqlx::query_as(
        // One index range scan per vault and signal, so that missing statistics cannot lead to a bad plan.
        "SELECT asked.vault_id, price.drawdown_bp, price.priced_at, coalesce(busy.high, false) AS high_util_72h, \
                coalesce(2 * s.tvl_usd <= past.tvl_usd AND past.tvl_usd > 0, false) AS tvl_halved_7d \
         FROM unnest($1::text[]) AS asked (vault_id) \
         LEFT JOIN vault_state s USING (vault_id) \
         LEFT JOIN LATERAL ( \
             SELECT max(div((peak - pps) * 10000, peak))::bigint AS drawdown_bp, max(observed_at) AS priced_at FROM ( \
                 SELECT observed_at, price_per_share::numeric AS pps, \
                        max(price_per_share::numeric) OVER (ORDER BY observed_at) AS peak \
                 FROM vault_snapshot h WHERE h.vault_id = asked.vault_id AND price_per_share > 0 \
                     AND observed_at > $2::timestamptz - interval '365 days' AND observed_at <= $2::timestamptz) AS readings \
             HAVING count(*) > 1) AS price ON true \
         LEFT JOIN LATERAL ( \
             SELECT bool_and(utilization > 0.95) AND min(observed_at) <= $2::timestamptz - interval '71 hours' AS high \
             FROM vault_snapshot h WHERE h.vault_id = asked.vault_id AND utilization IS NOT NULL \
                 AND observed_at BETWEEN $2::timestamptz - interval '72 hours' AND $2::timestamptz) AS busy ON true \
         LEFT JOIN LATERAL ( \
             SELECT tvl_usd FROM vault_snapshot h WHERE h.vault_id = asked.vault_id AND tvl_usd IS NOT NULL \
                 AND observed_at BETWEEN $2::timestamptz - interval '8 days' AND $2::timestamptz - interval '7 days' \
             ORDER BY observed_at DESC LIMIT 1) AS past ON true",
    )
    .bind(ids)
    .bind(now)
    .fetch_all(&mut **tx)
    .await?)
}
