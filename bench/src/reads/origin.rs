//! The origin's edge door: a filtered, sorted list beside constant bytes, and out of few vaults or many.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::provision::cache::Cache;
use xtask::up::Edge;

use super::constant_peer::Constant;
use crate::market::{CHANGES, LIST, Market};
use crate::report::Report;
use crate::summary::{Comparison, Target};
use crate::versus::{self, Peer, cpu_micros, rate};
use crate::{Plan, http, load};

const FEW: u32 = 1_000;
const SOME: u32 = 10_000;
const MANY: u32 = 100_000;
const TARGET_RATE: f64 = 0.7;
const TARGET_GROWTH: f64 = 3.0;
/// Milliseconds, on a machine that does nothing else.
const TARGET_CHANGES: f64 = 5.0;

/// Measures both ratios.
pub fn measure(_: &Cache, plan: &Plan, report: &mut Report) -> Result<()> {
    let some = Market::start(SOME, Edge::None)?;
    let body = checked_list(&some)?;
    let constant = Constant::start(LIST, &body)?;
    let list = versus::measure_with_halves(plan, door(&some)?, constant.peer())?;
    let (ours, theirs) = list.told();
    report.compare(
        &Comparison {
            part: &format!("public list at the origin (20 out of {SOME}, {} bytes)", body.len()),
            peer: "axum with constant bytes",
            of: "requests/s, ours over theirs",
            ratio: list.ratio(rate),
            target: Target::AtLeast(TARGET_RATE),
            ours,
            theirs,
        },
        "",
    );
    drop((some, constant));

    let few = Market::start(FEW, Edge::None)?;
    let many = Market::start(MANY, Edge::None)?;
    checked_list(&few)?;
    checked_list(&many)?;
    let growth = versus::measure(plan, door(&many)?, door(&few)?)?;
    let (large, small) = growth.sides(cpu_micros);
    report.at_most(
        &format!("origin: CPU per list out of {MANY}, over out of {FEW}"),
        growth.ratio(cpu_micros),
        TARGET_GROWTH,
        &format!("{large:.1} µs; {small:.1} µs"),
    );

    let changes = load::run(many.address("origin_edge")?, 1, plan.duration(), many.signed_keyed(CHANGES)?)?;
    let [p50, p99] = [changes.p50, changes.p99].map(|time| time.as_secs_f64() * 1e3);
    report.at_most(
        &format!("origin: a page of 500 changes out of {MANY}, milliseconds (p99)"),
        p99,
        TARGET_CHANGES,
        &format!("p50 {p50:.2} ms, {:.0}/s on one connection", changes.rate()),
    );
    Ok(())
}

fn door(market: &Market) -> Result<Peer> {
    Ok(Peer {
        address: market.address("origin_edge")?,
        pid: market.pid("origin")?,
        write: Box::new(market.signed_list()?),
    })
}

/// Asks once and checks that the answer is the list: filtered, sorted, full. Gives its bytes.
fn checked_list(market: &Market) -> Result<Vec<u8>> {
    let mut request = Vec::new();
    market.signed_list()?(&mut request);
    let answer = http::ask(market.address("origin_edge")?, &request)?;
    ensure!(answer.status == 200, "{LIST}: {}", String::from_utf8_lossy(&answer.body));
    let page: Value = serde_json::from_slice(&answer.body)?;
    let rows = page.get("data").and_then(Value::as_array).context("no data")?;
    ensure!(rows.len() == 20, "{} rows, not 20", rows.len());
    let number = |row: &Value, name: &str| row.get(name).and_then(Value::as_f64).with_context(|| format!("no {name}"));
    let mut last = f64::INFINITY;
    for row in rows {
        let score = number(row, "total_score")?;
        ensure!(
            score <= last && score >= 5.0 && number(row, "tvl_usd")? >= 1e6,
            "not the list that was asked for: {row}"
        );
        last = score;
    }
    Ok(answer.body)
}
