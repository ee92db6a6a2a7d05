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
use crate::growth::tables;
use crate::report::Report;
use crate::summary::{Comparison, Target};
use crate::versus::{Side, median};
use crate::{cores, http};

/// Number of endpoints that answer, and of endpoints that hang.
const ENDPOINTS: [usize; 2] = [100, 25];
/// Events per second, each to every endpoint. Slightly above the target, because the last deliveries arrive after the last event was
/// published.
const RATE: f64 = 11.0;
/// Seconds of publishing per round; shorter than the timeout of an attempt at a hanging endpoint.
const SECONDS: f64 = 8.0;
const ROUNDS: usize = 3;
/// The load of a round.
const LOAD: Load = Load { rate: RATE, events: (RATE * SECONDS) as u32 };
/// Maximum time for deliveries after the last event.
const TIMEOUT: Duration = Duration::from_secs(30);
const EVENT_TYPE: EventType = EventType::EventPublished;
/// Minimum deliveries per second to endpoints that answer.
const TARGET_RATE: f64 = 1_000.0;
/// Maximum seconds from commit to receiver.
const TARGET_LAG: f64 = 1.0;
/// Maximum p50 from commit to receiver, relative to the naive loop.
const TARGET_P50: f64 = 2.0;
/// Maximum p50 and p99 while endpoints hang, relative to none hanging.
const TARGETS_HANGING: [f64; 2] = [1.2, 1.3];
/// Maximum CPU per delivery relative to the naive loop: of the origin, and of Postgres.
const TARGETS_CPU: [f64; 2] = [0.3, 0.5];
/// Minimum of the most events per second, relative to the naive loop.
const TARGET_MOST: f64 = 1.5;
/// The first rate in the search for the most events per second, the factor between two rates, and the seconds of publishing at each.
const LADDER: (f64, f64, f64) = (8.0, 1.25, 3.0);
/// How late the last delivery may come after its schedule without the lag counting as growing.
const MOST_LATE: Duration = Duration::from_millis(500);

/// A load: events per second, and their number.
#[derive(Clone, Copy)]
struct Load {
    rate: f64,
    events: u32,
}

impl Load {
    /// Time from the first event to the nth.
    fn at(self, n: u32) -> Duration {
        Duration::from_secs_f64(f64::from(n) / self.rate)
    }

    /// Number of deliveries to endpoints that answer.
    fn deliveries(self) -> usize {
        self.events as usize * ENDPOINTS[0]
    }
}

/// Result of a round. `rate` is in deliveries per second, `connections` in connections per delivery.
#[derive(Clone, Copy)]
struct Outcome {
    rate: f64,
    /// Seconds: p50 and p99.
    lag: [f64; 2],
    /// CPU microseconds per delivery: of the origin, and of Postgres.
    cpu: [f64; 2],
    connections: f64,
    /// How late the last delivery came after its event's schedule.
    late: Duration,
}

/// Measures rounds without hanging endpoints beside the naive loop, the most events per second, then rounds with hanging endpoints.
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
    let good: Vec<_> = (0..ENDPOINTS[0]).map(|number| format!("https://{}/hook/{number}", receivers.address)).collect();
    for url in &good {
        subscribe(&ours, &owner, url)?;
    }
    let mut next = sse::FIRST;
    let mut naive = Naive::start(folder, authority, &good)?;
    // The first rounds open the connections.
    let warm = Load { events: 5, ..LOAD };
    round(&ours, &receivers, &mut next, warm)?;
    naive_round(&mut naive, &receivers, &mut next, warm)?;
    let (mut calm, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        calm.push(round(&ours, &receivers, &mut next, LOAD)?);
        theirs.push(naive_round(&mut naive, &receivers, &mut next, LOAD)?);
    }
    let most = most(|load| round(&ours, &receivers, &mut next, load))?;
    let their_most = self::most(|load| naive_round(&mut naive, &receivers, &mut next, load))?;
    ensure!(most > 0.0 && their_most > 0.0, "the lag grows at the first rate already");
    drop(naive);
    let mut rounds = Vec::new();
    for turn in 0..ROUNDS {
        // Add new hanging endpoints, because the breakers have paused the subscriptions of the previous round.
        for endpoint in 0..ENDPOINTS[1] {
            subscribe(&ours, &owner, &format!("https://{}{HANG_PREFIX}{turn}/{endpoint}", receivers.address))?;
        }
        rounds.push(round(&ours, &receivers, &mut next, LOAD)?);
    }
    let stored = stored(&ours)?;
    drop(ours);
    let (quiet, hanging) = (Outcome::middle(&calm), Outcome::middle(&rounds));
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
        &format!("; {}; none hanging: {}", hanging.text(), quiet.text()),
    );
    let bad = (0..ENDPOINTS[1]).map(|number| format!("https://{}{HANG_PREFIX}naive/{number}", receivers.address));
    let all: Vec<_> = good.iter().cloned().chain(bad).collect();
    let stuck = naive_round(&mut Naive::start(folder, authority, &all)?, &receivers, &mut next, LOAD)?;
    for (part, ours, theirs) in [(&calm_part, quiet, Outcome::middle(&theirs)), (&part, hanging, stuck)] {
        report.compare(
            &Comparison {
                part,
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
    let ratio = |of: &dyn Fn(&Outcome, &Outcome) -> f64| {
        median(calm.iter().zip(&theirs).map(|(ours, theirs)| of(ours, theirs)).collect())
    };
    let rate = TARGET_RATE;
    report.at_most(
        &format!("webhooks: p50 from commit to receiver at {rate}/s, none hanging, over the naive loop's"),
        ratio(&|ours, theirs| ours.lag[0] / theirs.lag[0]),
        TARGET_P50,
        &quiet.text(),
    );
    for (at, name) in ["p50", "p99"].into_iter().enumerate() {
        report.at_most(
            &format!("webhooks: {name} while {} hang, over none hanging", ENDPOINTS[1]),
            hanging.lag[at] / quiet.lag[at],
            TARGETS_HANGING[at],
            &format!("{:.1} ms and {:.1} ms", hanging.lag[at] * 1e3, quiet.lag[at] * 1e3),
        );
    }
    for (at, name) in ["the origin's", "Postgres'"].into_iter().enumerate() {
        report.at_most(
            &format!("webhooks: CPU a delivery, {name} over the naive loop's"),
            ratio(&|ours, theirs| ours.cpu[at] / theirs.cpu[0]),
            TARGETS_CPU[at],
            &format!("{:.0} µs and {:.0} µs", quiet.cpu[at], Outcome::middle(&theirs).cpu[0]),
        );
    }
    report.at_least(
        "webhooks: deliveries/s until lag grows, none hanging, over the naive loop's",
        most / their_most,
        TARGET_MOST,
        &format!("{most:.0}/s and {their_most:.0}/s"),
    );
    report.stated(
        "webhooks: bytes in the database per delivery, with its attempts and its share of the event",
        stored,
        "",
    );
    report.at_most(
        "webhooks: lag of those that answer, from commit to receiver, s (p99)",
        hanging.lag[1],
        TARGET_LAG,
        &format!("none hanging: {:.3}; the machine's load before: {load}", quiet.lag[1]),
    );
    Ok(())
}

/// Bytes of the webhook tables per delivery.
fn stored(ours: &Ours) -> Result<f64> {
    let sizes = ours.runtime.block_on(tables::sizes(&ours.db.pool))?;
    let size = |table: &str| sizes.get(table).copied().unwrap_or_default();
    let bytes: i64 =
        ["webhook_event", "webhook_delivery", "webhook_attempt"].map(|table| size(table).bytes).iter().sum();
    let deliveries = size("webhook_delivery").rows;
    ensure!(deliveries > 0, "no delivery is stored");
    Ok(bytes as f64 / deliveries as f64)
}

/// The most deliveries per second that `round` keeps up with.
fn most(mut round: impl FnMut(Load) -> Result<Outcome>) -> Result<f64> {
    let (mut rate, factor, seconds) = LADDER;
    let mut most: f64 = 0.0;
    loop {
        let load = Load { rate, events: (rate * seconds) as u32 };
        if round(load)?.late > MOST_LATE {
            return Ok(most);
        }
        most = rate * ENDPOINTS[0] as f64;
        rate *= factor;
    }
}

/// Creates a subscription to published events.
pub fn subscribe(ours: &Ours, owner: &Principal, url: &str) -> Result<()> {
    let body = json!({ "url": url, "families": [EVENT_TYPE] }).to_string();
    let mut request = Vec::new();
    ours.market.signed_post("/v1/webhooks", body.into_bytes(), owner)?(&mut request);
    let answer = http::ask(ours.market.address("origin_edge")?, &request)?;
    let made: Value = serde_json::from_slice(&answer.body).context("the answer is not JSON")?;
    ensure!(answer.status == 200, "{url}: {made}");
    Ok(())
}

/// Runs one round. Every endpoint that answers must receive every event exactly once.
fn round(ours: &Ours, receivers: &Receivers, next: &mut u32, load: Load) -> Result<Outcome> {
    let (cpu, store, connections) = (ours.cpu()?, ours.store_cpu()?, receivers.connections.load(Relaxed));
    let (round, elapsed) = publish(receivers, next, load, |payload, sent| {
        let row = [ours::operation(payload, Some(EVENT_TYPE))?];
        Ok(ours.runtime.block_on(ours::commit(&ours.db, &row, sent))?)
    })?;
    let came = round.seen.len();
    ensure!(came == load.deliveries(), "only {came} of {} deliveries arrived", load.deliveries());
    // The last attempts are still being recorded.
    std::thread::sleep(MOST_LATE);
    let spent = [ours.cpu()? - cpu, ours.store_cpu()?.saturating_sub(store)];
    Ok(Outcome::of(&round, load, elapsed, spent, receivers.connections.load(Relaxed) - connections))
}

/// Runs one round with the naive loop; deliveries may be missing.
fn naive_round(naive: &mut Naive, receivers: &Receivers, next: &mut u32, load: Load) -> Result<Outcome> {
    let (cpu, connections) = (naive.cpu()?, receivers.connections.load(Relaxed));
    let (round, elapsed) = publish(receivers, next, load, |payload, sent| {
        sent();
        naive.publish(payload)
    })?;
    let spent = [naive.cpu()?.saturating_sub(cpu), Duration::ZERO];
    Ok(Outcome::of(&round, load, elapsed, spent, receivers.connections.load(Relaxed) - connections))
}

/// Passes events to `hand_over` on schedule and waits until all deliveries to endpoints that answer have arrived, or for the timeout.
/// Returns the arrivals and the elapsed time; fails if a delivery arrived twice.
fn publish(
    receivers: &Receivers,
    next: &mut u32,
    load: Load,
    mut hand_over: impl FnMut(&[u8], &(dyn Fn() + Sync)) -> Result<()>,
) -> Result<(Round, Duration)> {
    let first = *next;
    *next += load.events;
    let sent = Arc::new(PublishTimes::new(first, load.events as usize));
    let present = || receivers.round.lock().unwrap_or_else(PoisonError::into_inner);
    *present() = Round { sent: Some(sent.clone()), ..Round::default() };
    let begun = Instant::now();
    for n in 0..load.events {
        xtask::signals::check()?;
        std::thread::sleep(load.at(n).saturating_sub(begun.elapsed()));
        hand_over(&sse::payload(first + n), &|| sent.note(first + n))?;
    }
    while present().seen.len() < load.deliveries() && begun.elapsed() < load.at(load.events) + TIMEOUT {
        xtask::signals::check()?;
        std::thread::sleep(Duration::from_millis(1));
    }
    let elapsed = begun.elapsed();
    let round = std::mem::take(&mut *present());
    ensure!(round.again == 0, "{} deliveries arrived more than once", round.again);
    Ok((round, elapsed))
}

impl Outcome {
    fn of(round: &Round, load: Load, elapsed: Duration, spent: [Duration; 2], connections: u64) -> Self {
        let came = round.seen.len() as f64;
        Outcome {
            rate: came / elapsed.as_secs_f64(),
            lag: [round.latencies.percentile(50) / 1e3, round.latencies.percentile(99) / 1e3],
            cpu: spent.map(|spent| spent.as_secs_f64() * 1e6 / came),
            connections: connections as f64 / came,
            late: elapsed.saturating_sub(load.at(load.events - 1)),
        }
    }

    /// The median of each figure.
    fn middle(rounds: &[Outcome]) -> Self {
        let middle = |of: &dyn Fn(&Outcome) -> f64| median(rounds.iter().map(of).collect());
        Outcome {
            rate: middle(&|round| round.rate),
            lag: [0, 1].map(|at| middle(&|round| round.lag[at])),
            cpu: [0, 1].map(|at| middle(&|round| round.cpu[at])),
            connections: middle(&|round| round.connections),
            late: Duration::from_secs_f64(middle(&|round| round.late.as_secs_f64())),
        }
    }

    fn text(&self) -> String {
        let Outcome { rate, lag: [p50, p99], cpu: [cpu, store], connections, .. } = self;
        format!(
            "{rate:.0}/s, lag p50 {p50:.3}, p99 {p99:.3}, {cpu:.0} µs CPU a delivery and Postgres {store:.0} µs, {connections:.2} connections a delivery"
        )
    }

    fn side(&self) -> Side {
        let [p50, p99] = self.lag;
        Side { cpu: self.cpu[0], rate: self.rate, p50: p50 * 1e3, p99: p99 * 1e3 }
    }
}
