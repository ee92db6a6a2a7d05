//! Research records. The content of a record never changes; a record is served only after its promotion.

pub mod facts;
pub mod losses;
pub mod predictions;
pub mod samples;

use super::{At, Db, StoreError, Tx};
use crate::db_enum::DbEnum;
use rds_facts::ExternalKind;
use rds_shared::model::research::RecordKind;
use serde_json::{Map, Value};
use sqlx::types::Json;
use sqlx::{FromRow, PgExecutor};

/// Condition for shown records: promoted, not hidden, the newest of their key, and not about a withheld chain.
const SHOWN: &str = "r.promoted_at IS NOT NULL AND r.is_client_visible AND r.superseded_at IS NULL \
     AND NOT r.chain_ids && ARRAY(SELECT chain_id FROM chain WHERE NOT is_served)";

/// A recorded run.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct LastRun {
    pub ran_at: At,
    pub model_version: String,
    pub chain_ids: Vec<i64>,
}

/// The newest run; `None` before the first.
pub async fn last_run(executor: impl PgExecutor<'_>) -> Result<Option<LastRun>, StoreError> {
    let sql = "SELECT ran_at, model_version, chain_ids FROM research_run ORDER BY id DESC LIMIT 1";
    Ok(sqlx::query_as(sql).fetch_optional(executor).await?)
}

/// Ids of the served chains, ascending.
pub async fn served_chains(executor: impl PgExecutor<'_>) -> Result<Vec<i64>, StoreError> {
    Ok(sqlx::query_scalar("SELECT chain_id FROM chain WHERE is_served ORDER BY 1").fetch_all(executor).await?)
}

/// Blocks other runs until this transaction ends; readers continue.
pub async fn lock_runs(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    sqlx::query("LOCK TABLE research_run IN EXCLUSIVE MODE").execute(&mut **tx).await?;
    Ok(())
}

/// Records a run; returns its id.
pub async fn begin_run(tx: &mut Tx<'_>, now: At, model_version: &str, chain_ids: &[i64]) -> Result<i64, StoreError> {
    let sql = "INSERT INTO research_run (ran_at, model_version, chain_ids) VALUES ($1, $2, $3) RETURNING id";
    Ok(sqlx::query_scalar(sql).bind(now).bind(model_version).bind(chain_ids).fetch_one(&mut **tx).await?)
}

/// A record to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRecord {
    pub id: String,
    pub kind: RecordKind,
    pub record_key: String,
    pub model_version: Option<String>,
    pub level: Option<&'static str>,
    pub surface: Option<String>,
    pub outcome: Option<&'static str>,
    /// The external source; `None` if a run of this service made the record.
    pub provided_by: Option<String>,
    pub body: Value,
    pub content_hash: [u8; 32],
    pub unmet: Vec<String>,
}

/// The current record of a key, and whether clients may see records of the key.
#[derive(FromRow)]
struct Current {
    content_hash: Vec<u8>,
    unmet: Vec<String>,
    chain_ids: Vec<i64>,
    is_client_visible: bool,
}

/// Stores a record unless the current record of its key is equal; measurements of model health are always stored. A record without unmet
/// requirements is promoted at once. A key that an operator has hidden stays hidden. Returns whether the record was stored.
pub async fn keep(
    tx: &mut Tx<'_>,
    (run_id, now): (Option<i64>, At),
    chain_ids: &[i64],
    record: &NewRecord,
) -> Result<bool, StoreError> {
    let series = record.kind == RecordKind::ModelHealth;
    let current: Option<Current> = sqlx::query_as(
        "SELECT content_hash, unmet, chain_ids, is_client_visible FROM research_record \
         WHERE kind = $1 AND record_key = $2 AND superseded_at IS NULL ORDER BY made_at DESC LIMIT 1",
    )
    .bind(record.kind.as_str())
    .bind(&record.record_key)
    .fetch_optional(&mut **tx)
    .await?;
    let same = current.as_ref().is_some_and(|current| {
        current.content_hash == record.content_hash && current.unmet == record.unmet && current.chain_ids == chain_ids
    });
    if same && !series {
        return Ok(false);
    }
    if !series {
        supersede(tx, record.kind, &record.record_key, now).await?;
    }
    sqlx::query(
        "INSERT INTO research_record (id, kind, record_key, run_id, model_version, level, surface, outcome, body, content_hash, \
                                      made_at, chain_ids, unmet, promoted_at, is_client_visible, provided_by) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, CASE WHEN $13::text[] = '{}' THEN $11::timestamptz END, $14, $15)",
    )
    .bind(&record.id)
    .bind(record.kind.as_str())
    .bind(&record.record_key)
    .bind(run_id)
    .bind(record.model_version.as_deref())
    .bind(record.level)
    .bind(record.surface.as_deref())
    .bind(record.outcome)
    .bind(Json(&record.body))
    .bind(&record.content_hash[..])
    .bind(now) // $11 made_at
    .bind(chain_ids)
    .bind(&record.unmet)
    .bind(current.is_none_or(|current| current.is_client_visible))
    .bind(record.provided_by.as_deref())
    .execute(&mut **tx)
    .await?;
    Ok(true)
}

async fn supersede(tx: &mut Tx<'_>, kind: RecordKind, key: &str, now: At) -> Result<u64, StoreError> {
    let sql =
        "UPDATE research_record SET superseded_at = $3 WHERE kind = $1 AND record_key = $2 AND superseded_at IS NULL";
    Ok(sqlx::query(sql).bind(kind.as_str()).bind(key).bind(now).execute(&mut **tx).await?.rows_affected())
}

/// Marks as superseded all records of a kind whose key is not in `keys`, so that lists omit them; returns their number.
pub async fn supersede_others(tx: &mut Tx<'_>, kind: RecordKind, keys: &[String], now: At) -> Result<u64, StoreError> {
    let sql = "UPDATE research_record SET superseded_at = $3 WHERE kind = $1 AND record_key <> ALL($2) AND superseded_at IS NULL";
    Ok(sqlx::query(sql).bind(kind.as_str()).bind(keys).bind(now).execute(&mut **tx).await?.rows_affected())
}

/// A record as received from an external source.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct Given {
    pub id: String,
    pub observed_at: At,
    pub source: String,
    #[sqlx(json, rename = "record")]
    pub kind: ExternalKind,
    pub model_version: String,
    pub chain_ids: Vec<i64>,
    pub body: Value,
}

/// The newest external versions of these records.
pub async fn given(tx: &mut Tx<'_>, ids: &[String]) -> Result<Vec<Given>, StoreError> {
    let sql = "SELECT id, observed_at, source, to_json(record) AS record, model_version, chain_ids, body FROM given_research \
               WHERE id = ANY($1) ORDER BY id COLLATE \"C\"";
    Ok(sqlx::query_as(sql).bind(ids).fetch_all(&mut **tx).await?)
}

/// Filters of a list; `None` does not filter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordFilter<'a> {
    pub model_version: Option<&'a str>,
    pub level: Option<&'a str>,
    pub surface: Option<&'a str>,
    pub outcome: Option<&'a str>,
}

#[derive(FromRow)]
struct ShownRow {
    id: String,
    body: Json<Map<String, Value>>,
    promoted_at: At,
    provided_by: Option<String>,
    total: i64,
}

/// The newest shown records as served, and the total number of matches.
pub async fn list(
    db: &Db,
    kind: RecordKind,
    filter: RecordFilter<'_>,
    limit: i64,
) -> Result<(Vec<Value>, u64), StoreError> {
    let sql = format!(
        "SELECT r.id, r.body, r.promoted_at, r.provided_by, count(*) OVER () AS total FROM research_record r \
         WHERE r.kind = $1 AND {SHOWN} AND ($2::text IS NULL OR r.model_version = $2) AND ($3::text IS NULL OR r.level = $3) \
           AND ($4::text IS NULL OR r.surface = $4) AND ($5::text IS NULL OR r.outcome = $5) \
         ORDER BY r.made_at DESC, r.record_key COLLATE \"C\", r.id LIMIT $6"
    );
    let rows: Vec<ShownRow> = sqlx::query_as(&sql)
        .bind(kind.as_str())
        .bind(filter.model_version)
        .bind(filter.level)
        .bind(filter.surface)
        .bind(filter.outcome)
        .bind(limit)
        .fetch_all(&db.pool)
        .await?;
    let total = rows.first().map_or(0, |row| row.total.unsigned_abs());
    let served = |ShownRow { id, body: Json(mut body), promoted_at: At(published), provided_by, .. }| {
        body.insert("id".to_owned(), Value::String(id));
        body.insert("provided_by".to_owned(), provided_by.map_or(Value::Null, Value::String));
        body.insert("published_at".to_owned(), Value::String(published.to_string()));
        Value::Object(body)
    };
    Ok((rows.into_iter().map(served).collect(), total))
}

/// A current record, for operators.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct RecordState {
    pub id: String,
    #[sqlx(try_from = "DbEnum<RecordKind>")]
    pub kind: RecordKind,
    pub record_key: String,
    pub unmet: Vec<String>,
    pub is_promoted: bool,
    pub is_client_visible: bool,
    pub hidden_reason: Option<String>,
}

/// Every current record; for model health, the newest measurement of each key.
pub async fn states(db: &Db) -> Result<Vec<RecordState>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT DISTINCT ON (kind, record_key) id, kind, record_key, unmet, promoted_at IS NOT NULL AS is_promoted, \
                is_client_visible, hidden_reason \
         FROM research_record WHERE superseded_at IS NULL ORDER BY kind, record_key, made_at DESC",
    );
    Ok(rows.fetch_all(&db.pool).await?)
}

/// Shows or hides all current records with the key of this record. `false` if the record does not exist.
pub async fn set_visible(tx: &mut Tx<'_>, id: &str, reason: Option<&str>, visible: bool) -> Result<bool, StoreError> {
    let sql = "UPDATE research_record r SET is_client_visible = $2, hidden_reason = $3 FROM research_record named \
               WHERE named.id = $1 AND (r.kind, r.record_key) = (named.kind, named.record_key) AND r.superseded_at IS NULL";
    let changed = sqlx::query(sql).bind(id).bind(visible).bind(reason.filter(|_| !visible)).execute(&mut **tx).await?;
    Ok(changed.rows_affected() > 0)
}
