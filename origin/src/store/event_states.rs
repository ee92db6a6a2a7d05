//! The states of events: each statement moves those that are not there yet and answers which it moved, in id order.
//!
//! A statement waits for whoever is moving the same row and then looks at it again, so of two publishers one moves it.

use super::{At, StoreError, Tx, word};
use crate::facts::EventScope;
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

/// When the record that an event shows was observed; none when there is no such event.
pub async fn observed_at(tx: &mut Tx<'_>, id: i64) -> Result<Option<At>, StoreError> {
    Ok(sqlx::query_scalar("SELECT observed_at FROM event WHERE id = $1").bind(id).fetch_optional(&mut **tx).await?)
}

/// Those of `ids` that there is no event of, each once.
pub async fn unknown_among(tx: &mut Tx<'_>, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
    let unknown = sqlx::query_scalar(
        "SELECT DISTINCT named.id FROM unnest($1::bigint[]) AS named (id) WHERE NOT EXISTS (SELECT FROM event e WHERE e.id = named.id)",
    );
    Ok(unknown.bind(ids).fetch_all(&mut **tx).await?)
}

/// Takes every link of these events away; answers event, scope and subject of each.
pub async fn take_links(tx: &mut Tx<'_>, ids: &[i64]) -> Result<Vec<(i64, EventScope, String)>, StoreError> {
    let taken = sqlx::query_as("DELETE FROM event_link WHERE event_id = ANY($1) RETURNING event_id, scope, subject_id");
    let taken: Vec<(i64, String, String)> = taken.bind(ids).fetch_all(&mut **tx).await?;
    let scope = |text: &str| if text == "vault" { EventScope::Vault } else { EventScope::Protocol };
    Ok(taken.into_iter().map(|(id, text, subject)| (id, scope(&text), subject)).collect())
}

/// Notes whether subscribers were last told that these events are public, or that they are not.
pub async fn set_told(tx: &mut Tx<'_>, ids: &[&str], is_told: bool) -> Result<(), StoreError> {
    let sql = "UPDATE event SET is_told = $2 WHERE id = ANY($1::text[]::bigint[]) AND is_told <> $2";
    sqlx::query(sql).bind(ids).bind(is_told).execute(&mut **tx).await?;
    Ok(())
}

/// The withdrawn events that subscribers were last told are public, in id order.
pub async fn owed_retractions(tx: &mut Tx<'_>) -> Result<Vec<i64>, StoreError> {
    let owed = sqlx::query_scalar("SELECT id FROM event WHERE state = 'retracted' AND is_told ORDER BY id");
    Ok(owed.fetch_all(&mut **tx).await?)
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
