//! A thousand deliveries a second to receivers that answer, while a fifth of all endpoints hangs.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rds_shared::access::{Plan, Principal};
use serde_json::{Value, json};

use super::moments::Moments;
use super::ours::{self, Ours};
use super::receivers::{HANGS, Receivers, Round};
use super::server::Server;
use super::sse;
use crate::report::Report;
use crate::summary::{Comparison, Target};
use crate::versus::{Side, median};
use crate::{cores, http};

/// Endpoints that answer, and endpoints that hang: a fifth of all.
const ENDPOINTS: [usize; 2] = [100, 25];
/// Events a second; each goes to every endpoint. A little more than the target: the last ones are taken in after the last event
/// was published.
const RATE: u32 = 11;
/// How long a round publishes: as long as the attempts at the endpoints that hang are under way.
const SECONDS: u32 = 8;
const ROUNDS: usize = 3;
/// How long deliveries may be on their way after the last event.
const PATIENCE: Duration = Duration::from_secs(30);
const FAMILY: &str = "event.published";
/// Deliveries a second to endpoints that answer.
const TARGET_RATE: f64 = 1_000.0;
/// Seconds from commit to receiver.
const TARGET_LAG: f64 = 1.0;

/// What a round came to.
struct Outcome {
    rate: f64,
    /// Seconds: p50 and p99.
    lag: [f64; 2],
    /// CPU microseconds per delivery of the origin, and of Postgres.
    cpu: [f64; 2],
    connections: f64,
}

/// Measures rounds with endpoints that hang, after one without.
pub fn measure(report: &mut Report) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("rds-bench-hooks-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let outcome = measure_in(&folder.join("authority.pem"), report);
    std::fs::remove_dir_all(&folder)?;
    outcome
}

fn measure_in(authority: &std::path::Path, report: &mut Report) -> Result<()> {
    // They live on the client's core, on a runtime of their own, that of the publisher being another's.
    let receiving = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let receivers = receiving.block_on(Receivers::start(authority))?;
    let ours = Ours::start(|options| {
        options.webhook_allow.push("127.0.0.0/8".to_owned());
        options.webhook_ca = Some(authority.to_owned());
    })?;
    let owner = ours.principal(Plan::Decisioning)?;
    let load = cores::load();
    for endpoint in 0..ENDPOINTS[0] {
        subscribe(&ours, &owner, &format!("https://{}/hook/{endpoint}", receivers.address))?;
    }
    let mut next = sse::FIRST;
    let calm = round(&ours, &receivers, &mut next)?;
    let mut rounds = Vec::new();
    for turn in 0..ROUNDS {
        // Those of the round before are paused by now: their breakers saw the attempts fail.
        for endpoint in 0..ENDPOINTS[1] {
            subscribe(&ours, &owner, &format!("https://{}{HANGS}{turn}/{endpoint}", receivers.address))?;
        }
        rounds.push(round(&ours, &receivers, &mut next)?);
    }
    let middle = |of: fn(&Outcome) -> f64| median(rounds.iter().map(of).collect());
    let behind = |outcome: [f64; 6]| {
        let [rate, p50, p99, cpu, store, connections] = outcome;
        format!(
            "{rate:.0}/s, lag p50 {p50:.3}, p99 {p99:.3}, {cpu:.0} µs CPU a delivery and Postgres {store:.0} µs, {connections:.2} connections a delivery"
        )
    };
    let hanging = [
        middle(|round| round.rate),
        middle(|round| round.lag[0]),
        middle(|round| round.lag[1]),
        middle(|round| round.cpu[0]),
        middle(|round| round.cpu[1]),
        middle(|round| round.connections),
    ];
    let calm = [calm.rate, calm.lag[0], calm.lag[1], calm.cpu[0], calm.cpu[1], calm.connections];
    let [rate, p50, p99, cpu, ..] = hanging;
    report.compare(
        &Comparison {
            part: &format!("webhook delivery to {} endpoints while {} hang", ENDPOINTS[0], ENDPOINTS[1]),
            peer: "a bar of 1000/s: no peer runs beside it",
            of: "deliveries/s, ours over that; p50 and p99 from commit to receiver",
            ratio: rate / TARGET_RATE,
            target: Target::AtLeast(1.0),
            ours: Side { cpu, rate, p50: p50 * 1e3, p99: p99 * 1e3 },
            theirs: Side { cpu: f64::NAN, rate: TARGET_RATE, p50: f64::NAN, p99: f64::NAN },
        },
        &format!("; {}; none hanging: {}", behind(hanging), behind(calm)),
    );
    report.at_most(
        "webhooks: lag of those that answer, from commit to receiver, s (p99)",
        hanging[2],
        TARGET_LAG,
        &format!("none hanging: {:.3}; the machine's load before: {load}", calm[2]),
    );
    Ok(())
}

/// Makes a subscription to what is published.
fn subscribe(ours: &Ours, owner: &Principal, url: &str) -> Result<()> {
    let body = json!({ "url": url, "families": [FAMILY] }).to_string();
    let mut request = Vec::new();
    ours.market.signed_post("/v1/webhooks", body.into_bytes(), owner)?(&mut request);
    let answer = http::ask(ours.market.address("origin_edge")?, &request)?;
    let made: Value = serde_json::from_slice(&answer.body).context("no JSON")?;
    ensure!(answer.status == 200, "{url}: {made}");
    Ok(())
}

/// Publishes for a while; every endpoint that answers must get every event, and none twice.
fn round(ours: &Ours, receivers: &Receivers, next: &mut u32) -> Result<Outcome> {
    let (first, events) = (*next, SECONDS * RATE);
    *next += events;
    let sent = Arc::new(Moments::new(first, events as usize));
    let present = || receivers.round.lock().unwrap_or_else(PoisonError::into_inner);
    *present() = Round { sent: Some(sent.clone()), ..Round::default() };
    let (cpu, store, connections) = (ours.cpu()?, ours.store_cpu()?, receivers.connections.load(Relaxed));
    let begun = Instant::now();
    for n in 0..events {
        xtask::signals::check()?;
        std::thread::sleep((Duration::from_secs(1) / RATE * n).saturating_sub(begun.elapsed()));
        let row = [ours::operation(&sse::payload(first + n), Some(FAMILY))?];
        ours.runtime.block_on(ours::commit(&ours.db, &row, &|| sent.note(first + n)))?;
    }
    let expected = events as usize * ENDPOINTS[0];
    while present().seen.len() < expected {
        xtask::signals::check()?;
        if begun.elapsed() > Duration::from_secs(u64::from(SECONDS)) + PATIENCE {
            bail!("{} of {expected} deliveries came", present().seen.len());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let elapsed = begun.elapsed();
    let [cpu, store] = [ours.cpu()? - cpu, ours.store_cpu()?.saturating_sub(store)];
    let connections = receivers.connections.load(Relaxed) - connections;
    let round = std::mem::take(&mut *present());
    ensure!(round.again == 0, "{} deliveries came more than once", round.again);
    let each = |spent: Duration| spent.as_secs_f64() * 1e6 / expected as f64;
    Ok(Outcome {
        rate: expected as f64 / elapsed.as_secs_f64(),
        lag: [round.latencies.percentile(50) / 1e3, round.latencies.percentile(99) / 1e3],
        cpu: [each(cpu), each(store)],
        connections: connections as f64 / expected as f64,
    })
}
