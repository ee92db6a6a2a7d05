//! The security registry: its rows as served, and their states.

pub mod auto_publish;
pub mod losses;
pub mod signals;

use super::{At, Db, StoreError, Tx};
use crate::columns::{DbCents, DbList};
use crate::db_enum::DbEnum;
use crate::decode::{DbChainId, Nullable};
use crate::shared_row::{Shared, shared_row, structs};
use rds_facts::Reference;
use rds_shared::model::security::{PublishedBy, RegistryState, SecurityEvent};
use rds_shared::model::status::Severity;
use sqlx::FromRow;

/// Condition: row `s` touches the tracked universe. It names a protocol, or one of its victims is the contract of a vault, deposit asset,
/// asset, market or reserve.
const TOUCHES_TRACKED: &str = "(s.protocol_id IS NOT NULL \
     OR EXISTS (SELECT FROM vault v WHERE v.chain_id = s.chain_id AND v.address = ANY(s.victims)) \
     OR EXISTS (SELECT FROM vault v WHERE v.chain_id = s.chain_id AND v.asset_address = ANY(s.victims)) \
     OR EXISTS (SELECT FROM asset a WHERE a.chain_id = s.chain_id AND a.address = ANY(s.victims)) \
     OR EXISTS (SELECT FROM market m WHERE m.chain_id = s.chain_id AND m.address = ANY(s.victims)) \
     OR EXISTS (SELECT FROM market_reserve r WHERE r.chain_id = s.chain_id \
                AND (r.token_address = ANY(s.victims) OR r.asset_address = ANY(s.victims))))";

/// The part of the tracked universe that row `s` touches, as `t`: vaults that are victims; and protocols of these vaults, of victim
/// markets and reserves, and of the row itself.
const TRACKED_PART: &str = "LATERAL ( \
     WITH hit AS (SELECT v.id, v.protocol_id FROM vault v WHERE v.chain_id = s.chain_id AND v.address = ANY(s.victims)) \
     SELECT ARRAY(SELECT id FROM hit ORDER BY id COLLATE \"C\") AS vaults, \
            ARRAY(SELECT protocol_id FROM (SELECT protocol_id FROM hit UNION SELECT s.protocol_id WHERE s.protocol_id IS NOT NULL \
                  UNION SELECT m.protocol_id FROM market m WHERE m.chain_id = s.chain_id AND m.address = ANY(s.victims) \
                  UNION SELECT m.protocol_id FROM market_reserve r JOIN market m USING (contract) \
                        WHERE r.chain_id = s.chain_id AND r.token_address = ANY(s.victims)) AS named \
                  ORDER BY protocol_id COLLATE \"C\") AS protocols) AS t";

/// Served rows: published and not on a withheld chain.
const SERVED: &str =
    "security_event s LEFT JOIN chain c USING (chain_id) WHERE s.state = 'published' AND coalesce(c.is_served, true)";

/// Columns of a served row. Its feed event is named only while that event is published and served. Each event's place is looked up
/// separately; see `events::feed::refresh` for the reason.
const ROW: &str = "SELECT s.*, (s.loss_usd * 100)::bigint AS loss_cents, c.slug AS chain_slug, \
     s.confirmations - s.disconfirmations AS net_score, \
     (SELECT e.id::text FROM event e CROSS JOIN LATERAL (SELECT * FROM event_served p WHERE p.event_id = e.id OFFSET 0) AS p \
      WHERE e.id = s.promoted_event_id AND e.state = 'published' AND p.is_served) AS shown_event_id";

/// The state of a row.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct RegistryStatus {
    #[sqlx(try_from = "DbEnum<RegistryState>")]
    pub state: RegistryState,
    /// Whether the row touches the tracked universe.
    pub affects_tracked_universe: bool,
    /// Id of the feed event that reports the row.
    pub promoted_event_id: Option<i64>,
    /// False while the row's chain is withheld.
    pub is_served: bool,
}

/// A row in the operators' list.
#[derive(Debug, Clone, PartialEq, Eq, FromRow, serde::Serialize)]
pub struct RegistryEntry {
    pub id: i64,
    #[sqlx(try_from = "DbEnum<RegistryState>")]
    pub state: RegistryState,
    pub source: String,
    /// The source's own id of the row.
    pub source_id: String,
    pub title: String,
    /// Whether the row touches the tracked universe.
    pub affects_tracked_universe: bool,
    /// The reason for the row's state; `None` if none was stated.
    pub state_reason: Option<String>,
}

/// The part of the tracked universe that a row touches, ids ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq, FromRow)]
pub struct TrackedPart {
    /// Vaults that are victims themselves.
    pub vaults: Vec<String>,
    /// The protocols of these vaults, of victim markets and reserves, and of the row itself.
    pub protocols: Vec<String>,
}

/// Recomputes `affects_tracked_universe` of every row; returns how many changed.
pub async fn refresh_tracked_flags(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    let sql = format!(
        "UPDATE security_event AS old SET affects_tracked_universe = now.touches \
         FROM (SELECT s.id, {TOUCHES_TRACKED} AS touches FROM security_event s) AS now \
         WHERE now.id = old.id AND now.touches <> old.affects_tracked_universe"
    );
    Ok(sqlx::query(&sql).execute(&mut **tx).await?.rows_affected())
}

/// The state of a row; `None` if it does not exist.
pub async fn status(tx: &mut Tx<'_>, id: i64) -> Result<Option<RegistryStatus>, StoreError> {
    let row = sqlx::query_as(
        "SELECT s.state, s.affects_tracked_universe, s.promoted_event_id, coalesce(c.is_served, true) AS is_served \
         FROM security_event s LEFT JOIN chain c USING (chain_id) WHERE s.id = $1",
    );
    Ok(row.bind(id).fetch_optional(&mut **tx).await?)
}

pub async fn set_published(tx: &mut Tx<'_>, id: i64, by: PublishedBy, now: At) -> Result<(), StoreError> {
    let sql = "UPDATE security_event SET state = 'published', published_by = $2, published_at = $3, state_changed_at = $3, \
               state_reason = NULL WHERE id = $1";
    sqlx::query(sql).bind(id).bind(by.as_str()).bind(now).execute(&mut **tx).await?;
    Ok(())
}

/// Sets a state other than published.
pub async fn set_withheld(
    tx: &mut Tx<'_>,
    id: i64,
    state: RegistryState,
    reason: Option<&str>,
    now: At,
) -> Result<(), StoreError> {
    let sql = "UPDATE security_event SET state = $2, state_changed_at = $3, state_reason = $4 WHERE id = $1";
    sqlx::query(sql)
        .bind(id)
        .bind(state.as_str())
        .bind(now) // $3 state_changed_at
        .bind(reason) // $4 state_reason
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Sets the event in the feed that reports a row; returns whether that changed the row.
pub async fn set_promoted(tx: &mut Tx<'_>, id: i64, event_id: Option<i64>) -> Result<bool, StoreError> {
    let sql =
        "UPDATE security_event SET promoted_event_id = $2 WHERE id = $1 AND promoted_event_id IS DISTINCT FROM $2";
    Ok(sqlx::query(sql).bind(id).bind(event_id).execute(&mut **tx).await?.rows_affected() > 0)
}

/// Number of rows that one of these events reports.
pub async fn count_reported_by(tx: &mut Tx<'_>, events: &[i64]) -> Result<u64, StoreError> {
    let sql = "SELECT count(*) FROM security_event WHERE promoted_event_id = ANY($1)";
    let rows: i64 = sqlx::query_scalar(sql).bind(events).fetch_one(&mut **tx).await?;
    Ok(rows.unsigned_abs())
}

/// Published rows that touch the tracked universe and need an event in the feed: rows without an event, and rows whose event was made from
/// the row (event key: `made` and the row's id) although an incident has since been reported under the row's source and source id.
pub async fn to_promote(tx: &mut Tx<'_>, made: &str) -> Result<Vec<i64>, StoreError> {
    let sql = format!(
        "SELECT s.id FROM (SELECT s.* FROM {SERVED}) AS s LEFT JOIN event e ON e.id = s.promoted_event_id \
         WHERE s.affects_tracked_universe AND (e.id IS NULL OR (e.event_key = $1 || s.id AND e.state = 'published' AND EXISTS ( \
             SELECT FROM event r WHERE r.event_key = lower(s.source || '-' || s.source_id) AND r.state = 'published'))) \
         ORDER BY s.attacked_at, s.id"
    );
    Ok(sqlx::query_scalar(&sql).bind(made).fetch_all(&mut **tx).await?)
}

/// Published rows with a published event that was made from the row, if the event differs from the row or the row no longer touches the
/// tracked universe.
pub async fn outdated_events(tx: &mut Tx<'_>, made: &str) -> Result<Vec<i64>, StoreError> {
    let sql = format!(
        "SELECT s.id FROM (SELECT s.* FROM {SERVED}) AS s JOIN event e ON e.id = s.promoted_event_id AND e.event_key = $1 || s.id AND e.state = 'published' \
         CROSS JOIN {TRACKED_PART} \
         WHERE NOT s.affects_tracked_universe \
            OR (e.severity, e.title, e.description, e.source, e.occurred_at, e.loss_usd, e.tx_hash, e.links, e.chain_id, e.protocol_id) \
               IS DISTINCT FROM (s.severity, s.title, s.description, s.source, s.attacked_at, s.loss_usd::double precision, s.tx_hash, s.links, \
                                 s.chain_id, t.protocols[1]) \
            OR t.vaults <> ARRAY(SELECT l.subject_id FROM event_link l WHERE l.event_id = e.id AND l.scope = 'vault' ORDER BY l.subject_id COLLATE \"C\") \
         ORDER BY s.attacked_at, s.id"
    );
    Ok(sqlx::query_scalar(&sql).bind(made).fetch_all(&mut **tx).await?)
}

/// The part of the tracked universe that a row touches.
pub async fn tracked_part(tx: &mut Tx<'_>, id: i64) -> Result<TrackedPart, StoreError> {
    let sql = format!("SELECT t.* FROM security_event s CROSS JOIN {TRACKED_PART} WHERE s.id = $1");
    Ok(sqlx::query_as(&sql).bind(id).fetch_one(&mut **tx).await?)
}

/// A row as served at this point of the transaction; `None` if it is not served.
pub async fn served(tx: &mut Tx<'_>, id: i64) -> Result<Option<SecurityEvent>, StoreError> {
    let sql = format!("{ROW} FROM {SERVED} AND s.id = $1");
    let row = sqlx::query_as(&sql).bind(id).fetch_optional(&mut **tx).await?;
    Ok(row.map(|Shared(event)| event))
}

/// All served rows, by id, ascending.
pub async fn load(db: &Db) -> Result<Vec<SecurityEvent>, StoreError> {
    let sql = format!("{ROW} FROM {SERVED} ORDER BY s.id");
    Ok(structs(sqlx::query_as(&sql).fetch_all(&db.pool).await?))
}

/// One row for operators; `None` if it does not exist.
pub async fn entry(db: &Db, id: i64) -> Result<Option<RegistryEntry>, StoreError> {
    Ok(sqlx::query_as("SELECT * FROM security_event WHERE id = $1").bind(id).fetch_optional(&db.pool).await?)
}

/// Rows for operators, newest attack first, at most `limit`; only of one state if given.
pub async fn entries(db: &Db, state: Option<RegistryState>, limit: u32) -> Result<Vec<RegistryEntry>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT * FROM security_event \
         WHERE $1::text IS NULL OR state = $1 ORDER BY attacked_at DESC, id DESC LIMIT $2",
    );
    Ok(rows.bind(state.map(RegistryState::as_str)).bind(i64::from(limit)).fetch_all(&db.pool).await?)
}

shared_row! { SecurityEvent {
    id: i64, source, source_id, chain_id: Nullable<DbChainId>, chain_slug, title, description, attackers, victims,
    net_score: i32, confirmations: i32, disconfirmations: i32, loss_amount_usd: Nullable<DbCents> = "loss_cents",
    severity: DbEnum<Severity>, tx_hash, native_url, links: DbList<Reference>, affects_tracked_universe,
    attacked_at: At, promoted_event_id = "shown_event_id", published_by: DbEnum<PublishedBy>
} }
