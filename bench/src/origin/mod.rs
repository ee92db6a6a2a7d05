//! `origin`: the public list beside what others answer it with, and how its cost grows with vaults and with processes.

mod list;
mod peer_table;
mod processes;
mod replica;
mod same;
mod sql_peer;
mod vaults;

use anyhow::Result;
use clap::Args;
use xtask::console::heading;
use xtask::provision::cache::Cache;

use crate::parts::Only;
use crate::report::Report;
use crate::{Plan, cores};

const PARTS: [&str; 3] = ["list", "vaults", "processes"];
const METHOD: &str = "Every request to the origin carries a fresh signature, which the origin verifies; its peers are asked without one. \
    The list is the same one each time, and the origin puts a list that is repeated together once a second; what it costs where no list is \
    repeated stands beside it. \
    Constant bytes come from axum of the same version on the same runtime, with one handler that returns a static body. Fastify and FastAPI \
    (`bench/fastify-peer`, `bench/fastapi-peer`) are one process each and read the service's own Postgres: a table that is made for them, with a \
    column for each field of the list, so that they spare themselves joins and rules, and an index for each order and filter; statements are prepared, \
    and a page and its total are one statement. Their Postgres may run on the client's core, too, so that theirs is all their own; what it \
    takes is told beside. Before it is timed, each answers ten lists (filters, orders, nulls, pages up to one behind the last) with the \
    rows and the pagination that the origin answers with, field by field. For growth, an origin process is started anew on a database that is \
    full, so that nothing of the filling is left in its memory; processes of one database share the servers' core with Postgres, and \
    are asked for the same list in turn, at half of what one of them can do.";

/// What `origin` can be told.
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
    for part in only.of("origin", PARTS)? {
        heading(&format!("\norigin: {part}"));
        match part {
            "list" => list::measure(&cache, plan, &mut report)?,
            "vaults" => vaults::measure(plan, &mut report)?,
            _ => processes::measure(plan, &mut report)?,
        }
        cores::release()?;
    }
    println!("\n{}", report.table());
    if only.is_all() {
        report.write_pairs("origin", plan, METHOD)?;
    }
    Ok(())
}
