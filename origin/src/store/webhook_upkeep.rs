//! Periodic reads and deletions for webhooks.

use super::{At, Db, StoreError};
use rds_shared::wire::Timestamp;

/// Maximum number of rows deleted by one statement.
const MAX_ROWS: i64 = 1_000;

/// The backlog of webhooks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WebhookBacklog {
    /// Number of pending deliveries.
    pub waiting: u64,
    /// Due time of the oldest due delivery of an active subscription.
    pub due_since: Option<Timestamp>,
    /// Number of journal entries that are not fanned out yet.
    pub behind: u64,
    /// The database's clock.
    pub database_now: Timestamp,
}

/// The backlog at `now`.
pub async fn standing(db: &Db, now: Timestamp) -> Result<WebhookBacklog, StoreError> {
    let sql = "
        -- webhook_standing
        select (select count(*) from webhook_delivery where state = 'pending'),
               (select min(d.due) from webhook_delivery d join webhook_subscription s on s.id = d.subscription_id
                where d.state = 'pending' and d.due <= $1 and s.status = 'active'),
               (select greatest(0, j.head - c.position) from journal_state j, journal_consumer c where c.name = 'webhooks'),
               clock_timestamp()";
    let (waiting, due_since, behind, database_now): (i64, Option<At>, Option<i64>, At) =
        sqlx::query_as(sql).bind(At(now)).fetch_one(&db.pool).await?;
    Ok(WebhookBacklog {
        waiting: waiting.unsigned_abs(),
        due_since: due_since.map(Timestamp::from),
        behind: behind.unwrap_or(0).unsigned_abs(),
        database_now: database_now.into(),
    })
}

/// Deletes events older than `before` without pending deliveries, together with their deliveries, and idempotency keys of creations older
/// than `named_before`. Returns the number of rows deleted; 0 when there is nothing left to delete.
pub async fn prune(db: &Db, before: Timestamp, named_before: Timestamp) -> Result<u64, StoreError> {
    let events = "
        -- prune_webhook_events
        delete from webhook_event where id in (
            select e.id from webhook_event e
            where e.created_at < $1 and not exists (select from webhook_delivery d where d.event = e.id and d.state = 'pending')
            order by e.created_at limit $2)";
    let events = sqlx::query(events).bind(At(before)).bind(MAX_ROWS).execute(&db.pool).await?.rows_affected();
    let names = "
        -- prune_webhook_creations
        delete from webhook_creation where (org_id, idempotency_key) in (
            select org_id, idempotency_key from webhook_creation where created_at < $1 order by created_at limit $2)";
    let names = sqlx::query(names).bind(At(named_before)).bind(MAX_ROWS).execute(&db.pool).await?.rows_affected();
    Ok(events + names)
}
