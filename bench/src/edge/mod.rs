//! `edge`: a keyed list at the edge beside other edges, from a copy and with every URL different.

pub mod bare;
mod checks;
mod hit;
mod hono;
mod js_worker;
mod nginx;
mod tail;

use std::net::SocketAddr;

use anyhow::Result;
use clap::Args;
use xtask::console::heading;
use xtask::provision::cache::Cache;
use xtask::up::Edge;

use crate::market::Market;
use crate::parts::Only;
use crate::report::Report;
use crate::versus::Peer;
use crate::{Plan, cores, http};

const VAULTS: u32 = 1_000;
/// Requests a minute: more than any of them can answer, so that none is refused.
const RPM: u32 = 1_000_000;
/// Requests a minute of the key whose limit is tried.
const LIMIT: u32 = 4_800;
/// Loads of each peer where the figures are stated only.
const FEWER: usize = 3;
const PARTS: [&str; 2] = ["hit", "tail"];
const METHOD: &str = "Of a key that is asked for very often the edge has requests counted ahead at its object, for a quarter of a second. \"Bare\" is `bench/bare-js`: of a copy, a JavaScript Worker that answers every request with the same bytes, without key, limit \
    or cache; of the long tail, one that hands every request on as it came. The Hono Worker (`bench/hono-peer`) does the edge's job by Hono's router and middleware: \
    it looks the key up by its SHA-256 in a Durable Object, which is called once and writes a row for each admitted request, keeps copies in the isolate's memory and in \
    the Cache API, confirms them by ETag, and signs what it asks the origin. It differs where it does less: no change of facts reaches its copies before their time, \
    ages in a body do not grow, queries are not parsed, and the signatures of the origin's answers are not verified. The Workers run on plain workerd of one version and date, with their objects and the store behind the Cache API alike. \
    nginx is Debian's with one worker, proxy_cache (lock, stale) and limit_req; it does not revalidate, because the signature covers If-None-Match. Its limit is a leaky bucket in memory, so what it admits in a minute is not exact, and lost at a restart; \
    a key is an entry of a map in its configuration. It cannot sign: to nginx and to the bare forwarder the client sends its requests signed. \
    All of them are asked the same of the same origin on the same core. Before anything is timed each must give the edge's own body (but for ages) and, where it claims to do the same job, \
    the same names of headers, a 304 to the ETag, an allowance that falls with each request, and at 64 requests at once exactly as many admissions as the limit says.";

/// What `edge` can be told.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[command(flatten)]
    plan: Plan,
    #[command(flatten)]
    only: Only,
}

impl Options {
    /// Every part, by this plan.
    pub fn of(plan: &Plan) -> Self {
        Options { plan: plan.clone(), only: Only::default() }
    }
}

/// Measures every part, prints the table, and writes it beside the crate.
pub fn run(options: &Options) -> Result<()> {
    let Options { plan, only } = options;
    let (cache, parts) = (Cache::open()?, only.of("edge", PARTS)?);
    let mut report = Report::default();
    let subject = Subject::start()?;
    for part in parts {
        heading(&format!("\nedge: {part}"));
        match part {
            "hit" => hit::measure(&cache, plan, &subject, &mut report)?,
            _ => tail::measure(&cache, plan, &subject, &mut report)?,
        }
    }
    drop(subject);
    cores::release()?;
    println!("\n{}", report.table());
    if only.is_all() {
        report.write_pairs("edge", plan, METHOD)?;
    }
    Ok(())
}

/// The service that is measured, and who asks it.
struct Subject {
    market: Market,
    key: String,
}

impl Subject {
    fn start() -> Result<Self> {
        let market = Market::start(VAULTS, Edge::Workerd)?;
        let key = market.mint(RPM)?;
        Ok(Subject { market, key })
    }

    /// The header lines of a caller with a key.
    fn lines(key: &str) -> String {
        format!("accept: application/json\r\nauthorization: Bearer {key}\r\ncf-connecting-ip: 192.0.2.1\r\n")
    }

    /// A request of the caller's.
    fn request(&self, target: &str) -> Vec<u8> {
        http::get(target, &Self::lines(&self.key))
    }
}

/// The plan for what has no target.
fn fewer(plan: &Plan) -> Plan {
    Plan { rounds: plan.rounds.min(FEWER), ..plan.clone() }
}

/// A peer that is asked for the same again and again.
fn again(address: SocketAddr, pid: u32, request: Vec<u8>) -> Peer {
    Peer { address, pid, write: Box::new(move |out| out.extend_from_slice(&request)) }
}
