//! The journal's partitions: one an hour, made ahead, dropped whole when their hour has left the window.
//!
//! Rows are never deleted one by one. An hour of operations goes before the hours of the journal that number them, so that a
//! step never takes for new what was numbered long ago; and nothing goes that a consumer has yet to read.

use super::super::{At, StoreError};
use rds_shared::push::cursor::WINDOW_SECONDS;
use rds_shared::wire::Timestamp;
use sqlx::{Connection, PgConnection, Row};

/// Seconds in the range of one partition.
pub const HOUR: i64 = 3_600;
/// How much longer than the window an hour is kept: a replay that began inside the window ends inside what is kept.
const GRACE_SECONDS: i64 = 3_600;
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

    /// A condition under which a partition `{part}` must stay, whatever its hour: operations until their own numbers have left
    /// the window and every consumer has read them, numbers until their operations are gone.
    fn needed(self, part: &str) -> String {
        match self {
            Table::Operations => format!(
                "exists (select from {part} o left join journal j on j.operation_id = o.id \
                 where j.seq is null or j.at >= $1 or j.seq > (select min(position) from journal_consumer))"
            ),
            Table::Journal => {
                format!(
                    "exists (select from {part} j join push_operation o on o.id = j.operation_id) or exists (select from {part} j where j.at >= $1)"
                )
            }
        }
    }
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

/// Makes the partitions from the hour before `now` to `ahead` hours after, and drops what has left the window.
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
            for hour in hour - 1..=hour + ahead {
                round.made += u32::from(make(connection, table, hour).await?);
            }
        }
        let floor = now.plus_seconds(-WINDOW_SECONDS);
        // The last hour that may go has ended this long before.
        let last = floor.plus_seconds(-GRACE_SECONDS).as_seconds().div_euclid(HOUR) - 1;
        for table in [Table::Operations, Table::Journal] {
            for name in over(connection, table, last).await? {
                match unless_used(drop_partition(connection, table, &name, floor).await)? {
                    true => round.dropped += 1,
                    false => round.kept += 1,
                }
            }
            let emptied =
                unless_used(empty_default(connection, table, floor.plus_seconds(-GRACE_SECONDS), floor).await)?;
            round.dropped += u32::from(emptied);
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

/// The partitions of hours up to `last`, oldest first.
async fn over(connection: &mut PgConnection, table: Table, last: i64) -> Result<Vec<String>, StoreError> {
    let sql = "
        -- partitions
        select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = to_regclass($1) and c.relname ~ '_[0-9]+$'";
    let rows = sqlx::query(sql).bind(table.name()).fetch_all(connection).await?;
    let mut hours: Vec<i64> = Vec::new();
    for row in rows {
        let name: &str = row.try_get(0)?;
        hours.extend(name.rsplit('_').next().and_then(|hour| hour.parse::<i64>().ok()).filter(|hour| *hour <= last));
    }
    hours.sort_unstable();
    Ok(hours.into_iter().map(|hour| partition(table, hour)).collect())
}

/// Drops a partition that nobody needs. `false` when it is still needed.
async fn drop_partition(
    connection: &mut PgConnection,
    table: Table,
    name: &str,
    floor: Timestamp,
) -> Result<bool, StoreError> {
    if is_needed(connection, table, name, floor).await? {
        return Ok(false);
    }
    let mut tx = connection.begin().await?;
    sqlx::query(LOCK_TIMEOUT).execute(&mut *tx).await?;
    // Once it is detached nobody can add to it; until then somebody may have.
    sqlx::query(&format!("alter table {} detach partition {name}", table.name())).execute(&mut *tx).await?;
    if is_needed(&mut tx, table, name, floor).await? {
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
    floor: Timestamp,
) -> Result<bool, StoreError> {
    let (name, instant) = (format!("{}_other", table.name()), table.instant());
    let sql = format!("select max({instant}) < $1 from {name}");
    let is_over: Option<bool> = sqlx::query_scalar(&sql).bind(At(before)).fetch_one(&mut *connection).await?;
    if is_over != Some(true) || is_needed(connection, table, &name, floor).await? {
        return Ok(false);
    }
    let mut tx = connection.begin().await?;
    sqlx::query(LOCK_TIMEOUT).execute(&mut *tx).await?;
    sqlx::query(&format!("lock table {name} in access exclusive mode")).execute(&mut *tx).await?;
    let still: Option<bool> = sqlx::query_scalar(&sql).bind(At(before)).fetch_one(&mut *tx).await?;
    if still != Some(true) || is_needed(&mut tx, table, &name, floor).await? {
        return Ok(false);
    }
    sqlx::query(&format!("truncate {name}")).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(true)
}

async fn is_needed(
    connection: &mut PgConnection,
    table: Table,
    part: &str,
    floor: Timestamp,
) -> Result<bool, StoreError> {
    let sql = format!("/* is_needed */ select {}", table.needed(part));
    Ok(sqlx::query_scalar(&sql).bind(At(floor)).fetch_one(connection).await?)
}
