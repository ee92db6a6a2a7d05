//! Deliveries as their owner reads them, and recent success counts.

use crate::store::webhooks::deliveries::{attempt, event_id, failure};
use crate::store::{At, Db, StoreError, decode_enum};
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
        SELECT d.*, e.event_id, e.event_type, e.body, a.ended_at, a.duration_ms, a.http_status, a.failure
        FROM (
            SELECT d.*, sum(octet_length(e.body)) OVER (ORDER BY d.id DESC) - octet_length(e.body) AS bytes_before
            FROM webhook_delivery d JOIN webhook_event e ON e.id = d.event
            WHERE d.subscription_id = $1 AND ($2::bigint IS NULL OR d.id = $2)
              AND NOT EXISTS (SELECT FROM chain c WHERE c.chain_id = ANY (e.chain_ids) AND NOT c.is_served)
            ORDER BY d.id DESC LIMIT $3
        ) d JOIN webhook_event e ON e.id = d.event
        LEFT JOIN LATERAL (SELECT * FROM webhook_attempt a WHERE a.delivery_id = d.id ORDER BY a.lease_token DESC LIMIT 1) a ON TRUE
        WHERE d.bytes_before < $4
        ORDER BY d.id DESC";
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
        SELECT count(*), count(*) FILTER (WHERE failure IS NULL),
               EXISTS (SELECT FROM webhook_delivery WHERE state = 'failed_terminal')
        FROM webhook_attempt WHERE ended_at > $1 AND ended_at <= $2";
    let (attempts, delivered, has_dead_letters): (i64, i64, bool) =
        sqlx::query_as(sql).bind(At(now.plus_seconds(-3_600))).bind(At(now)).fetch_one(&db.pool).await?;
    Ok(Recent { attempts: attempts.unsigned_abs(), delivered: delivered.unsigned_abs(), has_dead_letters })
}
