//! Every list route of the registry at the origin, against constant bytes of the same size, and bulk scores.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::up::Edge;

use crate::Plan;
use crate::constant_peer::Constant;
use crate::filling::Filling;
use crate::market::Market;
use crate::report::Report;
use crate::versus::{self, Peer, cpu_micros, rate};

const ROWS: u32 = 10_000;
/// Maximum seconds of one load; low, because there are many lists.
const SECONDS: f64 = 2.0;
/// Maximum number of loads per list.
const ROUNDS: usize = 3;
const TARGET: f64 = 0.5;
/// Minimum MB of body per second on one core.
const TARGET_SCORES: f64 = 200.0;
/// A page of a thousand scores.
const SCORES: &str = "/v1/vaults/scores?limit=1000";

/// Typical requests: filtered and sorted where the route supports it.
const LISTS: [&str; 12] = [
    "/v1/vaults?chain=devnet&limit=20&minTvl=1000000&sortBy=total_score",
    "/v1/royco",
    "/v1/markets?chain=devnet&sortBy=total_borrowed_usd",
    "/v1/assets/enriched?category=tokenized_treasury&review_status=reviewed",
    "/v1/assets/enriched?chain=devnet&include_quality=true&limit=100",
    "/v1/rwa?kyc_gate=accredited",
    "/v1/oracle?chain=devnet&status=fresh",
    "/v1/curators?sortBy=name&sortOrder=asc",
    "/v1/protocols",
    "/v1/chains",
    "/v1/assets",
    "/v1/reviewers",
];

/// Measures each list and the bulk scores.
pub fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    let market = Market::start(ROWS, Edge::None)?;
    market.ingest(&Filling::new()?.registry(ROWS), "/v1/royco", u64::from(ROWS))?;
    let plan = &Plan { seconds: plan.seconds.min(SECONDS), rounds: plan.rounds.min(ROUNDS), ..plan.clone() };
    for target in LISTS {
        let body = market.ask(target)?;
        let (rows, total) = counted(&body).with_context(|| target.to_owned())?;
        let (ratio, seen) = beside_constant(&market, target, &body, plan)?;
        let bytes = body.len();
        report.at_least(
            &format!("origin: `{target}` ({rows} out of {total} rows, {bytes} bytes), requests/s over constant bytes"),
            ratio,
            TARGET,
            &seen.text(),
        );
    }
    let body = market.ask(SCORES)?;
    ensure!(counted(&body)?.0 == 1_000, "the page does not have 1000 scores");
    let (ratio, seen) = beside_constant(&market, SCORES, &body, plan)?;
    report.at_least(
        &format!("origin: `{SCORES}` ({} bytes), MB/s of body on one core", body.len()),
        body.len() as f64 / seen.cpu,
        TARGET_SCORES,
        &format!("{ratio:.2} of constant bytes; {}", seen.text()),
    );
    Ok(())
}

/// Requests per second and CPU microseconds per request, of the service and of the constant peer.
struct Seen {
    rate: f64,
    cpu: f64,
    constant_rate: f64,
    constant_cpu: f64,
}

impl Seen {
    fn text(&self) -> String {
        let Seen { rate, cpu, constant_rate, constant_cpu } = self;
        format!("{rate:.0}/s, {cpu:.1} µs CPU; constant {constant_rate:.0}/s, {constant_cpu:.1} µs")
    }
}

fn beside_constant(market: &Market, target: &str, body: &[u8], plan: &Plan) -> Result<(f64, Seen)> {
    let constant = Constant::start(target, body)?;
    let write = Box::new(market.signed_keyed(target)?);
    let ours = Peer { address: market.address("origin_edge")?, pid: market.pid("origin")?, write };
    let versus = versus::measure(plan, ours, constant.peer())?;
    let ((rate, constant_rate), (cpu, constant_cpu)) = (versus.sides(rate), versus.sides(cpu_micros));
    Ok((versus.ratio(versus::rate), Seen { rate, cpu, constant_rate, constant_cpu }))
}

/// Number of rows on the page, and in total; equal for a list without pages.
fn counted(body: &[u8]) -> Result<(usize, u64)> {
    let page: Value = serde_json::from_slice(body)?;
    let rows = page.get("data").and_then(Value::as_array).context("no data")?.len();
    ensure!(rows > 0, "the list is empty");
    Ok((rows, page.pointer("/meta/total").and_then(Value::as_u64).unwrap_or(rows as u64)))
}
