//! `edge`: compares the edge with other edges on a keyed list, once cached and once with a new URL for every request, and measures what the
//! edge's own rows cost and how current they are.
//!
//! | part | what it measures |
//! |---|---|
//! | `hit` | a cached list, beside other edges |
//! | `tail` | a new URL for every request, beside other edges |
//! | `half` | latencies of a cached list at half of saturation, and how long the server waited for its core |
//! | `random` | random valid queries to all lists, and how many of them reach the origin |
//! | `change` | from a commit to the first answer that shows it |
//! | `many` | a new URL for every request, out of many vaults, beside a Worker that has the rows too |
//! | `update` | bytes that the origin sends for changed rows |
//! | `memory` | memory of the edge with and without rows |
//! | `start` | size and start of the Worker, and the first answer after a restart while the origin is dead |

pub mod bare;
mod change;
mod checks;
mod half;
mod hit;
mod holding;
mod hono;
mod js_worker;
mod nginx;
mod queries;
mod random;
mod rows;
mod tail;
mod update;

use std::net::SocketAddr;

use anyhow::Result;
use xtask::console::heading;
use xtask::provision::cache::Cache;
use xtask::up::Edge;

use crate::market::Market;
use crate::parts::Options;
use crate::report::Report;
use crate::versus::Peer;
use crate::{Plan, cores, http};

const VAULTS: u32 = 1_000;
/// Vaults of the market for sizes, memory and start.
const MANY_VAULTS: u32 = 25_000;
/// Requests per minute: more than any peer can answer, so that none is refused.
const RPM: u32 = 1_000_000;
/// Requests per minute of the key whose limit is tested.
const LIMIT: u32 = 4_800;
/// Maximum number of rounds for a figure without a target, to shorten the run.
const MAX_STATED_ROUNDS: usize = 3;
const PARTS: [&str; 9] = ["hit", "tail", "half", "random", "change", "many", "update", "memory", "start"];
/// Parts that use a market of [`MANY_VAULTS`] vaults, with edges of their own. The last one kills the origin.
const LARGE: [&str; 4] = ["many", "update", "memory", "start"];
const METHOD: &str = "For a busy key the edge reserves requests ahead at the key's Durable Object, for a quarter of a second. \"Bare\" is `bench/bare-js`: for the cached list a JavaScript Worker that answers every request with the same bytes, without key, limit \
    or cache; for the long tail one that forwards every request unchanged. The Hono Worker (`bench/hono-peer`) does the edge's job with Hono's router and middleware: \
    it looks the key up by its SHA-256 in a Durable Object, which is called once and writes a row for each admitted request, keeps cached responses in the isolate's memory and in \
    the Cache API, revalidates them by ETag, and signs its requests to the origin. It does less than the edge: its cached responses are not invalidated by changed facts, \
    ages in a body do not grow, queries are not parsed, and the signatures of the origin's answers are not verified. With the rows in memory it loads the vault list once and answers every query \
    of the long tail from presorted columns and encoded rows, without the origin; its rows never change. The Workers run on plain workerd of the same version and compatibility date, with the same storage of Durable Objects and the same store behind the Cache API. \
    nginx is Debian's with one worker, proxy_cache (lock, stale) and limit_req; it does not revalidate, because the signature covers If-None-Match. Its limit is a leaky bucket in memory, so the number admitted per minute is not exact and the count is lost at a restart; \
    a key is an entry of a map in its configuration. nginx and the bare forwarder cannot sign, so the client sends them signed requests. \
    All get the same requests and use the same origin on the same core. Before it is timed, each must return the edge's own body (except for ages) and, where it claims to do the same job, \
    the same header names, a 304 to the ETag, a remaining allowance that falls with each request, and with 64 concurrent callers exactly as many admissions as the limit allows. \
    For the latencies at half of saturation an empty Worker is `bench/bare-js` with two bytes, and the time that a server's threads waited for their core comes from the kernel's scheduler. \
    The random queries are drawn over all routes and parameters of the read model and sent with a key; the origin's metrics count those that reach it. A changed vault is ingested through the \
    admin listener while one caller asks for it every few milliseconds, every second time with a URL of its own; the acknowledgement is read from the database. \
    Bytes of updates are those of the origin's answers to the edge. Sizes, memory and start are those of a market of 25 000 vaults. Memory is compared with an edge without the Durable Object that holds the rows, after the same load.";

/// Measures the parts, prints the table, and writes it to the results.
pub fn run(options: &Options) -> Result<()> {
    let Options { plan, only } = options;
    let (cache, parts) = (Cache::open()?, only.of("edge", PARTS)?);
    let mut report = Report::default();
    let (large, small): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| LARGE.contains(part));
    for (parts, vaults, edge) in [(small, VAULTS, Edge::Workerd), (large, MANY_VAULTS, Edge::None)] {
        if parts.is_empty() {
            continue;
        }
        let subject = Subject::start(vaults, edge)?;
        for part in parts {
            heading(&format!("\nedge: {part}"));
            match part {
                "hit" => hit::measure(&cache, plan, &subject, &mut report)?,
                "tail" => tail::measure(&cache, plan, &subject, &mut report)?,
                "half" => half::measure(&cache, plan, &subject, &mut report)?,
                "random" => random::measure(plan, &subject, &mut report)?,
                "change" => change::measure(plan, &subject, &mut report)?,
                "many" => tail::measure_many(&cache, plan, &subject, MANY_VAULTS, &mut report)?,
                "update" => update::measure(&subject.market, &mut report)?,
                "memory" => holding::measure_memory(&cache, plan, &subject, &mut report)?,
                _ => holding::measure_start(&cache, &subject, &mut report)?,
            }
        }
    }
    cores::release()?;
    println!("\n{}", report.table());
    if only.is_all() {
        report.write_pairs("edge", plan, METHOD)?;
    }
    Ok(())
}

/// The measured service, and a key for it.
struct Subject {
    market: Market,
    key: String,
}

impl Subject {
    fn start(vaults: u32, edge: Edge) -> Result<Self> {
        let market = Market::start(vaults, edge)?;
        let key = market.mint(RPM)?;
        Ok(Subject { market, key })
    }

    /// The header lines of a caller with a key.
    fn lines(key: &str) -> String {
        format!("accept: application/json\r\nauthorization: Bearer {key}\r\ncf-connecting-ip: 192.0.2.1\r\n")
    }

    /// A request with the key.
    fn request(&self, target: &str) -> Vec<u8> {
        http::get(target, &Self::lines(&self.key))
    }
}

/// The plan with at most [`MAX_STATED_ROUNDS`] rounds.
fn fewer(plan: &Plan) -> Plan {
    Plan { rounds: plan.rounds.min(MAX_STATED_ROUNDS), ..plan.clone() }
}

/// A peer that gets the same request each time.
fn again(address: SocketAddr, pid: u32, request: Vec<u8>) -> Peer {
    Peer { address, pid, write: Box::new(move |out| out.extend_from_slice(&request)) }
}
