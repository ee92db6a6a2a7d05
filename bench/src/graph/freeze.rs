//! Building a snapshot of a large graph: read all facts, hash them and store the snapshot.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::up::Edge;

use super::nested::Nested;
use crate::report::Report;
use crate::{Plan, cores};

const VAULTS: u32 = 10_000;
/// Maximum median duration in seconds.
const TARGET: f64 = 1.0;

/// Measures the median duration.
pub fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    let nested = Nested::start(VAULTS, Edge::None)?;
    let (mut seconds, mut vaults) = (Vec::new(), 0);
    for round in 0..plan.rounds {
        xtask::signals::check()?;
        nested.change(round)?;
        cores::release()?;
        let begun = Instant::now();
        let said = nested.market.verb(&["graph", "build", "--json"])?;
        seconds.push(begun.elapsed().as_secs_f64());
        let built: Value = serde_json::from_str(&said)?;
        ensure!(built.get("is_new") == Some(&Value::Bool(true)), "no new snapshot was built: {built}");
        vaults = built.get("vaults").and_then(Value::as_u64).context("no vaults")?;
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN);
    let worst = seconds.last().copied().unwrap_or(f64::NAN);
    report.at_most(
        &format!("origin: a snapshot of {vaults} vaults, s"),
        median,
        TARGET,
        &format!("{} new snapshots, the slowest {worst:.2} s", seconds.len()),
    );
    Ok(())
}
