//! `reads`: cost of lists and of pages of the events feed at the origin, of a cached response at the edge, and duration of a start.

mod edge;
mod feed;
mod lists;
mod losses;
mod series;
mod start;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use xtask::console::heading;
use xtask::provision::cache::Cache;

use crate::parts::Only;
use crate::report::Report;
use crate::{Plan, cores, market};

const PARTS: [&str; 6] = ["lists", "series", "feed", "losses", "edge", "start"];
const METHOD: &str = "Every request to the origin has a new signature, which the origin verifies; the origin's peer is axum of the same \
    version on the same runtime, with one handler that returns a static body. The same list is requested each time; \
    most lists are composed once a second (`origin` also measures without repetition). There are 10 000 \
    rows of each kind; the number of chains, symbols and reviewers is that of the simulation. Each list is measured with at most three pairs of two \
    seconds. The edge and its peer run on plain workerd.";

/// Default folder of data sets.
const DATA: &str = "../shared/data";

/// Options of `reads`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[command(flatten)]
    plan: Plan,
    /// Folder of data sets whose import is timed.
    #[arg(long, default_value = DATA)]
    data: PathBuf,
    #[command(flatten)]
    only: Only,
}

impl Options {
    /// Options that select all parts, with this plan.
    pub fn of(plan: &Plan) -> Self {
        Options { plan: plan.clone(), data: PathBuf::from(DATA), only: Only::default() }
    }
}

/// Measures the selected parts and prints the table; writes it to the results if all parts were selected.
pub fn run(options: &Options) -> Result<()> {
    let Options { plan, data, only } = options;
    let cache = Cache::open()?;
    let mut report = Report::default();
    for part in only.of("reads", PARTS)? {
        heading(&format!("\nreads: {part}"));
        match part {
            "losses" => losses::measure(&cache, plan, &mut report)?,
            "feed" => feed::measure(plan, &mut report)?,
            "lists" => lists::measure(plan, &mut report)?,
            "series" => series::measure(plan, &mut report)?,
            "edge" => edge::measure(&cache, plan, &mut report)?,
            _ => start::measure(data, &mut report)?,
        }
        cores::release()?;
    }
    println!("\n{}", report.table());
    if only.is_all() {
        report.write_pairs("reads", plan, METHOD)?;
    }
    Ok(())
}
