//! `rds-bench`: compares this service with other servers in one run, as ratios.
//!
//! Absolute figures depend on the machine; ratios of two peers on the same machine less so. Every benchmark alternates between the
//! service and its peer and reports the median of the pairs. Client and server run on different cores.

mod access;
mod barrage;
mod chain;
mod clients;
mod constant;
mod constant_peer;
mod cores;
mod edge;
mod endurance;
mod explorer;
mod filling;
mod graph;
mod growth;
mod http;
mod load;
mod market;
mod origin;
mod parts;
mod push;
mod random;
mod reads;
mod report;
mod scoring;
mod soak;
mod summary;
mod versus;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand};

/// Runs benchmarks. `cargo xtask bench` builds everything and calls this program.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// Run every benchmark except `soak`, `endurance` and `barrage`, which take half an hour and more. A failure does not stop the others.
    All(Plan),
    /// Origin: the public list against peers, and how its cost grows with vaults and processes.
    Origin(parts::Options),
    /// Reads: lists at the origin, cached responses at the edge, start, import and the size of the Worker.
    Reads(reads::Options),
    /// Access: cost of checking, charging and answering a keyed request at the edge.
    Access(Plan),
    /// Edge: a keyed list against Hono, a bare JavaScript Worker and nginx, cached and with distinct URLs.
    Edge(parts::Options),
    /// Push: the event stream, the journal, and webhooks.
    Push(push::Options),
    /// Decisioning: a check at the origin, and verification of a decision at the edge.
    Graph(parts::Options),
    /// Score runs over a long history: nothing changed, one vault changed, and all vaults.
    Scoring(scoring::Options),
    /// Chain: vaults read from a local node beside viem and alloy, at a distance, and whole cycles over many vaults.
    Chain(chain::Options),
    /// Clients: CPU time of the client libraries beside bare HTTP clients.
    Clients(clients::Options),
    /// Explorer: frames while 25,000 rows scroll in Chromium, and the first paint on a slow machine.
    Explorer(explorer::Options),
    /// Growth: bytes that each table grows by in a year of 10,000 vaults read hourly, and those of a signed check.
    Growth(growth::Options),
    /// Barrage: whole requests from the route table, half of them damaged, to edge and origin: no server error, equal answers, no growth.
    Barrage(barrage::Options),
    /// Endurance: a whole stack under mixed work for an hour or more: memory, descriptors, table sizes, latency.
    Endurance(endurance::Options),
    /// Soak: whether the memory of the edge's runtime levels off during half an hour of mixed load.
    Soak(soak::Options),
    /// Serve a file's bytes on a loopback port, as the origin's constant peer.
    #[command(hide = true)]
    Constant {
        /// Loopback port.
        port: u16,
        /// File with the body of every answer.
        body: PathBuf,
    },
    /// Ask for one page many times, as a caller of `clients`.
    #[command(hide = true)]
    ClientRequests {
        #[arg(value_enum)]
        kind: clients::Kind,
        /// The server.
        address: SocketAddr,
        /// Number of requests.
        requests: u32,
    },
    /// Hold the idle streams of one origin, as a client of `push`.
    #[command(hide = true)]
    StreamClients {
        /// The origin's relay listener.
        address: SocketAddr,
        /// Number of the first payload that each stream receives.
        next: u32,
    },
}

/// Duration and number of loads.
#[derive(Args, Clone, Debug)]
pub struct Plan {
    /// Seconds of one load.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Number of loads per peer.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Number of keep-alive connections.
    #[arg(long, default_value_t = 32)]
    connections: usize,
}

impl Plan {
    /// Duration of one load.
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
        eprintln!("cannot install the signal handlers: {error:#}");
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
        Some(What::StreamClients { address, next }) => push::many::hold(address, next),
        Some(What::ClientRequests { kind, address, requests }) => clients::ask(kind, address, requests),
        Some(What::Origin(options)) => origin::run(&options),
        Some(What::Reads(options)) => reads::run(&options),
        Some(What::Access(plan)) => access::run(&plan),
        Some(What::Edge(options)) => edge::run(&options),
        Some(What::Push(options)) => push::run(&options),
        Some(What::Graph(options)) => graph::run(&options),
        Some(What::Scoring(options)) => scoring::run(&options),
        Some(What::Chain(options)) => chain::run(&options),
        Some(What::Clients(options)) => clients::run(&options),
        Some(What::Explorer(options)) => explorer::run(&options),
        Some(What::Growth(options)) => growth::run(&options),
        Some(What::Barrage(options)) => barrage::run(&options),
        Some(What::Endurance(options)) => endurance::run(&options),
        Some(What::Soak(options)) => soak::run(&options),
        Some(What::All(plan)) => all(&plan),
        None => all(&Plan::default()),
    }
}

/// Runs every benchmark except `soak`, `endurance` and `barrage`; fails at the end if one failed.
fn all(plan: &Plan) -> Result<()> {
    let measurements: [(&str, &dyn Fn() -> Result<()>); 11] = [
        ("origin", &|| origin::run(&parts::Options::of(plan))),
        ("reads", &|| reads::run(&reads::Options::of(plan))),
        ("access", &|| access::run(plan)),
        ("edge", &|| edge::run(&parts::Options::of(plan))),
        ("push", &|| push::run(&push::Options::of(plan))),
        ("graph", &|| graph::run(&parts::Options::of(plan))),
        ("scoring", &|| scoring::run(&scoring::Options::default())),
        ("chain", &|| chain::run(&chain::Options::of(plan))),
        ("clients", &|| clients::run(&clients::Options::default())),
        ("explorer", &|| explorer::run(&explorer::Options::default())),
        ("growth", &|| growth::run(&growth::Options::default())),
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
    ensure!(failed.is_empty(), "failed benchmarks: {}", failed.join(", "));
    Ok(())
}
