//! Latency of a year of hourly readings, downsampled for a chart, on one connection.

use anyhow::{Result, ensure};
use serde_json::Value;
use xtask::up::Edge;

use crate::filling::Filling;
use crate::market::Market;
use crate::report::Report;
use crate::{Plan, load};

const STORED: u32 = 8_760;
const CHARTED: usize = 360;
/// Number of vaults with a year of hourly readings, so that the requested history is a small part of the table.
const HISTORIES: u32 = 10;
/// Number of simulated vaults in addition to [`HISTORIES`].
const VAULTS: u32 = 100;
/// Maximum median latency in milliseconds, on an otherwise idle machine.
const TARGET: f64 = 5.0;

/// Measures the snapshots route on one connection.
pub fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    let market = Market::start(VAULTS, Edge::None)?;
    let (lines, address) = Filling::new()?.histories(HISTORIES, STORED);
    market.ingest(&lines, "/v1/vaults?protocol=bench", u64::from(HISTORIES))?;
    let all: Value =
        serde_json::from_slice(&market.ask(&format!("/v1/vault/devnet/{address}/snapshots?days=365&points=2160"))?)?;
    ensure!(points(&all) == 2_160, "the history is incomplete: {} points", points(&all));
    let target = format!("/v1/vault/devnet/{address}/snapshots?days=365&points={CHARTED}");
    let charted: Value = serde_json::from_slice(&market.ask(&target)?)?;
    ensure!(points(&charted) == CHARTED, "{} points, not {CHARTED}", points(&charted));

    let seen = load::run(market.address("origin_edge")?, 1, plan.duration(), market.signed_keyed(&target)?)?;
    let [p50, p99] = [seen.p50, seen.p99].map(|time| time.as_secs_f64() * 1e3);
    report.at_most(
        &format!("origin: snapshots, {STORED} stored points thinned to {CHARTED}, milliseconds (p50)"),
        p50,
        TARGET,
        &format!("p99 {p99:.2} ms, {:.0}/s on one connection; Postgres and the origin share a core", seen.rate()),
    );
    Ok(())
}

fn points(answer: &Value) -> usize {
    answer.get("data").and_then(Value::as_array).map_or(0, Vec::len)
}
