//! `graph`: cost of building a snapshot and of a check at the origin, and of verifying a decision at the edge.

mod check;
mod evidence_origin;
mod freeze;
mod nested;
mod verify;
mod viem_peer;

use anyhow::Result;
use xtask::console::heading;
use xtask::provision::cache::Cache;

use crate::cores;
use crate::parts::Options;
use crate::report::Report;

const PARTS: [&str; 3] = ["build", "check", "verify"];
const METHOD: &str = "A build is the operator's verb from start to end: connect, read all facts, hash and store a new snapshot; \
    its figure is the median. A check is the complete request at the origin's edge listener: signature, body, exposures, answer; its figure is the median on one \
    connection without pauses. The graph is that of the simulated market, in which three quarters of the vaults hold three \
    others each, four levels deep. For verification, the edge and its peer run on plain workerd of the same version and compatibility date, without limits, with the evidence in the \
    isolate's memory. Both hash the envelope, recover the signer and compose the answer for each request; `bench/viem-peer` is the peer's \
    source. Every run first checks that both give the same answer.";

/// Measures the parts, prints the table, and writes it to the results.
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
