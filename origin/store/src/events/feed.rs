//! The tables of the events feed: their update when events change, and reads of single rows. `pages` reads pages.

use crate::columns::{DbIdText, DbList};
use crate::db_enum::DbEnum;
use crate::decode::{DbChainId, Nullable};
use crate::shared_row::{Shared, shared_row};
use crate::{At, Db, StoreError, Tx};
use rds_facts::Reference;
use rds_shared::model::event::EventRow;
use rds_shared::model::status::{IncidentSeverity, RemediationStatus, Severity};

/// Columns of a listed row. `f` is its row in `event_feed` or `event_repeat`, `e` its event.
pub(crate) const COLUMNS: &str = "SELECT e.id, e.event_type, e.severity, e.title, e.description, e.occurred_at, e.incident_severity, \
         e.loss_usd, e.remediation_status, e.links, e.group_key, e.source, e.published_at, f.occurrence_count, \
         f.protocol_id AS shown_protocol, pr.name AS protocol_name, f.chain_id AS shown_chain, c.name AS chain_name, \
         f.curator_id AS shown_curator, cu.name AS curator_name";
/// Joins that supply the columns of [`COLUMNS`].
pub(crate) const JOINED: &str = "JOIN event e ON e.id = f.event_id LEFT JOIN protocol pr ON pr.id = f.protocol_id \
     LEFT JOIN chain c ON c.chain_id = f.chain_id LEFT JOIN curator cu ON cu.id = f.curator_id";

/// The groups of these events.
pub async fn groups_of(tx: &mut Tx<'_>, ids: &[i64]) -> Result<Vec<String>, StoreError> {
    let groups =
        sqlx::query_scalar("SELECT DISTINCT group_key FROM event WHERE id = ANY($1) AND group_key IS NOT NULL");
    Ok(groups.bind(ids).fetch_all(&mut **tx).await?)
}

/// Updates the feed for these events, for their groups, and for the groups they were in before.
///
/// A group is represented by its newest published event; at the same instant the greater id wins. The group's other published events are
/// kept in `event_repeat`, where filters find them. The caller holds the writers' lock.
///
/// The place of each event (its protocol, chain and curator) is looked up separately (`OFFSET 0`): the planner has no statistics of the
/// rows written in this transaction and would otherwise join thousands of new events with each other.
pub async fn refresh(tx: &mut Tx<'_>, ids: &[i64], old_groups: &[String]) -> Result<(), StoreError> {
    if ids.is_empty() && old_groups.is_empty() {
        return Ok(());
    }
    let mut groups = groups_of(tx, ids).await?;
    groups.extend_from_slice(old_groups);
    sqlx::query("DELETE FROM event_feed WHERE event_id = ANY($1) OR group_key = ANY($2)")
        .bind(ids)
        .bind(&groups)
        .execute(&mut **tx)
        .await?;
    sqlx::query("DELETE FROM event_repeat WHERE event_id = ANY($1)").bind(ids).execute(&mut **tx).await?;
    // Existing rows of the group in `event_repeat` are kept, so their search vectors are not recomputed. Triggers delete from
    // `event_repeat` the event that now represents its group, and events that are no longer published.
    sqlx::query(
        "WITH shown AS MATERIALIZED ( \
             SELECT e.id, e.group_key, e.occurred_at, lower(e.event_type) AS event_type, lower(e.source) AS source, \
                    CASE e.severity WHEN 'Critical' THEN 3 WHEN 'Warning' THEN 2 ELSE 1 END AS severity_rank, e.incident_severity, \
                    e.remediation_status, e.loss_usd, e.title || ' ' || coalesce(e.description, '') AS words, \
                    p.protocol_id, p.chain_id, p.curator_id, p.protocol_ids, p.chain_ids, p.curator_ids, \
                    count(*) OVER shown AS occurrences, \
                    row_number() OVER (shown ORDER BY e.occurred_at DESC, e.id DESC) AS place \
             FROM event e CROSS JOIN LATERAL (SELECT * FROM event_place p WHERE p.event_id = e.id OFFSET 0) AS p \
             WHERE p.is_served AND e.state = 'published' AND (e.group_key = ANY($2) OR e.group_key IS NULL AND e.id = ANY($1)) \
             WINDOW shown AS (PARTITION BY e.group_key, CASE WHEN e.group_key IS NULL THEN e.id END) \
         ), stands AS ( \
             INSERT INTO event_feed \
             SELECT s.id, s.group_key, s.occurrences, s.occurred_at, s.event_type, s.source, s.severity_rank, s.incident_severity, \
                    s.remediation_status, s.loss_usd, s.protocol_id, s.chain_id, s.curator_id, s.protocol_ids, s.chain_ids, \
                    s.curator_ids, to_tsvector('event_words', s.words) \
             FROM shown s WHERE s.place = 1 \
         ) \
         INSERT INTO event_repeat \
         SELECT s.id, s.group_key, s.occurred_at, s.event_type, s.source, s.severity_rank, s.incident_severity, \
                s.remediation_status, s.loss_usd, s.protocol_id, s.chain_id, s.curator_id, s.protocol_ids, s.chain_ids, \
                s.curator_ids, to_tsvector('event_words', s.words) \
         FROM shown s WHERE s.place > 1 AND NOT EXISTS (SELECT FROM event_repeat r WHERE r.event_id = s.id)",
    )
    .bind(ids)
    .bind(&groups)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The row that represents a group; `None` if none of its events is published.
pub async fn representative(db: &Db, group_key: &str) -> Result<Option<EventRow>, StoreError> {
    let sql = format!("{COLUMNS} FROM event_feed f {JOINED} WHERE f.group_key = $1");
    let row = sqlx::query_as(&sql).bind(group_key).fetch_optional(&db.pool).await?;
    Ok(row.map(|Shared(event)| event))
}

/// Number of groups in the feed that affect a curator's vaults.
pub async fn count_of_curator(db: &Db, id: &str) -> Result<u64, StoreError> {
    let total: i64 = sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM event_feed WHERE curator_ids @> ARRAY[$1]) \
              + (SELECT count(DISTINCT r.group_key) FROM event_repeat r WHERE r.curator_ids @> ARRAY[$1] \
                 AND NOT EXISTS (SELECT FROM event_feed f WHERE f.group_key = r.group_key AND f.curator_ids @> ARRAY[$1]))",
    )
    .bind(id)
    .fetch_one(&db.pool)
    .await?;
    Ok(u64::try_from(total).unwrap_or(0))
}

shared_row! { EventRow {
    id: DbIdText, event_type, severity: DbEnum<Severity>, title, description, occurred_at: At,
    protocol_id = "shown_protocol", protocol_name, chain_id: Nullable<DbChainId> = "shown_chain", chain_name,
    curator_id = "shown_curator", curator_name, incident_severity: Nullable<DbEnum<IncidentSeverity>>,
    loss_amount_usd = "loss_usd", remediation_status: Nullable<DbEnum<RemediationStatus>>, links: DbList<Reference>,
    occurrence_count: i64, group_key, source, published_at: Nullable<At>
} }
