//! The journal's numbers: how operations get them, and the step over numbers that a restore may have undone.
//!
//! Producers append rows and name their transaction. The state remembers the snapshot up to which all that is visible has a
//! number; a tick numbers what a later snapshot sees and that one did not. Such a transaction was then either in progress and
//! listed, or not begun: two look-ups in an index, whatever commits late, rolls back or races.

pub mod read;
pub mod retention;

use super::standing::OLDEST_WRITER_SECONDS;
use super::{At, Db, StoreError, tags};
use rds_shared::wire::Timestamp;
use sqlx::{Connection, PgConnection, Row};

/// The channel on which a new head is announced. A hint: polling is the truth.
pub const CHANNEL: &str = "journal";
/// What head is raised to the next multiple of when numbers may have been lost: more than could be given in years.
pub const STEP: i64 = 1 << 40;

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

/// A jump of the numbering, as it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stepped {
    /// The head before; what was numbered above it may be gone.
    pub from: i64,
    /// The number below the next one that is given.
    pub to: i64,
    /// Operations without a number that got one in the step.
    pub numbered: u64,
}

/// Why numbers are stepped over.
#[derive(Debug, Clone, Copy)]
pub enum Cause<'a> {
    /// This is another cluster, or another timeline, than the one that gave the head; nothing is done where it is not.
    Moved,
    /// The head is below a number that was seen; nothing is done where it is not any more.
    Behind(i64),
    /// An operator says so.
    Told(&'a str),
}

impl Cause<'_> {
    fn holds(self, head: i64, here: bool) -> bool {
        match self {
            Cause::Moved => !here,
            Cause::Behind(seen) => head < seen,
            Cause::Told(_) => true,
        }
    }
}

/// Whether there is anything to step over. Asked without the turn: where all is well nobody is held up.
pub async fn must_step(connection: &mut PgConnection, cause: Cause<'_>) -> Result<bool, StoreError> {
    let sql = "/* journal_must_step */ select head, incarnation = journal_incarnation() as here from journal_state";
    let state = sqlx::query(sql).fetch_one(connection).await?;
    Ok(cause.holds(state.try_get("head")?, state.try_get("here")?))
}

/// Raises the head above every number that may have been given, and numbers what is retained and has none.
///
/// It reads all that is retained, and after a restore into another cluster writes it: give it a connection that has the time.
///
/// In a restored cluster the transactions of old rows bear numbers that have yet to be given there. What is journalled of them
/// is therefore assigned to the first transaction of all, so that it is never taken for something new.
pub async fn step(
    connection: &mut PgConnection,
    cause: Cause<'_>,
    now: Timestamp,
) -> Result<Option<Stepped>, StoreError> {
    let mut tx = connection.begin_with("begin isolation level read committed").await?;
    let sql = "
        -- journal_step_turn
        select head, incarnation = journal_incarnation() as here from journal_state for update";
    let state = sqlx::query(sql).fetch_one(&mut *tx).await?;
    let (from, here): (i64, bool) = (state.try_get("head")?, state.try_get("here")?);
    if !cause.holds(from, here) {
        return Ok(None);
    }
    let (above, reason) = match cause {
        Cause::Moved => (from, "another cluster or timeline"),
        Cause::Behind(seen) => (seen, "the head went back"),
        Cause::Told(reason) => (from, reason),
    };
    let to = (above / STEP + 1) * STEP;
    // Everything is gone through, not looked up.
    sqlx::query("set local enable_seqscan = on").execute(&mut *tx).await?;
    let sql = "
        -- journal_step
        with cur as materialized (select pg_current_snapshot() as s),
        state as materialized (select greatest(head_at, $2) as at from journal_state),
        numbered as (
            insert into journal (seq, operation_id, recorded_at, at)
            select $1 + row_number() over (order by o.id), o.id, o.recorded_at, state.at
            from push_operation o, state
            where not exists (
                select from journal j where j.operation_id = o.id and j.recorded_at = o.recorded_at)
            returning seq),
        stepped as (
            insert into incarnation (from_seq, to_seq, at, incarnation, reason)
            select head, $1, $2, journal_incarnation(), $3 from journal_state),
        advanced as (
            update journal_state set head = $1 + (select count(*) from numbered), head_at = (select at from state),
                snap = (select s from cur), incarnation = journal_incarnation()
            returning head)
        select (select count(*) from numbered), pg_notify('journal', head::text) from advanced";
    let numbered: i64 = sqlx::query(sql).bind(to).bind(At(now)).bind(reason).fetch_one(&mut *tx).await?.try_get(0)?;
    let sql = "
        -- journal_settle_restored
        update push_operation o set xid = '3' from journal_state s
        where o.xid >= pg_snapshot_xmin(s.snap) and exists (
            select from journal j where j.operation_id = o.id and j.recorded_at = o.recorded_at)";
    sqlx::query(sql).execute(&mut *tx).await?;
    // What the edge knows of the facts may be of what is gone: from here on every copy from before is to be confirmed.
    tags::raise_all(&mut tx).await?;
    tx.commit().await?;
    Ok(Some(Stepped { from, to, numbered: numbered.unsigned_abs() }))
}

/// Names the past that the database's facts have: another name means that what was read of them before may be undone, whatever
/// numbers they bear.
pub async fn past(db: &Db) -> Result<String, StoreError> {
    let sql = "
        -- journal_past
        select journal_incarnation() || '/' || coalesce(max(to_seq), 0) from incarnation";
    Ok(sqlx::query_scalar(sql).fetch_one(&db.pool).await?)
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
