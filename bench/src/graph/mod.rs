//! `graph`: what building a snapshot and checking against it cost at the origin, and what verifying a decision costs at the edge.

mod check;
mod evidence_origin;
mod freeze;
mod nested;
mod verify;
mod viem_peer;

use anyhow::Result;
use clap::Args;
use xtask::console::heading;
use xtask::provision::cache::Cache;

use crate::parts::Only;
use crate::report::Report;
use crate::{Plan, cores};

const PARTS: [&str; 3] = ["build", "check", "verify"];
const METHOD: &str = "A build is the operator's verb from its start to its end: connect, read every fact, freeze, hash and keep a snapshot that is new; \
    its figure is the median. A check is the whole request at the origin's edge door: signature, body, exposures, answer; its figure is the median of one \
    connection that asks again as soon as it is answered. The graph is the simulated market's, with three quarters of its vaults made vaults of three \
    others, four deep. For verifying, the edge and its peer run on plain workerd of one version and date, without limits, with the evidence in the \
    isolate's memory, and both hash the envelope, trace the signature back and write the answer anew for each request; `bench/viem-peer` is the peer's \
    source. That both answer the same is checked before every run.";

/// What `graph` can be told.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[command(flatten)]
    plan: Plan,
    #[command(flatten)]
    only: Only,
}

impl Options {
    /// Every part, for so long.
    pub fn of(plan: &Plan) -> Self {
        Options { plan: plan.clone(), only: Only::default() }
    }
}

/// Measures every part, prints the table, and writes it beside the crate.
pub fn run(options: &Options) -> Result<()> {
    let Options { plan, only } = options;
    let cache = Cache::open()?;
    let mut report = Report::default();
    for part in only.of("graph", PARTS)? {
        heading(&format!("\ngraph: {part}"));
        match part {
            "build" => freeze::measure(plan, &mut report)?,
            "check" => check::measure(plan, &mut report)?,
            _ => verify::measure(&cache, plan, &mut report)?,
        }
        cores::release()?;
    }
    println!("\n{}", report.table());
    if only.is_all() {
        report.write_pairs("graph", plan, METHOD)?;
    }
    Ok(())
}
