//! Leases of events: the first deliveries of an event that one process makes at once.
//!
//! Such a delivery has no row until its first attempt has a result. The lease of its event names the deliveries that are still
//! without one; lists show them as pending. When a lease ends, because its process died or lost the database, they become rows. So a delivery is
//! named by its event's lease or has a row, and never both.
//!
//! Lock order: subscriptions, then leases of events, then deliveries.

use crate::decode::{Joined, OuterJoined};
use crate::webhooks::SealedSecrets;
use crate::webhooks::deliveries::{AttemptResult, Capacity, FAULT_PAUSE_SECONDS, LEASE_SECONDS};
use crate::webhooks::fanout::OutboundEvent;
use crate::{At, StoreError, Tx};
use rds_shared::wire::Timestamp;
use sqlx::FromRow;
use std::collections::BTreeSet;

/// A common table expression `busy`: how many first attempts of each subscription are under way, over all processes.
pub(super) const BUSY: &str = "
    busy AS MATERIALIZED (
        SELECT u.subscription_id, count(*) AS n FROM webhook_event_lease l CROSS JOIN unnest(l.subscriptions) AS u (subscription_id)
        WHERE l.until > clock_timestamp() GROUP BY u.subscription_id
    )";

/// Maximum leases whose deliveries one call makes pending.
const MAX_ENDED: i64 = 100;

/// A delivery that this process makes at once.
#[derive(Debug, FromRow)]
pub(super) struct Leased {
    /// Row id of the event.
    pub(super) event: i64,
    #[sqlx(rename = "id")]
    pub(super) subscription: i64,
    pub(super) delivery: i64,
    pub(super) token: i64,
    pub(super) url: String,
    #[sqlx(flatten)]
    pub(super) secrets: SealedSecrets,
}

impl OuterJoined for Leased {
    const KEY: &'static str = "event";
}

/// Makes the deliveries of new events: leases as many as the capacity allows, of subscriptions whose latest attempt did not fail, and inserts the
/// others. Returns the number of all, and those that are leased.
///
/// A subscription does not receive events that were numbered before its creation, and none while it is disabled. A subscription with earlier
/// deliveries that wait is left to [`claim`](super::deliveries::claim). Subscriptions are locked as there, so that all processes together
/// never exceed a subscription's limit. `events` are the new events with the ids of their rows.
pub(super) async fn fan_out(
    tx: &mut Tx<'_>,
    events: &[(i64, &OutboundEvent)],
    now: Timestamp,
    capacity: Capacity,
) -> Result<(u64, Vec<Leased>), StoreError> {
    #[derive(FromRow)]
    struct Row {
        pairs: i64,
        #[sqlx(flatten)]
        leased: Joined<Leased>,
    }
    let of_version: Vec<_> =
        events.iter().filter_map(|(id, event)| event.version.as_ref().map(|version| (*id, version))).collect();
    // The number of leases is only needed up to the limit.
    let sql = format!("
        -- webhook_deliveries_of_events
        WITH pair AS MATERIALIZED (
            SELECT p.*, row_number() OVER (PARTITION BY p.subscription_id ORDER BY p.event) AS place FROM (
                SELECT s.id AS subscription_id, e.id AS event
                FROM webhook_event e JOIN webhook_subscription s ON e.event_type = ANY(s.families)
                WHERE e.id = ANY($1) AND s.basket_id IS NULL AND s.status <> 'disabled' AND s.since_seq < e.seq
                UNION ALL
                SELECT s.id, e.id
                FROM unnest($2::bigint[], $3::text[], $4::text[], $5::boolean[]) AS t (event, basket_id, version_id, is_for_pinned)
                JOIN webhook_event e ON e.id = t.event
                JOIN webhook_subscription s ON s.basket_id = t.basket_id
                    AND s.pinned_version_id IS NOT DISTINCT FROM CASE WHEN t.is_for_pinned THEN t.version_id END
                WHERE s.status <> 'disabled' AND s.since_seq < e.seq) AS p
        ), {BUSY}, given AS MATERIALIZED (
            SELECT pair.event, s.id, s.url, s.secret, s.previous_secret, s.previous_until
            FROM pair JOIN webhook_subscription s ON s.id = pair.subscription_id LEFT JOIN busy ON busy.subscription_id = s.id
            WHERE s.failure_count = 0 AND (s.status = 'active' OR s.status = 'paused' AND s.paused_until <= $6)
              AND pair.place <= $7::bigint - coalesce(busy.n, 0) - (SELECT count(*) FROM (
                  SELECT FROM webhook_lease l WHERE l.subscription_id = s.id AND l.until > clock_timestamp() LIMIT 8) AS leases)
              AND NOT EXISTS (
                  SELECT FROM webhook_delivery d
                  WHERE d.subscription_id = s.id AND d.state = 'pending' AND d.attempt = 1 AND d.due <= $6
                    AND NOT EXISTS (SELECT FROM webhook_lease l WHERE l.delivery_id = d.id AND l.until > clock_timestamp()))
            ORDER BY pair.event, s.id LIMIT $8
            FOR NO KEY UPDATE OF s SKIP LOCKED
        ), numbered AS MATERIALIZED (
            SELECT given.*, nextval('webhook_delivery_id_seq') AS delivery FROM given
        ), waiting AS (
            INSERT INTO webhook_delivery (subscription_id, event, state, attempt, due, created_at)
            SELECT pair.subscription_id, pair.event, 'pending', 1, $6, $6 FROM pair
            WHERE NOT EXISTS (SELECT FROM given WHERE given.event = pair.event AND given.id = pair.subscription_id)
            ORDER BY pair.event, pair.subscription_id
        ), leased AS (
            INSERT INTO webhook_event_lease (event, token, deliveries, subscriptions, due, until)
            SELECT event, nextval('webhook_lease_token'), array_agg(delivery ORDER BY delivery), array_agg(id ORDER BY delivery), $6,
                clock_timestamp() + make_interval(secs => $9)
            FROM numbered GROUP BY event RETURNING event, token
        )
        SELECT n.pairs, g.*
        FROM (SELECT count(*) AS pairs FROM pair) AS n
        LEFT JOIN (SELECT numbered.*, leased.token FROM numbered JOIN leased ON leased.event = numbered.event) AS g ON TRUE
        ORDER BY g.delivery");
    let rows: Vec<Row> = sqlx::query_as(&sql)
        .bind(events.iter().map(|(id, _)| *id).collect::<Vec<_>>()) // $1 rows of events
        .bind(of_version.iter().map(|(id, _)| *id).collect::<Vec<_>>())
        .bind(of_version.iter().map(|(_, of)| of.basket_id.as_str()).collect::<Vec<_>>())
        .bind(of_version.iter().map(|(_, of)| of.version_id.as_str()).collect::<Vec<_>>())
        .bind(of_version.iter().map(|(_, of)| of.is_for_pinned).collect::<Vec<_>>())
        .bind(At(now)) // $6 paused_until, due
        .bind(capacity.each)
        .bind(i64::from(capacity.deliveries))
        .bind(f64::from(LEASE_SECONDS))
        .fetch_all(&mut **tx)
        .await?;
    let pairs = rows.first().map_or(0, |row| row.pairs);
    Ok((pairs.unsigned_abs(), rows.into_iter().filter_map(|row| row.leased.0).collect()))
}

/// A process's right to make the first attempt of a delivery that has no row yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstLease {
    pub delivery: i64,
    /// Row id of the event.
    pub event: i64,
    pub subscription: i64,
    /// Fencing token of the event's lease.
    pub token: i64,
    /// When the event was fanned out.
    pub enqueued: Timestamp,
}

impl FirstLease {
    /// A column of `leases`, for a statement.
    fn column(leases: &[Self], of: fn(&Self) -> i64) -> Vec<i64> {
        leases.iter().map(of).collect()
    }
}

/// Takes the deliveries out of the leases of their events; returns those that this process still had.
pub async fn release(tx: &mut Tx<'_>, leases: &[FirstLease]) -> Result<BTreeSet<i64>, StoreError> {
    let sql = "
        -- release_webhook_event_leases
        WITH ended AS (
            SELECT event, token, array_agg(delivery) AS deliveries
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS e (event, token, delivery) GROUP BY event, token
        ), held AS MATERIALIZED (
            SELECT l.event, ended.deliveries, l.deliveries AS leased, l.deliveries <@ ended.deliveries AS is_over
            FROM webhook_event_lease l JOIN ended ON ended.event = l.event AND ended.token = l.token
            ORDER BY l.event FOR UPDATE OF l
        ), over AS (
            DELETE FROM webhook_event_lease l USING held WHERE l.event = held.event AND held.is_over
        ), others AS (
            UPDATE webhook_event_lease l
            SET (deliveries, subscriptions) = (
                SELECT array_agg(u.delivery ORDER BY u.delivery), array_agg(u.subscription_id ORDER BY u.delivery)
                FROM unnest(l.deliveries, l.subscriptions) AS u (delivery, subscription_id) WHERE u.delivery <> ALL (held.deliveries))
            FROM held WHERE l.event = held.event AND NOT held.is_over
        )
        SELECT unnest(leased) FROM held INTERSECT SELECT unnest(deliveries) FROM held";
    let held: Vec<i64> = sqlx::query_scalar(sql)
        .bind(FirstLease::column(leases, |lease| lease.event)) // $1
        .bind(FirstLease::column(leases, |lease| lease.token))
        .bind(FirstLease::column(leases, |lease| lease.delivery))
        .fetch_all(&mut **tx)
        .await?;
    Ok(held.into_iter().collect())
}

/// Inserts deliveries that were [released](release), with the results of their first attempts. Returns their ids, without those whose subscription
/// was removed.
pub async fn insert(
    tx: &mut Tx<'_>,
    made: &[(FirstLease, AttemptResult)],
    now: Timestamp,
) -> Result<BTreeSet<i64>, StoreError> {
    let sql = "
        -- insert_webhook_deliveries
        WITH made AS MATERIALIZED (
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::smallint[], $6::timestamptz[], $7::timestamptz[],
                $8::bigint[], $9::text[], $10::smallint[], $12::bigint[])
                AS m (event, subscription_id, token, state, attempt, enqueued, due, duration_ms, failure, http_status, id)
        ), inserted AS (
            INSERT INTO webhook_delivery (id, subscription_id, event, state, attempt, due, created_at, finished_at) OVERRIDING SYSTEM VALUE
            SELECT m.id, s.id, m.event, m.state, m.attempt, coalesce(m.due, m.enqueued), m.enqueued, CASE WHEN m.due IS NULL THEN $11::timestamptz END
            FROM made m JOIN webhook_subscription s ON s.id = m.subscription_id
            ORDER BY m.id
            RETURNING id
        ), attempts AS (
            INSERT INTO webhook_attempt (delivery_id, lease_token, attempt, ended_at, duration_ms, failure, http_status)
            SELECT i.id, m.token, 1, $11, m.duration_ms, m.failure, m.http_status FROM inserted i JOIN made m ON m.id = i.id
        )
        SELECT id FROM inserted";
    let leases: Vec<FirstLease> = made.iter().map(|(lease, _)| *lease).collect();
    let results = || made.iter().map(|(_, result)| result);
    let rows: Vec<i64> = sqlx::query_scalar(sql)
        .bind(FirstLease::column(&leases, |lease| lease.event)) // $1
        .bind(FirstLease::column(&leases, |lease| lease.subscription))
        .bind(FirstLease::column(&leases, |lease| lease.token))
        .bind(results().map(AttemptResult::state).collect::<Vec<_>>()) // $4
        .bind(results().map(|result| i16::from(result.next().0.get())).collect::<Vec<_>>())
        .bind(leases.iter().map(|lease| At(lease.enqueued)).collect::<Vec<_>>())
        .bind(results().map(|result| result.next().1.map(At)).collect::<Vec<_>>()) // $7 due
        .bind(results().map(|result| i64::from(result.duration_ms)).collect::<Vec<_>>())
        .bind(results().map(AttemptResult::failure).collect::<Vec<_>>())
        .bind(results().map(AttemptResult::http_status).collect::<Vec<_>>())
        .bind(At(now)) // $11 finished_at, ended_at
        .bind(FirstLease::column(&leases, |lease| lease.delivery))
        .fetch_all(&mut **tx)
        .await?;
    Ok(rows.into_iter().collect())
}

/// Makes deliveries that were [released](release), whose first attempt ended with an internal error, pending, and postpones them. The attempt is not used up.
pub async fn postpone(tx: &mut Tx<'_>, leases: &[FirstLease]) -> Result<(), StoreError> {
    let sql = "
        -- postpone_first_webhook_deliveries
        WITH inserted AS (
            INSERT INTO webhook_delivery (id, subscription_id, event, state, attempt, due, created_at) OVERRIDING SYSTEM VALUE
            SELECT n.id, s.id, n.event, 'pending', 1, n.enqueued, n.enqueued
            FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $5::bigint[]) AS n (event, subscription_id, enqueued, id)
            JOIN webhook_subscription s ON s.id = n.subscription_id
            ORDER BY n.id
            RETURNING id, subscription_id
        )
        INSERT INTO webhook_lease (delivery_id, subscription_id, token, until, resting)
        SELECT id, subscription_id, nextval('webhook_lease_token'), clock_timestamp() + make_interval(secs => $4), TRUE FROM inserted";
    sqlx::query(sql)
        .bind(FirstLease::column(leases, |lease| lease.event))
        .bind(FirstLease::column(leases, |lease| lease.subscription))
        .bind(leases.iter().map(|lease| At(lease.enqueued)).collect::<Vec<_>>())
        .bind(f64::from(FAULT_PAUSE_SECONDS))
        .bind(FirstLease::column(leases, |lease| lease.delivery)) // $5
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Makes the deliveries of leases that have ended pending. Each counts one lease that ended without a result.
pub(super) async fn return_ended(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let sql = "
        -- return_webhook_event_leases
        WITH ended AS (
            DELETE FROM webhook_event_lease WHERE event IN (
                SELECT event FROM webhook_event_lease WHERE until <= clock_timestamp() ORDER BY event LIMIT $1 FOR UPDATE SKIP LOCKED)
            RETURNING event, deliveries, subscriptions, due
        ), inserted AS (
            INSERT INTO webhook_delivery (id, subscription_id, event, state, attempt, due, created_at) OVERRIDING SYSTEM VALUE
            SELECT u.id, s.id, ended.event, 'pending', 1, ended.due, ended.due
            FROM ended CROSS JOIN unnest(ended.deliveries, ended.subscriptions) AS u (id, subscription_id)
            JOIN webhook_subscription s ON s.id = u.subscription_id
            ORDER BY u.id
            RETURNING id, subscription_id
        )
        INSERT INTO webhook_lease (delivery_id, subscription_id, token, until)
        SELECT id, subscription_id, nextval('webhook_lease_token'), clock_timestamp() FROM inserted";
    sqlx::query(sql).bind(MAX_ENDED).execute(&mut **tx).await?;
    Ok(())
}
