//! The only SQL in the house: the pool, named and retried transactions, and one file a family of statements.
//!
//! # Invariants
//!
//! - Every path that writes facts or scores holds the writers' lock until it commits, so the order of data versions is the order of commits
//!   (`tests/it/http_changes_writers.rs`).
//! - A connection returned to the pool is in no transaction: `Db::begin` completes even if its caller gives up (`tests/it/transactions.rs`).
//! - Each statement that reads for a route excludes withheld chains (`tests/it/withheld_chains.rs`).
//! - The database refuses to change research records and basket versions, and to remove, rename or reactivate a signer.

pub mod allocation;
pub mod asset_registry;
pub mod asset_scores;
pub mod assets;
pub mod attestations;
pub mod basket_candidates;
pub mod basket_overview;
pub mod basket_versions;
pub mod baskets;
pub mod catalog;
pub mod decision_signers;
pub mod decisions;
pub mod detail;
pub mod edge_outbox;
pub mod event_detail;
pub mod event_feed;
pub mod event_pages;
pub mod event_places;
pub mod event_states;
pub mod events;
pub mod facts;
pub mod fail_safe;
pub mod graph_facts;
pub mod health;
pub mod holders;
pub mod hubs;
pub mod index_tokens;
pub mod indices;
pub mod journal;
pub mod keys;
pub mod losses;
pub mod mappings;
pub mod markets;
pub mod oracles;
pub mod positions;
pub mod publication;
pub mod push_operations;
pub mod references;
pub mod research;
pub mod research_facts;
pub mod research_predictions;
pub mod research_samples;
pub mod rewards;
pub mod rwa;
pub mod scores;
pub mod scoring;
pub mod security;
pub mod signals;
pub mod snapshots;
pub mod spent_assertions;
pub mod standing;
pub mod status;
pub mod strategies;
pub mod stream_leases;
pub mod symbols;
pub mod tags;
pub mod test_clock;
pub mod told;
pub mod usage;
pub mod vault_days;
pub mod webhook_deliveries;
pub mod webhook_fanout;
pub mod webhook_lists;
pub mod webhook_secrets;
pub mod webhook_upkeep;
pub mod webhooks;
mod word;
pub mod write_probe;

pub use crate::facts::At;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, PgPool, Postgres, Transaction};
use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;
use std::time::Duration;

/// How long a caller waits for a pooled connection before the database counts as unavailable.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long after its last answer a connection is taken to be alive without being asked.
const TRUSTED_FOR: Duration = Duration::from_millis(250);
/// How long a connection may take to answer when it is given back.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// What one statement of the service may take: twice what a read may, for those that nobody waits for.
const STATEMENT_TIMEOUT: &str = "120s";
/// How long the server waits for a peer that has vanished; the locks of its transaction go with it.
const PEER_TIMEOUT: &str = "30s";
/// How often a transaction that lost a race is run again.
const MAX_ATTEMPTS: u32 = 5;

/// The migrations, embedded: the program brings its own schema.
pub static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../migrations");

/// A transaction in progress.
pub type Tx<'a> = Transaction<'a, Postgres>;
/// What the closure of [`Db::run_tx`] returns.
pub type TxFuture<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// A pool of connections to the facts. Clones share it.
#[derive(Debug, Clone)]
pub struct Db {
    /// For reads of one statement. Several that belong to one answer go through [`Db::snapshot`], writes through [`Db::run_tx`].
    pub pool: PgPool,
}

/// Why the store could not answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached, or refuses for now: ask again later.
    #[error("the database is unavailable: {0}")]
    Unavailable(#[source] sqlx::Error),
    /// Somebody else was first, every time.
    #[error("the transaction lost against others: {0}")]
    Conflict(#[source] sqlx::Error),
    /// A statement that should work did not.
    #[error("the database refused a statement: {0}")]
    Internal(#[source] sqlx::Error),
    /// A stored text is not of the vocabulary it belongs to.
    #[error("the column {column} holds {text:?}, which is none of its words")]
    Corrupt {
        /// Where it was found.
        column: &'static str,
        /// What was found.
        text: String,
    },
}

impl StoreError {
    /// Postgres' code for what went wrong, where Postgres said it.
    pub fn sqlstate(&self) -> Option<String> {
        match self {
            StoreError::Unavailable(error) | StoreError::Conflict(error) | StoreError::Internal(error) => {
                error.as_database_error()?.code().map(String::from)
            }
            StoreError::Corrupt { .. } => None,
        }
    }
}

impl StoreError {
    /// Whether the database is there and refused this write: its disk is full, it is read-only, or the like. A lost connection, too
    /// many of them, a lost race or a lock that somebody holds are none of these.
    pub fn is_refused_write(&self) -> bool {
        const OTHERS: [&str; 6] = ["08", "40", "57", "53200", "53300", "55P03"];
        self.sqlstate().is_some_and(|code| !OTHERS.iter().any(|other| code.starts_with(other)))
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => {
                StoreError::Unavailable(error)
            }
            sqlx::Error::Database(database) => match database.code().as_deref() {
                Some(code) if is_unavailable(code) => StoreError::Unavailable(error),
                Some("40001" | "40P01") => StoreError::Conflict(error),
                _ => StoreError::Internal(error),
            },
            _ => StoreError::Internal(error),
        }
    }
}

/// Connection failures (class 08), a full disk and other wants (class 53), an operator's or a crash's shutdown (57P0x: also
/// "starting up"), a database that takes no writes for now (25006), and one that does not exist yet (3D000: it is being created or
/// restored).
fn is_unavailable(sqlstate: &str) -> bool {
    ["08", "53", "57P"].iter().any(|class| sqlstate.starts_with(class)) || ["25006", "3D000"].contains(&sqlstate)
}

/// Whether the address of a database can be read. Why it cannot is not told: its parser repeats what it stumbled over, which may be
/// the password.
pub fn is_address(url: &str) -> bool {
    PgConnectOptions::from_str(url).is_ok()
}

/// The settings of every pool. JIT is off: our statements are short, and after a bulk load compiling one took longer than running it.
///
/// A call that was given up may have left its connection behind without an answer. Such a one is closed when it comes back: else it
/// would keep its place in the pool until the kernel gives it up, a quarter of an hour later.
fn pool_options(url: &str, max_connections: u32) -> Result<(PgPoolOptions, PgConnectOptions), StoreError> {
    // Statements here are many and short: starting a compiler or two helpers for one takes longer than the statement.
    let options = PgConnectOptions::from_str(url)?.application_name("rds-origin").options([
        ("jit", "off"),
        ("max_parallel_workers_per_gather", "0"),
        ("tcp_user_timeout", PEER_TIMEOUT),
    ]);
    let pool = PgPoolOptions::new()
        .max_connections(max_connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .before_acquire(|connection, standing| {
            Box::pin(async move {
                // One that has only just answered is taken at its word: it would be asked thousands of times a second.
                match standing.idle_for < TRUSTED_FOR {
                    true => Ok(true),
                    false => connection.ping().await.map(|()| true),
                }
            })
        })
        .after_release(|connection, _| {
            Box::pin(async move {
                let answered = tokio::time::timeout(RELEASE_TIMEOUT, connection.ping()).await;
                answered.unwrap_or(Err(sqlx::Error::PoolTimedOut)).map(|()| true)
            })
        });
    Ok((pool, options))
}

/// Why there is no connection: a pool that waited in vain does not say for what.
async fn why_not(options: &PgConnectOptions) -> sqlx::Error {
    match tokio::time::timeout(ACQUIRE_TIMEOUT, options.connect()).await {
        Ok(Err(error)) => error,
        Ok(Ok(_)) | Err(_) => sqlx::Error::PoolTimedOut,
    }
}

impl Db {
    /// Opens a pool at `url` with at most `max_connections`. Succeeds only when the database answers.
    pub async fn connect(url: &str, max_connections: u32) -> Result<Db, StoreError> {
        let (pool, options) = pool_options(url, max_connections)?;
        match pool.connect_with(options.clone()).await {
            Ok(pool) => Ok(Db { pool }),
            Err(sqlx::Error::PoolTimedOut) => Err(why_not(&options).await.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// The service's: the first connection is made when the first statement needs it, and no statement takes for ever.
    pub fn connect_lazy(url: &str, max_connections: u32) -> Result<Db, StoreError> {
        let (pool, options) = pool_options(url, max_connections)?;
        Ok(Db { pool: pool.connect_lazy_with(options.options([("statement_timeout", STATEMENT_TIMEOUT)])) })
    }

    /// A connection that has just answered: for whoever has more to lose by a broken one than the time of being told. Broken ones
    /// are closed on the way; fails when the database cannot be reached.
    pub async fn answering(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        loop {
            let mut connection = self.pool.acquire().await?;
            match connection.ping().await {
                Ok(()) => return Ok(connection),
                Err(_) => drop(connection.detach()),
            }
        }
    }

    /// A connection whose statements all read the facts of one instant, that of the first. Nothing is to be committed: it ends
    /// when it is dropped. Whoever has one needs no other meanwhile, for the pool is small.
    pub async fn snapshot(&self) -> Result<Tx<'static>, StoreError> {
        self.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
    }

    /// Begins a transaction by `statement`.
    ///
    /// sqlx knows of a transaction once it is told that it has begun. Whoever gives up before that must not leave a connection in the
    /// pool that is in one: so it is begun to its end in any case, and ended by being dropped.
    pub async fn begin(&self, statement: &'static str) -> Result<Tx<'static>, StoreError> {
        let pool = self.pool.clone();
        let begun = tokio::spawn(async move { pool.begin_with(statement).await }).await;
        Ok(begun.unwrap_or(Err(sqlx::Error::PoolClosed))?)
    }

    /// Runs `body` in one transaction and commits it.
    ///
    /// A serialization failure or a deadlock rolls back and runs `body` again, so it must not have effects outside the
    /// transaction. An error of `body`, and a connection lost at any point before the commit, leaves nothing behind.
    pub async fn run_tx<T, E, F>(&self, name: &'static str, mut body: F) -> Result<T, E>
    where
        E: From<StoreError> + AsStoreError,
        F: for<'t> FnMut(&'t mut Tx<'_>) -> TxFuture<'t, T, E>,
    {
        let mut attempt = 1;
        loop {
            let result = match self.begin("BEGIN").await {
                Ok(mut tx) => match body(&mut tx).await {
                    Ok(value) => tx.commit().await.map(|()| value).map_err(|error| E::from(StoreError::from(error))),
                    Err(error) => Err(error),
                },
                Err(error) => Err(E::from(error)),
            };
            match result {
                Err(error) if attempt < MAX_ATTEMPTS && error.is_conflict() => {
                    tracing::debug!(transaction = name, attempt, "lost a race, running again");
                    attempt += 1;
                }
                done => return done,
            }
        }
    }
}

/// An error that may carry a [`StoreError`].
pub trait AsStoreError {
    /// The store's error, when that is what it is.
    fn as_store(&self) -> Option<&StoreError>;

    /// Whether running the transaction again may help.
    fn is_conflict(&self) -> bool {
        matches!(self.as_store(), Some(StoreError::Conflict(_)))
    }
}

impl AsStoreError for StoreError {
    fn as_store(&self) -> Option<&StoreError> {
        Some(self)
    }
}

/// Brings the schema up to date; a no-op when it is.
pub async fn migrate(db: &Db) -> Result<(), sqlx::migrate::MigrateError> {
    MIGRATIONS.run(&db.pool).await
}

/// How many embedded migrations the database has not applied yet; all of them when it has none.
pub async fn pending_migrations(db: &Db) -> Result<usize, StoreError> {
    let tracked: bool =
        sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL").fetch_one(&db.pool).await?;
    let applied: i64 = if tracked {
        sqlx::query_scalar("SELECT count(*) FROM _sqlx_migrations WHERE success").fetch_one(&db.pool).await?
    } else {
        0
    };
    Ok(MIGRATIONS.iter().count().saturating_sub(usize::try_from(applied).unwrap_or(0)))
}

/// Reads a stored word of a closed vocabulary.
pub(crate) fn word<T: FromStr>(column: &'static str, text: &str) -> Result<T, StoreError> {
    text.parse().map_err(|_| StoreError::Corrupt { column, text: text.to_owned() })
}

/// The same of a column that may be null.
pub(crate) fn optional_word<T: FromStr>(column: &'static str, text: Option<&str>) -> Result<Option<T>, StoreError> {
    text.map(|text| word(column, text)).transpose()
}
