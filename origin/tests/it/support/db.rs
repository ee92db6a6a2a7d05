//! A database a test: cloned from a migrated template, dropped afterwards.

use rds_origin::store::{self, Db};
use sha2::{Digest, Sha256};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

/// Clones are made one at a time: Postgres copies a template only while nobody uses it.
const TEMPLATE_LOCK: i64 = 0x7264_735f_7465_6d70;

/// A test's own database.
pub struct TestDb {
    /// The pool of the code under test.
    pub db: Db,
    /// Its address, for second processes.
    pub url: String,
    name: String,
    is_guest: bool,
}

impl TestDb {
    /// A migrated database without facts.
    pub async fn new() -> TestDb {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let template = template().await;
        let name = format!("rds_test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut admin = admin().await;
        sqlx::query("SELECT pg_advisory_lock($1)").bind(TEMPLATE_LOCK).execute(&mut admin).await.unwrap();
        sqlx::query(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).execute(&mut admin).await.unwrap();
        sqlx::query(&format!("CREATE DATABASE {name} TEMPLATE {template}")).execute(&mut admin).await.unwrap();
        admin.close().await.unwrap();
        let url = url_of(&name);
        let db = Db::connect(&url, 5).await.unwrap();
        // A copy of the template is another database than the one that was migrated, and this one begins with a past of its own.
        let sql = "UPDATE journal_state SET incarnation = journal_incarnation()";
        sqlx::query(sql).execute(&db.pool).await.unwrap();
        TestDb { db, url, name, is_guest: false }
    }

    /// The database of another, for a second process; it stays when this goes.
    pub async fn guest(of: &TestDb) -> TestDb {
        let db = Db::connect(&of.url, 5).await.unwrap();
        TestDb { db, url: of.url.clone(), name: of.name.clone(), is_guest: true }
    }
}

/// A copy of a test's database as it was at one moment.
#[derive(Debug)]
pub struct Backup {
    name: String,
    of: String,
}

impl TestDb {
    /// Copies it, with every connection to it cut: Postgres copies only what nobody uses.
    pub async fn back_up(&self) -> Backup {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let backup = Backup { name: format!("{}_backup_{number}", self.name), of: self.name.clone() };
        exchange(Some(&self.name), &format!("CREATE DATABASE {} TEMPLATE {}", backup.name, backup.of)).await;
        backup
    }

    /// Has everybody who connects from now on find the database's clock ahead by `seconds`, and everybody connect anew.
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
    /// Puts it in the place of what it was copied from, behind the back of whoever is connected to that.
    pub async fn restore(self) {
        let Backup { name, of } = self;
        exchange(Some(&of), &format!("DROP DATABASE {of} WITH (FORCE)")).await;
        exchange(None, &format!("ALTER DATABASE {name} RENAME TO {of}")).await;
    }

    /// The same with a copy of the backup, so that it may be restored again.
    pub async fn restore_a_copy(&self) {
        let Backup { name, of } = self;
        exchange(Some(of), &format!("DROP DATABASE {of} WITH (FORCE)")).await;
        exchange(None, &format!("CREATE DATABASE {of} TEMPLATE {name}")).await;
    }

    /// Drops it.
    pub async fn forget(self) {
        exchange(None, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }
}

/// Has a restored database look like the one that it replaces: what a disk that is set back does, where neither cluster nor timeline nor
/// database tells.
pub async fn as_a_disk_set_back(connection: &mut PgConnection) {
    let sql = "UPDATE journal_state SET incarnation = journal_incarnation()";
    sqlx::query(sql).execute(connection).await.unwrap();
}

/// Cuts connections, and does what needs that, before anybody connects again.
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
        // One that was dropped needs none.
        let _ = sqlx::query(&open).execute(&mut admin).await;
    }
    admin.close().await.unwrap();
}

/// Rows of the journal's partitions that were read so far, by anybody, as the database counts them. `connection` is the one that
/// read last.
pub async fn rows_read(connection: &mut PgConnection) -> i64 {
    sqlx::query("SELECT pg_stat_force_next_flush()").execute(&mut *connection).await.unwrap();
    let sql = "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_user_tables \
               WHERE relname ~ '^(journal|push_operation)_([0-9]+|other)$'";
    sqlx::query_scalar(sql).fetch_one(connection).await.unwrap()
}

/// The same of the transaction that `connection` is in, whatever others read meanwhile.
pub async fn rows_read_in(connection: &mut PgConnection) -> i64 {
    let sql = "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_xact_user_tables \
               WHERE relname ~ '^(journal|push_operation)_([0-9]+|other)$'";
    sqlx::query_scalar(sql).fetch_one(connection).await.unwrap()
}

impl Drop for TestDb {
    /// `WITH (FORCE)` ends whatever is still connected, so that nothing a test leaves open keeps its database.
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

async fn admin() -> PgConnection {
    let options = PgConnectOptions::from_str(&admin_url()).unwrap();
    PgConnection::connect_with(&options).await.expect("RDS_TEST_DATABASE_URL answers")
}

fn url_of(name: &str) -> String {
    let url = admin_url();
    let (before, query) = url.split_once('?').map_or((url.as_str(), String::new()), |(url, q)| (url, format!("?{q}")));
    let (server, _) = before.rsplit_once('/').expect("the URL names a database");
    format!("{server}/{name}{query}")
}

/// The template of this schema, migrated by whichever test comes first; another schema has another template.
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
        // Migrated under another name first: a template that exists is a finished one.
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
