//! The loss board: a filtered page out of five thousand cases, including sums and coverage.

use std::fmt::Write;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::provision::cache::Cache;
use xtask::up::Edge;

use crate::market::Market;
use crate::report::Report;
use crate::{Plan, http, load};

const CASES: u32 = 5_000;
const VAULTS: u32 = 100;
/// Maximum 99th percentile of a page's latency in milliseconds, on an otherwise idle machine.
const TARGET: f64 = 5.0;

/// Measures a page of fifty cases.
pub fn measure(_: &Cache, plan: &Plan, report: &mut Report) -> Result<()> {
    let market = Market::start(VAULTS, Edge::None)?;
    let file = std::env::temp_dir().join(format!("rds-bench-cases-{}.ndjson", std::process::id()));
    std::fs::write(&file, cases()?)?;
    let taken = market.verb(&["ingest", &file.display().to_string()]);
    std::fs::remove_file(&file)?;
    taken?;
    let edge_listener = market.address("origin_edge")?;
    let mut request = Vec::new();
    // The running origin sees the ingested cases at its next poll; wait for them.
    let begun = std::time::Instant::now();
    let page: Value = loop {
        request.clear();
        market.signed_losses()?(&mut request);
        let page: Value = serde_json::from_slice(&http::ask(edge_listener, &request)?.body)?;
        if page.pointer("/meta/coverageTotal").and_then(Value::as_u64) >= Some(u64::from(CASES)) {
            break page;
        }
        ensure!(begun.elapsed().as_secs() < 60, "the board did not list {CASES} cases within 60 s: {page}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let rows = page.get("data").and_then(Value::as_array).context("no data")?;
    ensure!(rows.len() == 50, "{} rows, not 50", rows.len());
    let board = load::run(edge_listener, 1, plan.duration(), market.signed_losses()?)?;
    let [p50, p99] = [board.p50, board.p99].map(|time| time.as_secs_f64() * 1e3);
    report.at_most(
        &format!("origin: a searched page of 50 out of {CASES} cases of the loss board, milliseconds (p99)"),
        p99,
        TARGET,
        &format!("p50 {p50:.2} ms, {:.0}/s on one connection", board.rate()),
    );
    Ok(())
}

/// Cases over ten years, each with a transaction and a link.
fn cases() -> Result<String> {
    let mut lines = String::new();
    for number in 0..CASES {
        let (year, month, day) = (2016 + number % 10, 1 + number % 12, 1 + number % 28);
        let loss = f64::from(number) * 1_234.57 + 0.01;
        writeln!(
            lines,
            r#"{{"kind":"loss_case","observed_at":"2026-01-01T00:00:00Z","source":"bench","case_id":"bench-{number}","source_id":"{number}","title":"Attack number {number} on a protocol","loss_usd":{loss:.2},"loss_basis":"stated","technique":"A price was bent through a thin pool","chain_ids":[31337],"attacked_at":"{year}-{month:02}-{day:02}T00:00:00Z","tx_hashes":["0x{number:064x}"],"links":[{{"label":"Report","url":"https://reports.example/{number}"}}]}}"#
        )?;
    }
    Ok(lines)
}
