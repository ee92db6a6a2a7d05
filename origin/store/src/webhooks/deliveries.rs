//! Deliveries in progress: claimed under a lease, finished, postponed, enqueued again.
//!
//! Lock order: subscriptions before deliveries, and subscriptions by ascending id.

use crate::decode::{DbAttempt, DbEventId};
use crate::webhooks::SealedSecrets;
use crate::webhooks::event_leases::{self, BUSY, FirstLease};
use crate::{At, StoreError, Tx};
use bytes::Bytes;
use rds_shared::push::breaker::Finals;
use rds_shared::push::delivery::EventId;
use rds_shared::push::schedule::{Attempt, Delivery, Failure};
use rds_shared::wire::Timestamp;
use sqlx::FromRow;
use std::collections::{BTreeMap, HashMap};

/// Duration of a lease in seconds: four times the longest attempt, plus time to record the result.
pub const LEASE_SECONDS: i32 = 45;
/// How long a delivery is postponed after an internal error, in seconds.
pub(super) const FAULT_PAUSE_SECONDS: i32 = 5;
/// How long a delivery that names a withheld chain is postponed before the next check, in seconds.
const WITHHELD_PAUSE_SECONDS: i32 = 60;
/// Maximum number of subscriptions in one claim.
const MAX_SUBSCRIPTIONS: i32 = 64;

/// Capacity for new attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Maximum number of deliveries in total.
    pub deliveries: u32,
    /// Maximum number of concurrent attempts of a subscription whose latest attempt did not fail.
    pub each: i32,
    /// Maximum number of concurrent attempts of a subscription whose latest attempt failed.
    pub each_failing: i32,
}

impl Capacity {
    /// Capacity for `deliveries` attempts, at most eight of them for one subscription, or one if its latest attempt failed.
    pub const fn whole(deliveries: u32) -> Self {
        Capacity { deliveries, each: 8, each_failing: 1 }
    }
}

/// A process's right to make an attempt of a delivery that has a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct DeliveryLease {
    #[sqlx(rename = "delivery_id")]
    pub delivery: i64,
    /// Fencing token.
    pub token: i64,
}

/// A process's right to make an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// The delivery has no row yet.
    First(FirstLease),
    OfDelivery(DeliveryLease),
}

impl Lease {
    /// Id of the delivery.
    pub fn delivery(self) -> i64 {
        match self {
            Lease::First(lease) => lease.delivery,
            Lease::OfDelivery(lease) => lease.delivery,
        }
    }
}

impl From<DeliveryLease> for Lease {
    fn from(lease: DeliveryLease) -> Self {
        Lease::OfDelivery(lease)
    }
}

/// A delivery that is leased to this process.
#[derive(Debug, Clone, FromRow)]
pub struct Claimed {
    #[sqlx(flatten, try_from = "DeliveryLease")]
    pub lease: Lease,
    /// Id of the subscription.
    #[sqlx(rename = "id")]
    pub subscription: i64,
    /// Number of leases of this delivery that expired without a result.
    pub lapses: i16,
    /// The attempt to make.
    #[sqlx(try_from = "DbAttempt")]
    pub attempt: Attempt,
    /// When the attempt became due.
    #[sqlx(try_from = "At")]
    pub due: Timestamp,
    #[sqlx(try_from = "DbEventId")]
    pub event_id: EventId,
    /// The body as it is signed and sent; shared by all deliveries of the event.
    #[sqlx(try_from = "String")]
    pub body: Bytes,
    pub url: String,
    #[sqlx(flatten)]
    pub secrets: SealedSecrets,
    /// Whether the subscription's latest attempt failed.
    pub is_failing: bool,
}

/// How this transaction's statements are planned: once for all parameters, because planning the statements of a step takes as long as running them;
/// and with plain index scans, which skip the entries of deleted leases the next time, as a bitmap scan never does. Each lease lives for
/// milliseconds, and without statistics the planner would choose bitmap scans.
pub async fn plan_once(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let sql = "/* plan_webhooks_once */ SELECT set_config('plan_cache_mode', 'force_generic_plan', TRUE), set_config('enable_bitmapscan', 'off', TRUE)";
    sqlx::query(sql).execute(&mut **tx).await?;
    Ok(())
}

/// Claims deliveries that are due at `now`, within the capacity.
///
/// Subscriptions are locked before their attempts are counted, so that two processes together never exceed a subscription's limit.
/// Subscriptions locked by another process are skipped. Deliveries that name a withheld chain are postponed until it is served again.
pub async fn claim(tx: &mut Tx<'_>, now: Timestamp, capacity: Capacity) -> Result<Vec<Claimed>, StoreError> {
    // The recursion jumps from one subscription with pending deliveries to the next, regardless of the number of deliveries of each. Leases
    // are counted up to the highest limit of a subscription.
    plan_once(tx).await?;
    event_leases::return_ended(tx).await?;
    let ready = format!("
        -- webhooks_with_due_deliveries
        WITH RECURSIVE {BUSY}, waiting (id) AS (
            (SELECT subscription_id FROM webhook_delivery WHERE state = 'pending' ORDER BY subscription_id LIMIT 1)
            UNION ALL
            SELECT (SELECT d.subscription_id FROM webhook_delivery d WHERE d.state = 'pending' AND d.subscription_id > w.id
                    ORDER BY d.subscription_id LIMIT 1)
            FROM waiting w WHERE w.id IS NOT NULL
        )
        SELECT s.id FROM waiting w JOIN webhook_subscription s ON s.id = w.id LEFT JOIN busy ON busy.subscription_id = s.id
        WHERE (s.status = 'active' OR s.status = 'paused' AND s.paused_until <= $1)
          AND coalesce(busy.n, 0) + (SELECT count(*) FROM (
                  SELECT FROM webhook_lease l WHERE l.subscription_id = s.id AND l.until > clock_timestamp() LIMIT 8) AS leases)
              < CASE WHEN s.failure_count = 0 THEN $2::bigint ELSE $3::bigint END
          AND EXISTS (SELECT FROM generate_series(1, 6) AS a (n) WHERE EXISTS (
                  SELECT FROM webhook_delivery d
                  WHERE d.subscription_id = s.id AND d.state = 'pending' AND d.attempt = a.n AND d.due <= $1))
        ORDER BY random() LIMIT $4
        FOR NO KEY UPDATE OF s SKIP LOCKED");
    let ready: Vec<i64> = sqlx::query_scalar(&ready)
        .bind(At(now)) // $1 paused_until, due
        .bind(capacity.each)
        .bind(capacity.each_failing)
        .bind(MAX_SUBSCRIPTIONS)
        .fetch_all(&mut **tx)
        .await?;
    if ready.is_empty() {
        return Ok(Vec::new());
    }
    let claim = format!("
        -- claim_webhook_deliveries
        WITH {BUSY}, ready AS (
            SELECT s.id, s.url, s.secret, s.previous_secret, s.previous_until, s.failure_count > 0 AS is_failing,
                   greatest(0, CASE WHEN s.failure_count = 0 THEN $2::bigint ELSE $3::bigint END - coalesce(busy.n, 0) - (SELECT count(*) FROM (
                       SELECT FROM webhook_lease l WHERE l.subscription_id = s.id AND l.until > clock_timestamp() LIMIT 8) AS leases)) AS capacity
            FROM webhook_subscription s LEFT JOIN busy ON busy.subscription_id = s.id WHERE s.id = ANY($1)
        ), picked AS (
            SELECT ready.*, d.id AS delivery_id, d.attempt, d.due, d.event_id, d.body, d.is_withheld
            FROM ready CROSS JOIN LATERAL (
                SELECT each.*, e.event_id, e.body,
                       EXISTS (SELECT FROM chain c WHERE c.chain_id = ANY (e.chain_ids) AND NOT c.is_served) AS is_withheld
                FROM generate_series(1, 6) AS a (n) CROSS JOIN LATERAL (
                    SELECT d.id, d.attempt, d.event, d.due FROM webhook_delivery d
                    WHERE d.subscription_id = ready.id AND d.state = 'pending' AND d.attempt = a.n AND d.due <= $4
                      AND NOT EXISTS (SELECT FROM webhook_lease l WHERE l.delivery_id = d.id AND l.until > clock_timestamp())
                    ORDER BY d.due, d.id LIMIT ready.capacity) AS each
                JOIN webhook_event e ON e.id = each.event
                -- First attempts before late retries.
                ORDER BY each.attempt, each.due, each.id LIMIT ready.capacity) AS d
            LIMIT $5
        ), resting AS (
            UPDATE webhook_delivery d SET due = $4 + make_interval(secs => $7) FROM picked p WHERE d.id = p.delivery_id AND p.is_withheld
        ), leased AS (
            INSERT INTO webhook_lease AS l (delivery_id, subscription_id, token, until)
            SELECT delivery_id, id, nextval('webhook_lease_token'), clock_timestamp() + make_interval(secs => $6) FROM picked
            WHERE NOT is_withheld
            ON CONFLICT (delivery_id) DO UPDATE
            SET token = excluded.token, until = excluded.until, resting = FALSE,
                lapses = l.lapses + CASE WHEN l.resting THEN 0 ELSE 1 END
            RETURNING delivery_id, token, lapses
        )
        SELECT p.*, l.token, l.lapses FROM leased l JOIN picked p ON p.delivery_id = l.delivery_id
        ORDER BY p.attempt, l.token");
    let mut claimed: Vec<Claimed> = sqlx::query_as(&claim)
        .bind(&ready)
        .bind(capacity.each)
        .bind(capacity.each_failing)
        .bind(At(now)) // $4 due
        .bind(i64::from(capacity.deliveries))
        .bind(f64::from(LEASE_SECONDS))
        .bind(f64::from(WITHHELD_PAUSE_SECONDS))
        .fetch_all(&mut **tx)
        .await?;
    let mut bodies = HashMap::<EventId, Bytes>::new();
    for Claimed { event_id, body, .. } in &mut claimed {
        *body = bodies.entry(event_id.clone()).or_insert_with(|| body.clone()).clone();
    }
    Ok(claimed)
}

/// Releases those leases that this process still has, and returns their tokens.
pub async fn release(tx: &mut Tx<'_>, leases: &[DeliveryLease]) -> Result<Vec<i64>, StoreError> {
    let (ids, tokens) = columns(leases);
    let sql = "
        -- release_webhook_leases
        DELETE FROM webhook_lease l USING unnest($1::bigint[], $2::bigint[]) AS ours (id, token)
        WHERE l.delivery_id = ours.id AND l.token = ours.token RETURNING l.token";
    Ok(sqlx::query_scalar(sql).bind(ids).bind(tokens).fetch_all(&mut **tx).await?)
}

/// Postpones deliveries whose attempt ended with an internal error. The attempt is not used up.
pub async fn postpone(tx: &mut Tx<'_>, leases: &[DeliveryLease]) -> Result<(), StoreError> {
    let (ids, tokens) = columns(leases);
    let sql = "
        -- postpone_webhook_deliveries
        UPDATE webhook_lease l SET until = clock_timestamp() + make_interval(secs => $3), resting = TRUE
        FROM unnest($1::bigint[], $2::bigint[]) AS ours (id, token) WHERE l.delivery_id = ours.id AND l.token = ours.token";
    sqlx::query(sql).bind(ids).bind(tokens).bind(f64::from(FAULT_PAUSE_SECONDS)).execute(&mut **tx).await?;
    Ok(())
}

/// Deliveries and tokens, for a statement.
fn columns(leases: &[DeliveryLease]) -> (Vec<i64>, Vec<i64>) {
    leases.iter().map(|lease| (lease.delivery, lease.token)).unzip()
}

/// The result of one attempt.
#[derive(Debug, Clone, Copy)]
pub struct AttemptResult {
    pub attempt: Attempt,
    /// Status of the response, if there was one.
    pub status: Option<u16>,
    /// The failure; `None` if the attempt succeeded.
    pub failure: Option<Failure>,
    /// Duration in milliseconds.
    pub duration_ms: u32,
    /// New state of the delivery.
    pub delivery: Delivery,
}

impl AttemptResult {
    /// The attempt that is due next, and when; the attempt that was made, if the outcome is final.
    pub(super) fn next(&self) -> (Attempt, Option<Timestamp>) {
        match self.delivery {
            Delivery::Pending { attempt, due } => (attempt, Some(due)),
            Delivery::Delivered | Delivery::FailedTerminal => (self.attempt, None),
        }
    }

    pub(super) fn state(&self) -> &'static str {
        self.delivery.status().as_str()
    }

    pub(super) fn failure(&self) -> Option<&'static str> {
        self.failure.map(Failure::as_str)
    }

    pub(super) fn http_status(&self) -> Option<i16> {
        self.status.and_then(|status| i16::try_from(status).ok())
    }
}

/// Records attempts and the new states of their deliveries.
pub async fn record(
    tx: &mut Tx<'_>,
    made: &[(DeliveryLease, AttemptResult)],
    now: Timestamp,
) -> Result<(), StoreError> {
    let leases: Vec<DeliveryLease> = made.iter().map(|(lease, _)| *lease).collect();
    let (ids, tokens) = columns(&leases);
    let results = || made.iter().map(|(_, result)| result);
    let sql = "
        -- end_webhook_deliveries
        UPDATE webhook_delivery d
        SET state = n.state, attempt = n.attempt, due = coalesce(n.due, d.due), finished_at = CASE WHEN n.due IS NULL THEN $5::timestamptz END
        FROM unnest($1::bigint[], $2::text[], $3::smallint[], $4::timestamptz[]) AS n (id, state, attempt, due) WHERE d.id = n.id";
    sqlx::query(sql)
        .bind(&ids)
        .bind(results().map(AttemptResult::state).collect::<Vec<_>>())
        .bind(results().map(|result| i16::from(result.next().0.get())).collect::<Vec<_>>()) // $3 attempt
        .bind(results().map(|result| result.next().1.map(At)).collect::<Vec<_>>())
        .bind(At(now)) // $5 finished_at
        .execute(&mut **tx)
        .await?;
    let sql = "
        -- webhook_attempts
        INSERT INTO webhook_attempt (delivery_id, lease_token, attempt, ended_at, duration_ms, failure, http_status)
        SELECT id, token, attempt, $7, duration_ms, failure, status
        FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::text[], $6::smallint[])
            AS n (id, token, attempt, duration_ms, failure, status)";
    sqlx::query(sql)
        .bind(&ids)
        .bind(tokens)
        .bind(results().map(|result| i16::from(result.attempt.get())).collect::<Vec<_>>())
        .bind(results().map(|result| i64::from(result.duration_ms)).collect::<Vec<_>>())
        .bind(results().map(AttemptResult::failure).collect::<Vec<_>>())
        .bind(results().map(AttemptResult::http_status).collect::<Vec<_>>())
        .bind(At(now)) // $7 ended_at
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// For each subscription, the number of deliveries that ended after its instant in `since`, for the breaker. Subscriptions without a failed
/// delivery are left out. The total is counted only up to twice the failed deliveries plus one: from there on, fewer than half have failed.
pub async fn final_outcomes(tx: &mut Tx<'_>, since: &[(i64, Timestamp)]) -> Result<BTreeMap<i64, Finals>, StoreError> {
    let (ids, from): (Vec<i64>, Vec<At>) = since.iter().map(|(id, from)| (*id, At(*from))).unzip();
    let sql = "
        -- webhook_final_outcomes
        SELECT o.id, failed.n AS failed, total.n AS total
        FROM unnest($1::bigint[], $2::timestamptz[]) AS o (id, since)
        CROSS JOIN LATERAL (SELECT count(*) AS n FROM webhook_delivery d
            WHERE d.subscription_id = o.id AND d.state = 'failed_terminal' AND d.finished_at > o.since) AS failed
        CROSS JOIN LATERAL (SELECT count(*) AS n FROM (SELECT FROM webhook_delivery d
            WHERE d.subscription_id = o.id AND d.state <> 'pending' AND d.finished_at > o.since
            LIMIT failed.n * 2 + 1) AS counted) AS total
        WHERE failed.n > 0";
    let rows: Vec<(i64, i64, i64)> = sqlx::query_as(sql).bind(ids).bind(from).fetch_all(&mut **tx).await?;
    let number = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(rows
        .into_iter()
        .map(|(id, failed, total)| (id, Finals { total: number(total), failed: number(failed) }))
        .collect())
}

/// Enqueues again the deliveries that were given up from `from` to `to`, both included; returns their number.
pub async fn replay(
    tx: &mut Tx<'_>,
    subscription: i64,
    from: Timestamp,
    to: Timestamp,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let sql = "
        -- replay_webhook_deliveries
        UPDATE webhook_delivery SET state = 'pending', attempt = 1, due = $4, finished_at = NULL
        WHERE subscription_id = $1 AND state = 'failed_terminal' AND finished_at BETWEEN $2 AND $3";
    let due = At(now);
    let query = sqlx::query(sql).bind(subscription).bind(At(from)).bind(At(to)).bind(due);
    Ok(query.execute(&mut **tx).await?.rows_affected())
}

/// Enqueues one event for one subscription; returns the id of the delivery.
pub async fn enqueue(
    tx: &mut Tx<'_>,
    subscription: i64,
    event_id: &EventId,
    event_type: &str,
    body: &str,
    now: Timestamp,
) -> Result<i64, StoreError> {
    let sql = "
        -- enqueue_webhook_event
        WITH told AS (
            INSERT INTO webhook_event (event_id, event_type, occurred_at, body, created_at) VALUES ($2, $3, $5, $4, $5) RETURNING id
        )
        INSERT INTO webhook_delivery (subscription_id, event, state, attempt, due, created_at)
        SELECT $1, id, 'pending', 1, $5, $5 FROM told RETURNING id";
    let id = sqlx::query_scalar(sql)
        .bind(subscription)
        .bind(event_id.as_str())
        .bind(event_type)
        .bind(body)
        .bind(At(now)) // $5 occurred_at, created_at, due
        .fetch_one(&mut **tx)
        .await?;
    Ok(id)
}
