//! The work of the run: requests, readings of all vaults, events for streams and webhooks, signed checks, and a probe of latency.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rds_shared::access::{Plan, Principal};
use rds_shared::push::event_type::EventType;
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};
use xtask::up::Edge;

use super::reading::Probe;
use crate::growth::decisions;
use crate::http::{self, Connection};
use crate::market::Market;
use crate::push::ours::{self, Ours};
use crate::push::receivers::Receivers;
use crate::push::server::Server;
use crate::push::{sse, webhooks};
use crate::soak::mix::{self, Callers};

const VAULTS: u32 = 500;
const STREAMS: usize = 100;
const ENDPOINTS: usize = 20;
/// Requests per minute of the load's keys; more than are sent.
const RPM: u32 = 1_000_000;
/// Time between two events, and number of events between two batches of readings.
const EVENT_EVERY: Duration = Duration::from_secs(1);
const EVENTS_PER_BATCH: u32 = 10;
/// Time between two requests of the probe.
const PROBE_EVERY: Duration = Duration::from_millis(100);
const EVENT_TYPE: EventType = EventType::EventPublished;

/// A running stack with its subscribers.
pub struct Load {
    pub ours: Ours,
    owner: Principal,
    vaults: Vec<String>,
    positions: Vec<Value>,
    /// Frames that the streams received, and streams that ended.
    frames: Arc<AtomicU64>,
    ended: Arc<AtomicU64>,
    events: AtomicU64,
    _receiving: tokio::runtime::Runtime,
    _receivers: Receivers,
    _authority: PathBuf,
}

impl Load {
    /// Starts the stack, opens the streams and creates the webhooks.
    pub fn prepare(folder: &Path) -> Result<Self> {
        let authority = folder.join("authority.pem");
        let receiving = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let receivers = receiving.block_on(Receivers::start(&authority))?;
        let market = Market::start_as(VAULTS, Edge::Workerd, |options| {
            options.webhook_allow.push("127.0.0.0/8".to_owned());
            options.webhook_ca = Some(authority.clone());
        })?;
        let mut ours = Ours::over(market)?;
        ours.allow(STREAMS)?;
        let owner = ours.principal(Plan::Decisioning)?;
        for number in 0..ENDPOINTS {
            webhooks::subscribe(&ours, &owner, &format!("https://{}/hook/{number}", receivers.address))?;
        }
        let (frames, ended) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        for subscriber in 0..STREAMS {
            let mut stream = TcpStream::connect(ours.address())?;
            stream.write_all(&ours.request(subscriber))?;
            let (frames, ended) = (frames.clone(), ended.clone());
            std::thread::Builder::new().stack_size(64 * 1024).spawn(move || {
                let lines = BufReader::with_capacity(4_096, stream).split(b'\n');
                let of_events = |line: &Vec<u8>| line.windows(sse::START.len()).any(|part| part == sse::START);
                frames.fetch_add(0, Relaxed);
                for _ in lines.map_while(Result::ok).filter(of_events) {
                    frames.fetch_add(1, Relaxed);
                }
                ended.fetch_add(1, Relaxed);
            })?;
        }
        let vaults = vaults(&ours.market)?;
        let positions = decisions::positions(&ours.market)?;
        decisions::await_graph(&ours.market, &owner, &positions)?;
        let events = AtomicU64::new(0);
        Ok(Load {
            ours,
            owner,
            vaults,
            positions,
            frames,
            ended,
            events,
            _receiving: receiving,
            _receivers: receivers,
            _authority: authority,
        })
    }

    /// Sends the mixed load of `soak` to the edge until `over`.
    pub fn request(&self, rate: f64, over: &AtomicBool) -> Result<()> {
        let market = &self.ours.market;
        let (key, narrow) = (market.mint(RPM)?, market.mint(1)?);
        let edge = market.address("edge")?;
        let list = http::ask(edge, &Callers::list(&key))?;
        ensure!(list.status == 200, "no list: {}", list.head);
        mix::send(edge, &Callers::new(key, narrow, &list)?, rate, over)?.check()
    }

    /// Publishes events, ingests readings and has checks signed until `over`.
    pub fn write(&self, over: &AtomicBool) -> Result<()> {
        let market = &self.ours.market;
        let mut due = Instant::now();
        for number in 0_u32.. {
            if over.load(Relaxed) {
                break;
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            due += EVENT_EVERY;
            let row = [ours::operation(&sse::payload(sse::FIRST + number), Some(EVENT_TYPE))?];
            self.ours.runtime.block_on(ours::commit(&self.ours.db, &row, &|| ()))?;
            self.events.fetch_add(1, Relaxed);
            decisions::check(market, &self.owner, &self.positions, number)?;
            if number % EVENTS_PER_BATCH == 0 {
                let at = now()?;
                let lines: Vec<_> =
                    self.vaults.iter().zip(number..).map(|(vault, salt)| reading(vault, at, salt)).collect();
                market.post_observations(&lines)?;
            }
        }
        Ok(())
    }

    /// Asks the edge for a list that was not asked before, ten times a second, until `over`.
    pub fn probe(&self, probe: &Probe, over: &AtomicBool) -> Result<()> {
        let market = &self.ours.market;
        let headers = format!(
            "accept: application/json\r\nauthorization: Bearer {}\r\ncf-connecting-ip: 192.0.2.2\r\n",
            market.mint(RPM)?
        );
        let mut connection = Connection::open(market.address("edge")?)?;
        let mut due = Instant::now();
        for number in 0_u64.. {
            if over.load(Relaxed) {
                break;
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            due += PROBE_EVERY;
            let begun = Instant::now();
            connection.send(&http::get(
                &format!("/v1/vaults?limit=20&minTvl={}.5&sortBy=total_score", number + 1),
                &headers,
            ))?;
            let answer = connection.receive()?;
            ensure!(answer.status == 200, "the probe got {}: {}", answer.status, answer.head);
            probe.note(begun.elapsed());
        }
        Ok(())
    }

    /// Checks that no stream ended, and that every stream received every event.
    pub fn check(&self) -> Result<()> {
        let expected = self.events.load(Relaxed) * STREAMS as u64;
        let begun = Instant::now();
        while self.frames.load(Relaxed) < expected && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let (frames, ended) = (self.frames.load(Relaxed), self.ended.load(Relaxed));
        ensure!(ended == 0, "{ended} of {STREAMS} streams ended");
        ensure!(frames == expected, "{frames} frames instead of {expected}");
        Ok(())
    }
}

fn now() -> Result<Timestamp> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).context("clock before 1970")?;
    Ok(Timestamp::from_seconds(i64::try_from(now.as_secs())?))
}

/// The ids of all listed vaults.
fn vaults(market: &Market) -> Result<Vec<String>> {
    let answer: Value = serde_json::from_slice(&market.ask("/v1/vaults/scores?limit=1000")?)?;
    let rows = answer.get("data").and_then(Value::as_array).context("no rows")?;
    rows.iter()
        .map(|row| Ok(row.get("id").and_then(Value::as_str).context("a row without an id")?.to_owned()))
        .collect()
}

/// A reading of a vault; `salt` makes it differ from the one before.
fn reading(vault_id: &str, at: Timestamp, salt: u32) -> Value {
    json!({"kind": "vault_state", "observed_at": at.to_string(), "source": "bench", "vault_id": vault_id,
           "tvl_usd": 1e6 + f64::from(salt % 1_009) * 10.0, "base_apr": 0.04, "borrow_apr": 0.06, "utilization": 0.5 + f64::from(salt % 211) / 1e3,
           "incentives": "checked", "price_per_share": 1.2})
}
