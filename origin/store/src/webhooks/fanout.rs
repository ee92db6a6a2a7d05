//! From the journal to deliveries: the reads and writes of one fan-out step.

use crate::decode::{Joined, OuterJoined};
use crate::webhooks::deliveries::{Capacity, Claimed, Lease};
use crate::webhooks::event_leases::{self, FirstLease, Leased};
use crate::{At, Db, StoreError, Tx};
use bytes::Bytes;
use rds_shared::push::delivery::EventId;
use rds_shared::push::schedule::Attempt;
use rds_shared::wire::Timestamp;
use sqlx::FromRow;
use std::collections::HashMap;

/// An operation of the journal, as captured.
#[derive(Debug, Clone, FromRow)]
pub struct Operation {
    /// Sequence number.
    pub seq: i64,
    /// Id of the captured operation.
    pub id: i64,
    #[sqlx(try_from = "At")]
    pub recorded_at: Timestamp,
    /// Event type of the webhook events that the operation causes.
    pub family: String,
    /// Chains that the operation concerns.
    pub chain_ids: Vec<i64>,
    /// Whether one of `chain_ids` is withheld; such an operation is not delivered.
    pub is_withheld: bool,
    /// The captured row as JSON.
    pub body: Vec<u8>,
}

impl OuterJoined for Operation {
    const KEY: &'static str = "id";
}

/// Registers the fan-out as a consumer of the journal. From then on an entry leaves the journal only after it was fanned out. An existing
/// position is kept. A new consumer starts at the journal's beginning: no old operation is delivered, because a subscription receives only
/// operations numbered after its creation.
pub async fn join(db: &Db) -> Result<(), StoreError> {
    let sql = "INSERT INTO journal_consumer (name, position) VALUES ('webhooks', 0) ON CONFLICT (name) DO NOTHING";
    sqlx::query(sql).execute(&db.pool).await?;
    Ok(())
}

/// Whether the journal has entries after the fan-out's position.
pub async fn is_due(db: &Db) -> Result<bool, StoreError> {
    let sql = "
        -- webhook_fanout_is_due
        SELECT EXISTS (SELECT FROM journal_consumer c, journal_state s WHERE c.name = 'webhooks' AND c.position < s.head)";
    Ok(sqlx::query_scalar(sql).fetch_one(&db.pool).await?)
}

/// The fan-out's position, locked for this transaction, and the journal's head; `None` while another process holds the lock.
pub async fn lock_position(tx: &mut Tx<'_>) -> Result<Option<(i64, i64)>, StoreError> {
    let sql = "
        -- webhook_fanout_position
        SELECT c.position, s.head FROM journal_consumer c, journal_state s WHERE c.name = 'webhooks' FOR UPDATE OF c SKIP LOCKED";
    Ok(sqlx::query_as(sql).fetch_optional(&mut **tx).await?)
}

/// The events that any subscription wants.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Wanted {
    /// Event types of all generic subscriptions that are not disabled.
    pub families: Vec<String>,
    /// Whether any basket subscription is not disabled.
    pub baskets: bool,
}

/// The currently wanted events. Called after the journal's head was read, so that every subscription created before the operations up to
/// the head is covered.
pub async fn wanted(tx: &mut Tx<'_>) -> Result<Wanted, StoreError> {
    let sql = "
        -- wanted_webhook_events
        SELECT ARRAY(SELECT DISTINCT unnest(families) FROM webhook_subscription
                     WHERE basket_id IS NULL AND status <> 'disabled') AS families,
               EXISTS (SELECT FROM webhook_subscription WHERE basket_id IS NOT NULL AND status <> 'disabled') AS baskets";
    Ok(sqlx::query_as(sql).fetch_one(&mut **tx).await?)
}

/// Maximum size of the bodies of one step, in bytes; the first operation is read whatever its size.
const MAX_BYTES: i64 = 8 << 20;

/// A range of the journal.
#[derive(Debug)]
pub struct Stretch {
    /// Operations of the range whose event type is wanted, in order of their numbers.
    pub operations: Vec<Operation>,
    /// Last sequence number of the range; `None` if the range is empty.
    pub last: Option<i64>,
    /// Number of entries whose operation no longer exists.
    pub lost: usize,
}

/// An entry of the journal, with its operation if the operation's event type is wanted.
#[derive(FromRow)]
struct Entry {
    seq: i64,
    is_whole: bool,
    #[sqlx(flatten)]
    operation: Joined<Operation>,
}

/// Up to `limit` entries of the journal after `after`, with their operations of these event types.
///
/// Bodies of other operations are not read. Each operation is looked up separately: the journal grows faster than the planner's statistics,
/// and a join might read all of it.
pub async fn behind(tx: &mut Tx<'_>, after: i64, limit: i64, families: &[String]) -> Result<Stretch, StoreError> {
    let sql = "
        -- webhook_fanout_behind
        SELECT seq, is_whole, id, recorded_at, family, chain_ids, body, is_withheld FROM (
            SELECT j.seq, o.id IS NOT NULL AS is_whole, CASE WHEN w.wanted THEN o.id END AS id, o.recorded_at, o.family,
                o.chain_ids, CASE WHEN w.wanted THEN o.body END AS body,
                w.wanted AND EXISTS (SELECT FROM chain c WHERE c.chain_id = ANY (o.chain_ids) AND NOT c.is_served) AS is_withheld,
                sum(b.own) OVER (ORDER BY j.seq ROWS UNBOUNDED PRECEDING) - b.own AS bytes_before
            FROM (SELECT seq, operation_id, recorded_at FROM journal WHERE seq > $1 ORDER BY seq LIMIT $2) j
            LEFT JOIN LATERAL (
                SELECT * FROM push_operation p WHERE p.id = j.operation_id AND p.recorded_at = j.recorded_at OFFSET 0) o ON TRUE
            CROSS JOIN LATERAL (SELECT coalesce(o.family = ANY ($4), FALSE) AS wanted OFFSET 0) w
            CROSS JOIN LATERAL (SELECT CASE WHEN w.wanted THEN octet_length(o.body) ELSE 0 END AS own OFFSET 0) b
        ) r
        WHERE bytes_before < $3
        ORDER BY seq";
    let query = sqlx::query_as(sql).bind(after).bind(limit).bind(MAX_BYTES).bind(families);
    let entries: Vec<Entry> = query.fetch_all(&mut **tx).await?;
    Ok(Stretch {
        last: entries.last().map(|entry| entry.seq),
        lost: entries.iter().filter(|entry| !entry.is_whole).count(),
        operations: entries.into_iter().filter_map(|entry| entry.operation.0).collect(),
    })
}

/// The basket version that an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfVersion {
    pub basket_id: String,
    pub version_id: String,
    /// Whether the event is for subscriptions pinned to this version; otherwise for those without a pinned version.
    pub is_for_pinned: bool,
}

/// An event to be delivered, with its encoded envelope.
#[derive(Debug)]
pub struct OutboundEvent {
    pub event_id: EventId,
    pub event_type: String,
    /// Sequence number in the journal.
    pub seq: i64,
    pub occurred_at: Timestamp,
    /// Chains that the event concerns.
    pub chain_ids: Vec<i64>,
    /// The basket version that a basket event is about; `None` for other events.
    pub version: Option<OfVersion>,
    /// The body, the same for all subscriptions.
    pub body: String,
}

/// Inserts events, and makes one delivery per event and subscription that wants it: leased to this process within the capacity, otherwise
/// pending. Returns the number of deliveries and those that are leased.
///
/// Events that exist already have their deliveries and get no further ones.
pub async fn enqueue(
    tx: &mut Tx<'_>,
    events: &[OutboundEvent],
    now: Timestamp,
    capacity: Capacity,
) -> Result<(u64, Vec<Claimed>), StoreError> {
    let column = |of: fn(&OutboundEvent) -> &str| events.iter().map(of).collect::<Vec<_>>();
    let sql = "
        -- webhook_events
        INSERT INTO webhook_event (event_id, event_type, seq, occurred_at, body, chain_ids, created_at)
        SELECT e.event_id, e.event_type, e.seq, e.occurred_at, e.body, e.chain_ids::bigint[], $7
        FROM unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[], $5::text[], $6::text[])
            AS e (event_id, event_type, seq, occurred_at, body, chain_ids)
        ORDER BY e.seq
        ON CONFLICT (event_id) DO NOTHING
        RETURNING id, seq";
    let ids: Vec<(i64, i64)> = sqlx::query_as(sql)
        .bind(column(|event| event.event_id.as_str())) // $1 event_id
        .bind(column(|event| &event.event_type))
        .bind(events.iter().map(|event| event.seq).collect::<Vec<_>>())
        .bind(events.iter().map(|event| At(event.occurred_at)).collect::<Vec<_>>())
        .bind(column(|event| &event.body))
        .bind(events.iter().map(|event| array(&event.chain_ids)).collect::<Vec<_>>())
        .bind(At(now)) // $7 created_at
        .fetch_all(&mut **tx)
        .await?;
    let by_seq: HashMap<i64, &OutboundEvent> = events.iter().map(|event| (event.seq, event)).collect();
    let new: Vec<(i64, &OutboundEvent)> =
        ids.into_iter().filter_map(|(id, seq)| Some((id, *by_seq.get(&seq)?))).collect();
    if new.is_empty() {
        return Ok((0, Vec::new()));
    }
    let (enqueued, leased) = event_leases::fan_out(tx, &new, now, capacity).await?;
    let bodies: HashMap<i64, (EventId, Bytes)> =
        new.iter().map(|(id, event)| (*id, (event.event_id.clone(), Bytes::from(event.body.clone())))).collect();
    let claimed = |leased: Leased| {
        let Leased { event, subscription, delivery, token, url, secrets } = leased;
        let (event_id, body) = bodies.get(&event)?.clone();
        Some(Claimed {
            lease: Lease::First(FirstLease { delivery, event, subscription, token, enqueued: now }),
            subscription,
            lapses: 0,
            attempt: Attempt::FIRST,
            due: now,
            event_id,
            body,
            url,
            secrets,
            is_failing: false,
        })
    };
    Ok((enqueued, leased.into_iter().filter_map(claimed).collect()))
}

/// A Postgres array literal: arrays of arrays cannot be bound.
fn array(numbers: &[i64]) -> String {
    format!("{{{}}}", numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(","))
}

/// Records how far the journal is fanned out.
pub async fn advance(tx: &mut Tx<'_>, to: i64) -> Result<(), StoreError> {
    sqlx::query("UPDATE journal_consumer SET position = $1 WHERE name = 'webhooks'")
        .bind(to)
        .execute(&mut **tx)
        .await?;
    Ok(())
}
