//! What was last told of a subject, and the readings that are compared with it.

use super::facts::json_array;
use super::markets::RESERVE_GATES;
use super::{At, StoreError, Tx};
use serde::Serialize;
use serde_json::Value;
use sqlx::FromRow;
use sqlx::types::Json;
use std::collections::{BTreeMap, HashMap};

/// What something was told about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    DepositStatus,
    BadDebt,
    Allocation,
}

impl Topic {
    /// Its word in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Topic::DepositStatus => "deposit_status",
            Topic::BadDebt => "bad_debt",
            Topic::Allocation => "allocation",
        }
    }
}

/// What was told of a subject, and as of when.
#[derive(Debug, Clone, PartialEq, Serialize, FromRow)]
pub struct Told {
    /// A vault's id, or a market's contract.
    pub subject_id: String,
    /// The word, the amount, or `{basis, parts: {part: parts per million}}`.
    pub value: Value,
    /// When the reading was taken.
    pub observed_at: At,
}

/// What was told of these subjects.
pub async fn last(tx: &mut Tx<'_>, topic: Topic, subjects: &[&str]) -> Result<HashMap<String, Told>, StoreError> {
    let rows: Vec<Told> =
        sqlx::query_as("SELECT subject_id, value, observed_at FROM told WHERE topic = $1 AND subject_id = ANY($2)")
            .bind(topic.as_str())
            .bind(subjects)
            .fetch_all(&mut **tx)
            .await?;
    Ok(rows.into_iter().map(|row| (row.subject_id.clone(), row)).collect())
}

/// Keeps what is told now.
pub async fn keep(tx: &mut Tx<'_>, topic: Topic, rows: &[Told]) -> Result<(), StoreError> {
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

/// What stands in front of a vault's deposits now.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct Gate {
    /// The vault.
    pub vault_id: String,
    /// For display.
    pub name: String,
    /// What the gates of its reserve say; none where it has none, and then its own readings count.
    pub gate_status: Option<String>,
    /// When they were read.
    pub gate_at: Option<At>,
}

/// The gates of these vaults.
pub async fn gates(tx: &mut Tx<'_>, vaults: &[String]) -> Result<Vec<Gate>, StoreError> {
    let gates = format!(
        "SELECT v.id AS vault_id, v.name, gate.deposit_status AS gate_status, gate.observed_at AS gate_at \
         FROM vault v {RESERVE_GATES} WHERE v.id = ANY($1) ORDER BY v.id COLLATE \"C\""
    );
    Ok(sqlx::query_as(&gates).bind(vaults).fetch_all(&mut **tx).await?)
}

/// A reading of bad debt.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct Debt {
    /// The vault's id, or the market's contract.
    pub subject_id: String,
    /// For display.
    pub name: String,
    /// The market's chain; none for a vault.
    pub chain_id: Option<i64>,
    /// Owed and not recoverable.
    pub bad_debt_usd: f64,
    /// What the vault or the market holds.
    pub value_usd: Option<f64>,
    /// When it was read.
    pub observed_at: At,
}

/// The newest readings of the bad debt of these vaults, where it was read.
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

/// The same of markets.
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

/// How a vault's deposits are spread.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct Allocation {
    /// The vault.
    pub vault_id: String,
    /// For display.
    pub name: String,
    /// What was read: `strategies` or `exposure`.
    pub basis: String,
    /// `{part: parts per million}`
    pub parts: Json<BTreeMap<String, u64>>,
    /// When it was read.
    pub observed_at: At,
}

/// How these vaults' deposits are spread, one reading a vault: over its strategies where their shares are known, else over
/// what it holds or lends against. Left out are vaults of which neither was read, and those whose strategies are only in part
/// of their newest instant: the rest of that reading is still to come.
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

/// The names of vaults.
pub async fn names(tx: &mut Tx<'_>, vaults: &[&str]) -> Result<HashMap<String, String>, StoreError> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT id, name FROM vault WHERE id = ANY($1)").bind(vaults).fetch_all(&mut **tx).await?;
    Ok(rows.into_iter().collect())
}
