//! Deliveries as their owner reads them, and recent success counts.

use super::webhook_deliveries::{attempt, event_id, failure};
use super::{At, Db, StoreError, decode_enum};
use rds_shared::push::schedule::{Attempt, DeliveryStatus, Failure};
use rds_shared::push::webhook::{EventId, EventType};
use rds_shared::wire::Timestamp;
use sqlx::Row;
use sqlx::postgres::PgRow;

/// A delivery and its latest attempt.
#[derive(Debug, Clone)]
pub struct Listed {
    pub id: i64,
    pub event_id: EventId,
    pub event_type: EventType,
    pub status: DeliveryStatus,
    /// The due attempt, or the last one made.
    pub attempt: Attempt,
    /// When the next attempt is due; `None` once the outcome is final.
    pub due: Option<Timestamp>,
    /// When the delivery was enqueued.
    pub created_at: Timestamp,
    /// When the outcome became final.
    pub finished_at: Option<Timestamp>,
    pub body: String,
    /// The latest attempt; `None` before the first.
    pub latest: Option<Latest>,
}

/// The result of an attempt.
#[derive(Debug, Clone, Copy)]
pub struct Latest {
    pub ended_at: Timestamp,
    /// Duration in milliseconds.
    pub duration_ms: u32,
    /// Status of the response, if there was one.
    pub status: Option<u16>,
    /// The failure; `None` if the attempt succeeded.
    pub failure: Option<Failure>,
}

/// Maximum size of the bodies in one list, in bytes; the newest delivery is listed whatever its size.
const MAX_LISTED_BYTES: i64 = 4 << 20;

/// The newest `limit` deliveries of a subscription, newest first, or only the one with the id `only`. Deliveries that name a withheld chain
/// are left out.
pub async fn deliveries(db: &Db, subscription: i64, only: Option<i64>, limit: i64) -> Result<Vec<Listed>, StoreError> {
    let sql = "
        -- webhook_deliveries
        select d.*, e.event_id, e.event_type, e.body, a.ended_at, a.duration_ms, a.http_status, a.failure
        from (
            select d.*, sum(octet_length(e.body)) over (order by d.id desc) - octet_length(e.body) as bytes_before
            from webhook_delivery d join webhook_event e on e.id = d.event
            where d.subscription_id = $1 and ($2::bigint is null or d.id = $2)
              and not exists (select from chain c where c.chain_id = any (e.chain_ids) and not c.is_served)
            order by d.id desc limit $3
        ) d join webhook_event e on e.id = d.event
        left join lateral (select * from webhook_attempt a where a.delivery_id = d.id order by a.lease_token desc limit 1) a on true
        where d.bytes_before < $4
        order by d.id desc";
    let rows =
        sqlx::query(sql).bind(subscription).bind(only).bind(limit).bind(MAX_LISTED_BYTES).fetch_all(&db.pool).await?;
    rows.iter().map(listed).collect()
}

fn listed(row: &PgRow) -> Result<Listed, StoreError> {
    let instant = |column| Ok::<_, StoreError>(row.try_get::<Option<At>, _>(column)?.map(Timestamp::from));
    let status: DeliveryStatus = decode_enum("webhook_delivery.state", row.try_get("state")?)?;
    let latest = match instant("ended_at")? {
        None => None,
        Some(ended_at) => Some(Latest {
            ended_at,
            duration_ms: u32::try_from(row.try_get::<i32, _>("duration_ms")?).unwrap_or(0),
            status: row.try_get::<Option<i16>, _>("http_status")?.and_then(|status| u16::try_from(status).ok()),
            failure: failure(row.try_get("failure")?)?,
        }),
    };
    Ok(Listed {
        id: row.try_get("id")?,
        event_id: event_id(row.try_get("event_id")?)?,
        event_type: decode_enum("webhook_event.event_type", row.try_get("event_type")?)?,
        status,
        attempt: attempt(row.try_get("attempt")?)?,
        due: instant("due")?.filter(|_| status == DeliveryStatus::Pending),
        created_at: row.try_get::<At, _>("created_at")?.into(),
        finished_at: instant("finished_at")?,
        body: row.try_get("body")?,
        latest,
    })
}

/// Recent results of deliveries, for the status feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recent {
    /// Number of attempts that ended in the last hour.
    pub attempts: u64,
    /// Number of these attempts that succeeded.
    pub delivered: u64,
    /// Whether any given-up delivery has not been replayed.
    pub has_dead_letters: bool,
}

/// The results in the hour before `now`.
pub async fn recent(db: &Db, now: Timestamp) -> Result<Recent, StoreError> {
    let sql = "
        -- recent_webhook_attempts
        select count(*), count(*) filter (where failure is null),
               exists (select from webhook_delivery where state = 'failed_terminal')
        from webhook_attempt where ended_at > $1 and ended_at <= $2";
    let (attempts, delivered, has_dead_letters): (i64, i64, bool) =
        sqlx::query_as(sql).bind(At(now.plus_seconds(-3_600))).bind(At(now)).fetch_one(&db.pool).await?;
    Ok(Recent { attempts: attempts.unsigned_abs(), delivered: delivered.unsigned_abs(), has_dead_letters })
}
