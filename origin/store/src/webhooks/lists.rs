//! Deliveries as their owner reads them, and recent success counts.

use crate::db_enum::DbEnum;
use crate::decode::{DbAttempt, DbEventId, Joined, Nullable, OuterJoined};
use crate::{At, Db, StoreError};
use rds_shared::push::delivery::EventId;
use rds_shared::push::event_type::EventType;
use rds_shared::push::schedule::{Attempt, DeliveryStatus, Failure};
use rds_shared::wire::Timestamp;
use sqlx::FromRow;

/// A delivery and its latest attempt.
#[derive(Debug, Clone, FromRow)]
pub struct Listed {
    pub id: i64,
    #[sqlx(try_from = "DbEventId")]
    pub event_id: EventId,
    #[sqlx(try_from = "DbEnum<EventType>")]
    pub event_type: EventType,
    #[sqlx(rename = "state", try_from = "DbEnum<DeliveryStatus>")]
    pub status: DeliveryStatus,
    /// Number of the next attempt, or of the last one once the outcome is final.
    #[sqlx(try_from = "DbAttempt")]
    pub attempt: Attempt,
    /// When the next attempt is due; `None` once the outcome is final.
    #[sqlx(rename = "next_due", try_from = "Nullable<At>")]
    pub due: Option<Timestamp>,
    /// When the delivery was enqueued.
    #[sqlx(try_from = "At")]
    pub created_at: Timestamp,
    /// When the outcome became final.
    #[sqlx(try_from = "Nullable<At>")]
    pub finished_at: Option<Timestamp>,
    pub body: String,
    /// The latest attempt; `None` before the first.
    #[sqlx(flatten, try_from = "Joined<Latest>")]
    pub latest: Option<Latest>,
}

/// The result of a delivery's latest attempt.
#[derive(Debug, Clone, Copy, FromRow)]
pub struct Latest {
    #[sqlx(try_from = "At")]
    pub ended_at: Timestamp,
    /// Duration in milliseconds.
    #[sqlx(try_from = "i32")]
    pub duration_ms: u32,
    /// Status of the response, if there was one.
    #[sqlx(rename = "http_status", try_from = "Nullable<i16>")]
    pub status: Option<u16>,
    /// The failure; `None` if the attempt succeeded.
    #[sqlx(try_from = "Nullable<DbEnum<Failure>>")]
    pub failure: Option<Failure>,
}

impl OuterJoined for Latest {
    const KEY: &'static str = "ended_at";
}

/// Maximum size of the bodies in one list, in bytes; the newest delivery is listed whatever its size.
const MAX_LISTED_BYTES: i64 = 4 << 20;

/// The newest `limit` deliveries of a subscription, newest first, or only the one with the id `only`. Deliveries that name a withheld chain
/// are left out.
pub async fn deliveries(db: &Db, subscription: i64, only: Option<i64>, limit: i64) -> Result<Vec<Listed>, StoreError> {
    let sql = "
        -- webhook_deliveries
        WITH newest AS (
            (SELECT d.id, d.event, d.state, d.attempt, d.due, d.created_at, d.finished_at
             FROM webhook_delivery d JOIN webhook_event e ON e.id = d.event
             WHERE d.subscription_id = $1 AND ($2::bigint IS NULL OR d.id = $2)
               AND NOT EXISTS (SELECT FROM chain c WHERE c.chain_id = ANY (e.chain_ids) AND NOT c.is_served)
             ORDER BY d.id DESC LIMIT $3)
            UNION ALL
            -- First attempts under way.
            SELECT u.id, l.event, 'pending', 1::smallint, l.due, l.due, NULL
            FROM webhook_event_lease l CROSS JOIN unnest(l.deliveries, l.subscriptions) AS u (id, subscription_id)
            JOIN webhook_event e ON e.id = l.event
            WHERE u.subscription_id = $1 AND ($2::bigint IS NULL OR u.id = $2)
              AND NOT EXISTS (SELECT FROM chain c WHERE c.chain_id = ANY (e.chain_ids) AND NOT c.is_served)
        )
        SELECT d.*, CASE WHEN d.state = 'pending' THEN d.due END AS next_due, a.ended_at, a.duration_ms, a.http_status, a.failure
        FROM (
            SELECT newest.*, e.event_id, e.event_type, e.body,
                sum(octet_length(e.body)) OVER (ORDER BY newest.id DESC) - octet_length(e.body) AS bytes_before
            FROM newest JOIN webhook_event e ON e.id = newest.event
            ORDER BY newest.id DESC LIMIT $3
        ) d
        LEFT JOIN LATERAL (SELECT * FROM webhook_attempt a WHERE a.delivery_id = d.id ORDER BY a.lease_token DESC LIMIT 1) a ON TRUE
        WHERE d.bytes_before < $4
        ORDER BY d.id DESC";
    let rows = sqlx::query_as(sql).bind(subscription).bind(only).bind(limit).bind(MAX_LISTED_BYTES);
    Ok(rows.fetch_all(&db.pool).await?)
}

/// Recent results of deliveries, for the status feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct Recent {
    /// Number of attempts that ended in the last hour.
    #[sqlx(try_from = "i64")]
    pub attempts: u64,
    /// Number of these attempts that succeeded.
    #[sqlx(try_from = "i64")]
    pub delivered: u64,
    /// Whether any given-up delivery has not been replayed.
    pub has_dead_letters: bool,
}

/// The results in the hour before `now`.
pub async fn recent(db: &Db, now: Timestamp) -> Result<Recent, StoreError> {
    let sql = "
        -- recent_webhook_attempts
        SELECT count(*) AS attempts, count(*) FILTER (WHERE failure IS NULL) AS delivered,
               EXISTS (SELECT FROM webhook_delivery WHERE state = 'failed_terminal') AS has_dead_letters
        FROM webhook_attempt WHERE ended_at > $1 AND ended_at <= $2";
    Ok(sqlx::query_as(sql).bind(At(now.plus_seconds(-3_600))).bind(At(now)).fetch_one(&db.pool).await?)
}
