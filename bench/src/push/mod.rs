//! `push`: what it costs to hold streams open and to fan an operation out to them, to number operations, and to deliver webhooks.
//!
//! Streams are measured beside nchan and durable-streams, with one client for all. Nothing is timed that is not checked at the
//! same time: every subscriber sees every payload once, in order and unchanged; every endpoint that answers gets every event once.

mod durable;
mod fanout;
mod idle;
mod journal;
mod moments;
mod naive;
mod nchan;
mod ours;
mod receivers;
mod server;
mod sse;
mod subscribers;
mod webhooks;

use anyhow::Result;
use clap::Args;
use xtask::console::heading;
use xtask::provision::cache::Cache;

use crate::parts::Only;
use crate::report::Report;
use crate::{Plan, cores};

const PARTS: [&str; 4] = ["fanout", "idle", "journal", "webhooks"];

/// Turns of each server, where nothing else is said.
const ROUNDS: usize = 5;

/// What `push` can be told.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Seconds of one turn.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Turns of each server.
    #[arg(long, default_value_t = ROUNDS)]
    rounds: usize,
    #[command(flatten)]
    only: Only,
}

impl Options {
    /// Every part, for so long.
    pub fn of(plan: &Plan) -> Self {
        Options { seconds: plan.seconds, rounds: plan.rounds.min(ROUNDS), only: Only::default() }
    }
}

/// Measures every part, prints the table, and writes it beside the crate.
pub fn run(options: &Options) -> Result<()> {
    let Options { seconds, rounds, only } = options;
    let plan = Plan { seconds: *seconds, rounds: *rounds, ..Plan::default() };
    let cache = Cache::open()?;
    let mut report = Report::default();
    cores::hold(cores::CLIENT)?;
    for part in only.of("push", PARTS)? {
        heading(&format!("\npush: {part}"));
        match part {
            "fanout" => fanout::measure(&cache, &plan, &mut report)?,
            "idle" => idle::measure(&cache, &mut report)?,
            "journal" => journal::measure(&plan, &mut report)?,
            _ => webhooks::measure(&mut report)?,
        }
        cores::hold(cores::CLIENT)?;
    }
    cores::release()?;
    println!("\n{}", report.table());
    if only.is_all() {
        report.write("push", &method(&plan))?;
    }
    Ok(())
}

fn method(plan: &Plan) -> String {
    format!(
        "A figure is the median of {rounds} turns of {seconds} s, a ratio that of the turns' ratios; the servers take turns, with new \
         subscribers each time. Their client is one thread for all; payloads have some 400 bytes. Every subscriber must see every payload \
         once, in order and unchanged, in every turn, and so it is checked before the first one that counts. A frame's CPU is all that the \
         server took while the frames were published and delivered. nchan is Debian's with one worker; durable-streams is as it comes, with \
         its log on disk. Webhooks go over TLS to receivers on this machine; every one that answers must get every event, and once. \
         The naive loop (`bench/naive-loop`, one process of Node) is given the same events by the same timetable, and sends each, signed, to one endpoint after the \
         other, over kept connections and with a deadline of ten seconds; it writes nothing down and tries nothing again. Of what it sends counts what has come \
         half a minute after the last event.",
        rounds = plan.rounds,
        seconds = plan.seconds,
    )
}
