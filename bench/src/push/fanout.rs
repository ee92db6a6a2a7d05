//! Fan-out of a hundred payloads per second to a thousand subscribers: the service against nchan and durable-streams.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use xtask::provision::cache::Cache;

use super::durable::DurableStreams;
use super::nchan::Nchan;
use super::ours::Ours;
use super::publish_times::PublishTimes;
use super::server::Server;
use super::sse;
use super::subscribers::{Latencies, Subscribers};
use crate::report::Report;
use crate::summary::{Comparison, Target};
use crate::versus::{Side, median};
use crate::{Plan, cores};

/// Subscribers per server.
const SUBSCRIBERS: usize = 1_000;
/// Payloads per second.
const RATE: u32 = 100;
/// Number of payloads of each server's first turn, which is checked but not timed.
const CHECK: u32 = 50;
/// Maximum CPU per delivered frame, relative to nchan.
const TARGET_CPU: f64 = 0.55;
/// Maximum p50 and p99 from commit to client, relative to nchan and to durable-streams.
const TARGETS: [[f64; 2]; 2] = [[1.8, 2.0], [1.4, 1.5]];
/// Maximum milliseconds from commit to client.
const TARGET_LATENCY: f64 = 50.0;

/// Result of one turn of a server.
struct Turn {
    /// CPU microseconds per delivered frame: of the server, and of its store.
    cpu: [f64; 2],
    /// Latency in milliseconds: p50 and p99.
    latency: [f64; 2],
}

/// Measures the three servers in turns.
pub fn measure(cache: &Cache, plan: &Plan, report: &mut Report) -> Result<()> {
    let mut ours = Ours::start(|_| {})?;
    ours.allow(SUBSCRIBERS)?;
    let mut servers: Vec<Box<dyn Server>> =
        vec![Box::new(ours), Box::new(Nchan::start(cache)?), Box::new(DurableStreams::start(cache)?)];
    let mut next = vec![sse::FIRST; servers.len()];
    let load = cores::load();
    // Every turn checks its payloads; the first turn of each server is not timed.
    for (server, next) in servers.iter_mut().zip(&mut next) {
        turn(server.as_mut(), next, CHECK).context(server.name())?;
    }
    let mut turns: Vec<Vec<Turn>> = servers.iter().map(|_| Vec::new()).collect();
    let payloads = (plan.seconds * f64::from(RATE)) as u32;
    for _ in 0..plan.rounds {
        for ((server, next), turns) in servers.iter_mut().zip(&mut next).zip(&mut turns) {
            turns.push(turn(server.as_mut(), next, payloads).context(server.name())?);
        }
    }
    let [ours, nchan, durable] = turns.as_slice() else { bail!("three servers were measured") };
    let middle = |turns: &[Turn], of: fn(&Turn) -> f64| median(turns.iter().map(of).collect());
    let ratio = |peer: &[Turn]| median(ours.iter().zip(peer).map(|(ours, peer)| ours.cpu[0] / peer.cpu[0]).collect());
    let cpu = |turns: &[Turn]| middle(turns, |turn| turn.cpu[0]);
    let side = |turns: &[Turn]| Side {
        cpu: cpu(turns),
        rate: f64::NAN,
        p50: middle(turns, |turn| turn.latency[0]),
        p99: middle(turns, |turn| turn.latency[1]),
    };
    let beside = |peer: &'static str, turns: &[Turn], target: Target| Comparison {
        part: "stream fan-out",
        peer,
        of: "CPU per delivered frame, ours over theirs, 1000 subscribers, 100 frames/s to each",
        ratio: ratio(turns),
        target,
        ours: side(ours),
        theirs: side(turns),
    };
    let store = format!("; Postgres {:.2} µs", middle(ours, |turn| turn.cpu[1]));
    report.compare(&beside("nchan, which keeps nothing on disk", nchan, Target::AtMost(TARGET_CPU)), &store);
    report.compare(&beside("durable-streams", durable, Target::Stated), &store);
    for ((peer, turns), targets) in [("nchan", nchan), ("durable-streams", durable)].into_iter().zip(TARGETS) {
        for (at, name) in ["p50", "p99"].into_iter().enumerate() {
            let ratios = ours.iter().zip(turns).map(|(ours, theirs)| ours.latency[at] / theirs.latency[at]).collect();
            let what = format!(
                "stream: commit to client, {name} over that of {peer}, {SUBSCRIBERS} subscribers, {RATE} frames/s"
            );
            let seen = |turns: &[Turn]| median(turns.iter().map(|turn| turn.latency[at]).collect());
            report.at_most(
                &what,
                median(ratios),
                targets[at],
                &format!("{:.1} ms and {:.1} ms", seen(ours), seen(turns)),
            );
        }
    }
    let times = |turns: &[Turn]| {
        format!("p50 {:.1}, p99 {:.1}", middle(turns, |turn| turn.latency[0]), middle(turns, |turn| turn.latency[1]))
    };
    report.at_most(
        "stream: commit to client, ms (p99)",
        middle(ours, |turn| turn.latency[1]),
        TARGET_LATENCY,
        &format!(
            "{}; nchan {}; durable-streams {}; the machine's load before: {load}",
            times(ours),
            times(nchan),
            times(durable)
        ),
    );
    Ok(())
}

/// Publishes `payloads` payloads to new subscribers, which must all receive all of them.
fn turn(server: &mut dyn Server, next: &mut u32, payloads: u32) -> Result<Turn> {
    let first = *next;
    let mut subscribers = Subscribers::open(server.address(), SUBSCRIBERS, first, |at| server.request(at))?;
    let sent = PublishTimes::new(first, payloads as usize);
    let mut latencies = Latencies::default();
    let (cpu, store) = (server.cpu()?, server.store_cpu()?);
    std::thread::scope(|scope| {
        let publishing = scope.spawn(|| publish(server, first, payloads, &sent));
        let read = subscribers.read_up_to(first + payloads - 1, &sent, &mut latencies);
        match publishing.join() {
            Ok(published) => published.and(read),
            Err(_) => bail!("the publisher panicked"),
        }
    })?;
    *next += payloads;
    let frames = f64::from(payloads) * SUBSCRIBERS as f64;
    let micros = |spent: Duration| spent.as_secs_f64() * 1e6 / frames;
    Ok(Turn {
        cpu: [micros(server.cpu()?.saturating_sub(cpu)), micros(server.store_cpu()?.saturating_sub(store))],
        latency: [latencies.percentile(50), latencies.percentile(99)],
    })
}

/// Publishes at [`RATE`]; catches up after a delay.
fn publish(server: &mut dyn Server, first: u32, payloads: u32, sent: &PublishTimes) -> Result<()> {
    let begun = Instant::now();
    for n in 0..payloads {
        xtask::signals::check()?;
        std::thread::sleep((Duration::from_secs(1) / RATE * n).saturating_sub(begun.elapsed()));
        server.publish(&sse::payload(first + n), &|| sent.note(first + n))?;
    }
    Ok(())
}
