//! `rds-bench`: this service beside the least that its hosts can do, in one run, as ratios.
//!
//! A figure of one machine says little, a ratio of two peers on it says more: every measurement alternates between
//! the service and its peer, and the median of the pairs counts. Client and server run on different cores.

mod access;
mod constant;
mod constant_peer;
mod cores;
mod edge;
mod filling;
mod graph;
mod http;
mod load;
mod market;
mod origin;
mod parts;
mod push;
mod reads;
mod report;
mod scoring;
mod soak;
mod summary;
mod versus;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand};

/// Measures; `cargo xtask bench` builds what is measured and calls this.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// Every measurement but the soak, which takes half an hour. One that fails stops none of the others.
    All(Plan),
    /// The origin: the public list beside peers, and how its cost grows with vaults and processes.
    Origin(origin::Options),
    /// Reads: lists at the origin, copies at the edge, start, import and the size of the Worker.
    Reads(reads::Options),
    /// Access: what it costs to check, charge and answer a keyed request at the edge.
    Access(Plan),
    /// Edge: a keyed list beside Hono, a bare JavaScript Worker and nginx, from a copy and with every URL different.
    Edge(edge::Options),
    /// Push: the event stream, the journal behind it, and webhooks.
    Push(push::Options),
    /// Decisioning: a check at the origin, a decision verified at the edge.
    Graph(graph::Options),
    /// Score runs over a long history: with nothing changed, with one vault changed, over everything.
    Scoring(scoring::Options),
    /// Soak: whether the memory of the edge's runtime levels off under half an hour of mixed load.
    Soak(soak::Options),
    /// Serves one file's bytes on a loopback port: the peer that the origin is measured against.
    #[command(hide = true)]
    Constant {
        /// The port.
        port: u16,
        /// The body of every answer.
        body: PathBuf,
    },
}

/// How long and how often to measure.
#[derive(Args, Clone, Debug)]
pub struct Plan {
    /// Seconds of one load.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Loads of each peer.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Keep-alive connections.
    #[arg(long, default_value_t = 32)]
    connections: usize,
}

impl Plan {
    /// How long one load lasts.
    pub fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

impl Default for Plan {
    fn default() -> Self {
        Plan { seconds: 3.0, rounds: 7, connections: 32 }
    }
}

fn main() -> ExitCode {
    if let Err(error) = xtask::signals::install() {
        eprintln!("cannot listen for Ctrl-C: {error:#}");
        return ExitCode::FAILURE;
    }
    match run(Cli::parse().what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(what: Option<What>) -> Result<()> {
    match what {
        Some(What::Constant { port, body }) => constant::serve(port, &body),
        Some(What::Origin(options)) => origin::run(&options),
        Some(What::Reads(options)) => reads::run(&options),
        Some(What::Access(plan)) => access::run(&plan),
        Some(What::Edge(options)) => edge::run(&options),
        Some(What::Push(options)) => push::run(&options),
        Some(What::Graph(options)) => graph::run(&options),
        Some(What::Scoring(options)) => scoring::run(&options),
        Some(What::Soak(options)) => soak::run(&options),
        Some(What::All(plan)) => all(&plan),
        None => all(&Plan::default()),
    }
}

/// Every measurement, one after another; fails at the end when one of them did.
fn all(plan: &Plan) -> Result<()> {
    let measurements: [(&str, &dyn Fn() -> Result<()>); 7] = [
        ("origin", &|| origin::run(&origin::Options::of(plan))),
        ("reads", &|| reads::run(&reads::Options::of(plan))),
        ("access", &|| access::run(plan)),
        ("edge", &|| edge::run(&edge::Options::of(plan))),
        ("push", &|| push::run(&push::Options::of(plan))),
        ("graph", &|| graph::run(&graph::Options::of(plan))),
        ("scoring", &|| scoring::run(&scoring::Options::default())),
    ];
    let (begun, mut failed) = (Instant::now(), Vec::new());
    for (name, measure) in measurements {
        let since = Instant::now();
        if let Err(error) = measure() {
            xtask::signals::check()?;
            eprintln!("\nerror: {name}: {error:#}");
            failed.push(name);
        }
        cores::release()?;
        println!("\n{name} took {} s", since.elapsed().as_secs());
    }
    println!("\nall took {} s", begun.elapsed().as_secs());
    ensure!(failed.is_empty(), "not measured: {}", failed.join(", "));
    Ok(())
}
