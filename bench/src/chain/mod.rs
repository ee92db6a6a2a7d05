//! `chain`: reading vaults from a local node beside viem and alloy, at a distance, and whole cycles of the service over many vaults.

mod cycle;
mod distance;
mod node;
mod ours;
mod peer;
mod reading;

use anyhow::Result;
use clap::Args;
use xtask::console::heading;
use xtask::provision::cache::Cache;

use crate::parts::Only;
use crate::report::Report;
use crate::{Plan, cores};

const PARTS: [&str; 2] = ["reading", "cycle"];
const METHOD: &str = "The node is anvil on the servers' core, with the vault of `chain/world` at every address: code and storage are set, not \
    deployed one by one. The six fields are those that the service reads first of a vault of ERC-4626. Every reading begins with the question \
    for the block and ends with the last value. A round is three readings of ours and one of each peer, in turn; a ratio is the median of the \
    rounds, and every reading must have the same sum of values. Ours is `rds_rpc::agree::Reader` with one operator on one thread. viem \
    (`bench/viem-peer/reader.mjs`) sends all its requests at once; alloy (`bench/alloy-peer`) has as many in flight as ours. Both call Multicall3 \
    at the canonical address. alloy is built without its TLS, because its default brings a library that `deny.toml` bans. For the distance, a \
    proxy in this process holds back everything that is sent to the node for 80 ms; a round trip is a request that was sent after an answer \
    to an earlier one. For a cycle, the origin of a release build reads with `every_seconds` 1 and writes to a Postgres with its own settings; node, \
    origin and Postgres share all cores. Control is not read and no vault is looked for. A cycle lasts from the mined block (the first one \
    from the start of the process) to the commit of readings and scores, which is one transaction; it includes the pause of up to a second before \
    the origin looks. When everything changed, every vault's amounts and its price of a share did; the rules give the same score again. Rows are those of all tables that \
    transactions after the block's wrote; those of other work that goes on meanwhile (signs of life, sums of days, messages to an edge that does not run) are named but not counted.";

/// Options of `chain`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Number of rounds of readings.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Vaults of a cycle.
    #[arg(long, default_value_t = 25_000)]
    vaults: u32,
    #[command(flatten)]
    only: Only,
}

impl Options {
    /// Options that select all parts, with the rounds of this plan.
    pub fn of(plan: &Plan) -> Self {
        Options { rounds: plan.rounds, vaults: 25_000, only: Only::default() }
    }
}

/// Measures the selected parts and prints the table; writes it to the results if all parts were selected.
pub fn run(options: &Options) -> Result<()> {
    let Options { rounds, vaults, only } = options;
    let cache = Cache::open()?;
    let mut report = Report::default();
    for part in only.of("chain", PARTS)? {
        heading(&format!("\nchain: {part}"));
        match part {
            "reading" => reading::measure(&cache, *rounds, &mut report)?,
            _ => cycle::measure(&cache, *vaults, &mut report)?,
        }
        cores::release()?;
    }
    println!("\n{}", report.table());
    if only.is_all() {
        report.write("chain", METHOD)?;
    }
    Ok(())
}
