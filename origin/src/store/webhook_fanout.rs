//! From the journal to deliveries: what a step reads and writes.

use super::{At, Db, StoreError, Tx};
use rds_shared::wire::Timestamp;
use sqlx::Row;

/// An operation of the journal, as it was captured.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Its place in the journal.
    pub seq: i64,
    /// Its number among the captured ones.
    pub id: i64,
    /// When it was made.
    pub recorded_at: Timestamp,
    /// Whom webhooks deliver it to.
    pub family: String,
    /// The chains that it names.
    pub chain_ids: Vec<i64>,
    /// Whether one of them is withheld: nobody is told of it.
    pub is_withheld: bool,
    /// JSON.
    pub body: Vec<u8>,
}

/// Takes up a place among the journal's readers, at its beginning: from then on nothing leaves the journal before it was fanned out.
/// Whoever had one keeps it. Without subscribers there is nothing to miss, and whoever subscribes is told of what comes later.
pub async fn join(db: &Db) -> Result<(), StoreError> {
    let sql = "insert into journal_consumer (name, position) values ('webhooks', 0) on conflict (name) do nothing";
    sqlx::query(sql).execute(&db.pool).await?;
    Ok(())
}

/// Whether the journal goes on behind the place that it has been fanned out to.
pub async fn is_due(db: &Db) -> Result<bool, StoreError> {
    let sql = "
        -- webhook_fanout_is_due
        select exists (select from journal_consumer c, journal_state s where c.name = 'webhooks' and c.position < s.head)";
    Ok(sqlx::query_scalar(sql).fetch_one(&db.pool).await?)
}

/// How far the journal has been fanned out, for whoever takes the turn; none while somebody else has it.
pub async fn take_turn(tx: &mut Tx<'_>) -> Result<Option<i64>, StoreError> {
    let sql = "select position from journal_consumer where name = 'webhooks' for update skip locked";
    Ok(sqlx::query_scalar(sql).fetch_optional(&mut **tx).await?)
}

/// Who is told of anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The event types that anybody subscribes to who is not disabled; those of baskets apart.
    pub families: Vec<String>,
    /// Whether anybody subscribes to a basket who is not disabled.
    pub baskets: bool,
}

/// What is wanted now. Asked after the head was read, so that it knows of everybody who subscribed before what the head counts.
pub async fn wanted(tx: &mut Tx<'_>) -> Result<Wanted, StoreError> {
    let sql = "
        -- wanted_webhook_events
        select array(select distinct unnest(families) from webhook_subscription
                     where basket_id is null and status <> 'disabled') as families,
               exists (select from webhook_subscription where basket_id is not null and status <> 'disabled') as baskets";
    let row = sqlx::query(sql).fetch_one(&mut **tx).await?;
    Ok(Wanted { families: row.try_get("families")?, baskets: row.try_get("baskets")? })
}

/// Bytes of bodies in one step, at most; the first operation comes however large it is.
const BYTES: i64 = 8 << 20;

/// A stretch of the journal.
#[derive(Debug)]
pub struct Stretch {
    /// Those of its operations that are of a wanted family, in order.
    pub operations: Vec<Operation>,
    /// Its last place; none when there is nothing.
    pub last: Option<i64>,
    /// Places whose operation is gone.
    pub lost: usize,
}

/// Up to `limit` places of the journal behind `after`, with those of their operations that are of one of these families.
///
/// Bodies that nobody wants stay where they are. Each operation is looked up by itself: of a journal that grows faster than the
/// planner counts it, it would read all instead.
pub async fn behind(tx: &mut Tx<'_>, after: i64, limit: i64, families: &[String]) -> Result<Stretch, StoreError> {
    let sql = "
        -- webhook_fanout_behind
        select seq, is_whole, id, recorded_at, family, chain_ids, body, is_withheld from (
            select j.seq, o.id is not null as is_whole, case when w.wanted then o.id end as id, o.recorded_at, o.family,
                o.chain_ids, case when w.wanted then o.body end as body,
                w.wanted and exists (select from chain c where c.chain_id = any (o.chain_ids) and not c.is_served) as is_withheld,
                sum(b.own) over (order by j.seq rows unbounded preceding) - b.own as bytes_before
            from (select seq, operation_id, recorded_at from journal where seq > $1 order by seq limit $2) j
            left join lateral (
                select * from push_operation p where p.id = j.operation_id and p.recorded_at = j.recorded_at offset 0) o on true
            cross join lateral (select coalesce(o.family = any ($4), false) as wanted offset 0) w
            cross join lateral (select case when w.wanted then octet_length(o.body) else 0 end as own offset 0) b
        ) r
        where bytes_before < $3
        order by seq";
    let rows = sqlx::query(sql).bind(after).bind(limit).bind(BYTES).bind(families).fetch_all(&mut **tx).await?;
    let mut stretch = Stretch { operations: Vec::new(), last: None, lost: 0 };
    for row in &rows {
        let seq = row.try_get("seq")?;
        stretch.last = Some(seq);
        if !row.try_get::<bool, _>("is_whole")? {
            stretch.lost += 1;
        }
        let Some(id) = row.try_get("id")? else { continue };
        stretch.operations.push(Operation {
            seq,
            id,
            recorded_at: row.try_get::<At, _>("recorded_at")?.into(),
            family: row.try_get("family")?,
            chain_ids: row.try_get("chain_ids")?,
            is_withheld: row.try_get("is_withheld")?,
            body: row.try_get("body")?,
        });
    }
    Ok(stretch)
}

/// The version of a basket that an event tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfVersion {
    /// The basket.
    pub basket_id: String,
    /// The version.
    pub version_id: String,
    /// Whether those are told who are pinned to the version; else those who are pinned to none.
    pub is_for_pinned: bool,
}

/// An operation that is told: its envelope, encoded.
#[derive(Debug)]
pub struct Told {
    /// The event's id.
    pub event_id: String,
    /// What it tells.
    pub event_type: String,
    /// Its place in the journal.
    pub seq: i64,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// The chains that it names.
    pub chain_ids: Vec<i64>,
    /// What it tells of where it is a basket's.
    pub version: Option<OfVersion>,
    /// The body for everybody.
    pub body: String,
}

/// Writes events, and one delivery of each for every subscription that wants it: how many deliveries are new.
///
/// Whoever subscribed later than the journal numbered an event is not told of it, nor is who is disabled.
pub async fn enqueue(tx: &mut Tx<'_>, told: &[Told], now: Timestamp) -> Result<u64, StoreError> {
    let column = |of: fn(&Told) -> &str| told.iter().map(of).collect::<Vec<_>>();
    let ids = column(|told| &told.event_id);
    let sql = "
        -- webhook_events
        insert into webhook_event (event_id, event_type, seq, occurred_at, body, chain_ids, created_at)
        select e.event_id, e.event_type, e.seq, e.occurred_at, e.body, e.chain_ids::bigint[], $7
        from unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[], $5::text[], $6::text[])
            as e (event_id, event_type, seq, occurred_at, body, chain_ids)
        on conflict (event_id) do nothing";
    sqlx::query(sql)
        .bind(&ids)
        .bind(column(|told| &told.event_type))
        .bind(told.iter().map(|told| told.seq).collect::<Vec<_>>())
        .bind(told.iter().map(|told| At(told.occurred_at)).collect::<Vec<_>>())
        .bind(column(|told| &told.body))
        .bind(told.iter().map(|told| array(&told.chain_ids)).collect::<Vec<_>>())
        .bind(At(now))
        .execute(&mut **tx)
        .await?;
    let sql = "
        -- webhook_deliveries_of_events
        insert into webhook_delivery (subscription_id, event, state, attempt, due, created_at)
        select s.id, e.id, 'pending', 1, $2, $2
        from webhook_event e join webhook_subscription s on e.event_type = any(s.families)
        where e.event_id = any($1) and s.basket_id is null and s.status <> 'disabled' and s.since_seq < e.seq
        order by e.seq, s.id
        on conflict (subscription_id, event) do nothing";
    let generic = sqlx::query(sql).bind(&ids).bind(At(now)).execute(&mut **tx).await?.rows_affected();
    Ok(generic + enqueue_of_baskets(tx, told, now).await?)
}

/// The same for the followers of baskets, whom an event reaches by its basket and its version.
async fn enqueue_of_baskets(tx: &mut Tx<'_>, told: &[Told], now: Timestamp) -> Result<u64, StoreError> {
    let of_version: Vec<(&str, &OfVersion)> =
        told.iter().filter_map(|told| Some((told.event_id.as_str(), told.version.as_ref()?))).collect();
    if of_version.is_empty() {
        return Ok(0);
    }
    let sql = "
        -- webhook_deliveries_of_basket_events
        insert into webhook_delivery (subscription_id, event, state, attempt, due, created_at)
        select s.id, e.id, 'pending', 1, $5, $5
        from unnest($1::text[], $2::text[], $3::text[], $4::boolean[]) as t (event_id, basket_id, version_id, is_for_pinned)
        join webhook_event e on e.event_id = t.event_id
        join webhook_subscription s on s.basket_id = t.basket_id
            and s.pinned_version_id is not distinct from case when t.is_for_pinned then t.version_id end
        where s.status <> 'disabled' and s.since_seq < e.seq
        order by e.seq, s.id
        on conflict (subscription_id, event) do nothing";
    let query = sqlx::query(sql)
        .bind(of_version.iter().map(|(event_id, _)| *event_id).collect::<Vec<_>>())
        .bind(of_version.iter().map(|(_, of)| of.basket_id.as_str()).collect::<Vec<_>>())
        .bind(of_version.iter().map(|(_, of)| of.version_id.as_str()).collect::<Vec<_>>())
        .bind(of_version.iter().map(|(_, of)| of.is_for_pinned).collect::<Vec<_>>())
        .bind(At(now));
    Ok(query.execute(&mut **tx).await?.rows_affected())
}

/// Numbers as Postgres reads an array of them: arrays of arrays cannot be bound.
fn array(numbers: &[i64]) -> String {
    format!("{{{}}}", numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(","))
}

/// Remembers how far the journal has been fanned out.
pub async fn advance(tx: &mut Tx<'_>, to: i64) -> Result<(), StoreError> {
    sqlx::query("update journal_consumer set position = $1 where name = 'webhooks'")
        .bind(to)
        .execute(&mut **tx)
        .await?;
    Ok(())
}
