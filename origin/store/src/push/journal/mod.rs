//! How operations of the journal get their sequence numbers. [`mod@step`] skips numbers that a restore may have undone; [`fresh`] numbers a
//! few operations in one statement.
//!
//! Producers append rows with their transaction id. Numbers are assigned in ticks. `journal_state.snap` stores the Postgres snapshot of the
//! last tick: every row visible in it has a number. The next tick numbers the rows that have become visible since. The transaction of such
//! a row was either in progress at the stored snapshot, which then lists its id, or not begun. So two index look-ups find all these rows,
//! regardless of late commits, rollbacks and races.

pub mod fresh;
pub mod read;
pub mod retention;
pub mod step;

pub use fresh::Fresh;
pub use step::{Cause, Stepped, Timeline, must_step, step, step_at, timeline};

use crate::{At, StoreError};
use fresh::Outcome;
use rds_shared::wire::Timestamp;
use sqlx::{Connection, FromRow, PgConnection};

/// The notification channel for a new head. A lost notification only delays a reader, because polling finds every operation.
pub const CHANNEL: &str = "journal";

/// Rows that are visible in the statement's snapshot `cur.s` and were not in the snapshot `$1`. A search from xmin on would instead read
/// everything since the oldest open transaction again at every tick.
const FRESH: &str = "
    SELECT o.id, o.recorded_at FROM push_operation o, cur
    WHERE o.xid = ANY (ARRAY(SELECT pg_snapshot_xip($1::pg_snapshot))) AND pg_visible_in_snapshot(o.xid, cur.s)
    UNION ALL
    SELECT o.id, o.recorded_at FROM push_operation o, cur
    WHERE o.xid >= pg_snapshot_xmax($1::pg_snapshot) AND o.xid < pg_snapshot_xmax(cur.s) AND pg_visible_in_snapshot(o.xid, cur.s)";

/// The result of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tick {
    /// Another process is numbering.
    Taken,
    /// This many operations got a number.
    Numbered(u64),
}

/// The result of a tick, with the content of the operations that it numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticked {
    pub tick: Tick,
    /// What was numbered; `None` if it was nothing, or too much to be returned.
    pub fresh: Option<Fresh>,
    /// The last number that was assigned, as far as this tick has seen.
    pub head: u64,
    /// Whether producers send no notifications; see [`rest`].
    pub is_busy: bool,
}

/// Numbers all operations that became visible since the last tick. If there are none, this takes no lock and uses no transaction id.
pub async fn tick(connection: &mut PgConnection, now: Timestamp) -> Result<Ticked, StoreError> {
    let done = |tick, head, is_busy| Ticked { tick, fresh: None, head, is_busy };
    Ok(match fresh::number(connection, now).await? {
        Outcome::Nothing { head, is_busy } => done(Tick::Numbered(0), head, is_busy),
        Outcome::Taken { head } => done(Tick::Taken, head, true),
        Outcome::TooMany { head } => done(tick_of_many(connection, now).await?, head, true),
        Outcome::Numbered(fresh) => {
            Ticked { tick: Tick::Numbered(fresh.count), head: fresh.head, is_busy: fresh.is_busy, fresh: Some(fresh) }
        }
    })
}

/// Numbers all operations that became visible since the last tick, however many.
///
/// The second statement takes its snapshot while the lock is held, so it is never older than the stored one. This requires the isolation
/// level read committed, which is therefore set explicitly.
async fn tick_of_many(connection: &mut PgConnection, now: Timestamp) -> Result<Tick, StoreError> {
    let mut tx = connection.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
    let sql = "/* journal_turn */ SELECT snap::text FROM journal_state FOR UPDATE SKIP LOCKED";
    let Some(snap) = sqlx::query_scalar::<_, String>(sql).fetch_optional(&mut *tx).await? else {
        return Ok(Tick::Taken);
    };
    let sql = format!(
        "/* journal_tick */ WITH cur AS MATERIALIZED (SELECT pg_current_snapshot() AS s), fresh AS ({FRESH}), \
         state AS MATERIALIZED (SELECT head, greatest(head_at, $2) AS at FROM journal_state), \
         numbered AS (INSERT INTO journal (seq, operation_id, recorded_at, at) \
             SELECT state.head + row_number() OVER (ORDER BY fresh.id), fresh.id, fresh.recorded_at, state.at \
             FROM fresh, state RETURNING seq), \
         advanced AS (UPDATE journal_state j SET head = j.head + (SELECT count(*) FROM numbered), \
                 head_at = (SELECT at FROM state), snap = (SELECT s FROM cur), is_busy = TRUE \
             WHERE EXISTS (SELECT FROM numbered) RETURNING j.head) \
         SELECT (SELECT count(*) FROM numbered), pg_notify('{CHANNEL}', head::text) FROM advanced"
    );
    let numbered: Option<i64> = sqlx::query_scalar(&sql).bind(snap).bind(At(now)).fetch_optional(&mut *tx).await?;
    tx.commit().await?;
    Ok(Tick::Numbered(numbered.unwrap_or(0).unsigned_abs()))
}

/// Ends the time in which producers send no notifications, because too few operations arrive.
pub async fn rest(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query("/* journal_rest */ UPDATE journal_state SET is_busy = FALSE WHERE is_busy")
        .execute(connection)
        .await?;
    Ok(())
}

/// The state of the journal, for operators.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct JournalState {
    /// The last assigned number.
    pub head: i64,
    /// Whether this cluster, on this timeline, assigned the head.
    pub here: bool,
    /// Number of visible operations without a number.
    #[sqlx(try_from = "i64")]
    pub waiting: u64,
    /// Number of jumps of the numbering so far ([`mod@step`]).
    #[sqlx(try_from = "i64")]
    pub steps: u64,
    /// Age in seconds of the oldest open transaction that has written something.
    pub oldest_writer_seconds: i64,
}

/// Reads the state of the journal.
pub async fn state(connection: &mut PgConnection) -> Result<JournalState, StoreError> {
    let snap: String = sqlx::query_scalar("SELECT snap::text FROM journal_state").fetch_one(&mut *connection).await?;
    let sql = format!(
        "/* read_journal_state */ WITH cur AS MATERIALIZED (SELECT pg_current_snapshot() AS s) \
         SELECT head, incarnation = journal_incarnation() AS here, (SELECT count(*) FROM ({FRESH}) AS fresh) AS waiting, \
             (SELECT count(*) FROM incarnation) AS steps, \
             oldest_writer_seconds() AS oldest_writer_seconds \
         FROM journal_state"
    );
    Ok(sqlx::query_as(&sql).bind(snap).fetch_one(connection).await?)
}
