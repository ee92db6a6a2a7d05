//! The long tail: every request has a new URL, so that no cached response can be used.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use rds_shared::route::RouteId;
use xtask::measure::cpu_time;
use xtask::provision::cache::Cache;

use super::hono::Source;
use super::nginx::{self, Nginx};
use super::{LIMIT, RPM, Subject, bare, checks, hono, rows};
use crate::http::{self, Answer};
use crate::report::Report;
use crate::soak::runtime::Runtime;
use crate::summary::{Comparison, Target};
use crate::versus::{self, Peer, Write, rate};
use crate::{Plan, load};

const PART: &str = "long tail at the edge, keyed, every URL different";
const WITH_ROWS: &str = "Hono in a JavaScript Worker that has the rows in memory";
/// Number of thresholds: far more than any cache keeps, and a prime, so that steps of [`STEP`] visit all of them.
const THRESHOLDS: u64 = 999_983;
const STEP: u64 = 618_033;

static REQUESTED: AtomicU64 = AtomicU64::new(0);

/// Number of requests whose answers are compared before a peer is timed.
const SAME: usize = 20;

/// A list with the next threshold. A threshold repeats only after [`THRESHOLDS`] requests, counted over all peers.
pub fn target() -> String {
    let threshold = REQUESTED.fetch_add(1, Ordering::Relaxed) * STEP % THRESHOLDS;
    format!("/v1/vaults?chain=devnet&limit=20&minTvl={threshold}&sortBy=total_score")
}

/// A measured edge.
struct Tested {
    name: &'static str,
    address: SocketAddr,
    pid: u32,
    job: Job,
}

/// What a measured edge does itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Job {
    /// Everything that the service's edge does with the request: key, limit, answer, headers.
    Whole,
    /// It hands on requests that the client signed.
    HandsOn,
}

impl Tested {
    /// The edge as a [`Peer`]. Each request is for the target that `next` returns.
    fn peer<F: FnMut() -> String + 'static>(&self, subject: &Subject, mut next: F) -> Result<Peer> {
        let lines = Subject::lines(&subject.key);
        let write: Write = match self.job {
            Job::HandsOn => Box::new(subject.market.signed_targets(&lines, next)?),
            Job::Whole => Box::new(move |out| out.extend_from_slice(&http::get(&next(), &lines))),
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
    let worker = hono::start(cache, market, Source::Responses)?;
    hono::provision(&worker, key, RPM)?;
    let with_rows = hono::start(cache, market, Source::Rows)?;
    hono::provision(&with_rows, key, RPM)?;
    let forwarder = bare::forwarder(cache, market.text("origin_edge")?.to_owned())?;
    let keys = nginx::Keys { wide: key, narrow: "nobody's", limit: LIMIT };
    let nginx = Nginx::start(cache, market.address("origin_edge")?, &keys)?;
    let edge = Tested { name: "the edge", address: market.address("edge")?, pid: market.pid("edge")?, job: Job::Whole };
    let others = [
        Tested { name: "Hono in a JavaScript Worker", address: worker.address, pid: worker.pid(), job: Job::Whole },
        Tested { name: WITH_ROWS, address: with_rows.address, pid: with_rows.pid(), job: Job::Whole },
        Tested {
            name: "bare JavaScript Worker: hands on what the client signed",
            address: forwarder.address,
            pid: forwarder.pid(),
            job: Job::HandsOn,
        },
        Tested {
            name: "nginx proxy_cache + limit_req: hands on what the client signed",
            address: nginx.address,
            pid: nginx.worker,
            job: Job::HandsOn,
        },
    ];
    rows::wait(edge.address, key)?;
    let ours = reached(plan, subject, &edge)?;
    others.iter().try_for_each(|other| beside(plan, subject, PART, (&edge, &ours), other, report))
}

/// Compares the edge with the peer that has the rows too, out of many vaults.
pub fn measure_many(cache: &Cache, plan: &Plan, subject: &Subject, vaults: u32, report: &mut Report) -> Result<()> {
    let Subject { market, key } = subject;
    let with_rows = hono::start(cache, market, Source::Rows)?;
    hono::provision(&with_rows, key, RPM)?;
    let runtime = Runtime::start(cache, market)?;
    let edge = Tested { name: "the edge", address: runtime.address, pid: runtime.pid(), job: Job::Whole };
    let other = Tested { name: WITH_ROWS, address: with_rows.address, pid: with_rows.pid(), job: Job::Whole };
    rows::wait(edge.address, key)?;
    let ours = reached(plan, subject, &edge)?;
    beside(plan, subject, &format!("{PART}, out of {vaults} vaults"), (&edge, &ours), &other, report)
}

fn beside(
    plan: &Plan,
    subject: &Subject,
    part: &str,
    (edge, ours): (&Tested, &Reached),
    other: &Tested,
    report: &mut Report,
) -> Result<()> {
    for _ in 0..SAME {
        same_answer(subject, edge, other, &target()).with_context(|| other.name.to_owned())?;
    }
    let theirs = reached(plan, subject, other)?;
    let versus =
        versus::measure_with_halves(&super::fewer(plan), edge.peer(subject, target)?, other.peer(subject, target)?)?;
    let (our_side, their_side) = versus.medians();
    let comparison = Comparison {
        part,
        peer: other.name,
        of: "requests/s, ours over theirs",
        ratio: versus.ratio(rate),
        target: Target::Stated,
        ours: our_side,
        theirs: their_side,
    };
    report.compare(&comparison, &format!("; of 100 of ours {ours}; of 100 of theirs {theirs}{}", versus.cuts()));
    Ok(())
}

/// Checks that both give the same answer to a request for `target`: the body, and the header names if the peer does the whole job.
fn same_answer(subject: &Subject, edge: &Tested, other: &Tested, target: &str) -> Result<()> {
    let (ours, theirs) = (edge.answer(subject, target)?, other.answer(subject, target)?);
    checks::same_body(&ours, &theirs)?;
    if other.job == Job::Whole {
        checks::same_header_names(&ours, &theirs)?;
        let lines = Subject::lines(&subject.key);
        checks::confirms(other.address, &theirs, |more| http::get(target, &format!("{lines}{more}")))?;
        checks::counts(other.address, &http::get(target, &lines), RPM)?;
    }
    Ok(())
}

/// The part of a load that reached the origin: requests per hundred, and the origin's CPU microseconds per request that reached it.
struct Reached {
    of_hundred: f64,
    cpu_micros: f64,
}

impl std::fmt::Display for Reached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Reached { of_hundred, cpu_micros } = self;
        if *of_hundred == 0.0 {
            return f.write_str("0 reach the origin");
        }
        write!(f, "{of_hundred:.1} reach the origin, {cpu_micros:.1} µs of its CPU each")
    }
}

/// Runs one load and measures how much of it reached the origin.
fn reached(plan: &Plan, subject: &Subject, asked: &Tested) -> Result<Reached> {
    let Subject { market, .. } = subject;
    let (origin, mut peer) = (market.pid("origin")?, asked.peer(subject, target)?);
    let (lists, spent) = (market.answered(&[RouteId::VaultList])?, cpu_time(origin)?);
    let load = load::run(peer.address, plan.connections, plan.duration(), &mut peer.write)?;
    let (lists, spent) =
        (market.answered(&[RouteId::VaultList])?.saturating_sub(lists), cpu_time(origin)?.saturating_sub(spent));
    let each = if lists == 0 { 0.0 } else { spent.as_secs_f64() * 1e6 / lists as f64 };
    Ok(Reached { of_hundred: lists as f64 * 100.0 / load.requests as f64, cpu_micros: each })
}
