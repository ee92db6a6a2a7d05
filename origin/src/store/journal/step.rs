//! The step: what is done once a database turns out to be another one, or an older copy, than the one that gave the last numbers.
//!
//! # What a restore takes back, and who is misled by it
//! Everything in the database, and with it every count that leaves the service: places in the journal (stream cursors), data versions
//! (cursors of the change feed, `run-…` ids), versions of tags (copies at the edge), and the ids that rows are given: of keys,
//! organisations, index tokens, subscriptions, deliveries, captured operations, leases. Whoever holds one of the past that is gone would
//! take what bears it in the next past for the same thing. One step raises all of them, in one transaction, to where no other past has
//! any ([`rds_shared::push::past`] says how that is drawn and why it holds):
//!
//! | what | raised to | proven by |
//! |---|---|---|
//! | `journal_state.head` | a landing of `OPERATIONS` | the recorded jump, at every stream's beginning |
//! | `data_version` | a landing of `ROWS` | the recorded jump, at every cursor of the change feed |
//! | `data_tag` | above all that this database or the edge knows | the edge: versions there only grow |
//! | every sequence | a landing of `ROWS` | nobody has to: an id is given once |
//!
//! What follows from content needs no step: event ids of webhooks (operation, instant and body), baskets' versions and decisions (digests),
//! ids of vaults, events and signals (their sources'). The *number* of a basket's version may come again in another past; its id, which is
//! signed, names the version before it and tells the two apart. A key's versions are its object's at the edge, which takes an older record
//! from a restored origin once its lease is over, and a revocation always.
//!
//! # Who notices
//! * Another cluster, timeline or database: [`Cause::Moved`]. Every connection asks before it numbers anything, and until the step is made
//!   the database refuses new data versions, whoever writes.
//! * The same cluster, timeline and database, set back on its disk: nothing in it tells. A process that saw a higher number does
//!   ([`Cause::Behind`]), and so does the edge, whose versions of tags no restore takes back ([`Cause::EdgeAhead`]): the sequencer asks it
//!   before it numbers on a new connection, and every message to it is answered with them.
//! * Where no process and no edge was left to notice: an operator ([`Cause::Told`]).

use super::super::{At, Db, StoreError, Tx, tags};
use rds_shared::push::Cursor;
use rds_shared::push::cursor::{Jump, is_of_this_past};
use rds_shared::push::past::{Draw, Numbers, OPERATIONS, ROWS};
use rds_shared::route::TagVersions;
use rds_shared::wire::Timestamp;
use sqlx::{Connection, PgConnection, PgExecutor, Row};

/// Versions of tags are milliseconds. One beyond this (some 140 000 years) is no version but a fault, and nothing follows it.
const LAST_VERSION: i64 = 1 << 52;
/// Leases are seconds long. One that ends later than this by the database's clock was given before the clock was set back.
const LONGEST_LEASE: &str = "interval '2 minutes'";

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
    /// This is another cluster, timeline or database than the one that gave the head; nothing is done where it is not.
    Moved,
    /// The head is below a number that was seen; nothing is done where it is not any more.
    Behind(i64),
    /// The edge knows versions of tags that this database has yet to give; nothing is done where it has given them.
    EdgeAhead(TagVersions),
    /// An operator says so.
    Told(&'a str),
}

/// What a cause is judged by.
struct Standing {
    head: i64,
    here: bool,
    tags: TagVersions,
}

impl Cause<'_> {
    fn holds(self, standing: &Standing) -> bool {
        match self {
            Cause::Moved => !standing.here,
            Cause::Behind(seen) => standing.head < seen,
            // A tag that this database has no row of is a later release's.
            Cause::EdgeAhead(known) => known.iter().any(|(tag, version)| {
                let ours = standing.tags.of(tag);
                ours > 0 && ours < version && version < LAST_VERSION
            }),
            Cause::Told(_) => true,
        }
    }

    fn reason(&self) -> &str {
        match self {
            Cause::Moved => "another cluster, timeline or database",
            Cause::Behind(_) => "the head went back",
            Cause::EdgeAhead(_) => "the edge knows facts that are gone",
            Cause::Told(reason) => reason,
        }
    }
}

async fn standing(db: impl PgExecutor<'_>) -> Result<Standing, StoreError> {
    let sql = "/* journal_step_standing */ select s.head, s.incarnation = journal_incarnation() as here, \
             (select string_agg(t.tag || '=' || t.version, ';') from data_tag t) as tags \
         from journal_state s";
    let row = sqlx::query(sql).fetch_one(db).await?;
    let tags: Option<&str> = row.try_get("tags")?;
    Ok(Standing {
        head: row.try_get("head")?,
        here: row.try_get("here")?,
        tags: TagVersions::parse(tags.unwrap_or_default()),
    })
}

/// Whether there is anything to step over. Asked without the turn: where all is well nobody is held up.
pub async fn must_step(connection: &mut PgConnection, cause: Cause<'_>) -> Result<bool, StoreError> {
    Ok(cause.holds(&standing(connection).await?))
}

/// Steps over every number that may have been given, and numbers what is retained and has none.
///
/// It reads all that is retained, and after a restore into another cluster writes it: give it a connection that has the time. `draw` is by
/// this machine's real clock, `now` by what may be a test's.
pub async fn step(
    connection: &mut PgConnection,
    cause: Cause<'_>,
    now: Timestamp,
    draw: Draw,
) -> Result<Option<Stepped>, StoreError> {
    // Of the two machines' clocks one may be wrong: the later one is further from what was given before.
    let At(theirs) = sqlx::query_scalar("select clock_timestamp()").fetch_one(&mut *connection).await?;
    let seconds = draw.seconds.max(theirs.as_seconds());
    step_at(connection, cause, now, Draw { seconds, ..draw }).await
}

/// The same by the clock of `draw` alone.
///
/// In a restored cluster the transactions of old rows bear numbers that have yet to be given there. What is journalled of them
/// is therefore assigned to the first transaction of all, so that it is never taken for something new.
pub async fn step_at(
    connection: &mut PgConnection,
    cause: Cause<'_>,
    now: Timestamp,
    draw: Draw,
) -> Result<Option<Stepped>, StoreError> {
    let mut tx = connection.begin_with("begin isolation level read committed").await?;
    // Read by a statement of its own: one that waits for the turn would still see the tags of before another's step.
    sqlx::query("/* journal_step_turn */ select from journal_state for update").execute(&mut *tx).await?;
    let standing = standing(&mut *tx).await?;
    if !cause.holds(&standing) {
        return Ok(None);
    }
    let from = standing.head;
    let (above, known) = match cause {
        Cause::Behind(seen) => (from.max(seen), TagVersions::default()),
        Cause::EdgeAhead(known) => (from, known),
        Cause::Moved | Cause::Told(_) => (from, TagVersions::default()),
    };
    let to = landing(OPERATIONS, above, draw)?;
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
        advanced as (
            update journal_state set head = $1 + (select count(*) from numbered), head_at = (select at from state),
                snap = (select s from cur), incarnation = journal_incarnation()
            returning head)
        select (select count(*) from numbered), pg_notify('journal', head::text) from advanced";
    let numbered: i64 = sqlx::query(sql).bind(to).bind(At(now)).fetch_one(&mut *tx).await?.try_get(0)?;
    let sql = "
        -- journal_settle_restored
        update push_operation o set xid = '3' from journal_state s
        where o.xid >= pg_snapshot_xmin(s.snap) and exists (
            select from journal j where j.operation_id = o.id and j.recorded_at = o.recorded_at)";
    sqlx::query(sql).execute(&mut *tx).await?;
    raise_sequences(&mut tx, draw).await?;
    end_old_leases(&mut tx).await?;
    let (data_from, data_to) = raise_data_version(&mut tx, draw).await?;
    let sql = "
        -- journal_jumped
        insert into incarnation (from_seq, to_seq, data_from, data_to, at, incarnation, reason)
        values ($1, $2, $3, $4, $5, journal_incarnation(), $6)";
    let jumped = sqlx::query(sql).bind(from).bind(to).bind(data_from).bind(data_to).bind(At(now));
    jumped.bind(cause.reason()).execute(&mut *tx).await?;
    // What the edge knows of the facts may be of what is gone: from here on every copy from before is to be confirmed.
    tags::raise_all(&mut tx, &known).await?;
    tx.commit().await?;
    Ok(Some(Stepped { from, to, numbered: numbered.unsigned_abs() }))
}

fn landing(numbers: Numbers, above: i64, draw: Draw) -> Result<i64, StoreError> {
    let to = numbers.landing(above.unsigned_abs(), draw).and_then(|to| i64::try_from(to).ok());
    to.ok_or_else(|| StoreError::Corrupt { column: "journal_state.head", text: above.to_string() })
}

/// Raises the ids that rows get: what was lost has given some, and nobody knows how many. A sequence follows no transaction; one that
/// is raised by a step which then fails is only further on.
async fn raise_sequences(tx: &mut Tx<'_>, draw: Draw) -> Result<(), StoreError> {
    let last: i64 = sqlx::query_scalar(
        "/* newest_row_id */ select coalesce(max(last_value), 0)::bigint from pg_sequences where schemaname = current_schema()",
    )
    .fetch_one(&mut **tx)
    .await?;
    let to = landing(ROWS, last, draw)?;
    let sql = "
        -- raise_sequences
        select count(setval(format('%I.%I', schemaname, sequencename)::regclass, $1))
        from pg_sequences where schemaname = current_schema()";
    sqlx::query(sql).bind(to).execute(&mut **tx).await?;
    Ok(())
}

/// Ends what was taken until later than anybody takes anything: the clock was ahead then, or was set back with the restore.
async fn end_old_leases(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    for (table, end) in [
        ("stream_process", "alive_until"),
        ("webhook_lease", "until"),
        ("edge_outbox", "not_before"),
        ("edge_tag_message", "not_before"),
    ] {
        let sql = format!(
            "/* end_old_leases */ update {table} set {end} = clock_timestamp() where {end} > clock_timestamp() + {LONGEST_LEASE}"
        );
        sqlx::query(&sql).execute(&mut **tx).await?;
    }
    Ok(())
}

/// Jumps over the data versions that may have been given; from and to where. Behind the turn of numbering: before it the database
/// refuses any.
async fn raise_data_version(tx: &mut Tx<'_>, draw: Draw) -> Result<(i64, i64), StoreError> {
    let sql = "/* data_version_of_step */ select version from data_version for update";
    let from: i64 = sqlx::query_scalar(sql).fetch_one(&mut **tx).await?;
    let to = landing(ROWS, from, draw)?;
    sqlx::query("/* jump_data_version */ update data_version set version = $1").bind(to).execute(&mut **tx).await?;
    Ok((from, to))
}

/// The past that the database's facts have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// Another name means that what was read before may be undone, whatever versions it bears.
    pub name: String,
    /// The jumps over data versions.
    jumps: Vec<Jump>,
}

impl Past {
    /// Whether this past, having come as far as `newest`, gave this data version.
    pub fn gave(&self, newest: i64, version: i64) -> bool {
        let number = |version: i64| Cursor::new(version.unsigned_abs());
        version >= 0 && is_of_this_past(&self.jumps, number(newest), number(version))
    }
}

/// Reads it, with the newest data version and the newest versions of all tags: all of one instant.
pub async fn past(db: &Db) -> Result<(Past, i64, TagVersions), StoreError> {
    let sql = "
        -- journal_past
        select d.version,
            (select string_agg(t.tag || '=' || t.version, ';') from data_tag t) as tags,
            journal_incarnation() || '/' || coalesce((select max(to_seq) from incarnation), 0) as name,
            (select coalesce(array_agg(i.data_from order by i.from_seq), '{}') from incarnation i where i.data_to is not null) as jumps_from,
            (select coalesce(array_agg(i.data_to order by i.from_seq), '{}') from incarnation i where i.data_to is not null) as jumps_to
        from data_version d";
    let row = sqlx::query(sql).fetch_one(&db.pool).await?;
    let (from, to): (Vec<i64>, Vec<i64>) = (row.try_get("jumps_from")?, row.try_get("jumps_to")?);
    let jump =
        |(from, to): (i64, i64)| Jump { from: Cursor::new(from.unsigned_abs()), to: Cursor::new(to.unsigned_abs()) };
    let past = Past { name: row.try_get("name")?, jumps: from.into_iter().zip(to).map(jump).collect() };
    let tags: Option<&str> = row.try_get("tags")?;
    Ok((past, row.try_get("version")?, TagVersions::parse(tags.unwrap_or_default())))
}
