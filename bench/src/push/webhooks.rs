//! A thousand deliveries per second to responding receivers, while a fifth of all endpoints hangs.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rds_shared::access::{Plan, Principal};
use rds_shared::push::event_type::EventType;
use serde_json::{Value, json};

use super::naive::Naive;
use super::ours::{self, Ours};
use super::publish_times::PublishTimes;
use super::receivers::{HANG_PREFIX, Receivers, Round};
use super::server::Server;
use super::sse;
use crate::report::Report;
use crate::summary::{Comparison, Target};
use crate::versus::{Side, median};
use crate::{cores, http};

/// Number of endpoints that answer, and of endpoints that hang.
const ENDPOINTS: [usize; 2] = [100, 25];
/// Events per second, each to every endpoint. Slightly above the target, because the last deliveries arrive after the last event was
/// published.
const RATE: u32 = 11;
/// Seconds of publishing per round; shorter than the timeout of an attempt at a hanging endpoint.
const SECONDS: u32 = 8;
const ROUNDS: usize = 3;
/// Number of events per round.
const EVENTS: u32 = SECONDS * RATE;
/// Number of deliveries per round to endpoints that answer.
const ALL: usize = EVENTS as usize * ENDPOINTS[0];
/// Maximum time for deliveries after the last event.
const TIMEOUT: Duration = Duration::from_secs(30);
const EVENT_TYPE: EventType = EventType::EventPublished;
/// Minimum deliveries per second to endpoints that answer.
const TARGET_RATE: f64 = 1_000.0;
/// Maximum seconds from commit to receiver.
const TARGET_LAG: f64 = 1.0;

/// Result of a round. `rate` is in deliveries per second, `connections` in connections per delivery.
struct Outcome {
    rate: f64,
    /// Seconds: p50 and p99.
    lag: [f64; 2],
    /// CPU microseconds per delivery: of the origin, and of Postgres.
    cpu: [f64; 2],
    connections: f64,
}

/// Measures one round without hanging endpoints, then rounds with them.
pub fn measure(report: &mut Report) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("rds-bench-hooks-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let outcome = measure_in(&folder, report);
    std::fs::remove_dir_all(&folder)?;
    outcome
}

fn measure_in(folder: &Path, report: &mut Report) -> Result<()> {
    let authority = &folder.join("authority.pem");
    // The receivers run on the client's core with their own runtime, separate from the publisher's.
    let receiving = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let receivers = receiving.block_on(Receivers::start(authority))?;
    let ours = Ours::start(|options| {
        options.webhook_allow.push("127.0.0.0/8".to_owned());
        options.webhook_ca = Some(authority.clone());
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
        // Add new hanging endpoints, because the breakers have paused the subscriptions of the previous round.
        for endpoint in 0..ENDPOINTS[1] {
            subscribe(&ours, &owner, &format!("https://{}{HANG_PREFIX}{turn}/{endpoint}", receivers.address))?;
        }
        rounds.push(round(&ours, &receivers, &mut next)?);
    }
    let middle = |of: fn(&Outcome) -> f64| median(rounds.iter().map(of).collect());
    let behind = |outcome: &Outcome| {
        let Outcome { rate, lag: [p50, p99], cpu: [cpu, store], connections } = outcome;
        format!(
            "{rate:.0}/s, lag p50 {p50:.3}, p99 {p99:.3}, {cpu:.0} µs CPU a delivery and Postgres {store:.0} µs, {connections:.2} connections a delivery"
        )
    };
    let hanging = Outcome {
        rate: middle(|round| round.rate),
        lag: [middle(|round| round.lag[0]), middle(|round| round.lag[1])],
        cpu: [middle(|round| round.cpu[0]), middle(|round| round.cpu[1])],
        connections: middle(|round| round.connections),
    };
    drop(ours);
    let [part, calm_part] =
        [ENDPOINTS[1], 0].map(|hanging| format!("webhook delivery to {} endpoints while {hanging} hang", ENDPOINTS[0]));
    report.compare(
        &Comparison {
            part: &part,
            peer: "a bar of 1000/s",
            of: "deliveries/s, ours over that; p50 and p99 from commit to receiver",
            ratio: hanging.rate / TARGET_RATE,
            target: Target::AtLeast(1.0),
            ours: hanging.side(),
            theirs: Side { cpu: f64::NAN, rate: TARGET_RATE, p50: f64::NAN, p99: f64::NAN },
        },
        &format!("; {}; none hanging: {}", behind(&hanging), behind(&calm)),
    );
    let good: Vec<_> = (0..ENDPOINTS[0]).map(|number| format!("https://{}/hook/{number}", receivers.address)).collect();
    let bad = (0..ENDPOINTS[1]).map(|number| format!("https://{}{HANG_PREFIX}naive/{number}", receivers.address));
    let all: Vec<_> = good.iter().cloned().chain(bad).collect();
    for (part, ours, endpoints) in [(calm_part, &calm, &good), (part, &hanging, &all)] {
        let mut naive = Naive::start(folder, authority, endpoints)?;
        let theirs = naive_round(&mut naive, &receivers, &mut next)?;
        report.compare(
            &Comparison {
                part: &part,
                peer: "a naive loop, which keeps nothing",
                of: "deliveries/s that came, ours over theirs; p50 and p99 of those",
                ratio: ours.rate / theirs.rate,
                target: Target::Stated,
                ours: ours.side(),
                theirs: theirs.side(),
            },
            &format!("; ours and Postgres {:.0} µs a delivery", ours.cpu[1]),
        );
    }
    report.at_most(
        "webhooks: lag of those that answer, from commit to receiver, s (p99)",
        hanging.lag[1],
        TARGET_LAG,
        &format!("none hanging: {:.3}; the machine's load before: {load}", calm.lag[1]),
    );
    Ok(())
}

/// Creates a subscription to published events.
fn subscribe(ours: &Ours, owner: &Principal, url: &str) -> Result<()> {
    let body = json!({ "url": url, "families": [EVENT_TYPE] }).to_string();
    let mut request = Vec::new();
    ours.market.signed_post("/v1/webhooks", body.into_bytes(), owner)?(&mut request);
    let answer = http::ask(ours.market.address("origin_edge")?, &request)?;
    let made: Value = serde_json::from_slice(&answer.body).context("the answer is not JSON")?;
    ensure!(answer.status == 200, "{url}: {made}");
    Ok(())
}

/// Runs one round. Every endpoint that answers must receive every event exactly once.
fn round(ours: &Ours, receivers: &Receivers, next: &mut u32) -> Result<Outcome> {
    let (cpu, store, connections) = (ours.cpu()?, ours.store_cpu()?, receivers.connections.load(Relaxed));
    let (round, elapsed) = publish(receivers, next, |payload, sent| {
        let row = [ours::operation(payload, Some(EVENT_TYPE))?];
        Ok(ours.runtime.block_on(ours::commit(&ours.db, &row, sent))?)
    })?;
    let came = round.seen.len();
    ensure!(came == ALL, "only {came} of {ALL} deliveries arrived");
    let spent = [ours.cpu()? - cpu, ours.store_cpu()?.saturating_sub(store)];
    Ok(Outcome::of(&round, elapsed, spent, receivers.connections.load(Relaxed) - connections))
}

/// Runs one round with the naive loop; deliveries may be missing.
fn naive_round(naive: &mut Naive, receivers: &Receivers, next: &mut u32) -> Result<Outcome> {
    let (cpu, connections) = (naive.cpu()?, receivers.connections.load(Relaxed));
    let (round, elapsed) = publish(receivers, next, |payload, sent| {
        sent();
        naive.publish(payload)
    })?;
    let spent = [naive.cpu()?.saturating_sub(cpu), Duration::ZERO];
    Ok(Outcome::of(&round, elapsed, spent, receivers.connections.load(Relaxed) - connections))
}

/// Passes events to `hand_over` on schedule and waits until all deliveries to endpoints that answer have arrived, or for the timeout.
/// Returns the arrivals and the elapsed time; fails if a delivery arrived twice.
fn publish(
    receivers: &Receivers,
    next: &mut u32,
    mut hand_over: impl FnMut(&[u8], &(dyn Fn() + Sync)) -> Result<()>,
) -> Result<(Round, Duration)> {
    let first = *next;
    *next += EVENTS;
    let sent = Arc::new(PublishTimes::new(first, EVENTS as usize));
    let present = || receivers.round.lock().unwrap_or_else(PoisonError::into_inner);
    *present() = Round { sent: Some(sent.clone()), ..Round::default() };
    let begun = Instant::now();
    for n in 0..EVENTS {
        xtask::signals::check()?;
        std::thread::sleep((Duration::from_secs(1) / RATE * n).saturating_sub(begun.elapsed()));
        hand_over(&sse::payload(first + n), &|| sent.note(first + n))?;
    }
    while present().seen.len() < ALL && begun.elapsed() < Duration::from_secs(u64::from(SECONDS)) + TIMEOUT {
        xtask::signals::check()?;
        std::thread::sleep(Duration::from_millis(1));
    }
    let elapsed = begun.elapsed();
    let round = std::mem::take(&mut *present());
    ensure!(round.again == 0, "{} deliveries arrived more than once", round.again);
    Ok((round, elapsed))
}

impl Outcome {
    fn of(round: &Round, elapsed: Duration, spent: [Duration; 2], connections: u64) -> Self {
        let came = round.seen.len() as f64;
        Outcome {
            rate: came / elapsed.as_secs_f64(),
            lag: [round.latencies.percentile(50) / 1e3, round.latencies.percentile(99) / 1e3],
            cpu: spent.map(|spent| spent.as_secs_f64() * 1e6 / came),
            connections: connections as f64 / came,
        }
    }

    fn side(&self) -> Side {
        let [p50, p99] = self.lag;
        Side { cpu: self.cpu[0], rate: self.rate, p50: p50 * 1e3, p99: p99 * 1e3 }
    }
}
