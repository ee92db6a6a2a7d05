//! Brings the schema up to date while the previous release serves.
//!
//! A change of a table waits for the transactions that use the table, and every later reader waits behind it. So each migration gives up
//! its place after [`LOCK_TIMEOUT`] and tries again. An index that is built `CONCURRENTLY` stops nobody and waits as long as it must; if
//! the program ends meanwhile, Postgres leaves an invalid index behind, which the next run drops first.

use crate::{Db, MIGRATIONS};
use sqlx::migrate::{AppliedMigration, Migrate, MigrateError, Migration};
use sqlx::{Connection, Executor, PgConnection};
use std::time::Duration;

/// How long a migration waits for a lock; readers and writers that come later wait as long.
const LOCK_TIMEOUT: &str = "SET lock_timeout = '1s'";
/// Pause before a migration that got no lock is tried again, so that those that waited behind it can finish.
const RETRY_PAUSE: Duration = Duration::from_secs(2);
/// Attempts of one migration, about five minutes; then an operator has to find the transaction that stays open.
const MAX_ATTEMPTS: u32 = 100;
/// Key of the advisory lock: one process at a time migrates. It is polled, because an index that is built concurrently waits for every
/// transaction, also for one that waits for a lock.
const TURN: i64 = 0x7264_735f_6d69_6772;
/// Pause between two attempts to get the turn.
const TURN_PAUSE: Duration = Duration::from_millis(500);

/// Applies the migrations that are missing, oldest first. Returns once the schema is up to date, also if another process does it.
///
/// # Errors
/// If the database has a migration that this program does not know, or another text of one; if a migration fails; or if one gets no lock
/// for about five minutes. It can be run again after any of these.
pub async fn migrate(db: &Db) -> Result<(), MigrateError> {
    // Closed at the end: its settings and its lock belong to this run.
    let mut connection = db.pool.acquire().await?.detach();
    while !sqlx::query_scalar::<_, bool>("SELECT pg_try_advisory_lock($1)")
        .bind(TURN)
        .fetch_one(&mut connection)
        .await?
    {
        tokio::time::sleep(TURN_PAUSE).await;
    }
    // The lock of the previous release, whose `migrate` may be running.
    connection.lock().await?;
    connection.ensure_migrations_table().await?;
    if let Some(version) = connection.dirty_version().await? {
        return Err(MigrateError::Dirty(version));
    }
    let applied = connection.list_applied_migrations().await?;
    check(&applied)?;
    let missing = MIGRATIONS.iter().filter(|one| !applied.iter().any(|known| known.version == one.version));
    for migration in missing {
        apply(&mut connection, migration).await?;
    }
    connection.unlock().await?;
    Ok(connection.close().await?)
}

/// Compares what the database has recorded with the migrations of this program.
fn check(applied: &[AppliedMigration]) -> Result<(), MigrateError> {
    for known in applied {
        match MIGRATIONS.iter().find(|one| one.version == known.version) {
            None => return Err(MigrateError::VersionMissing(known.version)),
            Some(one) if one.checksum != known.checksum => return Err(MigrateError::VersionMismatch(known.version)),
            Some(_) => {}
        }
    }
    Ok(())
}

async fn apply(connection: &mut PgConnection, migration: &Migration) -> Result<(), MigrateError> {
    if migration.no_tx {
        drop_invalid_indexes(connection).await?;
        connection.execute("SET lock_timeout = 0").await?;
        connection.apply(migration).await?;
        return Ok(());
    }
    connection.execute(LOCK_TIMEOUT).await?;
    for _ in 1..MAX_ATTEMPTS {
        match connection.apply(migration).await {
            Err(MigrateError::ExecuteMigration(error, version)) if is_lock_timeout(&error) => {
                tracing::info!(
                    version,
                    "the migration waits for a lock that an open transaction holds; it is tried again"
                );
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            done => return done.map(|_| ()),
        }
    }
    connection.apply(migration).await.map(|_| ())
}

fn is_lock_timeout(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "55P03")
}

/// Drops the indexes that a build left invalid. Nobody builds one meanwhile, because this process has the turn to migrate.
async fn drop_invalid_indexes(connection: &mut PgConnection) -> Result<(), MigrateError> {
    let sql = "SELECT c.oid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid \
               WHERE NOT i.indisvalid AND c.relkind = 'i' AND c.relnamespace = current_schema()::regnamespace ORDER BY 1";
    let names: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut *connection).await?;
    for name in names {
        tracing::warn!(index = name, "an earlier run left this index invalid; it is dropped and built again");
        connection.execute(&*format!("DROP INDEX CONCURRENTLY IF EXISTS {name}")).await?;
    }
    Ok(())
}
