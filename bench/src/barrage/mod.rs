//! `barrage`: whole requests, made from the route table and then damaged, sent to a running edge and origin. No answer may be a server error, edge and
//! origin must agree, and neither may grow.

mod damage;
mod draw;
mod exchange;
mod verdict;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, anyhow, ensure};
use clap::Args;
use xtask::measure::resident_of_family;
use xtask::up::Edge;

use self::draw::{Drawn, Draws};
use self::exchange::{Exchange, Got};
use crate::cores;
use crate::market::Market;
use crate::report::Report;

const VAULTS: u32 = 300;
/// Requests per minute of the key; more than are sent.
const RPM: u32 = 1_000_000;
/// Connections, each with its own generator.
const CONNECTIONS: u64 = 8;
/// One in so many requests is also sent to the origin, and both answers are compared.
const COMPARED: u64 = 20;
/// Most that a process may grow between the first tenth and the end, in MB.
const MAX_GROWTH: f64 = 64.0;
/// Faults that are printed.
const SHOWN: usize = 20;
const METHOD: &str = "Each request is drawn from the route table: method, path, parameters, headers and body. Half of them are then damaged in one to three places: another method, a segment too many or too \
    few, odd characters, repeated or unknown parameters, texts in place of numbers, broken credentials, conditions and accepted types, truncated, deeply nested or very long JSON. The edge is workerd as `up` \
    starts it, with a market of 300 vaults. One in twenty GETs of data is also sent to the origin, signed as the edge signs it for the same key, and status and error code compared.";

/// Options of `barrage`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Number of requests.
    #[arg(long, default_value_t = 100_000)]
    requests: u64,
    /// Seed of the generators.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What all connections share.
struct Shared<'a> {
    edge: SocketAddr,
    market: &'a Market,
    requests: u64,
    sent: AtomicU64,
    compared: AtomicU64,
    /// Number of answers by status; 0 stands for a connection that the server closed.
    statuses: Mutex<BTreeMap<u16, u64>>,
    faults: Mutex<Vec<String>>,
}

/// Sends the requests and writes the result. Fails with the first faults if there are any.
pub fn run(options: &Options) -> Result<()> {
    let market = Market::start(VAULTS, Edge::Workerd)?;
    cores::release()?;
    market.release()?;
    cores::release_family(market.pid("edge")?)?;
    let key = market.mint(RPM)?;
    let shared = Shared {
        edge: market.address("edge")?,
        market: &market,
        requests: options.requests,
        sent: AtomicU64::new(0),
        compared: AtomicU64::new(0),
        statuses: Mutex::default(),
        faults: Mutex::default(),
    };
    let draws = Draws::of(&market, &key)?;
    let early = Mutex::new(None);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..CONNECTIONS)
            .map(|number| {
                let (draws, shared, early) = (draws.with_seed(options.seed ^ (number << 32)), &shared, &early);
                scope.spawn(move || send(draws, shared, early))
            })
            .collect();
        all.into_iter().try_for_each(|one| one.join().map_err(|_| anyhow!("a connection panicked"))?)
    })?;
    let early = early.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_default();
    let late = memory(&market)?;
    report_results(&shared, early, late)
}

/// Sends requests over one connection until all are sent.
fn send(mut draws: Draws, shared: &Shared<'_>, early: &Mutex<Option<[f64; 2]>>) -> Result<()> {
    let mut exchange = Exchange::new(shared.edge);
    loop {
        let number = shared.sent.fetch_add(1, Relaxed);
        if number >= shared.requests {
            return Ok(());
        }
        xtask::signals::check()?;
        if number == shared.requests / 10 {
            *early.lock().unwrap_or_else(PoisonError::into_inner) = Some(memory(shared.market)?);
        }
        let drawn = draws.next();
        let got = exchange.ask(&drawn)?;
        *shared.statuses.lock().unwrap_or_else(PoisonError::into_inner).entry(got.status).or_default() += 1;
        let mut fault = verdict::fault(&drawn, &got);
        if fault.is_none() && number.is_multiple_of(COMPARED) && drawn.is_comparable {
            shared.compared.fetch_add(1, Relaxed);
            fault = disagreement(shared.market, &drawn, &got)?;
        }
        if let Some(fault) = fault {
            let mut faults = shared.faults.lock().unwrap_or_else(PoisonError::into_inner);
            faults.push(format!("{fault}: {}", drawn.summary()));
            ensure!(
                faults.len() < 1_000,
                "more than 1,000 faults, the first: {}",
                faults.first().map_or("", String::as_str)
            );
        }
    }
}

/// How the origin's answer differs from the edge's.
fn disagreement(market: &Market, drawn: &Drawn, got: &Got) -> Result<Option<String>> {
    let mut request = Vec::new();
    market.signed_keyed(&drawn.target)?(&mut request);
    let mut exchange = Exchange::new(market.address("origin_edge")?);
    let theirs = exchange.send(&request, false)?;
    let [ours, theirs] = [got, &theirs].map(|got| (got.status, verdict::code(got)));
    Ok((ours != theirs).then(|| format!("the edge answers {ours:?}, the origin {theirs:?}")))
}

/// Resident MB of the origin and of the edge.
fn memory(market: &Market) -> Result<[f64; 2]> {
    let [origin, edge] = ["origin", "edge"].map(|name| market.pid(name).and_then(resident_of_family));
    Ok([origin? as f64 / 1e6, edge? as f64 / 1e6])
}

fn report_results(shared: &Shared<'_>, early: [f64; 2], late: [f64; 2]) -> Result<()> {
    let faults = shared.faults.lock().unwrap_or_else(PoisonError::into_inner);
    let statuses = shared.statuses.lock().unwrap_or_else(PoisonError::into_inner);
    let seen: Vec<String> = statuses.iter().map(|(status, count)| format!("{count} × {status}")).collect();
    let mut report = Report::default();
    report.at_most(&format!("{} requests: faults", shared.requests), faults.len() as f64, 0.0, &seen.join(", "));
    report.stated("of them also answered by the origin, alike", shared.compared.load(Relaxed) as f64, "");
    for ((name, early), late) in ["the origin", "the edge's workerd"].into_iter().zip(early).zip(late) {
        report.at_most(
            &format!("{name}: MB grown after the first tenth"),
            late - early,
            MAX_GROWTH,
            &format!("{early:.0} to {late:.0} MB"),
        );
    }
    println!("\n{}", report.table());
    for fault in faults.iter().take(SHOWN) {
        println!("{fault}");
    }
    report.write("barrage", METHOD)?;
    ensure!(faults.is_empty(), "{} faults", faults.len());
    ensure!(late.iter().zip(early).all(|(late, early)| late - early <= MAX_GROWTH), "a process grows");
    Ok(())
}
