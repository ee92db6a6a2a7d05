//! All SQL of the service: the connection pool, named and retried transactions, and one file per group of statements.
//!
//! # Invariants
//!
//! - Every path that writes facts or scores holds the writers' lock until it commits, so the order of data versions is the order of commits
//!   (`origin/tests/it/vaults/changes_writers.rs`).
//! - A connection returned to the pool is in no transaction: `Db::begin` completes even if its caller gives up (`origin/tests/it/support/transactions.rs`).
//! - Each statement that reads for a route excludes withheld chains (`origin/tests/it/vaults/withheld_chains.rs`).
//! - The role that serves has exactly the rights that the statements need (`origin/tests/it/service/rights.rs`).
//! - The database refuses to change research records and basket versions, and to remove, rename or reactivate a signer.

#[macro_use]
mod decode;

pub mod assets;
pub mod baskets;
pub mod chain_history;
pub mod chains;
mod columns;
mod db_enum;
pub mod events;
pub mod graph;
pub mod ingest;
pub mod keys;
pub mod markets;
mod migrate;
pub mod push;
pub mod registry;
pub mod research;
pub mod rights;
pub mod scoring;
pub mod security;
pub mod service;
mod shared_row;
pub mod thinning;
pub mod vaults;
pub mod webhooks;

pub use migrate::migrate;
pub use rds_facts::At;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, PgPool, Postgres, Transaction};
use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;
use std::time::Duration;

/// How long a caller waits for a pooled connection before the database counts as unavailable.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(2);
/// A connection that answered within this time is assumed to be alive and is not pinged.
const PING_AFTER_IDLE: Duration = Duration::from_millis(250);
/// How long a returned connection may take to answer a ping.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// Statement timeout of the service: twice the default deadline of a read, because background statements run longer.
const STATEMENT_TIMEOUT: &str = "120s";
/// `tcp_user_timeout`: how long the server waits for an unreachable client before it ends the session and releases its locks.
const PEER_TIMEOUT: &str = "30s";
/// Maximum attempts of a transaction that fails with a serialization failure or a deadlock.
const MAX_ATTEMPTS: u32 = 5;

/// The migrations, embedded in the program.
pub static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations");

pub type Tx<'a> = Transaction<'a, Postgres>;
/// What the closure of [`Db::run_tx`] returns.
pub type TxFuture<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// A pool of database connections. Clones share it.
#[derive(Debug, Clone)]
pub struct Db {
    /// For reads of a single statement. Several statements for one answer use [`Db::snapshot`], writes use [`Db::run_tx`].
    pub pool: PgPool,
}

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached, or refuses work temporarily. A later attempt may succeed.
    #[error("the database is unavailable: {0}")]
    Unavailable(#[source] sqlx::Error),
    /// A serialization failure or a deadlock.
    #[error("the transaction conflicted with another one: {0}")]
    Conflict(#[source] sqlx::Error),
    /// The database rejected a statement that should work.
    #[error("the database refused a statement: {0}")]
    Internal(#[source] sqlx::Error),
    /// A stored value is not in its column's vocabulary or format, found while the row was decoded.
    #[error("a stored value is not valid: {0}")]
    Undecodable(#[source] sqlx::Error),
    /// A stored value is not in its column's vocabulary or format, found after the row was decoded.
    #[error("the column {column} contains {text:?}, which is not a valid value")]
    Corrupt {
        /// `table.column`.
        column: &'static str,
        text: String,
    },
}

impl StoreError {
    /// The SQLSTATE code, if the error came from Postgres.
    pub fn sqlstate(&self) -> Option<String> {
        match self {
            StoreError::Unavailable(error)
            | StoreError::Conflict(error)
            | StoreError::Internal(error)
            | StoreError::Undecodable(error) => error.as_database_error()?.code().map(String::from),
            StoreError::Corrupt { .. } => None,
        }
    }
}

impl StoreError {
    /// Whether Postgres answered and refused this write, for example because its disk is full or it is read-only. Lost connections, too
    /// many connections, shutdowns, conflicts and lock timeouts do not count.
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
            sqlx::Error::ColumnDecode { .. } => StoreError::Undecodable(error),
            _ => StoreError::Internal(error),
        }
    }
}

/// True for connection failures (class 08), insufficient resources such as a full disk (class 53), shutdown or start-up (57P0x), a
/// read-only database (25006), and a database that does not exist (3D000) because it is being created or restored.
fn is_unavailable(sqlstate: &str) -> bool {
    ["08", "53", "57P"].iter().any(|class| sqlstate.starts_with(class)) || ["25006", "3D000"].contains(&sqlstate)
}

/// Whether `url` parses as a database address. The parser's error is not shown, because it may quote the password.
pub fn is_address(url: &str) -> bool {
    PgConnectOptions::from_str(url).is_ok()
}

/// The settings of every pool.
///
/// A cancelled call may leave a connection that no longer answers. Such a connection is closed when it is returned; otherwise it would
/// occupy a place in the pool until the kernel gives it up, about 15 minutes later.
fn pool_options(url: &str, max_connections: u32) -> Result<(PgPoolOptions, PgConnectOptions), StoreError> {
    // Statements are many and short: JIT compilation or parallel workers take longer than the statement itself.
    let options = PgConnectOptions::from_str(url)?.application_name("rds-origin").options([
        ("jit", "off"),
        ("max_parallel_workers_per_gather", "0"),
        ("tcp_user_timeout", PEER_TIMEOUT),
    ]);
    let pool = PgPoolOptions::new()
        .max_connections(max_connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .before_acquire(|connection, metadata| {
            Box::pin(async move {
                // A recently used connection is trusted without a ping, which would otherwise run thousands of times per second.
                match metadata.idle_for < PING_AFTER_IDLE {
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

/// The reason why connecting failed; a pool that timed out does not report it.
async fn connect_error(options: &PgConnectOptions) -> sqlx::Error {
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
            Err(sqlx::Error::PoolTimedOut) => Err(connect_error(&options).await.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// The service's pool: it connects on first use, and every statement has a timeout.
    pub fn connect_lazy(url: &str, max_connections: u32) -> Result<Db, StoreError> {
        let (pool, options) = pool_options(url, max_connections)?;
        Ok(Db { pool: pool.connect_lazy_with(options.options([("statement_timeout", STATEMENT_TIMEOUT)])) })
    }

    /// A connection that has just answered a ping. Worth the round trip where a broken connection would cost more. Closes broken
    /// connections that it finds; fails if the database cannot be reached.
    pub async fn pinged_connection(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        loop {
            let mut connection = self.pool.acquire().await?;
            match connection.ping().await {
                Ok(()) => return Ok(connection),
                Err(_) => drop(connection.detach()),
            }
        }
    }

    /// Begins a read-only transaction in which all statements see the state at the first statement. Dropping the transaction ends it. Do
    /// not acquire another connection while holding it, because the pool is small.
    pub async fn snapshot(&self) -> Result<Tx<'static>, StoreError> {
        self.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
    }

    /// Begins a transaction with `statement`.
    ///
    /// sqlx tracks a transaction only after `BEGIN` has returned. If the caller's future were dropped earlier, the connection would return
    /// to the pool inside a transaction. So `BEGIN` runs to its end in a task of its own, and dropping the result rolls back.
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
                    tracing::debug!(transaction = name, attempt, "transaction conflict, retrying");
                    attempt += 1;
                }
                done => return done,
            }
        }
    }
}

/// An error that may carry a [`StoreError`].
pub trait AsStoreError {
    /// The store's error, if there is one.
    fn as_store(&self) -> Option<&StoreError>;

    /// Whether running the transaction again may succeed.
    fn is_conflict(&self) -> bool {
        matches!(self.as_store(), Some(StoreError::Conflict(_)))
    }
}

impl AsStoreError for StoreError {
    fn as_store(&self) -> Option<&StoreError> {
        Some(self)
    }
}

/// Number of embedded migrations that are not yet applied.
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

/// Parses a stored value of a closed vocabulary.
pub fn decode_enum<T: FromStr>(column: &'static str, text: &str) -> Result<T, StoreError> {
    text.parse().map_err(|_| StoreError::Corrupt { column, text: text.to_owned() })
}

/// Like [`decode_enum`], for a nullable column.
pub fn decode_optional_enum<T: FromStr>(column: &'static str, text: Option<&str>) -> Result<Option<T>, StoreError> {
    text.map(|text| decode_enum(column, text)).transpose()
}
