//! The public list, filtered and sorted: the origin against constant bytes, Fastify and FastAPI.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::provision::cache::Cache;
use xtask::up::Edge;

use super::peer_table;
use super::sql_peer::{Kind, SqlPeer};
use crate::constant_peer::Constant;
use crate::market::{LIST, Market};
use crate::report::Report;
use crate::summary::{Comparison, Target};
use crate::versus::{self, Peer, Versus, rate};
use crate::{Plan, cores, http};

const VAULTS: u32 = 10_000;
/// Minimum rate, as a fraction of the rate of constant bytes.
const TARGET_CONSTANT: f64 = 0.7;
/// Minimum rate, as a multiple of the rate of a peer that queries Postgres.
const TARGET_SQL: f64 = 10.0;
/// Number of distinct lists. The origin reuses a list for one second and answers fewer lists in that time, so that it reuses none.
const DISTINCT_LISTS: u32 = 1_000_000;

/// Compares the list with each peer.
pub fn measure(cache: &Cache, plan: &Plan, report: &mut Report) -> Result<()> {
    let market = Market::start(VAULTS, Edge::None)?;
    let body = checked_list(&market)?;
    let part = format!("public list at the origin, 20 out of {VAULTS} ({} bytes)", body.len());
    let constant = Constant::start(LIST, &body)?;
    let beside = versus::measure_with_halves(plan, edge_listener(&market)?, constant.peer())?;
    compare(report, &part, "constant bytes in axum", &beside, Target::AtLeast(TARGET_CONSTANT), "");
    let beside = versus::measure_with_halves(plan, different(&market)?, constant.peer())?;
    let peer = "constant bytes in axum, no two of our requests alike within a second";
    compare(report, &part, peer, &beside, Target::Stated, "");
    drop(constant);

    peer_table::fill(&market)?;
    // Postgres may also run on the client's core, so that each peer has the servers' core for itself, as the origin has.
    cores::release_family(market.pid("postgres")?)?;
    for kind in [Kind::Fastify, Kind::FastApi] {
        let peer = SqlPeer::start(cache, kind, &market)?;
        peer.check(&market).with_context(|| format!("{} is not measured: its answer differs", kind.name()))?;
        let beside = versus::measure_with_halves(plan, edge_listener(&market)?, peer.peer())?;
        let store = format!(", and Postgres {:.0} µs CPU", peer.store_cpu(plan, &market)?);
        compare(report, &part, kind.name(), &beside, Target::AtLeast(TARGET_SQL), &store);
    }
    Ok(())
}

fn compare(report: &mut Report, part: &str, peer: &str, beside: &Versus, target: Target, more: &str) {
    let (ours, theirs) = beside.medians();
    let ratio = beside.ratio(rate);
    report.compare(&Comparison { part, peer, of: "requests/s, ours over theirs", ratio, target, ours, theirs }, more);
}

/// The origin's edge listener as a [`Peer`] that gets requests for the list.
pub fn edge_listener(market: &Market) -> Result<Peer> {
    let (address, pid) = (market.address("origin_edge")?, market.pid("origin")?);
    Ok(Peer { address, pid, write: Box::new(market.signed_list()?) })
}

/// The origin's edge listener as a [`Peer`] that gets a request for a different list each time.
fn different(market: &Market) -> Result<Peer> {
    let (address, pid, mut number) = (market.address("origin_edge")?, market.pid("origin")?, 0);
    let (before, behind) = LIST.split_once("minTvl=1000000").context("the list has no `minTvl` to vary")?;
    let next = move || {
        number = (number + 1) % DISTINCT_LISTS;
        format!("{before}minTvl={}{behind}", 1_000_000 + number)
    };
    Ok(Peer { address, pid, write: Box::new(market.signed_targets("", next)?) })
}

/// Requests the list once, checks that it is filtered, sorted and complete, and returns its bytes.
pub fn checked_list(market: &Market) -> Result<Vec<u8>> {
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
        ensure!(score <= last && score >= 5.0 && number(row, "tvl_usd")? >= 1e6, "not the requested list: {row}");
        last = score;
    }
    Ok(answer.body)
}
