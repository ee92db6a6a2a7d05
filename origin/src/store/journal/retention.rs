//! The journal's partitions: one an hour, made ahead, dropped whole when their hour has left the window.
//!
//! Rows are never deleted one by one. An hour of operations goes before the hours of the journal that number them, so that a
//! step never takes for new what was numbered long ago; and nothing goes that a consumer has yet to read.
//!
//! Whether an hour is needed is found out before anybody is locked out, by look-ups in indexes that cost the same however much
//! the window holds. Under the lock only one thing is asked: whether something came in since.

use super::super::{At, StoreError};
use rds_shared::push::cursor::WINDOW_SECONDS;
use rds_shared::wire::Timestamp;
use sqlx::{Connection, PgConnection, Row};

/// Seconds in the range of one partition.
pub const HOUR: i64 = 3_600;
/// How much longer than the window an hour is kept: a replay that began inside the window ends inside what is kept.
const GRACE_SECONDS: i64 = 3_600;
/// The nearest hour to come that a partition is made for. A row that is on its way to the default partition while its own is
/// attached is refused, so none is made for an hour in which a producer may be writing, whatever its clock says.
const NEAREST: i64 = 2;
/// How long a change of partitions waits for producers and readers, who in turn wait behind it.
const LOCK_TIMEOUT: &str = "set local lock_timeout = '200ms'";
/// One process at a time; the others have nothing to do.
const TURN: i64 = 0x7264_735f_6a72_6e6c;

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

/// Rows of `{part}` that have no number, given the snapshot `$1` up to which everything visible has one: two look-ups in an index.
fn unnumbered(part: &str) -> String {
    format!(
        "exists (select from {part} where xid = any (array(select pg_snapshot_xip($1::pg_snapshot)))) \
         or exists (select from {part} where xid >= pg_snapshot_xmax($1::pg_snapshot))"
    )
}

/// What one round did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Round {
    /// Partitions that were made.
    pub made: u32,
    /// Partitions that were dropped, and default ones that were emptied.
    pub dropped: u32,
    /// Partitions whose hour is over and that are still needed or were in use; they are tried again.
    pub kept: u32,
}

/// Makes the partitions of the hours from [`NEAREST`] to `ahead` after `now`, and drops what has left the window.
pub async fn round(connection: &mut PgConnection, now: Timestamp, ahead: i64) -> Result<Round, StoreError> {
    let mut round = Round::default();
    let mine: bool =
        sqlx::query_scalar("select pg_try_advisory_lock($1)").bind(TURN).fetch_one(&mut *connection).await?;
    if !mine {
        return Ok(round);
    }
    let done = async {
        let hour = now.as_seconds().div_euclid(HOUR);
        for table in [Table::Operations, Table::Journal] {
            for hour in hour + NEAREST..=hour + ahead {
                round.made += u32::from(make(connection, table, hour).await?);
            }
        }
        let floor = now.plus_seconds(-WINDOW_SECONDS);
        let Some(keep) = kept_from(connection, floor).await? else { return Ok(round) };
        let before = floor.plus_seconds(-GRACE_SECONDS);
        // The last hour that may go has ended this long before.
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
    sqlx::query("select pg_advisory_unlock($1)").bind(TURN).execute(connection).await?;
    done
}

/// `false` for a partition that somebody held for longer than we wait.
fn unless_used(result: Result<bool, StoreError>) -> Result<bool, StoreError> {
    match result {
        Err(error) if is_in_use(&error) => Ok(false),
        result => result,
    }
}

/// Waited in vain for a lock, or for others that wait for us.
fn is_in_use(error: &StoreError) -> bool {
    error.sqlstate().is_some_and(|code| matches!(code.as_str(), "55P03" | "40P01"))
}

fn partition(table: Table, hour: i64) -> String {
    format!("{}_{hour}", table.name())
}

/// Makes an hour's partition, unless it is there, or its rows already lie with the others: there they stay.
///
/// It is made beside the table and then attached: that waits for no producer.
async fn make(connection: &mut PgConnection, table: Table, hour: i64) -> Result<bool, StoreError> {
    let (name, parent, instant) = (partition(table, hour), table.name(), table.instant());
    let (from, to) = (Timestamp::from_seconds(hour * HOUR), Timestamp::from_seconds((hour + 1) * HOUR));
    let exists: bool =
        sqlx::query_scalar("select to_regclass($1) is not null").bind(&name).fetch_one(&mut *connection).await?;
    if exists {
        return Ok(false);
    }
    let sql = format!("select exists (select from {parent}_other where {instant} >= $1 and {instant} < $2)");
    if sqlx::query_scalar(&sql).bind(At(from)).bind(At(to)).fetch_one(&mut *connection).await? {
        return Ok(false);
    }
    let mut tx = connection.begin().await?;
    sqlx::query(LOCK_TIMEOUT).execute(&mut *tx).await?;
    let create =
        format!("create table {name} (like {parent} including defaults including constraints including storage)");
    let attach = format!("alter table {parent} attach partition {name} for values from ('{from}') to ('{to}')");
    let made = async {
        sqlx::query(&create).execute(&mut *tx).await?;
        sqlx::query(&attach).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(true)
    }
    .await;
    match made {
        // A row of that hour came in meanwhile.
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("23514") => Ok(false),
        result => unless_used(result.map_err(StoreError::from)),
    }
}

/// The hours that have a partition, oldest first.
async fn hours(connection: &mut PgConnection, table: Table) -> Result<Vec<i64>, StoreError> {
    let sql = "
        -- partitions
        select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = to_regclass($1) and c.relname ~ '_[0-9]+$'";
    let rows = sqlx::query(sql).bind(table.name()).fetch_all(connection).await?;
    let mut hours: Vec<i64> = Vec::new();
    for row in rows {
        let name: &str = row.try_get(0)?;
        hours.extend(name.rsplit('_').next().and_then(|hour| hour.parse::<i64>().ok()));
    }
    hours.sort_unstable();
    Ok(hours)
}

/// What was numbered from this instant on is kept, and its operations with it: the window, and what a consumer has yet to read.
/// `None` while the database is not the one that gave the numbers: until the step is made nobody knows what has one.
async fn kept_from(connection: &mut PgConnection, floor: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    let sql = "
        -- journal_kept_from
        select s.incarnation = journal_incarnation() as here, least($1, (
            select j.at from journal j where j.seq > (select min(position) from journal_consumer) order by j.seq limit 1)) as keep
        from journal_state s";
    let row = sqlx::query(sql).bind(At(floor)).fetch_one(connection).await?;
    let keep: At = row.try_get("keep")?;
    Ok(row.try_get::<bool, _>("here")?.then_some(keep.0))
}

/// Drops an hour's partition, if nobody needs it.
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
    // Once it is detached nobody can add to it; until then somebody may have.
    sqlx::query(&format!("alter table {parent} detach partition {name}")).execute(&mut *tx).await?;
    if !is_as_it_was(&mut tx, table, &name, &mark).await? {
        return Ok(false);
    }
    sqlx::query(&format!("drop table {name}")).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(true)
}

/// Empties a default partition whose rows have all left the window. `false` where there is nothing to do, or not yet.
async fn empty_default(
    connection: &mut PgConnection,
    table: Table,
    before: Timestamp,
    keep: Timestamp,
) -> Result<bool, StoreError> {
    let (name, instant) = (format!("{}_other", table.name()), table.instant());
    // Read before the rows are: what comes in between has no number in this snapshot.
    let snap = numbered_up_to(connection).await?;
    let sql = format!("select min({instant}), max({instant}) from {name}");
    let (first, last): (Option<At>, Option<At>) = sqlx::query_as(&sql).fetch_one(&mut *connection).await?;
    let (Some(At(first)), Some(At(last))) = (first, last) else { return Ok(false) };
    let span = (first, Timestamp::from_micros(last.as_micros().saturating_add(1)));
    if last >= before {
        return Ok(false);
    }
    let Some(mark) = spare(connection, table, &name, span, snap, keep).await? else { return Ok(false) };
    let mut tx = connection.begin().await?;
    sqlx::query(LOCK_TIMEOUT).execute(&mut *tx).await?;
    sqlx::query(&format!("lock table {name} in access exclusive mode")).execute(&mut *tx).await?;
    if !is_as_it_was(&mut tx, table, &name, &mark).await? {
        return Ok(false);
    }
    sqlx::query(&format!("truncate {name}")).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(true)
}

/// The snapshot up to which everything visible has its number.
async fn numbered_up_to(connection: &mut PgConnection) -> Result<String, StoreError> {
    Ok(sqlx::query_scalar("select snap::text from journal_state").fetch_one(connection).await?)
}

/// Looks whether a partition may go: operations once they are numbered and their numbers lie before `keep`, numbers once they do
/// and their operations are gone. If so, what tells its content from a later one.
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
            // Partitions of the journal before `keep` are not even opened; in the others nothing is expected.
            let sql = format!(
                "/* operations_needed */ select {} or exists ( \
                     select from journal where at >= $2 and recorded_at >= $3 and recorded_at < $4)",
                unnumbered(part)
            );
            let asked = sqlx::query_scalar::<_, bool>(&sql).bind(&snap).bind(At(keep)).bind(At(from)).bind(At(to));
            Ok((!asked.fetch_one(connection).await?).then_some(snap))
        }
        Table::Journal => {
            let mark = newest(connection, part).await?;
            let hours = hours(connection, Table::Operations).await?;
            let sql = format!(
                "/* numbers_needed */ select exists (select from {part} where at >= $1) \
                 or exists (select from unnest($2::timestamptz[]) as hour (at) where exists ( \
                     select from {part} j where j.recorded_at >= hour.at and j.recorded_at < hour.at + interval '1 hour')) \
                 or exists (select from push_operation_other o where exists ( \
                     select from {part} j where j.recorded_at = o.recorded_at and j.operation_id = o.id))"
            );
            let hours: Vec<At> = hours.into_iter().map(|hour| At(Timestamp::from_seconds(hour * HOUR))).collect();
            let asked = sqlx::query_scalar::<_, bool>(&sql).bind(At(keep)).bind(hours);
            Ok((!asked.fetch_one(connection).await?).then_some(mark))
        }
    }
}

/// Whether a partition that is locked holds nothing but what it held when it was found to be spare.
async fn is_as_it_was(connection: &mut PgConnection, table: Table, part: &str, mark: &str) -> Result<bool, StoreError> {
    match table {
        Table::Operations => {
            let sql = format!("/* operations_came_in */ select {}", unnumbered(part));
            Ok(!sqlx::query_scalar::<_, bool>(&sql).bind(mark).fetch_one(connection).await?)
        }
        Table::Journal => Ok(newest(connection, part).await? == mark),
    }
}

/// The last number in a partition of the journal.
async fn newest(connection: &mut PgConnection, part: &str) -> Result<String, StoreError> {
    let sql = format!("select coalesce(max(seq), 0)::text from {part}");
    Ok(sqlx::query_scalar(&sql).fetch_one(connection).await?)
}
