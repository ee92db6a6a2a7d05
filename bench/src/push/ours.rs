//! The service as a stream server: operations are committed to Postgres with the service's own statements, and streams are read from
//! the relay listener.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rds_engine::clock::Clock;
use rds_origin::keys::{self, CreateKey, Minted};
use rds_shared::access::{Plan, Principal};
use rds_shared::push::event_type::EventType;
use rds_shared::push::stream_limits::STREAMS_PER_KEY;
use rds_store::push::operations::{self, OperationRow};
use rds_store::{At, Db, StoreError};
use tokio::runtime::Runtime;
use xtask::measure;
use xtask::up::{Edge, Options};

use super::server::Server;
use crate::http;
use crate::market::Market;

/// Requests per minute of every key; more than a benchmark sends.
const RPM: u32 = 1_000_000;

/// The running service with an empty market.
pub struct Ours {
    pub market: Market,
    /// A connection pool in addition to the service's own.
    pub db: Db,
    /// Runtime for database calls.
    pub runtime: Runtime,
    keys: Vec<String>,
}

impl Ours {
    /// Starts the service on the servers' core. `configure` changes the options of `up`.
    pub fn start(configure: impl FnOnce(&mut Options)) -> Result<Self> {
        Self::over(Market::start_as(0, Edge::None, configure)?)
    }

    /// The service of a running market.
    pub fn over(market: Market) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let db = runtime.block_on(Db::connect(market.text("database_url")?, CONNECTIONS))?;
        Ok(Self { market, db, runtime, keys: Vec::new() })
    }

    /// Mints enough keys for this number of streams.
    pub fn allow(&mut self, streams: usize) -> Result<()> {
        while self.keys.len() * (STREAMS_PER_KEY as usize) < streams {
            let key = self.mint(Plan::Data)?.key;
            self.keys.push(key);
        }
        Ok(())
    }

    /// Current value of a Postgres setting.
    pub fn setting(&self, name: &str) -> Result<String> {
        let asked = sqlx::query_scalar("select current_setting($1)").bind(name).fetch_one(&self.db.pool);
        Ok(self.runtime.block_on(asked)?)
    }

    /// Mints a key and returns its principal.
    pub fn principal(&self, plan: Plan) -> Result<Principal> {
        let id = self.mint(plan)?.id;
        let org = sqlx::query_scalar("select org_id from api_key where id = $1").bind(id).fetch_one(&self.db.pool);
        Ok(Principal::Key { id, org_id: self.runtime.block_on(org)?, plan })
    }

    /// Commits one row durably to a table of its own; returns how long that took.
    pub fn commit_one_row(&self) -> Result<Duration> {
        self.runtime.block_on(async {
            sqlx::query(ROWS).execute(&self.db.pool).await?;
            let begun = Instant::now();
            sqlx::query("insert into bench_row (body) values ($1)")
                .bind(vec![b'x'; 400])
                .execute(&self.db.pool)
                .await?;
            Ok(begun.elapsed())
        })
    }

    fn mint(&self, plan: Plan) -> Result<Minted> {
        let request = CreateKey { org: "bench".to_owned(), plan, rpm: Some(RPM), shared: false };
        Ok(self.runtime.block_on(keys::mint(&self.db, &Clock::system(), &request))?)
    }
}

/// Connections of the pool. `journal` runs as many concurrent producers.
pub const CONNECTIONS: u32 = 32;

/// A table for rows that are committed for comparison.
const ROWS: &str =
    "create table if not exists bench_row (id bigint generated always as identity primary key, body bytea)";

/// Appends operations in one transaction, as `publication` does. `handed_over` is called just before the commit.
pub async fn commit(db: &Db, rows: &[OperationRow], handed_over: &(dyn Fn() + Sync)) -> Result<(), StoreError> {
    let mut tx = db.pool.begin().await?;
    operations::append(&mut tx, At(Clock::system().now()), rows).await?;
    handed_over();
    Ok(tx.commit().await?)
}

/// An operation for streams, and for webhooks if an event type is given.
pub fn operation(payload: &[u8], event_type: Option<EventType>) -> Result<OperationRow> {
    Ok(OperationRow {
        family: event_type,
        stream_op: Some("published"),
        event_id: "1".to_owned(),
        vault_ids: vec!["aave-1-0x00000000000000000000000000000000000000aa".to_owned()],
        chain_ids: vec![1],
        body: String::from_utf8(payload.to_vec())?,
    })
}

impl Server for Ours {
    fn name(&self) -> &'static str {
        "the service"
    }

    fn address(&self) -> SocketAddr {
        // The stack is running, so its description contains the address.
        self.market.address("relay").unwrap_or_else(|_| SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    fn request(&self, subscriber: usize) -> Vec<u8> {
        let key = self.keys.get(subscriber / STREAMS_PER_KEY as usize).map_or("", String::as_str);
        http::get("/v1/events/stream", &format!("accept: text/event-stream\r\nauthorization: Bearer {key}\r\n"))
    }

    fn publish(&mut self, payload: &[u8], handed_over: &(dyn Fn() + Sync)) -> Result<()> {
        let row = [operation(payload, None)?];
        self.runtime.block_on(commit(&self.db, &row, handed_over)).context("an operation was not committed")
    }

    fn cpu(&self) -> Result<Duration> {
        measure::cpu_time(self.market.pid("origin")?)
    }

    fn store_cpu(&self) -> Result<Duration> {
        measure::cpu_time_of_family(self.market.pid("postgres")?)
    }

    fn resident(&self) -> Result<u64> {
        measure::resident_of_family(self.market.pid("origin")?)
    }
}
