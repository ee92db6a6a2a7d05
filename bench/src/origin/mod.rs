//! `origin`: the public list against peers, and how its cost grows with vaults and with processes.

mod list;
mod peer_table;
mod processes;
pub mod replica;
mod same;
mod sql_peer;
mod vaults;

use anyhow::Result;
use xtask::console::heading;
use xtask::provision::cache::Cache;

use crate::cores;
use crate::parts::Options;
use crate::report::Report;

const PARTS: [&str; 3] = ["list", "vaults", "processes"];
const METHOD: &str = "Every request to the origin has a new signature, which the origin verifies; its peers get unsigned requests. \
    The same list is requested each time, and the origin composes a repeated list once a second; a separate row shows the cost without \
    repetition. \
    Constant bytes come from axum of the same version on the same runtime, with one handler that returns a static body. Fastify and FastAPI \
    (`bench/fastify-peer`, `bench/fastapi-peer`) are one process each and read the service's own Postgres. Their table is made for them: a \
    column for each field of the list, so that they need no joins and rules, and an index for each order and filter. Statements are prepared, \
    and a page and its total are one statement. Their Postgres may also run on the client's core, so that each peer has its core to itself; \
    its CPU is reported separately. Before it is timed, each peer must answer ten lists (filters, orders, nulls, pages up to one after the last) \
    with the origin's rows and pagination, field by field. For growth, an origin process is restarted on a filled database, so that its memory \
    contains nothing of the filling. Processes of one database share the servers' core with Postgres, and are requested for the same list in \
    turn, at half of the rate of one process.";

/// Measures the selected parts and prints the table; writes it to the results if all parts were selected.
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
