//! `reads`: what it costs to answer a list, at the origin and at the edge, and how long a start takes.

mod edge;
mod market;
mod origin;
mod start;

use anyhow::Result;
use xtask::console::heading;
use xtask::provision::cache::Cache;

use crate::report::Report;
use crate::{Plan, cores};

/// Measures every part, prints the table, and writes it beside the crate.
pub fn run(plan: &Plan) -> Result<()> {
    let cache = Cache::open()?;
    let mut report = Report::default();
    type Part = fn(&Cache, &Plan, &mut Report) -> Result<()>;
    let parts: [(&str, Part); 3] = [("origin", origin::measure), ("edge", edge::measure), ("start", start::measure)];
    for (name, measure) in parts {
        if plan.wants(name) {
            heading(&format!("\nreads: {name}"));
            measure(&cache, plan, &mut report)?;
            cores::release()?;
        }
    }
    println!("\n{}", report.table());
    if plan.only.is_empty() {
        report.write(plan)?;
    }
    Ok(())
}
