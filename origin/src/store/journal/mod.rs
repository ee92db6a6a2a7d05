//! The journal's numbers: how operations get them. [`mod@step`] is how they are stepped over where a restore may have undone some.
//!
//! Producers append rows and name their transaction. The state remembers the snapshot up to which all that is visible has a
//! number; a tick numbers what a later snapshot sees and that one did not. Such a transaction was then either in progress and
//! listed, or not begun: two look-ups in an index, whatever commits late, rolls back or races.

pub mod read;
pub mod retention;
pub mod step;

pub use step::{Cause, Past, Stepped, must_step, past, step, step_at};

use super::standing::OLDEST_WRITER_SECONDS;
use super::{At, StoreError};
use rds_shared::wire::Timestamp;
use sqlx::{Connection, PgConnection, Row};

/// The channel on which a new head is announced. A hint: polling is the truth.
pub const CHANNEL: &str = "journal";

/// The rows that are visible in the statement's snapshot `cur.s` and were not in the snapshot `$1`. Asking for what lies at or
/// above xmin instead would read everything since the oldest open transaction again, at every tick.
const FRESH: &str = "
    select o.id, o.recorded_at from push_operation o, cur
    where o.xid = any (array(select pg_snapshot_xip($1::pg_snapshot))) and pg_visible_in_snapshot(o.xid, cur.s)
    union all
    select o.id, o.recorded_at from push_operation o, cur
    where o.xid >= pg_snapshot_xmax($1::pg_snapshot) and o.xid < pg_snapshot_xmax(cur.s) and pg_visible_in_snapshot(o.xid, cur.s)";

/// What one tick came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tick {
    /// Somebody else is at it.
    Taken,
    /// This many operations got their numbers.
    Numbered(u64),
}

/// Whether there is anything to number. Reads only: an idle journal costs no transaction ids.
pub async fn is_due(connection: &mut PgConnection) -> Result<bool, StoreError> {
    let snap: String = sqlx::query_scalar("select snap::text from journal_state").fetch_one(&mut *connection).await?;
    let sql = format!(
        "/* journal_is_due */ with cur as materialized (select pg_current_snapshot() as s) \
         select exists (select from ({FRESH}) as fresh)"
    );
    Ok(sqlx::query_scalar(&sql).bind(snap).fetch_one(connection).await?)
}

/// Numbers everything that became visible since the last tick.
///
/// The second statement takes its snapshot after the lock is held, so it is never older than the one that was read. That needs
/// read committed, which is why the level is named here.
pub async fn tick(connection: &mut PgConnection, now: Timestamp) -> Result<Tick, StoreError> {
    let mut tx = connection.begin_with("begin isolation level read committed").await?;
    let sql = "/* journal_turn */ select snap::text from journal_state for update skip locked";
    let Some(snap) = sqlx::query_scalar::<_, String>(sql).fetch_optional(&mut *tx).await? else {
        return Ok(Tick::Taken);
    };
    let sql = format!(
        "/* journal_tick */ with cur as materialized (select pg_current_snapshot() as s), fresh as ({FRESH}), \
         state as materialized (select head, greatest(head_at, $2) as at from journal_state), \
         numbered as (insert into journal (seq, operation_id, recorded_at, at) \
             select state.head + row_number() over (order by fresh.id), fresh.id, fresh.recorded_at, state.at \
             from fresh, state returning seq), \
         advanced as (update journal_state j set head = j.head + (select count(*) from numbered), \
                 head_at = (select at from state), snap = (select s from cur) \
             where exists (select from numbered) returning j.head) \
         select (select count(*) from numbered), pg_notify('{CHANNEL}', head::text) from advanced"
    );
    let numbered: Option<i64> = sqlx::query(&sql)
        .bind(snap)
        .bind(At(now))
        .fetch_optional(&mut *tx)
        .await?
        .map(|row| row.try_get(0))
        .transpose()?;
    tx.commit().await?;
    Ok(Tick::Numbered(numbered.unwrap_or(0).unsigned_abs()))
}

/// What an operator is shown of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The last number given.
    pub head: i64,
    /// Whether the head was given in this cluster, on this timeline.
    pub here: bool,
    /// Operations that are visible and have no number yet.
    pub waiting: u64,
    /// Jumps of the numbering so far.
    pub steps: u64,
    /// Seconds since the oldest transaction began that has written something and is still open.
    pub oldest_writer_seconds: i64,
}

/// Reads it.
pub async fn standing(connection: &mut PgConnection) -> Result<Standing, StoreError> {
    let snap: String = sqlx::query_scalar("select snap::text from journal_state").fetch_one(&mut *connection).await?;
    let sql = format!(
        "/* journal_standing */ with cur as materialized (select pg_current_snapshot() as s) \
         select head, incarnation = journal_incarnation() as here, (select count(*) from ({FRESH}) as fresh) as waiting, \
             (select count(*) from incarnation) as steps, \
             {OLDEST_WRITER_SECONDS} as oldest \
         from journal_state"
    );
    let row = sqlx::query(&sql).bind(snap).fetch_one(connection).await?;
    Ok(Standing {
        head: row.try_get("head")?,
        here: row.try_get("here")?,
        waiting: row.try_get::<i64, _>("waiting")?.unsigned_abs(),
        steps: row.try_get::<i64, _>("steps")?.unsigned_abs(),
        oldest_writer_seconds: row.try_get("oldest")?,
    })
}
