//! The part `change`: how soon an isolate that is asked all the time shows a changed vault, and whether it ever shows the older state after
//! the change was acknowledged.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use rds_shared::route::Tag;
use rds_store::Db;
use rds_store::service::tags;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::Subject;
use crate::filling::Filling;
use crate::http::{self, Connection};
use crate::report::Report;
use crate::{Plan, cores};

/// Changes for each round of the plan.
const CHANGES_PER_ROUND: usize = 30;
/// The vault of the greatest value, whose value grows with every change.
const LIST: &str = "/v1/vaults?limit=1";
/// Pause between two requests of the caller.
const PAUSE: Duration = Duration::from_millis(2);
/// Time for a change to be acknowledged and shown.
const PATIENCE: Duration = Duration::from_secs(30);

/// One answer that the caller got.
#[derive(Debug, Clone, Copy)]
struct Seen {
    begun: Instant,
    ended: Instant,
    tvl_usd: f64,
}

/// One change.
#[derive(Debug, Clone, Copy)]
struct Change {
    tvl_usd: f64,
    /// When the batch had been committed and answered.
    committed: Instant,
    /// When the edge's acknowledgement was read from the database.
    acknowledged: Instant,
}

/// Changes one vault again and again while a caller asks for it, every second time with a URL of its own.
pub fn measure(plan: &Plan, subject: &Subject, report: &mut Report) -> Result<()> {
    let Subject { market, key } = subject;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let db = runtime.block_on(Db::connect(market.text("database_url")?, 1))?;
    let page: Value = serde_json::from_slice(&market.ask(LIST)?)?;
    let row = page.pointer("/data/0").context("no vault")?;
    let (edge, over, seen) = (market.address("edge")?, AtomicBool::new(false), Mutex::new(Vec::new()));
    let changes = std::thread::scope(|scope| {
        let caller = scope.spawn(|| call(edge, &Subject::lines(key), &seen, &over));
        let changes = (1..=plan.rounds * CHANGES_PER_ROUND).map(|number| {
            xtask::signals::check()?;
            ensure!(!caller.is_finished(), "the caller gave up");
            // Changes come at different times of the edge's one-second lease.
            std::thread::sleep(Duration::from_millis(number as u64 * 37 % 500));
            let change = change(subject, &runtime, &db, row, number)?;
            wait_for(|| seen_by(&seen, change.tvl_usd).is_some())?;
            Ok(change)
        });
        let changes = changes.collect::<Result<Vec<Change>>>();
        over.store(true, Ordering::Relaxed);
        caller.join().map_err(|_| anyhow!("the caller panicked"))??;
        changes
    })?;
    let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    add(report, &changes, &seen)
}

/// Commits the change `number`, and waits until the edge has acknowledged it.
fn change(subject: &Subject, runtime: &Runtime, db: &Db, row: &Value, number: usize) -> Result<Change> {
    let line = Filling::new()?.again(row, number as f64)?;
    let tvl_usd = line.get("tvl_usd").and_then(Value::as_f64).context("a value")?;
    subject.market.post_observations(&[line])?;
    let committed = Instant::now();
    let (_, newest) = runtime.block_on(tags::newest(db))?;
    let wanted = newest.only(&[Tag::Vaults]);
    wait_for(|| runtime.block_on(tags::progress(db)).is_ok_and(|progress| progress.acknowledged.covers(&wanted)))?;
    Ok(Change { tvl_usd, committed, acknowledged: Instant::now() })
}

fn wait_for(mut done: impl FnMut() -> bool) -> Result<()> {
    let begun = Instant::now();
    while !done() {
        xtask::signals::check()?;
        ensure!(begun.elapsed() < PATIENCE, "a change was not acknowledged and shown in time");
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// The first answer that includes the change to this value.
fn seen_by(seen: &Mutex<Vec<Seen>>, tvl_usd: f64) -> Option<Instant> {
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.last().filter(|last| last.tvl_usd >= tvl_usd).map(|last| last.ended)
}

/// Asks until `over`.
fn call(edge: SocketAddr, lines: &str, seen: &Mutex<Vec<Seen>>, over: &AtomicBool) -> Result<()> {
    let mut connection = Connection::open(edge)?;
    for number in 0u64.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let target = if number.is_multiple_of(2) { LIST.to_owned() } else { format!("{LIST}&minTvl={number}") };
        let begun = Instant::now();
        connection.send(&http::get(&target, lines))?;
        let answer = connection.receive()?;
        ensure!(answer.status == 200, "no list: {}", answer.head);
        let page: Value = serde_json::from_slice(&answer.body)?;
        let tvl_usd = page.pointer("/data/0/tvl_usd").and_then(Value::as_f64).context("no value")?;
        let answer = Seen { begun, ended: Instant::now(), tvl_usd };
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn add(report: &mut Report, changes: &[Change], seen: &[Seen]) -> Result<()> {
    let old = changes
        .iter()
        .map(|change| {
            let late = seen.iter().filter(|seen| seen.begun > change.acknowledged && seen.tvl_usd < change.tvl_usd);
            late.count()
        })
        .sum::<usize>();
    let shown = |change: &Change| {
        let first = seen.iter().find(|seen| seen.tvl_usd >= change.tvl_usd).context("a change was never shown")?;
        Ok(first.ended.saturating_duration_since(change.committed))
    };
    let shown = percentiles(changes.iter().map(shown).collect::<Result<_>>()?)?;
    let acknowledged = changes.iter().map(|change| change.acknowledged.duration_since(change.committed));
    let acknowledged = percentiles(acknowledged.collect())?;
    let what = "a changed vault: from the answer to its ingest to the first answer of the edge that shows it";
    let many = format!("{} changes, {} answers, load average {}", changes.len(), seen.len(), cores::load());
    report.stated(&format!("{what}, milliseconds (p50)"), shown[0], &many);
    report.stated(&format!("{what}, milliseconds (p99)"), shown[1], "");
    report.stated(
        "a changed vault: from the answer to its ingest to the edge's acknowledgement, milliseconds (p99)",
        acknowledged[1],
        &format!("p50 {:.1} ms", acknowledged[0]),
    );
    let what = "a changed vault: requests that began after the acknowledgement and were answered with the older state";
    report.at_most(what, old as f64, 0.0, &format!("of {}", seen.len()));
    Ok(())
}

/// The median and the 99th percentile, in milliseconds.
fn percentiles(mut times: Vec<Duration>) -> Result<[f64; 2]> {
    times.sort_unstable();
    let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)));
    let millis = |time: &Duration| time.as_secs_f64() * 1e3;
    Ok([millis(at(50).context("no changes")?), millis(at(99).context("no changes")?)])
}
