//! What is read and removed of webhooks at intervals.

use super::{At, Db, StoreError};
use rds_shared::wire::Timestamp;

/// Rows removed in one go.
const AT_ONCE: i64 = 1_000;

/// How webhooks stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// Deliveries that wait for an attempt.
    pub waiting: u64,
    /// Since when the oldest of them has been due whose subscription delivers.
    pub due_since: Option<Timestamp>,
    /// Places of the journal that have not been fanned out.
    pub behind: u64,
    /// The database's clock.
    pub database_now: Timestamp,
}

/// How webhooks stand at `now`.
pub async fn standing(db: &Db, now: Timestamp) -> Result<Standing, StoreError> {
    let sql = "
        -- webhook_standing
        select (select count(*) from webhook_delivery where state = 'pending'),
               (select min(d.due) from webhook_delivery d join webhook_subscription s on s.id = d.subscription_id
                where d.state = 'pending' and d.due <= $1 and s.status = 'active'),
               (select greatest(0, j.head - c.position) from journal_state j, journal_consumer c where c.name = 'webhooks'),
               clock_timestamp()";
    let (waiting, due_since, behind, database_now): (i64, Option<At>, Option<i64>, At) =
        sqlx::query_as(sql).bind(At(now)).fetch_one(&db.pool).await?;
    Ok(Standing {
        waiting: waiting.unsigned_abs(),
        due_since: due_since.map(Timestamp::from),
        behind: behind.unwrap_or(0).unsigned_abs(),
        database_now: database_now.into(),
    })
}

/// Removes events older than `before` whose deliveries all came to an end, with these; then names of creations older than
/// `named_before`. How many rows of either went; 0 when there is no more to do.
pub async fn prune(db: &Db, before: Timestamp, named_before: Timestamp) -> Result<u64, StoreError> {
    let events = "
        -- prune_webhook_events
        delete from webhook_event where id in (
            select e.id from webhook_event e
            where e.created_at < $1 and not exists (select from webhook_delivery d where d.event = e.id and d.state = 'pending')
            order by e.created_at limit $2)";
    let events = sqlx::query(events).bind(At(before)).bind(AT_ONCE).execute(&db.pool).await?.rows_affected();
    let names = "
        -- prune_webhook_creations
        delete from webhook_creation where (org_id, idempotency_key) in (
            select org_id, idempotency_key from webhook_creation where created_at < $1 order by created_at limit $2)";
    let names = sqlx::query(names).bind(At(named_before)).bind(AT_ONCE).execute(&db.pool).await?.rows_affected();
    Ok(events + names)
}
