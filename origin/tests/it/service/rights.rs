//! The database roles of `deploy/postgres/roles.sql`: the migrating role migrates an empty database, the serving role can do what serving does and
//! nothing else, and the reading role reads nothing that is secret.

use super::operator_verbs::{program, text};
use super::sql_statements;
use crate::support::db::{TestDb, admin, url_of};
use rds_shared::wire::Timestamp;
use rds_store::push::journal::retention::{self, HOUR};
use rds_store::{Db, rights};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor, PgConnection, Statement};
use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

const ROLES: &str = include_str!("../../../../deploy/postgres/roles.sql");
/// Password of the roles in these tests.
const PASSWORD: &str = "of-these-tests";
/// SQLSTATE of a refusal for lack of rights.
const DENIED: &str = "42501";

/// Tables that the reading role must not read: they concern callers or what is sent to them, or are the service's own workings.
const PRIVATE: [&str; 38] = [
    "_sqlx_migrations",
    "api_key",
    "decision",
    "edge_outbox",
    "edge_seen",
    "edge_tag",
    "edge_tag_message",
    "edge_teller",
    "incarnation",
    "index_token",
    "journal",
    "journal_consumer",
    "journal_other",
    "journal_state",
    "key_usage",
    "key_usage_total",
    "organisation",
    "push_operation",
    "push_operation_other",
    "spent_assertion",
    "status_traffic",
    "stream_lease",
    "stream_overflow",
    "stream_process",
    "test_clock",
    "told",
    "usage_source",
    "vault_day_change",
    "vault_sums",
    "webhook_attempt",
    "webhook_creation",
    "webhook_delivery",
    "webhook_event",
    "webhook_event_lease",
    "webhook_lease",
    "webhook_removed",
    "webhook_subscription",
    "write_probe",
];

/// A database with roles of its own. The names differ from those of the product's file, because roles belong to the whole cluster.
struct Installation {
    database: String,
    prefix: String,
}

impl Installation {
    /// Runs the product's file in the database, and sets the passwords.
    async fn on(database: &str) -> Installation {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let prefix = format!("rds_it_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let here = Installation { database: database.to_owned(), prefix };
        here.run_the_file().await;
        let mut one = here.as_administrator().await;
        for role in here.roles() {
            one.execute(format!("ALTER ROLE {role} PASSWORD '{PASSWORD}'").as_str()).await.unwrap();
        }
        here
    }

    /// An empty database with the roles.
    async fn empty() -> Installation {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("rds_roles_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut admin = admin().await;
        admin.execute(format!("CREATE DATABASE {name}").as_str()).await.unwrap();
        Installation::on(&name).await
    }

    async fn run_the_file(&self) {
        let script = ["migrate", "serve", "read"].iter().fold(ROLES.to_owned(), |script, role| {
            script.replace(&format!("rds_{role}"), &format!("{}_{role}", self.prefix))
        });
        sqlx::raw_sql(&script).execute(&mut self.as_administrator().await).await.unwrap();
    }

    fn roles(&self) -> [String; 3] {
        ["migrate", "serve", "read"].map(|role| format!("{}_{role}", self.prefix))
    }

    async fn as_administrator(&self) -> PgConnection {
        PgConnection::connect(&url_of(&self.database)).await.unwrap()
    }

    /// The URL for one of the roles.
    fn url(&self, role: &str) -> String {
        let options = PgConnectOptions::from_str(&url_of(&self.database)).unwrap();
        let options = options.username(&format!("{}_{role}", self.prefix)).password(PASSWORD);
        options.to_url_lossy().to_string()
    }

    async fn connected_as(&self, role: &str) -> PgConnection {
        PgConnection::connect(&self.url(role)).await.unwrap()
    }

    /// Runs `migrate` as the migrating role, and returns what it printed.
    async fn migrate(&self) -> String {
        let [_, serve, read] = self.roles();
        let words = ["migrate", "--serve-role", &serve, "--read-role", &read];
        let done = program(&[("DATABASE_URL", &self.url("migrate"))], &words).await;
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout)
    }

    /// The line `rights` of `doctor` as a role.
    async fn doctor(&self, url: &str) -> String {
        let said = text(&program(&[("DATABASE_URL", url)], &["doctor"]).await.stdout);
        said.lines().find(|line| line.contains(" rights ")).unwrap_or_else(|| panic!("{said}")).to_owned()
    }

    /// Drops the roles, and the database if `with_database`.
    async fn remove(self, with_database: bool) {
        let mut one = self.as_administrator().await;
        if !with_database {
            for role in self.roles() {
                one.execute(format!("REASSIGN OWNED BY {role} TO CURRENT_USER; DROP OWNED BY {role}").as_str())
                    .await
                    .unwrap();
            }
        }
        one.close().await.unwrap();
        let mut admin = admin().await;
        if with_database {
            admin.execute(format!("DROP DATABASE {} WITH (FORCE)", self.database).as_str()).await.unwrap();
        }
        for role in self.roles() {
            admin.execute(format!("DROP ROLE {role}").as_str()).await.unwrap();
        }
    }
}

/// The SQLSTATE with which the database refuses a statement; `None` if it accepts it. Nothing is changed.
async fn refusal(connection: &mut PgConnection, sql: &str) -> Option<String> {
    let mut tx = connection.begin().await.unwrap();
    let refused = sqlx::raw_sql(sql).execute(&mut *tx).await.err();
    tx.rollback().await.unwrap();
    refused
        .map(|error| error.as_database_error().and_then(|error| error.code()).expect("a database error").into_owned())
}

/// Runs a command of the program as the serving role.
async fn serving(here: &Installation, words: &[&str]) -> String {
    let env = [
        ("DATABASE_URL", here.url("serve")),
        ("RDS_SIGNING_KEY", "11".repeat(32)),
        ("RDS_MASTER_KEY", "22".repeat(32)),
    ];
    let env: Vec<(&'static str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let done = program(&env, words).await;
    assert!(done.status.success(), "{words:?}: {}{}", text(&done.stdout), text(&done.stderr));
    text(&done.stdout)
}

#[tokio::test]
async fn three_roles_migrate_serve_and_read_an_empty_database() {
    let here = Installation::empty().await;
    assert!(here.migrate().await.contains("rights granted to"));

    serving_can_do_what_serving_does(&here).await;
    serving_can_do_nothing_else(&here).await;
    reading_reads_nothing_secret(&here).await;

    // What the file and the migration do can be repeated.
    here.run_the_file().await;
    assert!(here.migrate().await.contains("up to date"));
    let line = here.doctor(&here.url("serve")).await;
    assert!(line.starts_with("ok") && line.contains("and no others"), "{line}");
    here.remove(true).await;
}

#[tokio::test]
async fn an_extension_of_the_administrator_is_left_alone() {
    let here = Installation::empty().await;
    here.as_administrator().await.execute("CREATE EXTENSION pg_stat_statements SCHEMA public").await.unwrap();
    assert!(here.migrate().await.contains("rights granted to"));
    let line = here.doctor(&here.url("serve")).await;
    assert!(line.starts_with("ok") && line.contains("and no others"), "{line}");
    here.remove(true).await;
}

async fn serving_can_do_what_serving_does(here: &Installation) {
    // Each statement is explained, which checks the rights but changes nothing.
    let mut serve = here.connected_as("serve").await;
    let (mut explained, mut denied) = (0, Vec::new());
    for (file, line, sql) in sql_statements::all().whole {
        let parameters = serve.prepare(&sql).await.unwrap();
        let nulls = match parameters.parameters() {
            Some(sqlx::Either::Left(types)) => types.len(),
            Some(sqlx::Either::Right(number)) => number,
            None => 0,
        };
        let nulls = vec!["NULL"; nulls].join(", ");
        let arguments = if nulls.is_empty() { String::new() } else { format!("({nulls})") };
        let explain = format!("PREPARE one AS {sql}\n; EXPLAIN EXECUTE one{arguments}; DEALLOCATE one");
        // Only queries can be prepared and explained; the other statements are run and rolled back.
        let refused = match refusal(&mut serve, &explain).await.as_deref() {
            Some("42601") => refusal(&mut serve, &sql).await,
            other => other.map(str::to_owned),
        };
        let _ = serve.execute("DEALLOCATE ALL").await;
        serve.clear_cached_statements().await.unwrap();
        match refused.as_deref() {
            None => explained += 1,
            Some(DENIED) => denied.push(format!("origin/{file}:{line}: {sql}")),
            Some(_) => {}
        }
    }
    assert!(denied.is_empty(), "{} of them:\n{}", denied.len(), denied.join("\n"));
    assert!(explained > 380, "only {explained} statements were explained");

    // An explained statement fires no trigger. A trigger for each statement is fired also if no row is deleted.
    let tables = "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace \
                  AND has_table_privilege(oid, 'DELETE') ORDER BY 1";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut serve).await.unwrap();
    assert!(tables.len() > 20, "{tables:?}");
    for table in tables {
        assert_eq!(refusal(&mut serve, &format!("DELETE FROM {table} WHERE false")).await, None, "{table}");
    }

    // The statements whose text is put together at run time, through the commands that use them.
    serving(here, &["simulate", "--vaults", "8", "--hours", "30"]).await;
    serving(here, &["signers", "activate"]).await;
    serving(here, &["score", "run"]).await;
    serving(here, &["research", "run"]).await;
    serving(here, &["graph", "build"]).await;
    serving(here, &["keys", "mint", "--org", "an organisation", "--plan", "data"]).await;
    serving(here, &["index-tokens", "mint", "--org", "an organisation"]).await;
    serving(here, &["journal", "step", "--reason", "a test"]).await;
    let db = Db::connect(&here.url("serve"), 2).await.unwrap();
    let mut one = db.pool.acquire().await.unwrap();
    let now = Timestamp::from_seconds(600_000 * HOUR);
    assert_eq!(retention::round(&mut one, now, 4).await.unwrap().made, 6, "the partitions of three hours");
    let dropped = retention::round(&mut one, now.plus_seconds(40 * HOUR), 0).await.unwrap().dropped;
    assert!(dropped >= 6, "{dropped}");
    drop(one);
    db.pool.close().await;
}

async fn serving_can_do_nothing_else(here: &Installation) {
    let [migrate, ..] = here.roles();
    let mut serve = here.connected_as("serve").await;
    for sql in [
        "CREATE TABLE mine (a int)",
        "CREATE TEMPORARY TABLE mine (a int)",
        "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE SCHEMA mine",
        "CREATE ROLE mine",
        "ALTER TABLE vault ADD COLUMN mine int",
        "ALTER TABLE api_key DISABLE TRIGGER a_revoked_key_stays_revoked",
        "DROP TABLE vault",
        "TRUNCATE vault",
        "DELETE FROM api_key",
        "DELETE FROM score_history",
        "DELETE FROM basket_version",
        "INSERT INTO journal_other SELECT * FROM journal",
        "UPDATE _sqlx_migrations SET success = false",
        "SELECT * FROM pg_authid",
        "SELECT pg_read_file('/etc/passwd')",
        "COPY vault TO PROGRAM 'cat'",
        "SET session_replication_role = 'replica'",
        &format!("SET ROLE {migrate}"),
    ] {
        assert_eq!(refusal(&mut serve, sql).await.as_deref(), Some(DENIED), "{sql}");
    }
    // The functions that run with their owner's rights change hourly partitions only.
    assert_eq!(refusal(&mut serve, "SELECT make_partition('vault', 1)").await.as_deref(), Some("22023"));
    assert_eq!(refusal(&mut serve, "SELECT drop_partition('push_operation', NULL)").await.as_deref(), Some("22023"));
    let attached = "SELECT make_partition('journal', 700000); SELECT drop_partition('journal', 700000)";
    assert_eq!(refusal(&mut serve, attached).await.as_deref(), Some("55000"));
}

async fn reading_reads_nothing_secret(here: &Installation) {
    let mut read = here.connected_as("read").await;
    let sql = "SELECT relname::text, has_table_privilege(oid, 'SELECT') FROM pg_class \
               WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') AND relname !~ '_[0-9]+$'";
    let relations: Vec<(String, bool)> = sqlx::query_as(sql).fetch_all(&mut read).await.unwrap();
    let having = |is_held: bool| -> BTreeSet<&str> {
        relations.iter().filter(|(_, held)| *held == is_held).map(|(name, _)| name.as_str()).collect()
    };
    // A table that a migration adds belongs to one of the two lists.
    assert_eq!(having(true), rights::READABLE.into_iter().collect(), "readable");
    assert_eq!(having(false), PRIVATE.into_iter().collect(), "private");
    for (name, is_readable) in &relations {
        let refused = refusal(&mut read, &format!("SELECT * FROM {name} LIMIT 1")).await;
        assert_eq!(refused.as_deref(), (!is_readable).then_some(DENIED), "{name}");
    }
    for sql in [
        "UPDATE vault SET name = name",
        "DELETE FROM vault",
        "SELECT setval('organisation_id_seq', 1)",
        "SELECT make_partition('journal', 1)",
    ] {
        let write = format!("SET transaction_read_only = off; {sql}");
        assert_eq!(refusal(&mut read, &write).await.as_deref(), Some(DENIED), "{sql}");
    }
}

#[tokio::test]
async fn doctor_names_missing_rights_and_warns_of_too_many() {
    let here = Installation::empty().await;
    here.migrate().await;
    let [_, serve, _] = here.roles();
    let mut administrator = here.as_administrator().await;
    administrator.execute(format!("REVOKE DELETE ON vault_day FROM {serve}").as_str()).await.unwrap();
    administrator.execute(format!("REVOKE EXECUTE ON FUNCTION make_partition FROM {serve}").as_str()).await.unwrap();
    let line = here.doctor(&here.url("serve")).await;
    assert!(line.starts_with("FAIL") && line.contains("DELETE on vault_day"), "{line}");
    assert!(line.contains("EXECUTE on make_partition") && line.contains(&format!("--serve-role {serve}")), "{line}");

    here.migrate().await;
    assert!(here.doctor(&here.url("serve")).await.starts_with("ok"), "a migration grants the rights again");
    let owner = here.doctor(&here.url("migrate")).await;
    assert!(owner.starts_with("ok") && owner.contains("WARNING") && owner.contains("owns tables"), "{owner}");
    let superuser = here.doctor(&url_of(&here.database)).await;
    assert!(superuser.contains("WARNING") && superuser.contains("is a superuser"), "{superuser}");
    let reading = here.doctor(&here.url("read")).await;
    assert!(reading.starts_with("FAIL") && reading.contains("more"), "{reading}");
    here.remove(true).await;
}

#[tokio::test]
async fn an_installation_with_one_role_gets_the_three() {
    let test = TestDb::new().await;
    let database = test.url.rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
    let here = Installation::on(&database).await;
    assert!(here.migrate().await.contains("up to date"));
    let sql = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'S') \
               AND pg_get_userbyid(relowner) !~ '_migrate$'";
    let others: i64 = sqlx::query_scalar(sql).fetch_one(&test.db.pool).await.unwrap();
    assert_eq!(others, 0, "objects of another owner");
    serving(&here, &["simulate", "--vaults", "4", "--hours", "2"]).await;
    let line = here.doctor(&here.url("serve")).await;
    assert!(line.starts_with("ok") && line.contains("and no others"), "{line}");
    here.remove(false).await;
}
