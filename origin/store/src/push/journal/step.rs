//! The step: raises all numbers once this database turns out to be a restored copy, or another database than the one that issued them.
//!
//! # What a restore sets back, and who is affected
//! A restore sets back everything in the database, including all numbers that clients hold: sequence numbers (stream cursors), data
//! versions (cursors of the change feed, `run-…` ids), tag versions (cached responses at the edge), and row ids (of keys, organisations,
//! index tokens, subscriptions, deliveries, captured operations, leases). A client could mistake a number of the
//! new timeline for the same number of the lost one. One step raises all of them, in one transaction, to numbers that
//! no other timeline has used ([`rds_shared::push::timeline`] explains how they are chosen):
//!
//! | number | raised to | how clients notice |
//! |---|---|---|
//! | `journal_state.head` | [`Numbers::new_head`] of `OPERATIONS` | by the recorded jump, when a stream starts |
//! | `data_version` | [`Numbers::new_head`] of `ROWS` | by the recorded jump, for every cursor of the change feed |
//! | `data_tag` | above every version that this database or the edge knows | at the edge, which accepts only higher versions |
//! | every sequence | [`Numbers::new_head`] of `ROWS` | not at all: an id is issued once |
//!
//! Ids derived from content need no step: webhook event ids (operation, instant and body), ids of basket versions and decisions (digests),
//! ids of vaults, events and signals (their sources'). The *number* of a basket version may repeat in another timeline; its signed id names
//! the version before it and so distinguishes the two. The versions of a key are those of its Durable Object at the edge, which accepts an
//! older record from a restored origin once its lease has ended, and a revocation always.
//!
//! # Detection
//!
//! * Another cluster, Postgres timeline or database: [`Cause::Moved`]. Every connection checks this before it numbers
//!   anything, and until the step is made the database refuses new data versions from every writer.
//! * The same cluster, Postgres timeline and database with its disk set back: nothing in the database shows this. A
//!   process that saw a higher number does ([`Cause::Behind`]), and so does the edge, whose tag versions are not
//!   restored ([`Cause::EdgeAhead`]): the sequencer asks the edge before it numbers on a new connection, and the edge
//!   returns its versions with every acknowledgement.
//! * If neither a process nor an edge could notice: an operator ([`Cause::Operator`]).

use crate::columns::DbTags;
use crate::push::journal::read::JumpColumns;
use crate::service::tags;
use crate::{At, Db, StoreError, Tx};
use rds_shared::push::Cursor;
use rds_shared::push::cursor::{Jump, is_of_current_timeline};
use rds_shared::push::timeline::{Numbers, OPERATIONS, ROWS, StepEntropy};
use rds_shared::route::TagVersions;
use rds_shared::wire::Timestamp;
use sqlx::{Connection, FromRow, PgConnection, PgExecutor};

/// Tag versions are milliseconds. A version at or above this (about 140 000 years) is an error and is ignored.
const MAX_TAG_VERSION: i64 = 1 << 52;
/// Leases last seconds. A lease that ends further ahead than this, by the database's clock, was taken before the clock was set back.
const MAX_LEASE: &str = "interval '2 minutes'";

/// A jump of the numbering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stepped {
    /// The head before the jump. Operations with higher numbers may be lost.
    pub from: i64,
    /// The head after the jump, not counting the `numbered` operations.
    pub to: i64,
    /// Number of operations that got their number in the step.
    pub numbered: u64,
}

/// The reason for a step.
#[derive(Debug, Clone, Copy)]
pub enum Cause<'a> {
    /// The head was issued by another cluster, Postgres timeline or database. Otherwise the step does nothing.
    Moved,
    /// The head is below this number, which a process has seen. Otherwise the step does nothing.
    Behind(i64),
    /// The edge knows tag versions that this database has yet to issue. Otherwise the step does nothing.
    EdgeAhead(TagVersions),
    /// An operator's reason; always steps.
    Operator(&'a str),
}

/// The state by which a cause is checked.
#[derive(FromRow)]
struct StepState {
    head: i64,
    here: bool,
    #[sqlx(try_from = "DbTags")]
    tags: TagVersions,
}

impl Cause<'_> {
    fn applies(self, state: &StepState) -> bool {
        match self {
            Cause::Moved => !state.here,
            Cause::Behind(seen) => state.head < seen,
            // A tag without a row in this database belongs to a later release.
            Cause::EdgeAhead(known) => known.iter().any(|(tag, version)| {
                let ours = state.tags.of(tag);
                ours > 0 && ours < version && version < MAX_TAG_VERSION
            }),
            Cause::Operator(_) => true,
        }
    }

    fn reason(&self) -> &str {
        match self {
            Cause::Moved => "another cluster, timeline or database",
            Cause::Behind(_) => "the head decreased",
            Cause::EdgeAhead(_) => "the edge has newer tag versions",
            Cause::Operator(reason) => reason,
        }
    }
}

async fn step_state(db: impl PgExecutor<'_>) -> Result<StepState, StoreError> {
    let sql = "/* journal_step_state */ SELECT s.head, s.incarnation = journal_incarnation() AS here, \
             (SELECT coalesce(string_agg(t.tag || '=' || t.version, ';'), '') FROM data_tag t) AS tags \
         FROM journal_state s";
    Ok(sqlx::query_as(sql).fetch_one(db).await?)
}

/// Whether a step is needed. Checked without the lock, so that the check delays no other process in normal operation.
pub async fn must_step(connection: &mut PgConnection, cause: Cause<'_>) -> Result<bool, StoreError> {
    Ok(cause.applies(&step_state(connection).await?))
}

/// Raises all numbers above any that may have been issued, and numbers retained operations that have no number.
///
/// Reads all retained operations, and after a restore into another cluster updates them, so the connection needs a long statement timeout.
/// `draw` uses this machine's real clock; `now` may be a test clock's.
pub async fn step(
    connection: &mut PgConnection,
    cause: Cause<'_>,
    now: Timestamp,
    draw: StepEntropy,
) -> Result<Option<Stepped>, StoreError> {
    // One of the two clocks may be wrong; the later one is further from any number issued before.
    let At(theirs) = sqlx::query_scalar("SELECT clock_timestamp()").fetch_one(&mut *connection).await?;
    let seconds = draw.seconds.max(theirs.as_seconds());
    step_at(connection, cause, now, StepEntropy { seconds, ..draw }).await
}

/// Like [`step`], but only with the clock of `draw`.
///
/// In a restored cluster, old rows have transaction ids that the cluster has yet to assign. Journalled rows therefore get the first normal
/// transaction id, 3, so that they are never taken for new ones.
pub async fn step_at(
    connection: &mut PgConnection,
    cause: Cause<'_>,
    now: Timestamp,
    draw: StepEntropy,
) -> Result<Option<Stepped>, StoreError> {
    let mut tx = connection.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
    // The lock is taken by a statement of its own. A single statement that waits for the lock and reads the state would see the tags as
    // they were before it waited, so it would miss the step of another process.
    sqlx::query("/* journal_step_turn */ SELECT FROM journal_state FOR UPDATE").execute(&mut *tx).await?;
    let state = step_state(&mut *tx).await?;
    if !cause.applies(&state) {
        return Ok(None);
    }
    let from = state.head;
    let (above, known) = match cause {
        Cause::Behind(seen) => (from.max(seen), TagVersions::default()),
        Cause::EdgeAhead(known) => (from, known),
        Cause::Moved | Cause::Operator(_) => (from, TagVersions::default()),
    };
    let to = new_head(OPERATIONS, above, draw)?;
    // The sequencer's connection has sequential scans disabled, but the next statement reads whole tables.
    sqlx::query("SET LOCAL enable_seqscan = on").execute(&mut *tx).await?;
    let sql = "
        -- journal_step
        WITH cur AS MATERIALIZED (SELECT pg_current_snapshot() AS s),
        state AS MATERIALIZED (SELECT greatest(head_at, $2) AS at FROM journal_state),
        numbered AS (
            INSERT INTO journal (seq, operation_id, recorded_at, at)
            SELECT $1 + row_number() OVER (ORDER BY o.id), o.id, o.recorded_at, state.at
            FROM push_operation o, state
            WHERE NOT EXISTS (
                SELECT FROM journal j WHERE j.operation_id = o.id AND j.recorded_at = o.recorded_at)
            RETURNING seq),
        advanced AS (
            UPDATE journal_state SET head = $1 + (SELECT count(*) FROM numbered), head_at = (SELECT at FROM state),
                snap = (SELECT s FROM cur), incarnation = journal_incarnation()
            RETURNING head)
        SELECT (SELECT count(*) FROM numbered), pg_notify('journal', head::text) FROM advanced";
    let numbered: i64 = sqlx::query_scalar(sql).bind(to).bind(At(now)).fetch_one(&mut *tx).await?;
    let sql = "
        -- journal_settle_restored
        UPDATE push_operation o SET xid = '3' FROM journal_state s
        WHERE o.xid >= pg_snapshot_xmin(s.snap) AND EXISTS (
            SELECT FROM journal j WHERE j.operation_id = o.id AND j.recorded_at = o.recorded_at)";
    sqlx::query(sql).execute(&mut *tx).await?;
    raise_sequences(&mut tx, draw).await?;
    end_old_leases(&mut tx).await?;
    let (data_from, data_to) = raise_data_version(&mut tx, draw).await?;
    let sql = "
        -- journal_jumped
        INSERT INTO incarnation (from_seq, to_seq, data_from, data_to, at, incarnation, reason)
        VALUES ($1, $2, $3, $4, $5, journal_incarnation(), $6)";
    sqlx::query(sql)
        .bind(from) // $1 from_seq
        .bind(to) // $2 to_seq
        .bind(data_from)
        .bind(data_to)
        .bind(At(now)) // $5 at
        .bind(cause.reason())
        .execute(&mut *tx)
        .await?;
    // The edge's responses may be based on lost facts. Raising all tags makes the edge revalidate every response cached before.
    tags::raise_all(&mut tx, &known).await?;
    tx.commit().await?;
    Ok(Some(Stepped { from, to, numbered: numbered.unsigned_abs() }))
}

fn new_head(numbers: Numbers, above: i64, draw: StepEntropy) -> Result<i64, StoreError> {
    let to = numbers.new_head(above.unsigned_abs(), draw).and_then(|to| i64::try_from(to).ok());
    to.ok_or_else(|| StoreError::Corrupt { column: "journal_state.head", text: above.to_string() })
}

/// Raises all sequences, because the number of ids issued by the lost timeline is unknown. `setval` is not transactional; if the step fails
/// afterwards, the sequences are merely further ahead.
async fn raise_sequences(tx: &mut Tx<'_>, draw: StepEntropy) -> Result<(), StoreError> {
    let last: i64 = sqlx::query_scalar(
        "/* newest_row_id */ SELECT coalesce(max(last_value), 0)::bigint FROM pg_sequences WHERE schemaname = current_schema()",
    )
    .fetch_one(&mut **tx)
    .await?;
    let to = new_head(ROWS, last, draw)?;
    let sql = "
        -- raise_sequences
        SELECT count(setval(format('%I.%I', schemaname, sequencename)::regclass, $1))
        FROM pg_sequences WHERE schemaname = current_schema()";
    sqlx::query(sql).bind(to).execute(&mut **tx).await?;
    Ok(())
}

/// Ends leases that end later than [`MAX_LEASE`] from now: the clock was ahead when they were taken, or was set back by the restore.
async fn end_old_leases(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    for (table, end) in [
        ("stream_process", "alive_until"),
        ("webhook_lease", "until"),
        ("webhook_event_lease", "until"),
        ("edge_outbox", "not_before"),
        ("edge_tag_message", "not_before"),
    ] {
        let sql = format!(
            "/* end_old_leases */ UPDATE {table} SET {end} = clock_timestamp() WHERE {end} > clock_timestamp() + {MAX_LEASE}"
        );
        sqlx::query(&sql).execute(&mut **tx).await?;
    }
    Ok(())
}

/// Raises the data version; returns the old and the new one. Called after the head was raised, because until then the database refuses new
/// data versions.
async fn raise_data_version(tx: &mut Tx<'_>, draw: StepEntropy) -> Result<(i64, i64), StoreError> {
    let sql = "/* data_version_of_step */ SELECT version FROM data_version FOR UPDATE";
    let from: i64 = sqlx::query_scalar(sql).fetch_one(&mut **tx).await?;
    let to = new_head(ROWS, from, draw)?;
    sqlx::query("/* jump_data_version */ UPDATE data_version SET version = $1").bind(to).execute(&mut **tx).await?;
    Ok((from, to))
}

/// The timeline of the database's facts.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Timeline {
    /// Identifies the timeline. Once the name has changed, facts read before may have been undone, whatever their data version.
    pub name: String,
    /// The jumps of the data version.
    #[sqlx(flatten, try_from = "JumpColumns")]
    jumps: Vec<Jump>,
}

impl Timeline {
    /// Whether this timeline, whose newest data version is `newest`, issued `version`.
    pub fn issued(&self, newest: i64, version: i64) -> bool {
        let number = |version: i64| Cursor::new(version.unsigned_abs());
        version >= 0 && is_of_current_timeline(&self.jumps, number(newest), number(version))
    }
}

#[derive(FromRow)]
struct TimelineRow {
    #[sqlx(flatten)]
    timeline: Timeline,
    version: i64,
    #[sqlx(try_from = "DbTags")]
    tags: TagVersions,
}

/// Reads the timeline, the newest data version and the tag versions in one statement, so that they belong to the same instant.
pub async fn timeline(db: &Db) -> Result<(Timeline, i64, TagVersions), StoreError> {
    let sql = "
        -- journal_timeline
        SELECT d.version,
            (SELECT coalesce(string_agg(t.tag || '=' || t.version, ';'), '') FROM data_tag t) AS tags,
            journal_incarnation() || '/' || coalesce((SELECT max(to_seq) FROM incarnation), 0) AS name,
            (SELECT coalesce(array_agg(i.data_from ORDER BY i.from_seq), '{}') FROM incarnation i WHERE i.data_to IS NOT NULL) AS jumps_from,
            (SELECT coalesce(array_agg(i.data_to ORDER BY i.from_seq), '{}') FROM incarnation i WHERE i.data_to IS NOT NULL) AS jumps_to
        FROM data_version d";
    let TimelineRow { timeline, version, tags } = sqlx::query_as(sql).fetch_one(&db.pool).await?;
    Ok((timeline, version, tags))
}
