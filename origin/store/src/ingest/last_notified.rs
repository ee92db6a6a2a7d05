//! The last notified value of each subject, and the observations that are compared with it.

use crate::ingest::facts::json_array;
use crate::markets::RESERVE_GATES;
use crate::{At, StoreError, Tx};
use serde::Serialize;
use serde_json::Value;
use sqlx::FromRow;
use sqlx::types::Json;
use std::collections::{BTreeMap, HashMap};

/// The quantity whose changes are notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    DepositStatus,
    BadDebt,
    Allocation,
    Control,
}

impl Topic {
    /// Value of the column `topic`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Topic::DepositStatus => "deposit_status",
            Topic::BadDebt => "bad_debt",
            Topic::Allocation => "allocation",
            Topic::Control => "control",
        }
    }
}

/// The last notified value of a subject.
#[derive(Debug, Clone, PartialEq, Serialize, FromRow)]
pub struct LastNotified {
    /// The vault's id, or the market's contract.
    pub subject_id: String,
    /// The status, the amount, or `{basis, parts: {part: parts per million}}`.
    pub value: Value,
    /// Time of the observation.
    pub observed_at: At,
}

/// The last notified values of these subjects.
pub async fn last(
    tx: &mut Tx<'_>,
    topic: Topic,
    subjects: &[&str],
) -> Result<HashMap<String, LastNotified>, StoreError> {
    let rows: Vec<LastNotified> =
        sqlx::query_as("SELECT subject_id, value, observed_at FROM told WHERE topic = $1 AND subject_id = ANY($2)")
            .bind(topic.as_str())
            .bind(subjects)
            .fetch_all(&mut **tx)
            .await?;
    Ok(rows.into_iter().map(|row| (row.subject_id.clone(), row)).collect())
}

/// Stores the values that are notified now.
pub async fn keep(tx: &mut Tx<'_>, topic: Topic, rows: &[LastNotified]) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO told (topic, subject_id, value, observed_at) \
         SELECT $1, r.subject_id, r.value, r.observed_at \
         FROM json_to_recordset($2::json) AS r (subject_id text, value jsonb, observed_at timestamptz) \
         ON CONFLICT (topic, subject_id) DO UPDATE SET value = EXCLUDED.value, observed_at = EXCLUDED.observed_at",
    )
    .bind(topic.as_str())
    .bind(json_array(rows)?)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A vault's current deposit gate.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct Gate {
    pub vault_id: String,
    pub name: String,
    /// Status according to the gates of the vault's reserve. Null if there are no gates; then the vault's own observations decide.
    pub gate_status: Option<String>,
    /// Time of the gates' observation.
    pub gate_at: Option<At>,
}

/// The deposit gates of these vaults.
pub async fn gates(tx: &mut Tx<'_>, vaults: &[String]) -> Result<Vec<Gate>, StoreError> {
    let gates = format!(
        "SELECT v.id AS vault_id, v.name, gate.deposit_status AS gate_status, gate.observed_at AS gate_at \
         FROM vault v {RESERVE_GATES} WHERE v.id = ANY($1) ORDER BY v.id COLLATE \"C\""
    );
    Ok(sqlx::query_as(&gates).bind(vaults).fetch_all(&mut **tx).await?)
}

/// Who controls a vault.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct Controlled {
    pub vault_id: String,
    pub name: String,
    pub is_immutable: Option<bool>,
    pub timelock_seconds: Option<i64>,
    pub signers: Option<Value>,
    /// Time of the newest reading of it.
    pub observed_at: At,
    /// Block of the newest reading of it.
    pub block_number: Option<i64>,
}

/// Who controls these vaults. Vaults of which it was never read on a chain are left out.
pub async fn controls(tx: &mut Tx<'_>, vaults: &[String]) -> Result<Vec<Controlled>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT v.id AS vault_id, v.name, v.is_immutable, v.timelock_seconds, v.signers, r.observed_at, r.block_number \
         FROM vault v CROSS JOIN LATERAL ( \
             SELECT observed_at, block_number FROM chain_reading WHERE vault_id = v.id \
                 AND field IN ('is_immutable', 'timelock_seconds', 'signers') ORDER BY observed_at DESC LIMIT 1) AS r \
         WHERE v.id = ANY($1) ORDER BY v.id COLLATE \"C\"",
    )
    .bind(vaults)
    .fetch_all(&mut **tx)
    .await?)
}

/// An observation of bad debt.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct Debt {
    /// The vault's id, or the market's contract.
    pub subject_id: String,
    pub name: String,
    /// The market's chain; null for a vault.
    pub chain_id: Option<i64>,
    /// Unrecoverable debt in USD.
    pub bad_debt_usd: f64,
    /// TVL of the vault, or total supplied to the market.
    pub value_usd: Option<f64>,
    pub observed_at: At,
}

/// The newest observed bad debt of these vaults; vaults without one are left out.
pub async fn debts_of_vaults(tx: &mut Tx<'_>, vaults: &[String]) -> Result<Vec<Debt>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT v.id AS subject_id, v.name, NULL::bigint AS chain_id, s.bad_debt_usd, s.tvl_usd AS value_usd, s.observed_at \
         FROM vault_state s JOIN vault v ON v.id = s.vault_id \
         WHERE s.vault_id = ANY($1) AND s.bad_debt_usd IS NOT NULL ORDER BY v.id COLLATE \"C\"",
    )
    .bind(vaults)
    .fetch_all(&mut **tx)
    .await?)
}

/// The newest observed bad debt of these markets; markets without one are left out.
pub async fn debts_of_markets(tx: &mut Tx<'_>, contracts: &[String]) -> Result<Vec<Debt>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT m.contract AS subject_id, m.name, m.chain_id, s.bad_debt_usd, s.total_supplied_usd AS value_usd, s.observed_at \
         FROM market_state s JOIN market m USING (contract) \
         WHERE s.contract = ANY($1) AND s.bad_debt_usd IS NOT NULL ORDER BY m.contract COLLATE \"C\"",
    )
    .bind(contracts)
    .fetch_all(&mut **tx)
    .await?)
}

/// The distribution of a vault's deposits.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct Allocation {
    pub vault_id: String,
    pub name: String,
    /// Basis of the distribution: `strategies` or `exposure`.
    pub basis: String,
    /// `{part: parts per million}`
    pub parts: Json<BTreeMap<String, u64>>,
    pub observed_at: At,
}

/// The current distribution of these vaults' deposits, one row per vault: by strategy if the shares of all active strategies are known,
/// otherwise by exposure. A vault with neither is left out. So is a vault whose active strategies do not all have the newest `observed_at`,
/// because other rows of that observation may still arrive.
pub async fn allocations(tx: &mut Tx<'_>, vaults: &[String]) -> Result<Vec<Allocation>, StoreError> {
    Ok(sqlx::query_as(
        "WITH lent AS ( \
             SELECT s.vault_id, max(s.observed_at) AS observed_at, \
                    coalesce(jsonb_object_agg(s.strategy_id, round(s.share::numeric * 1000000)::bigint) FILTER (WHERE s.is_active), '{}') \
                        AS parts, \
                    min(s.observed_at) FILTER (WHERE s.is_active) AS oldest \
             FROM vault_strategy s WHERE s.vault_id = ANY($1) \
             GROUP BY s.vault_id HAVING bool_and(s.share IS NOT NULL OR NOT s.is_active) \
         ), read AS ( \
             SELECT v.id AS vault_id, v.name, 'strategies' AS basis, l.parts, l.observed_at FROM lent l JOIN vault v ON v.id = l.vault_id \
             WHERE coalesce(l.oldest = l.observed_at, true) \
             UNION ALL \
             SELECT v.id, v.name, 'exposure', \
                    (SELECT coalesce(jsonb_object_agg(p.part, p.ppm), '{}') FROM ( \
                         SELECT coalesce(x->>'asset_id', x->>'vault_id') AS part, \
                                sum(round((x->>'share')::numeric * 1000000))::bigint AS ppm \
                         FROM jsonb_array_elements(e.parts) AS x GROUP BY 1) AS p), e.observed_at \
             FROM exposure e JOIN vault v ON v.id = e.vault_id \
             WHERE e.vault_id = ANY($1) AND e.status = 'observed' AND NOT EXISTS (SELECT FROM lent l WHERE l.vault_id = v.id) \
         ) SELECT * FROM read ORDER BY vault_id COLLATE \"C\"",
    )
    .bind(vaults)
    .fetch_all(&mut **tx)
    .await?)
}

/// The names of these vaults, by id.
pub async fn names(tx: &mut Tx<'_>, vaults: &[&str]) -> Result<HashMap<String, String>, StoreError> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT id, name FROM vault WHERE id = ANY($1)").bind(vaults).fetch_all(&mut **tx).await?;
    Ok(rows.into_iter().collect())
}
