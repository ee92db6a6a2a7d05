//! `push`: cost of open streams, of fanning out operations, of numbering operations, and of delivering webhooks.
//!
//! Streams are compared with nchan and durable-streams, with the same client. Every timed run is also checked: every subscriber must
//! receive every payload once, in order and unchanged; every endpoint that answers must receive every event once.

mod durable;
mod fanout;
mod idle;
mod journal;
pub mod many;
mod naive;
mod nchan;
pub mod ours;
mod publish_times;
mod rare;
pub mod receivers;
pub mod server;
pub mod sse;
pub mod subscribers;
pub mod webhooks;

use anyhow::Result;
use clap::Args;
use xtask::console::heading;
use xtask::provision::cache::Cache;

use crate::parts::Only;
use crate::report::Report;
use crate::{Plan, cores};

const PARTS: [&str; 6] = ["fanout", "rare", "idle", "many", "journal", "webhooks"];

/// Default number of turns per server.
const ROUNDS: usize = 5;

/// Options of `push`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Duration of one turn in seconds.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Number of turns per server.
    #[arg(long, default_value_t = ROUNDS)]
    rounds: usize,
    #[command(flatten)]
    only: Only,
}

impl Options {
    /// Options that select all parts, with the plan's duration and at most [`ROUNDS`] turns.
    pub fn of(plan: &Plan) -> Self {
        Options { seconds: plan.seconds, rounds: plan.rounds.min(ROUNDS), only: Only::default() }
    }
}

/// Measures the parts, prints the table, and writes it to the results.
pub fn run(options: &Options) -> Result<()> {
    let Options { seconds, rounds, only } = options;
    let plan = Plan { seconds: *seconds, rounds: *rounds, ..Plan::default() };
    let cache = Cache::open()?;
    let mut report = Report::default();
    cores::pin(cores::CLIENT)?;
    for part in only.of("push", PARTS)? {
        heading(&format!("\npush: {part}"));
        match part {
            "fanout" => fanout::measure(&cache, &plan, &mut report)?,
            "rare" => rare::measure(&mut report)?,
            "idle" => idle::measure(&cache, &mut report)?,
            "many" => many::measure(&mut report)?,
            "journal" => journal::measure(&plan, &mut report)?,
            _ => webhooks::measure(&mut report)?,
        }
        cores::pin(cores::CLIENT)?;
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
        "A figure is the median of {rounds} turns of {seconds} s, and a ratio is the median of the turns' ratios. The servers take turns, with new \
         subscribers each time. All subscribers of a server are one client thread; payloads have about 400 bytes. In every turn, and in an untimed \
         turn before, every subscriber must receive every payload once, in order and unchanged. CPU per frame is all CPU time of the \
         server while the frames were published and delivered. At 1 frame/s, one row is committed by the same Postgres between two \
         operations. The 50,400 idle streams are those of seven origins on one database, each with a client process, because a process may have \
         20,000 descriptors, of which the relay listener gives 8,400 to known peers. The plain inserts of the journal's ratio are of the same row into a table of the same columns with a primary key, \
         by the same producers in the turn after. nchan is Debian's with one worker; durable-streams has its default settings, with \
         its log on disk. Webhooks go over TLS to receivers on this machine; every receiver that answers must get every event exactly once. \
         The naive loop (`bench/naive-loop`, one Node process) gets the same events on the same schedule, and sends each event, signed, to one endpoint after the \
         other, over keep-alive connections and with a timeout of ten seconds; it stores nothing and retries nothing. Its deliveries count if they arrive \
         within 30 s after the last event. The most events a second are found by raising the rate by a quarter until the last \
         delivery comes later than half a second after its schedule.",
        rounds = plan.rounds,
        seconds = plan.seconds,
    )
}
