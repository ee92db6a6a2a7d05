//! The publication states of events. Each statement changes only events that are not yet in the new state, and returns their ids in order.
//!
//! A statement waits for a concurrent change of the same row and then checks its condition again, so only one of two publishers succeeds.

use crate::{At, StoreError, Tx, decode_enum};
use rds_facts::EventScope;
use rds_shared::model::event::PublicationState;

/// Publishes events. `promoted` marks them as promoted from a registry into the feed. With `first_only`, events that were published before
/// are left unchanged.
pub async fn publish(
    tx: &mut Tx<'_>,
    ids: &[i64],
    at: At,
    promoted: bool,
    first_only: bool,
) -> Result<Vec<i64>, StoreError> {
    let moved = sqlx::query_scalar(
        "UPDATE event SET state = 'published', published_at = $2::timestamptz, promoted_at = CASE WHEN $3 THEN $2 END, \
                          retracted_at = NULL, retracted_reason = NULL \
         WHERE id = ANY($1) AND (state = 'draft' OR state = 'retracted' AND NOT $4) RETURNING id",
    );
    let moved = moved
        .bind(ids)
        .bind(at) // $2 published_at
        .bind(promoted)
        .bind(first_only);
    Ok(sorted(moved.fetch_all(&mut **tx).await?))
}

/// Marks a published event as promoted into the feed.
pub async fn promote(tx: &mut Tx<'_>, id: i64, at: At) -> Result<Vec<i64>, StoreError> {
    let moved = sqlx::query_scalar(
        "UPDATE event SET promoted_at = $2 WHERE id = $1 AND state = 'published' AND promoted_at IS NULL RETURNING id",
    );
    Ok(moved.bind(id).bind(at).fetch_all(&mut **tx).await?)
}

/// Retracts a published event.
pub async fn retract(tx: &mut Tx<'_>, id: i64, at: At, reason: Option<&str>) -> Result<Vec<i64>, StoreError> {
    let moved = sqlx::query_scalar(
        "UPDATE event SET state = 'retracted', retracted_at = $2, retracted_reason = $3, promoted_at = NULL \
         WHERE id = $1 AND state = 'published' RETURNING id",
    );
    Ok(moved.bind(id).bind(at).bind(reason).fetch_all(&mut **tx).await?)
}

/// State of an event, and whether it was promoted; `None` if it does not exist.
pub async fn of(tx: &mut Tx<'_>, id: i64) -> Result<Option<(PublicationState, bool)>, StoreError> {
    let row: Option<(String, bool)> = sqlx::query_as("SELECT state, promoted_at IS NOT NULL FROM event WHERE id = $1")
        .bind(id)
        .fetch_optional(&mut **tx)
        .await?;
    row.map(|(state, promoted)| Ok((decode_enum("event.state", &state)?, promoted))).transpose()
}

/// When the current record of an event was observed; `None` if the event does not exist.
pub async fn observed_at(tx: &mut Tx<'_>, id: i64) -> Result<Option<At>, StoreError> {
    Ok(sqlx::query_scalar("SELECT observed_at FROM event WHERE id = $1").bind(id).fetch_optional(&mut **tx).await?)
}

/// The ids that do not exist as events, without duplicates.
pub async fn unknown_among(tx: &mut Tx<'_>, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
    let unknown = sqlx::query_scalar(
        "SELECT DISTINCT named.id FROM unnest($1::bigint[]) AS named (id) WHERE NOT EXISTS (SELECT FROM event e WHERE e.id = named.id)",
    );
    Ok(unknown.bind(ids).fetch_all(&mut **tx).await?)
}

/// Deletes all links of these events; returns event, scope and subject of each.
pub async fn delete_links(tx: &mut Tx<'_>, ids: &[i64]) -> Result<Vec<(i64, EventScope, String)>, StoreError> {
    let taken = sqlx::query_as("DELETE FROM event_link WHERE event_id = ANY($1) RETURNING event_id, scope, subject_id");
    let taken: Vec<(i64, String, String)> = taken.bind(ids).fetch_all(&mut **tx).await?;
    let scope = |text: &str| if text == "vault" { EventScope::Vault } else { EventScope::Protocol };
    Ok(taken.into_iter().map(|(id, text, subject)| (id, scope(&text), subject)).collect())
}

/// Records whether the last message to subscribers said that these events are published.
pub async fn set_known_public(tx: &mut Tx<'_>, ids: &[&str], is_told: bool) -> Result<(), StoreError> {
    let sql = "UPDATE event SET is_told = $2 WHERE id = ANY($1::text[]::bigint[]) AND is_told <> $2";
    sqlx::query(sql).bind(ids).bind(is_told).execute(&mut **tx).await?;
    Ok(())
}

/// Retracted events that subscribers still believe to be published, in order of id.
pub async fn pending_retractions(tx: &mut Tx<'_>) -> Result<Vec<i64>, StoreError> {
    let owed = sqlx::query_scalar("SELECT id FROM event WHERE state = 'retracted' AND is_told ORDER BY id");
    Ok(owed.fetch_all(&mut **tx).await?)
}

/// The ids that are incidents. Scores depend on incidents only.
pub async fn incidents_among(tx: &mut Tx<'_>, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
    let incidents = sqlx::query_scalar("SELECT id FROM event WHERE id = ANY($1) AND event_type = 'Incident'");
    Ok(incidents.bind(ids).fetch_all(&mut **tx).await?)
}

fn sorted(mut ids: Vec<i64>) -> Vec<i64> {
    ids.sort_unstable();
    ids
}
