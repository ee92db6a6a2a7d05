//! Periodic reads and deletions for webhooks.

use crate::decode::Nullable;
use crate::{At, Db, StoreError};
use rds_shared::wire::Timestamp;
use sqlx::FromRow;

/// Maximum number of rows deleted by one statement.
const MAX_ROWS: i64 = 1_000;

/// The backlog of webhooks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromRow)]
pub struct WebhookBacklog {
    /// Number of deliveries without a final outcome.
    #[sqlx(try_from = "i64")]
    pub waiting: u64,
    /// Due time of the oldest due delivery of an active subscription.
    #[sqlx(try_from = "Nullable<At>")]
    pub due_since: Option<Timestamp>,
    /// Number of journal entries that are not fanned out yet.
    #[sqlx(try_from = "i64")]
    pub behind: u64,
    /// Wall-clock time of the database when the backlog was read, to detect an offset of this process's clock.
    #[sqlx(try_from = "At")]
    pub database_now: Timestamp,
}

/// The backlog at `now`.
pub async fn backlog(db: &Db, now: Timestamp) -> Result<WebhookBacklog, StoreError> {
    let sql = "
        -- webhook_backlog
        SELECT (SELECT count(*) FROM webhook_delivery WHERE state = 'pending')
                   + (SELECT coalesce(sum(cardinality(subscriptions)), 0)::bigint FROM webhook_event_lease) AS waiting,
               least((SELECT min(due) FROM webhook_event_lease), (SELECT min(d.due) FROM webhook_delivery d JOIN webhook_subscription s ON s.id = d.subscription_id
                WHERE d.state = 'pending' AND d.due <= $1 AND s.status = 'active')) AS due_since,
               coalesce((SELECT greatest(0, j.head - c.position) FROM journal_state j, journal_consumer c
                         WHERE c.name = 'webhooks'), 0) AS behind,
               clock_timestamp() AS database_now";
    Ok(sqlx::query_as(sql).bind(At(now)).fetch_one(&db.pool).await?)
}

/// Deletes events older than `before` without pending deliveries, together with their deliveries, and idempotency keys of creations older
/// than `named_before`. Returns the number of rows deleted; 0 when there is nothing left to delete.
pub async fn prune(db: &Db, before: Timestamp, named_before: Timestamp) -> Result<u64, StoreError> {
    let events = "
        -- prune_webhook_events
        DELETE FROM webhook_event WHERE id IN (
            SELECT e.id FROM webhook_event e
            WHERE e.created_at < $1 AND NOT EXISTS (SELECT FROM webhook_delivery d WHERE d.event = e.id AND d.state = 'pending')
            ORDER BY e.created_at LIMIT $2)";
    let events = sqlx::query(events).bind(At(before)).bind(MAX_ROWS).execute(&db.pool).await?.rows_affected();
    let names = "
        -- prune_webhook_creations
        DELETE FROM webhook_creation WHERE (org_id, idempotency_key) IN (
            SELECT org_id, idempotency_key FROM webhook_creation WHERE created_at < $1 ORDER BY created_at LIMIT $2)";
    let names = sqlx::query(names).bind(At(named_before)).bind(MAX_ROWS).execute(&db.pool).await?.rows_affected();
    Ok(events + names)
}

/// Deletes some of the deliveries of removed subscriptions; returns their number.
///
/// A removed subscription is forgotten an hour after its removal, when no transaction can add deliveries to it any more.
pub async fn prune_removed(db: &Db) -> Result<u64, StoreError> {
    let sql = "
        -- prune_removed_webhooks
        DELETE FROM webhook_delivery WHERE id IN (
            SELECT d.id FROM webhook_removed r CROSS JOIN LATERAL (
                SELECT d.id FROM webhook_delivery d WHERE d.subscription_id = r.subscription_id ORDER BY d.id DESC LIMIT $1) AS d
            LIMIT $1)";
    let deleted = sqlx::query(sql).bind(MAX_ROWS).execute(&db.pool).await?.rows_affected();
    if deleted == 0 {
        let sql = "DELETE FROM webhook_removed WHERE removed_at < clock_timestamp() - interval '1 hour'";
        sqlx::query(sql).execute(&db.pool).await?;
    }
    Ok(deleted)
}
