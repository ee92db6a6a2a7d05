//! Latency of a check of a large portfolio over a large graph, on one connection.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use xtask::up::Edge;

use super::nested::Nested;
use crate::report::Report;
use crate::{Plan, load};

const VAULTS: u32 = 10_000;
const POSITIONS: usize = 200;
/// Maximum median latency in milliseconds.
const TARGET: f64 = 1.0;
const TIMEOUT: Duration = Duration::from_secs(60);

/// Measures the median latency.
pub fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    let nested = Nested::start(VAULTS, Edge::None)?;
    let checked = built(&nested)?;
    // Simulated vaults lack facts, so all are listed as unresolved; only the look-through to assets matters here.
    let assets = checked.pointer("/exposures/asset").and_then(|listed| listed.as_array()).context("no answer")?;
    let traced: f64 = assets.iter().filter_map(share).sum();
    ensure!(traced > 0.5, "only {traced} of the portfolio is attributed to assets");
    let address = nested.market.address("origin_edge")?;
    load::run(address, 1, plan.duration() / 2, nested.signed_check(POSITIONS)?)?;
    let mut medians = Vec::new();
    let (mut p99, mut rate) = (0.0_f64, 0.0_f64);
    for _ in 0..plan.rounds {
        xtask::signals::check()?;
        let load = load::run(address, 1, plan.duration(), nested.signed_check(POSITIONS)?)?;
        medians.push(load.p50.as_secs_f64() * 1e3);
        (p99, rate) = (p99.max(load.p99.as_secs_f64() * 1e3), rate.max(load.rate()));
    }
    medians.sort_by(f64::total_cmp);
    let median = medians.get(medians.len() / 2).copied().unwrap_or(f64::NAN);
    report.at_most(
        &format!("origin: a check of {POSITIONS} positions over {VAULTS} vaults, four deep, ms"),
        median,
        TARGET,
        &format!("p99 {p99:.2} ms, {rate:.0}/s on one connection; {} findings", count(&checked, "findings")),
    );
    Ok(())
}

/// Waits until the service answers from a built exposure graph.
fn built(nested: &Nested) -> Result<serde_json::Value> {
    let begun = Instant::now();
    loop {
        xtask::signals::check()?;
        if let Some(checked) = nested.check(POSITIONS)?
            && checked.pointer("/exposures/asset").and_then(|listed| listed.as_array()).is_some_and(|it| !it.is_empty())
        {
            return Ok(checked);
        }
        ensure!(begun.elapsed() < TIMEOUT, "the exposure graph was not built in time");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The share of the portfolio that an exposure covers.
fn share(exposure: &serde_json::Value) -> Option<f64> {
    exposure.get("share")?.as_f64()
}

fn count(checked: &serde_json::Value, name: &str) -> usize {
    checked.get(name).and_then(|listed| listed.as_array()).map_or(0, Vec::len)
}
