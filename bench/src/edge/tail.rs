//! The long tail: every request has a new URL, so that no cached response can be used.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use xtask::measure::cpu_time;
use xtask::provision::cache::Cache;

use super::nginx::{self, Nginx};
use super::{LIMIT, RPM, Subject, bare, checks, hono};
use crate::http::{self, Answer};
use crate::market::Market;
use crate::report::Report;
use crate::summary::{Comparison, Target};
use crate::versus::{self, Peer, Write, rate};
use crate::{Plan, load};

const PART: &str = "long tail at the edge, keyed, every URL different";
/// Number of thresholds: far more than any cache keeps, and a prime, so that steps of [`STEP`] visit all of them.
const THRESHOLDS: u64 = 999_983;
const STEP: u64 = 618_033;

static REQUESTED: AtomicU64 = AtomicU64::new(0);

/// A list with the next threshold. A threshold repeats only after [`THRESHOLDS`] requests, counted over all peers.
fn target() -> String {
    let threshold = REQUESTED.fetch_add(1, Ordering::Relaxed) * STEP % THRESHOLDS;
    format!("/v1/vaults?chain=devnet&limit=20&minTvl={threshold}&sortBy=total_score")
}

/// A measured edge, and whether the client signs its requests.
struct Tested {
    name: &'static str,
    address: SocketAddr,
    pid: u32,
    signed: bool,
}

impl Tested {
    /// The edge as a [`Peer`]. Each request is for the target that `next` returns.
    fn peer<F: FnMut() -> String + 'static>(&self, subject: &Subject, mut next: F) -> Result<Peer> {
        let lines = Subject::lines(&subject.key);
        let write: Write = match self.signed {
            true => Box::new(subject.market.signed_targets(&lines, next)?),
            false => Box::new(move |out| out.extend_from_slice(&http::get(&next(), &lines))),
        };
        Ok(Peer { address: self.address, pid: self.pid, write })
    }

    fn answer(&self, subject: &Subject, target: &str) -> Result<Answer> {
        let (target, mut request) = (target.to_owned(), Vec::new());
        (self.peer(subject, move || target.clone())?.write)(&mut request);
        http::ask(self.address, &request)
    }
}

/// Compares the edge with each peer, in front of the same origin.
pub fn measure(cache: &Cache, plan: &Plan, subject: &Subject, report: &mut Report) -> Result<()> {
    let Subject { market, key } = subject;
    let worker = hono::start(cache, market)?;
    hono::provision(&worker, key, RPM)?;
    let forwarder = bare::forwarder(cache, market.text("origin_edge")?.to_owned())?;
    let keys = nginx::Keys { wide: key, narrow: "nobody's", limit: LIMIT };
    let nginx = Nginx::start(cache, market.address("origin_edge")?, &keys)?;
    let edge = Tested { name: "the edge", address: market.address("edge")?, pid: market.pid("edge")?, signed: false };
    let others = [
        Tested { name: "Hono in a JavaScript Worker", address: worker.address, pid: worker.pid(), signed: false },
        Tested {
            name: "bare JavaScript Worker: hands on what the client signed",
            address: forwarder.address,
            pid: forwarder.pid(),
            signed: true,
        },
        Tested {
            name: "nginx proxy_cache + limit_req: hands on what the client signed",
            address: nginx.address,
            pid: nginx.worker,
            signed: true,
        },
    ];
    let ours = reached(plan, subject, &edge)?;
    for other in others {
        let same = target();
        checks::same_body(&edge.answer(subject, &same)?, &other.answer(subject, &same)?)
            .with_context(|| other.name.to_owned())?;
        let theirs = reached(plan, subject, &other)?;
        let versus = versus::measure_with_halves(
            &super::fewer(plan),
            edge.peer(subject, target)?,
            other.peer(subject, target)?,
        )?;
        let (our_side, their_side) = versus.medians();
        let comparison = Comparison {
            part: PART,
            peer: other.name,
            of: "requests/s, ours over theirs",
            ratio: versus.ratio(rate),
            target: Target::Stated,
            ours: our_side,
            theirs: their_side,
        };
        report.compare(&comparison, &format!("; of 100 of ours {ours}; of 100 of theirs {theirs}{}", versus.cuts()));
    }
    Ok(())
}

/// The part of a load that reached the origin: requests per hundred, and the origin's CPU microseconds per request.
struct Reached {
    of_hundred: f64,
    cpu_micros: f64,
}

impl std::fmt::Display for Reached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} reach the origin, {:.1} µs of its CPU each", self.of_hundred, self.cpu_micros)
    }
}

/// Runs one load and measures how much of it reached the origin.
fn reached(plan: &Plan, subject: &Subject, asked: &Tested) -> Result<Reached> {
    let Subject { market, .. } = subject;
    let (origin, mut peer) = (market.pid("origin")?, asked.peer(subject, target)?);
    let (lists, spent) = (lists_answered(market)?, cpu_time(origin)?);
    let load = load::run(peer.address, plan.connections, plan.duration(), &mut peer.write)?;
    let (lists, spent) = (lists_answered(market)? - lists, cpu_time(origin)?.saturating_sub(spent));
    ensure!(lists > 0.0, "no request reached the origin: the answers were cached");
    Ok(Reached { of_hundred: lists * 100.0 / load.requests as f64, cpu_micros: spent.as_secs_f64() * 1e6 / lists })
}

/// Number of lists that the origin has answered, from its metrics.
fn lists_answered(market: &Market) -> Result<f64> {
    let lines = format!("authorization: Bearer {}\r\n", market.text("admin_token")?);
    let answer = http::ask(market.address("admin")?, &http::get("/metrics", &lines))?;
    let text = String::from_utf8_lossy(&answer.body);
    let line =
        text.lines().find_map(|line| line.strip_prefix("rds_requests_total{route=\"VaultList\",status=\"200\"} "));
    line.context("the origin's metrics have no count of lists")?.trim().parse().context("a count")
}
