//! Partitions of the journal: one per hour, created ahead and dropped as a whole once the hour has left the window.
//!
//! Rows are never deleted one by one. A partition of operations is dropped before the journal partitions that number them; otherwise a step
//! would number those operations again as new ones. Nothing is dropped that a consumer still has to read.
//!
//! Whether a partition is needed is determined before any lock is taken, by index look-ups whose cost does not depend on the size of the
//! window. Under the lock, only one check remains: whether rows have arrived since.

use crate::{At, StoreError};
use rds_shared::push::stream_limits::REPLAY_WINDOW_SECONDS;
use rds_shared::wire::Timestamp;
use sqlx::{Connection, PgConnection};

/// Length of a partition's range in seconds.
pub const HOUR: i64 = 3_600;
/// How much longer than the window a partition is kept, so that a replay that began inside the window finds all of its rows.
const GRACE_SECONDS: i64 = 3_600;
/// First hour ahead for which a partition is created. If a partition is attached while a row of its hour is inserted into the default
/// partition, Postgres refuses the row. So the hours in which a producer may be writing, even with a wrong clock, are left out.
const MIN_HOURS_AHEAD: i64 = 2;
/// How long a partition change waits for its lock. Producers and readers queue behind the waiting change.
const LOCK_TIMEOUT: &str = "SET LOCAL lock_timeout = '200ms'";
/// Key of the advisory lock: one process at a time runs a round, the others skip it.
pub(crate) const ROUND_LOCK: i64 = 0x7264_735f_6a72_6e6c;

/// A partitioned table of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    Operations,
    Journal,
}

impl Table {
    const fn name(self) -> &'static str {
        match self {
            Table::Operations => "push_operation",
            Table::Journal => "journal",
        }
    }

    const fn instant(self) -> &'static str {
        match self {
            Table::Operations => "recorded_at",
            Table::Journal => "at",
        }
    }
}

/// SQL condition: `{part}` has rows without a number. Every row visible in the snapshot `$1` has a number, so two index look-ups suffice.
fn unnumbered(part: &str) -> String {
    format!(
        "EXISTS (SELECT FROM {part} WHERE xid = ANY (ARRAY(SELECT pg_snapshot_xip($1::pg_snapshot)))) \
         OR EXISTS (SELECT FROM {part} WHERE xid >= pg_snapshot_xmax($1::pg_snapshot))"
    )
}

/// The result of one round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Round {
    /// Number of partitions created.
    pub made: u32,
    /// Number of partitions dropped and of default partitions emptied.
    pub dropped: u32,
    /// Number of expired partitions that are still needed or in use; the next round tries them again.
    pub kept: u32,
}

/// Creates the partitions of the hours from [`MIN_HOURS_AHEAD`] to `ahead` after `now`, and drops those that have left the window.
pub async fn round(connection: &mut PgConnection, now: Timestamp, ahead: i64) -> Result<Round, StoreError> {
    let mut round = Round::default();
    let mine: bool =
        sqlx::query_scalar("SELECT pg_try_advisory_lock($1)").bind(ROUND_LOCK).fetch_one(&mut *connection).await?;
    if !mine {
        return Ok(round);
    }
    let done = async {
        let hour = now.as_seconds().div_euclid(HOUR);
        for table in [Table::Operations, Table::Journal] {
            for hour in hour + MIN_HOURS_AHEAD..=hour + ahead {
                round.made += u32::from(make(connection, table, hour).await?);
            }
        }
        let floor = now.plus_seconds(-REPLAY_WINDOW_SECONDS);
        let Some(keep) = kept_from(connection, floor).await? else { return Ok(round) };
        let before = floor.plus_seconds(-GRACE_SECONDS);
        // The last hour that may be dropped ended before `before`.
        let last = before.as_seconds().div_euclid(HOUR) - 1;
        for table in [Table::Operations, Table::Journal] {
            for hour in hours(connection, table).await?.into_iter().filter(|hour| *hour <= last) {
                match unless_used(drop_partition(connection, table, hour, keep).await)? {
                    true => round.dropped += 1,
                    false => round.kept += 1,
                }
            }
            round.dropped += u32::from(unless_used(empty_default(connection, table, before, keep).await)?);
        }
        Ok(round)
    }
    .await;
    sqlx::query("SELECT pg_advisory_unlock($1)").bind(ROUND_LOCK).execute(connection).await?;
    done
}

/// Turns a failed attempt to lock a partition in use into `false`.
fn unless_used(result: Result<bool, StoreError>) -> Result<bool, StoreError> {
    match result {
        Err(error) if is_in_use(&error) => Ok(false),
        result => result,
    }
}

/// Whether the error is a lock timeout or a deadlock.
fn is_in_use(error: &StoreError) -> bool {
    error.sqlstate().is_some_and(|code| matches!(code.as_str(), "55P03" | "40P01"))
}

fn partition(table: Table, hour: i64) -> String {
    format!("{}_{hour}", table.name())
}

/// Creates an hour's partition unless it exists, or the default partition already contains rows of that hour, which then stay there.
///
/// `make_partition` and its neighbours in the migrations run with the rights of the tables' owner, which the serving role does not have.
async fn make(connection: &mut PgConnection, table: Table, hour: i64) -> Result<bool, StoreError> {
    let (name, parent, instant) = (partition(table, hour), table.name(), table.instant());
    let (from, to) = (Timestamp::from_seconds(hour * HOUR), Timestamp::from_seconds((hour + 1) * HOUR));
    let exists: bool =
        sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL").bind(&name).fetch_one(&mut *connection).await?;
    if exists {
        return Ok(false);
    }
    let sql = format!("SELECT EXISTS (SELECT FROM {parent}_other WHERE {instant} >= $1 AND {instant} < $2)");
    if sqlx::query_scalar(&sql).bind(At(from)).bind(At(to)).fetch_one(&mut *connection).await? {
        return Ok(false);
    }
    let mut tx = connection.begin().await?;
    sqlx::query(LOCK_TIMEOUT).execute(&mut *tx).await?;
    let made = async {
        let sql = "/* make_partition */ SELECT make_partition($1, $2)";
        sqlx::query(sql).bind(parent).bind(hour).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(true)
    }
    .await;
    match made {
        // A row of that hour was inserted into the default partition meanwhile.
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("23514") => Ok(false),
        result => unless_used(result.map_err(StoreError::from)),
    }
}

/// The hours with a partition, oldest first.
async fn hours(connection: &mut PgConnection, table: Table) -> Result<Vec<i64>, StoreError> {
    let sql = "
        -- partitions
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = to_regclass($1) AND c.relname ~ '_[0-9]+$'";
    let names: Vec<String> = sqlx::query_scalar(sql).bind(table.name()).fetch_all(connection).await?;
    let mut hours: Vec<i64> = names.iter().filter_map(|name| name.rsplit('_').next()?.parse().ok()).collect();
    hours.sort_unstable();
    Ok(hours)
}

/// Operations numbered from this instant on are kept: those in the window, and those that a consumer still has to read. `None` after a
/// restore until the numbering has stepped: before the step it is unknown which operations have a number.
async fn kept_from(connection: &mut PgConnection, floor: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    let sql = "
        -- journal_kept_from
        SELECT s.incarnation = journal_incarnation() AS here, least($1, (
            SELECT j.at FROM journal j WHERE j.seq > (SELECT min(position) FROM journal_consumer) ORDER BY j.seq LIMIT 1)) AS keep
        FROM journal_state s";
    let (here, At(keep)): (bool, At) = sqlx::query_as(sql).bind(At(floor)).fetch_one(connection).await?;
    Ok(here.then_some(keep))
}

/// Drops an hour's partition unless it is needed.
async fn drop_partition(
    connection: &mut PgConnection,
    table: Table,
    hour: i64,
    keep: Timestamp,
) -> Result<bool, StoreError> {
    let (name, parent) = (partition(table, hour), table.name());
    let span = (Timestamp::from_seconds(hour * HOUR), Timestamp::from_seconds((hour + 1) * HOUR));
    let snap = numbered_up_to(connection).await?;
    let Some(mark) = spare(connection, table, &name, span, snap, keep).await? else { return Ok(false) };
    let mut tx = connection.begin().await?;
    sqlx::query(LOCK_TIMEOUT).execute(&mut *tx).await?;
    // Rows can be inserted until the partition is detached, so `mark` is compared afterwards.
    let detach = "/* detach_partition */ SELECT detach_partition($1, $2)";
    sqlx::query(detach).bind(parent).bind(hour).execute(&mut *tx).await?;
    if !is_as_it_was(&mut tx, table, &name, &mark).await? {
        return Ok(false);
    }
    let drop = "/* drop_partition */ SELECT drop_partition($1, $2)";
    sqlx::query(drop).bind(parent).bind(hour).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(true)
}

/// Empties a default partition whose rows have all left the window. `false` if it is empty or still needed.
async fn empty_default(
    connection: &mut PgConnection,
    table: Table,
    before: Timestamp,
    keep: Timestamp,
) -> Result<bool, StoreError> {
    let (name, instant) = (format!("{}_other", table.name()), table.instant());
    // The snapshot is read before the rows, so that rows inserted in between count as not numbered.
    let snap = numbered_up_to(connection).await?;
    let sql = format!("SELECT min({instant}), max({instant}) FROM {name}");
    let (first, last): (Option<At>, Option<At>) = sqlx::query_as(&sql).fetch_one(&mut *connection).await?;
    let (Some(At(first)), Some(At(last))) = (first, last) else { return Ok(false) };
    let span = (first, Timestamp::from_micros(last.as_micros().saturating_add(1)));
    if last >= before {
        return Ok(false);
    }
    let Some(mark) = spare(connection, table, &name, span, snap, keep).await? else { return Ok(false) };
    let mut tx = connection.begin().await?;
    sqlx::query(LOCK_TIMEOUT).execute(&mut *tx).await?;
    sqlx::query(&format!("LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE")).execute(&mut *tx).await?;
    if !is_as_it_was(&mut tx, table, &name, &mark).await? {
        return Ok(false);
    }
    sqlx::query(&format!("TRUNCATE {name}")).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(true)
}

/// The snapshot up to which every visible operation has a number.
async fn numbered_up_to(connection: &mut PgConnection) -> Result<String, StoreError> {
    Ok(sqlx::query_scalar("SELECT snap::text FROM journal_state").fetch_one(connection).await?)
}

/// Returns `None` if the partition is still needed; otherwise a mark with which `is_as_it_was` detects rows that were inserted
/// later: the numbering snapshot (operations) or the highest number (journal).
///
/// A partition of operations is needed while one of them is unnumbered or was numbered at or after `keep` (see [`kept_from`]). A partition
/// of the journal is needed while one of its rows is not older than `keep` or belongs to an operation that still exists.
async fn spare(
    connection: &mut PgConnection,
    table: Table,
    part: &str,
    (from, to): (Timestamp, Timestamp),
    snap: String,
    keep: Timestamp,
) -> Result<Option<String>, StoreError> {
    match table {
        Table::Operations => {
            // Partition pruning skips the journal before `keep`; the remaining partitions usually have no match.
            let sql = format!(
                "/* operations_needed */ SELECT {} OR EXISTS ( \
                     SELECT FROM journal WHERE at >= $2 AND recorded_at >= $3 AND recorded_at < $4)",
                unnumbered(part)
            );
            let asked = sqlx::query_scalar::<_, bool>(&sql)
                .bind(&snap) // $1 of `unnumbered`
                .bind(At(keep))
                .bind(At(from))
                .bind(At(to));
            Ok((!asked.fetch_one(connection).await?).then_some(snap))
        }
        Table::Journal => {
            let mark = newest(connection, part).await?;
            let hours = hours(connection, Table::Operations).await?;
            let sql = format!(
                "/* numbers_needed */ SELECT EXISTS (SELECT FROM {part} WHERE at >= $1) \
                 OR EXISTS (SELECT FROM unnest($2::timestamptz[]) AS hour (at) WHERE EXISTS ( \
                     SELECT FROM {part} j WHERE j.recorded_at >= hour.at AND j.recorded_at < hour.at + interval '1 hour')) \
                 OR EXISTS (SELECT FROM push_operation_other o WHERE EXISTS ( \
                     SELECT FROM {part} j WHERE j.recorded_at = o.recorded_at AND j.operation_id = o.id))"
            );
            let hours: Vec<At> = hours.into_iter().map(|hour| At(Timestamp::from_seconds(hour * HOUR))).collect();
            let asked = sqlx::query_scalar::<_, bool>(&sql).bind(At(keep)).bind(hours);
            Ok((!asked.fetch_one(connection).await?).then_some(mark))
        }
    }
}

/// Whether no row was inserted into a locked partition since [`spare`] returned `mark`.
async fn is_as_it_was(connection: &mut PgConnection, table: Table, part: &str, mark: &str) -> Result<bool, StoreError> {
    match table {
        Table::Operations => {
            let sql = format!("/* operations_came_in */ SELECT {}", unnumbered(part));
            Ok(!sqlx::query_scalar::<_, bool>(&sql).bind(mark).fetch_one(connection).await?)
        }
        Table::Journal => Ok(newest(connection, part).await? == mark),
    }
}

/// The last number in a partition of the journal, or 0.
async fn newest(connection: &mut PgConnection, part: &str) -> Result<String, StoreError> {
    let sql = format!("SELECT coalesce(max(seq), 0)::text FROM {part}");
    Ok(sqlx::query_scalar(&sql).fetch_one(connection).await?)
}
