//! The states of events: each statement moves those that are not there yet and answers which it moved, in id order.
//!
//! A statement waits for whoever is moving the same row and then looks at it again, so of two publishers one moves it.

use super::{At, StoreError, Tx, word};
use rds_shared::model::event::PublicationState;

/// Makes events public. With `promoted` they come into the feed from a registry. With `first_only` those are left alone
/// that were public before.
pub async fn publish(
    tx: &mut Tx<'_>,
    ids: &[i64],
    at: At,
    promoted: bool,
    first_only: bool,
) -> Result<Vec<i64>, StoreError> {
    let moved = sqlx::query_scalar(
        "UPDATE event SET state = 'published', published_at = $2, promoted_at = CASE WHEN $3 THEN $2 END, \
                          retracted_at = NULL, retracted_reason = NULL \
         WHERE id = ANY($1) AND (state = 'draft' OR state = 'retracted' AND NOT $4) RETURNING id",
    );
    Ok(sorted(moved.bind(ids).bind(at).bind(promoted).bind(first_only).fetch_all(&mut **tx).await?))
}

/// Marks a public event as promoted into the feed.
pub async fn promote(tx: &mut Tx<'_>, id: i64, at: At) -> Result<Vec<i64>, StoreError> {
    let moved = sqlx::query_scalar(
        "UPDATE event SET promoted_at = $2 WHERE id = $1 AND state = 'published' AND promoted_at IS NULL RETURNING id",
    );
    Ok(moved.bind(id).bind(at).fetch_all(&mut **tx).await?)
}

/// Withdraws a public event.
pub async fn retract(tx: &mut Tx<'_>, id: i64, at: At, reason: Option<&str>) -> Result<Vec<i64>, StoreError> {
    let moved = sqlx::query_scalar(
        "UPDATE event SET state = 'retracted', retracted_at = $2, retracted_reason = $3, promoted_at = NULL \
         WHERE id = $1 AND state = 'published' RETURNING id",
    );
    Ok(moved.bind(id).bind(at).bind(reason).fetch_all(&mut **tx).await?)
}

/// Where an event stands, and whether it was promoted; none when there is no such event.
pub async fn of(tx: &mut Tx<'_>, id: i64) -> Result<Option<(PublicationState, bool)>, StoreError> {
    let row: Option<(String, bool)> = sqlx::query_as("SELECT state, promoted_at IS NOT NULL FROM event WHERE id = $1")
        .bind(id)
        .fetch_optional(&mut **tx)
        .await?;
    row.map(|(state, promoted)| Ok((word("event.state", &state)?, promoted))).transpose()
}

/// Takes back the links that a newer observation of their event no longer names; answers scope and subject of each.
pub async fn drop_old_links(tx: &mut Tx<'_>, ids: &[i64]) -> Result<Vec<(String, String)>, StoreError> {
    let dropped = sqlx::query_as(
        "DELETE FROM event_link l USING event e \
         WHERE e.id = l.event_id AND e.id = ANY($1) AND l.observed_at < e.observed_at RETURNING l.scope, l.subject_id",
    );
    Ok(dropped.bind(ids).fetch_all(&mut **tx).await?)
}

/// Those of `ids` that are incidents: what scores depend on.
pub async fn incidents_among(tx: &mut Tx<'_>, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
    let incidents = sqlx::query_scalar("SELECT id FROM event WHERE id = ANY($1) AND event_type = 'Incident'");
    Ok(incidents.bind(ids).fetch_all(&mut **tx).await?)
}

fn sorted(mut ids: Vec<i64>) -> Vec<i64> {
    ids.sort_unstable();
    ids
}
