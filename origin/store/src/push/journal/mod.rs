//! How operations of the journal get their sequence numbers. [`mod@step`] skips numbers that a restore may have undone.
//!
//! Producers append rows with their transaction id. Numbers are assigned in ticks. `journal_state.snap` stores the Postgres snapshot of the
//! last tick: every row visible in it has a number. The next tick numbers the rows that have become visible since. The transaction of such
//! a row was either in progress at the stored snapshot, which then lists its id, or not begun. So two index look-ups find all these rows,
//! regardless of late commits, rollbacks and races.

pub mod read;
pub mod retention;
pub mod step;

pub use step::{Cause, Stepped, Timeline, must_step, step, step_at, timeline};

use crate::service::database_state::OLDEST_WRITER_SECONDS;
use crate::{At, StoreError};
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
    /// Another process holds the lock.
    Taken,
    /// This many operations got a number.
    Numbered(u64),
}

/// Whether there is anything to number. Read-only, so that an idle journal uses no transaction ids.
pub async fn is_due(connection: &mut PgConnection) -> Result<bool, StoreError> {
    let snap: String = sqlx::query_scalar("SELECT snap::text FROM journal_state").fetch_one(&mut *connection).await?;
    let sql = format!(
        "/* journal_is_due */ WITH cur AS MATERIALIZED (SELECT pg_current_snapshot() AS s) \
         SELECT EXISTS (SELECT FROM ({FRESH}) AS fresh)"
    );
    Ok(sqlx::query_scalar(&sql).bind(snap).fetch_one(connection).await?)
}

/// Numbers all operations that became visible since the last tick.
///
/// The second statement takes its snapshot while the lock is held, so it is never older than the stored one. This requires the isolation
/// level read committed, which is therefore set explicitly.
pub async fn tick(connection: &mut PgConnection, now: Timestamp) -> Result<Tick, StoreError> {
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
                 head_at = (SELECT at FROM state), snap = (SELECT s FROM cur) \
             WHERE EXISTS (SELECT FROM numbered) RETURNING j.head) \
         SELECT (SELECT count(*) FROM numbered), pg_notify('{CHANNEL}', head::text) FROM advanced"
    );
    let numbered: Option<i64> = sqlx::query_scalar(&sql).bind(snap).bind(At(now)).fetch_optional(&mut *tx).await?;
    tx.commit().await?;
    Ok(Tick::Numbered(numbered.unwrap_or(0).unsigned_abs()))
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
             {OLDEST_WRITER_SECONDS} AS oldest_writer_seconds \
         FROM journal_state"
    );
    Ok(sqlx::query_as(&sql).bind(snap).fetch_one(connection).await?)
}
