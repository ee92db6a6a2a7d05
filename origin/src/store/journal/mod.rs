//! How operations of the journal get their sequence numbers. [`mod@step`] skips numbers that a restore may have undone.
//!
//! Producers append rows with their transaction id. The state stores the snapshot up to which every visible row has a number; a tick
//! numbers the rows that are visible in a later snapshot and were not in that one. The transaction of such a row was then either in
//! progress, and so listed in the snapshot, or not begun. So two index look-ups find it, regardless of late commits, rollbacks and races.

pub mod read;
pub mod retention;
pub mod step;

pub use step::{Cause, Past, Stepped, must_step, past, step, step_at};

use super::standing::OLDEST_WRITER_SECONDS;
use super::{At, StoreError};
use rds_shared::wire::Timestamp;
use sqlx::{Connection, PgConnection, Row};

/// The notification channel for a new head. It only shortens the wait; polling finds every operation.
pub const CHANNEL: &str = "journal";

/// Rows that are visible in the statement's snapshot `cur.s` and were not in the snapshot `$1`. A search from xmin on would instead read
/// everything since the oldest open transaction again at every tick.
const FRESH: &str = "
    select o.id, o.recorded_at from push_operation o, cur
    where o.xid = any (array(select pg_snapshot_xip($1::pg_snapshot))) and pg_visible_in_snapshot(o.xid, cur.s)
    union all
    select o.id, o.recorded_at from push_operation o, cur
    where o.xid >= pg_snapshot_xmax($1::pg_snapshot) and o.xid < pg_snapshot_xmax(cur.s) and pg_visible_in_snapshot(o.xid, cur.s)";

/// The result of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tick {
    /// Another process holds the lock.
    Taken,
    /// This many operations got a number.
    Numbered(u64),
}

/// Whether there is anything to number. Read-only, so that an idle journal uses no transaction ids.
pub async fn is_due(connection: &mut PgConnection) -> Result<bool, StoreError> {
    let snap: String = sqlx::query_scalar("select snap::text from journal_state").fetch_one(&mut *connection).await?;
    let sql = format!(
        "/* journal_is_due */ with cur as materialized (select pg_current_snapshot() as s) \
         select exists (select from ({FRESH}) as fresh)"
    );
    Ok(sqlx::query_scalar(&sql).bind(snap).fetch_one(connection).await?)
}

/// Numbers all operations that became visible since the last tick.
///
/// The second statement takes its snapshot while the lock is held, so it is never older than the stored one. This requires the isolation
/// level read committed, which is therefore set explicitly.
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

/// The state of the journal, for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalState {
    /// The last assigned number.
    pub head: i64,
    /// Whether this cluster, on this timeline, assigned the head.
    pub here: bool,
    /// Number of visible operations without a number.
    pub waiting: u64,
    /// Number of steps so far.
    pub steps: u64,
    /// Age in seconds of the oldest open transaction that has written something.
    pub oldest_writer_seconds: i64,
}

/// Reads the state of the journal.
pub async fn standing(connection: &mut PgConnection) -> Result<JournalState, StoreError> {
    let snap: String = sqlx::query_scalar("select snap::text from journal_state").fetch_one(&mut *connection).await?;
    let sql = format!(
        "/* journal_standing */ with cur as materialized (select pg_current_snapshot() as s) \
         select head, incarnation = journal_incarnation() as here, (select count(*) from ({FRESH}) as fresh) as waiting, \
             (select count(*) from incarnation) as steps, \
             {OLDEST_WRITER_SECONDS} as oldest \
         from journal_state"
    );
    let row = sqlx::query(&sql).bind(snap).fetch_one(connection).await?;
    Ok(JournalState {
        head: row.try_get("head")?,
        here: row.try_get("here")?,
        waiting: row.try_get::<i64, _>("waiting")?.unsigned_abs(),
        steps: row.try_get::<i64, _>("steps")?.unsigned_abs(),
        oldest_writer_seconds: row.try_get("oldest")?,
    })
}
