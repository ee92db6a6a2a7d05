//! Data versions, and the vaults that a change of facts affects.

use crate::{At, Db, StoreError, Tx};
use serde_json::Value;

/// Key of the writers' lock, the advisory lock that every fact-changing transaction holds.
const WRITERS_LOCK: i64 = 0x7264_735f_6661_6374;
/// The notification channel for committed versions. A lost notification only delays a reader, because polling [`version`] finds every
/// version.
pub const CHANNEL: &str = "facts";

/// Takes the writers' lock; it is released when the transaction ends.
pub async fn lock_writers(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(WRITERS_LOCK).execute(&mut **tx).await?;
    Ok(())
}

/// The newest committed data version.
pub async fn version(db: &Db) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar("SELECT version FROM data_version").fetch_one(&db.pool).await?)
}

/// The data version that this transaction sees.
pub async fn current_version(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar("SELECT version FROM data_version").fetch_one(&mut **tx).await?)
}

/// Sets the newest data version. [`CHANNEL`] is notified when the transaction commits.
pub async fn advance_to(tx: &mut Tx<'_>, version: i64) -> Result<(), StoreError> {
    sqlx::query("UPDATE data_version SET version = $1").bind(version).execute(&mut **tx).await?;
    sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(version.to_string()).execute(&mut **tx).await?;
    Ok(())
}

/// Records the content of an ingest batch. `changed` is `{kind: rows}`.
pub async fn record_batch(
    tx: &mut Tx<'_>,
    version: i64,
    at: At,
    lines: u64,
    changed: &Value,
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO ingest_batch (version, accepted_at, lines, changed) VALUES ($1, $2, $3, $4)")
        .bind(version)
        .bind(at) // $2 accepted_at
        .bind(i64::try_from(lines).unwrap_or(i64::MAX))
        .bind(changed)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Whether an ingest batch after version `since` changed rows of one of these kinds.
pub async fn changed_since(db: &Db, since: i64, kinds: &[&str]) -> Result<bool, StoreError> {
    let changed =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM ingest_batch WHERE version > $1 AND changed ?| $2::text[])");
    Ok(changed.bind(since).bind(kinds).fetch_one(&db.pool).await?)
}

/// The subjects that a batch changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    /// Chain ids.
    pub chains: Vec<i64>,
    pub protocols: Vec<String>,
    pub curators: Vec<String>,
    /// Assets whose published score or identity changed.
    pub assets: Vec<String>,
    /// Vaults with any new observation.
    pub vaults: Vec<String>,
    pub events: Vec<i64>,
}

/// The vaults whose row or score may have changed, in order of id.
///
/// A vault depends on its chain, its protocol and that protocol's dependencies, its curator's name, its deposit asset, every asset it
/// holds, its events, and every vault nested in it.
pub async fn affected_vaults(tx: &mut Tx<'_>, touched: &Touched) -> Result<Vec<String>, StoreError> {
    let ids = sqlx::query_scalar(
        "WITH RECURSIVE direct AS ( \
             SELECT id FROM vault WHERE chain_id = ANY($1) OR curator_id = ANY($3) OR id = ANY($5) \
             UNION SELECT v.id FROM vault v JOIN protocol p ON p.id = v.protocol_id \
                   WHERE p.id = ANY($2) OR p.dependencies && $2 \
             UNION SELECT v.id FROM protocol_answer d JOIN vault v ON v.id = d.subject OR v.protocol_id = d.subject \
                   WHERE d.input = 'dependencies' AND d.value ?| $2 \
             UNION SELECT v.id FROM vault v JOIN asset a ON a.chain_id = v.chain_id AND a.address = v.asset_address \
                   WHERE a.id = ANY($4) \
             UNION SELECT e.vault_id FROM unnest($4::text[]) AS touched (id) \
                   JOIN exposure e ON e.parts @> jsonb_build_array(jsonb_build_object('asset_id', touched.id)) \
             UNION SELECT v.id FROM event_link l JOIN vault v \
                   ON (l.scope = 'vault' AND v.id = l.subject_id) OR (l.scope = 'protocol' AND v.protocol_id = l.subject_id) \
                   WHERE l.event_id = ANY($6) \
         ), holds AS MATERIALIZED ( \
             SELECT e.vault_id, inside.id FROM exposure e, jsonb_array_elements_text(e.nested) AS inside (id) \
             WHERE e.nested <> '[]' \
         ), affected AS ( \
             SELECT id FROM direct UNION SELECT h.vault_id FROM affected a JOIN holds h ON h.id = a.id \
         ) SELECT id FROM affected ORDER BY id COLLATE \"C\"",
    )
    .bind(&touched.chains)
    .bind(&touched.protocols)
    .bind(&touched.curators)
    .bind(&touched.assets)
    .bind(&touched.vaults)
    .bind(&touched.events)
    .fetch_all(&mut **tx)
    .await?;
    Ok(ids)
}
