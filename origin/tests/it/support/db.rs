//! A database for each test: cloned from a migrated template, dropped afterwards.

use rds_store::{self as store, Db};
use sha2::{Digest, Sha256};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::OnceCell;

/// Key of the advisory lock under which the template is made.
const TEMPLATE_LOCK: i64 = 0x7264_735f_7465_6d70;

/// A test's database.
pub struct TestDb {
    /// The pool for the code under test.
    pub db: Db,
    /// URL of the database, for other processes over the same database.
    pub url: String,
    name: String,
    is_guest: bool,
}

impl TestDb {
    /// A migrated database without facts.
    pub async fn new() -> TestDb {
        static TEMPLATE: OnceCell<String> = OnceCell::const_new();
        TestDb::cloned(TEMPLATE.get_or_init(template).await).await
    }

    /// A copy of the database as of the backup, with an incarnation of its own.
    pub async fn copy_of(backup: &Backup) -> TestDb {
        TestDb::cloned(&backup.name).await
    }

    async fn cloned(template: &str) -> TestDb {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("rds_test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut admin = admin().await;
        sqlx::query(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).execute(&mut admin).await.unwrap();
        sqlx::query(&format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy"))
            .execute(&mut admin)
            .await
            .unwrap();
        admin.close().await.unwrap();
        let url = url_of(&name);
        let db = Db::connect(&url, 5).await.unwrap();
        // The clone is a different database from the template, so it gets an incarnation of its own.
        let sql = "UPDATE journal_state SET incarnation = journal_incarnation()";
        sqlx::query(sql).execute(&db.pool).await.unwrap();
        TestDb { db, url, name, is_guest: false }
    }

    /// A second handle on the database of `of`, for a second process. Dropping the handle does not drop the database.
    pub async fn guest(of: &TestDb) -> TestDb {
        let db = Db::connect(&of.url, 5).await.unwrap();
        TestDb { db, url: of.url.clone(), name: of.name.clone(), is_guest: true }
    }
}

/// A copy of a test's database at one instant.
#[derive(Debug)]
pub struct Backup {
    name: String,
    of: String,
}

impl TestDb {
    /// Copies the database. All its connections are closed first, because Postgres copies only a database without connections.
    pub async fn back_up(&self) -> Backup {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let backup = Backup { name: format!("{}_backup_{number}", self.name), of: self.name.clone() };
        exchange(Some(&self.name), &format!("CREATE DATABASE {} TEMPLATE {}", backup.name, backup.of)).await;
        backup
    }

    /// Shifts the database's clock by `seconds` for later connections, and cuts the present ones.
    pub async fn set_databases_clock(&self, seconds: i64) {
        let mut one = PgConnection::connect(&self.url).await.unwrap();
        for sql in [
            format!(
                "CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS \
                 $$ SELECT pg_catalog.clock_timestamp() + {seconds} * interval '1 second' $$"
            ),
            "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET search_path = public, pg_catalog'; END $$"
                .to_owned(),
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                .to_owned(),
        ] {
            sqlx::query(&sql).execute(&mut one).await.unwrap();
        }
    }
}

impl Backup {
    /// Replaces the original database by the backup. Connected processes lose their connections and get no other notice.
    pub async fn restore(self) {
        let Backup { name, of } = self;
        exchange(Some(&of), &format!("DROP DATABASE {of} WITH (FORCE)")).await;
        exchange(None, &format!("ALTER DATABASE {name} RENAME TO {of}")).await;
    }

    /// Replaces the original database by a copy of the backup, so that the backup can be restored again.
    pub async fn restore_a_copy(&self) {
        let Backup { name, of } = self;
        exchange(Some(of), &format!("DROP DATABASE {of} WITH (FORCE)")).await;
        exchange(None, &format!("CREATE DATABASE {of} TEMPLATE {name}")).await;
    }

    /// Drops the backup.
    pub async fn forget(self) {
        exchange(None, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }
}

/// Sets the stored incarnation (cluster, timeline and database) to the present one. The restored database then looks like the one it
/// replaced, as after a disk is reset to an older state.
pub async fn as_a_disk_set_back(connection: &mut PgConnection) {
    let sql = "UPDATE journal_state SET incarnation = journal_incarnation()";
    sqlx::query(sql).execute(connection).await.unwrap();
}

/// Runs `sql` while no one can connect to the database `cut`.
async fn exchange(cut: Option<&str>, sql: &str) {
    let mut admin = admin().await;
    if let Some(name) = cut {
        sqlx::query(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")).execute(&mut admin).await.unwrap();
        let cut = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1";
        sqlx::query(cut).bind(name).execute(&mut admin).await.unwrap();
    }
    sqlx::query(sql).execute(&mut admin).await.unwrap();
    if let Some(name) = cut {
        let open = format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true");
        // If `sql` dropped the database, this statement fails, which is harmless.
        let _ = sqlx::query(&open).execute(&mut admin).await;
    }
    admin.close().await.unwrap();
}

/// Number of rows of the journal's partitions that all connections have read so far, by the database's statistics. `connection` must be the
/// one that read last, because a connection flushes only its own statistics.
pub async fn rows_read(connection: &mut PgConnection) -> i64 {
    sqlx::query("SELECT pg_stat_force_next_flush()").execute(&mut *connection).await.unwrap();
    let sql = "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_user_tables \
               WHERE relname ~ '^(journal|push_operation)_([0-9]+|other)$'";
    sqlx::query_scalar(sql).fetch_one(connection).await.unwrap()
}

/// Number of rows of the journal's partitions that the current transaction of `connection` has read.
pub async fn rows_read_in(connection: &mut PgConnection) -> i64 {
    let sql = "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_xact_user_tables \
               WHERE relname ~ '^(journal|push_operation)_([0-9]+|other)$'";
    sqlx::query_scalar(sql).fetch_one(connection).await.unwrap()
}

impl Drop for TestDb {
    /// `WITH (FORCE)` ends remaining connections, which would otherwise prevent the drop.
    fn drop(&mut self) {
        if self.is_guest {
            return;
        }
        let name = self.name.clone();
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut admin = admin().await;
                sqlx::query(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).execute(&mut admin).await
            })
        });
        let dropped = dropping.join();
        if !std::thread::panicking() {
            dropped.expect("the thread ran").expect("the database is dropped");
        }
    }
}

fn admin_url() -> String {
    std::env::var("RDS_TEST_DATABASE_URL").expect(
        "RDS_TEST_DATABASE_URL is not set: run `cargo xtask test`, or set it to an administrative URL of a Postgres, \
         for example postgres://postgres@127.0.0.1:5432/postgres",
    )
}

/// A connection to the administrative database.
pub async fn admin() -> PgConnection {
    let options = PgConnectOptions::from_str(&admin_url()).unwrap();
    PgConnection::connect_with(&options).await.expect("RDS_TEST_DATABASE_URL answers")
}

/// The administrative URL of the database `name`.
pub fn url_of(name: &str) -> String {
    let url = admin_url();
    let (before, query) = url.split_once('?').map_or((url.as_str(), String::new()), |(url, q)| (url, format!("?{q}")));
    let (server, _) = before.rsplit_once('/').expect("the URL names a database");
    format!("{server}/{name}{query}")
}

/// The template for this schema, migrated by the first test that needs it. Another schema has another template.
async fn template() -> String {
    let mut digest = Sha256::new();
    for migration in store::MIGRATIONS.iter() {
        digest.update(&migration.checksum);
    }
    let fingerprint: String = digest.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let name = format!("rds_template_{fingerprint}");
    let mut admin = admin().await;
    sqlx::query("SELECT pg_advisory_lock($1)").bind(TEMPLATE_LOCK).execute(&mut admin).await.unwrap();
    let ready: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
        .bind(&name)
        .fetch_one(&mut admin)
        .await
        .unwrap();
    if !ready {
        // Migrated under another name first, so that a template with the final name is complete.
        let unfinished = format!("{name}_new");
        sqlx::query(&format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)")).execute(&mut admin).await.unwrap();
        sqlx::query(&format!("CREATE DATABASE {unfinished}")).execute(&mut admin).await.unwrap();
        let db = Db::connect(&url_of(&unfinished), 1).await.unwrap();
        store::migrate(&db).await.unwrap();
        db.pool.close().await;
        sqlx::query(&format!("ALTER DATABASE {unfinished} RENAME TO {name}")).execute(&mut admin).await.unwrap();
    }
    admin.close().await.unwrap();
    name
}
