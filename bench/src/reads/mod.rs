//! `reads`: what it costs to answer a list or a page of the events feed, at the origin and at the edge, and how long a start takes.

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
const METHOD: &str = "Every request to the origin carries a fresh signature, which the origin verifies; the origin's peer is axum of the same \
    version on the same runtime, with one handler that returns a static body. A list is the same one each time: \
    most of them are put together once a second (`origin` has one that is not). Beside the lists stand 10 000 \
    rows of each kind; chains, symbols and reviewers are as many as the simulation has. Of these lists, which are many, three pairs of two \
    seconds at most are made. The edge and its peer run on plain workerd.";

/// Where data sets are looked for.
const DATA: &str = "../shared/data";

/// What `reads` can be told.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[command(flatten)]
    plan: Plan,
    /// A folder of data sets whose import is timed.
    #[arg(long, default_value = DATA)]
    data: PathBuf,
    #[command(flatten)]
    only: Only,
}

impl Options {
    /// Every part, for so long.
    pub fn of(plan: &Plan) -> Self {
        Options { plan: plan.clone(), data: PathBuf::from(DATA), only: Only::default() }
    }
}

/// Measures every part, prints the table, and writes it beside the crate.
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
