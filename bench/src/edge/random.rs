//! The part `random`: random valid queries to every route of the read model, and how many of them reach the origin.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use xtask::measure::cpu_time;

use super::queries::Queries;
use super::{Subject, checks, rows};
use crate::filling::Filling;
use crate::report::Report;
use crate::{Plan, http, load};

const QUERIES: usize = 100_000;
/// Of the queries, this many are also asked at the origin, and the bodies compared.
const COMPARED: usize = 1_000;
const SEED: u64 = 1;
/// Rows of each kind in addition to the simulated market.
const ROWS: u32 = 500;

/// Sends the queries with a key, and counts at the origin's metrics.
pub fn measure(plan: &Plan, subject: &Subject, report: &mut Report) -> Result<()> {
    let Subject { market, key } = subject;
    market.ingest(&Filling::new()?.registry(ROWS), "/v1/curators?limit=1", u64::from(ROWS))?;
    let mut queries = Queries::of(market, SEED)?;
    let routes = queries.routes();
    let targets = (0..QUERIES).map(|_| queries.next()).collect::<Result<Vec<String>>>()?;
    let has_rows = rows::wait(market.address("edge")?, key)?;

    let (edge, lines) = (market.address("edge")?, Subject::lines(key));
    let (origin, worker) = (market.pid("origin")?, market.pid("edge")?);
    let before = (market.answered(&routes)?, cpu_time(origin)?, cpu_time(worker)?);
    let mut sent = 0;
    let (begun, mut answered) = (Instant::now(), 0);
    while sent < QUERIES {
        xtask::signals::check()?;
        let load = load::run(edge, plan.connections, plan.duration().min(Duration::from_secs(1)), |out| {
            let target = targets.get(sent % QUERIES).map_or("", String::as_str);
            out.extend_from_slice(&http::get(target, &lines));
            sent += 1;
        })?;
        answered += load.requests;
    }
    let elapsed = begun.elapsed().as_secs_f64();
    let reached = market.answered(&routes)? - before.0;
    let each = |pid: u32, before: Duration| -> Result<f64> {
        Ok(cpu_time(pid)?.saturating_sub(before).as_secs_f64() * 1e6 / answered as f64)
    };
    let (origin, worker) = (each(origin, before.1)?, each(worker, before.2)?);
    report.at_most(
        &format!(
            "{QUERIES} random valid queries to the {} routes of lists: requests that reach the origin",
            routes.len()
        ),
        reached as f64,
        0.0,
        &format!(
            "{answered} requests, {:.0}/s, {worker:.1} µs of the edge's CPU and {origin:.1} µs of the origin's each{}",
            answered as f64 / elapsed,
            if has_rows { "" } else { "; the edge has no rows" }
        ),
    );
    compare(subject, &targets, report)
}

/// Compares the edge's bodies with the origin's.
fn compare(subject: &Subject, targets: &[String], report: &mut Report) -> Result<()> {
    let Subject { market, key } = subject;
    let (edge, origin) = (market.address("edge")?, market.address("origin_edge")?);
    for target in targets.iter().step_by(QUERIES / COMPARED) {
        xtask::signals::check()?;
        let ours = http::ask(edge, &http::get(target, &Subject::lines(key)))?;
        let mut request = Vec::new();
        market.signed_keyed(target)?(&mut request);
        let theirs = http::ask(origin, &request)?;
        checks::same_body(&ours, &theirs).context(target.clone())?;
    }
    report.stated(
        "random valid queries: part of the edge's bodies that are the origin's, except for ages",
        1.0,
        &format!("{COMPARED} compared"),
    );
    Ok(())
}
