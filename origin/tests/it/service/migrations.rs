//! Migrations run while the service does: they do not stop readers while they wait for a lock, and one that was cut off is made up for.

use crate::support::db::TestDb;
use rds_store::{self as store, Db};
use sqlx::{Connection, Executor, PgConnection};

/// A migration that adds a column to `journal_state`, in a transaction.
const COLUMN: i64 = 20_261_127_000_100;
/// A migration that builds an index concurrently.
const INDEX: i64 = 20_261_129_000_100;

async fn forget(db: &Db, version: i64) {
    sqlx::query("DELETE FROM _sqlx_migrations WHERE version = $1").bind(version).execute(&db.pool).await.unwrap();
}

#[tokio::test]
async fn readers_go_on_while_a_migration_waits_for_a_lock() {
    let test = TestDb::new().await;
    forget(&test.db, COLUMN).await;
    test.db.pool.execute("ALTER TABLE journal_state DROP COLUMN is_busy").await.unwrap();
    let mut holder = PgConnection::connect(&test.url).await.unwrap();
    let mut held = holder.begin().await.unwrap();
    held.execute("LOCK TABLE journal_state IN ACCESS SHARE MODE").await.unwrap();
    let db = test.db.clone();
    let migrating = tokio::spawn(async move { store::migrate(&db).await });
    let mut reader = PgConnection::connect(&test.url).await.unwrap();
    let waiting = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'journal_state'::regclass AND NOT granted)";
    while !sqlx::query_scalar::<_, bool>(waiting).fetch_one(&mut reader).await.unwrap() {
        tokio::task::yield_now().await;
    }
    // Waits behind the migration until that gives up its place; the lock is still held then.
    let head: i64 = sqlx::query_scalar("SELECT head FROM journal_state").fetch_one(&mut reader).await.unwrap();
    assert_eq!(head, 0);
    assert!(!migrating.is_finished());
    held.rollback().await.unwrap();
    migrating.await.unwrap().unwrap();
    assert_eq!(store::pending_migrations(&test.db).await.unwrap(), 0);
}

#[tokio::test]
async fn an_index_that_was_left_invalid_is_built_again() {
    let test = TestDb::new().await;
    forget(&test.db, INDEX).await;
    let broken = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'vault_position_by_vault'::regclass";
    test.db.pool.execute(broken).await.unwrap();
    store::migrate(&test.db).await.unwrap();
    let valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'vault_position_by_vault'::regclass";
    assert!(sqlx::query_scalar::<_, bool>(valid).fetch_one(&test.db.pool).await.unwrap());
    assert_eq!(store::pending_migrations(&test.db).await.unwrap(), 0);
}

#[tokio::test]
async fn two_processes_may_migrate_at_the_same_time() {
    let test = TestDb::new().await;
    forget(&test.db, INDEX).await;
    test.db.pool.execute("DROP INDEX vault_position_by_vault").await.unwrap();
    let (one, other) = tokio::join!(store::migrate(&test.db), store::migrate(&test.db));
    assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
}
