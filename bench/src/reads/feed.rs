//! The events feed with a hundred thousand events: pages of searches for words of different frequencies.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};
use rds_shared::access::Principal;
use serde_json::{Value, json};
use xtask::up::Edge;

use crate::market::Market;
use crate::report::Report;
use crate::{Plan, http, load};

const EVENTS: u64 = 100_000;
/// Events per batch.
const BATCH: u64 = 10_000;
const VAULTS: u32 = 100;
/// Maximum 99th percentile of a page's latency in milliseconds, on an otherwise idle machine.
const TARGET: f64 = 20.0;
/// Number of the oldest events that contain the word `olden`.
const OLD: u64 = 1_600;
/// Searches for words of different frequencies, for two words and for a phrase. Each has a description and a target.
const SEARCHES: [(&str, &str); 9] = [
    ("a word of every event", "/v1/events?search=venue"),
    ("a word of one in ten", "/v1/events?search=oracle3"),
    ("a word of one in eight", "/v1/events?search=eighth"),
    ("a word of 1600 old ones", "/v1/events?search=olden"),
    ("a word of one in 5000", "/v1/events?search=case17"),
    ("a word of none", "/v1/events?search=zebra"),
    ("two words", "/v1/events?search=oracle3%20keeper4"),
    ("two words, of which one is of old ones", "/v1/events?search=olden%20keeper4"),
    ("a phrase, most severe first", "/v1/events?search=%22oracle3%20keeper4%22&sortBy=severity"),
];

/// Measures a page of each search.
pub fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    let market = Market::start(VAULTS, Edge::None)?;
    fill(&market)?;
    let edge_listener = market.address("origin_edge")?;
    for (what, target) in SEARCHES {
        let mut write = market.signed(target, &Principal::Anonymous)?;
        let mut request = Vec::new();
        write(&mut request);
        let answer = http::ask(edge_listener, &request)?;
        ensure!(answer.status == 200, "{target}: {}", String::from_utf8_lossy(&answer.body));
        let page: Value = serde_json::from_slice(&answer.body)?;
        let rows = page.get("data").and_then(Value::as_array).context("no data")?.len();
        ensure!((rows == 0) == target.contains("zebra"), "{target}: {rows} rows");
        let measured = load::run(edge_listener, 1, plan.duration(), write)?;
        let [p50, p99] = [measured.p50, measured.p99].map(|time| time.as_secs_f64() * 1e3);
        report.at_most(
            &format!("origin: a page of the feed out of {EVENTS} events, search for {what}, milliseconds (p99)"),
            p99,
            TARGET,
            &format!("p50 {p50:.2} ms, {:.0}/s on one connection", measured.rate()),
        );
    }
    Ok(())
}

/// Ingests the events with the operator's command line.
fn fill(market: &Market) -> Result<()> {
    let file = std::env::temp_dir().join(format!("rds-bench-events-{}.ndjson", std::process::id()));
    for batch in 0..EVENTS / BATCH {
        let mut lines = String::new();
        for number in batch * BATCH..(batch + 1) * BATCH {
            writeln!(lines, "{}", event(number))?;
        }
        fs::write(&file, lines)?;
        market.verb(&["ingest", file.to_str().context("a path in UTF-8")?])?;
    }
    fs::remove_file(&file)?;
    Ok(())
}

/// One event. Most of its words repeat with coprime periods, so that they occur in many combinations.
fn event(number: u64) -> Value {
    // The events are ten minutes apart, so they span almost two years.
    let minute = (EVENTS - number) * 10;
    let (year, rest) = (2026 - minute / 525_600, minute % 525_600);
    let (month, day, hour) = (1 + (rest / 43_200) % 10, 1 + (rest / 1_440) % 28, (rest / 60) % 24);
    let one_of =
        |words: &[&'static str]| words.iter().copied().cycle().nth(usize::try_from(number).unwrap_or(0) % words.len());
    let (old, eighth) =
        (if number < OLD { " olden" } else { "" }, if number.is_multiple_of(8) { " eighth" } else { "" });
    let severity = one_of(&["Info", "Info", "Warning", "Info", "Critical"]);
    json!({
        "kind": "event", "observed_at": "2026-11-21T00:00:00Z", "source": "bench", "event_key": format!("bench-{number}"),
        "event_type": one_of(&["Pause", "Depeg", "LiquidationCascade"]), "severity": severity,
        "title": format!("The oracle{} keeper{} reported a venue", number % 10, number % 7),
        "description": format!("Seen at venue {} in case{} by watcher{}, told once and settled.{old}{eighth}", number % 97, number % 5_000, number % 1_009),
        "occurred_at": format!("{year}-{month:02}-{day:02}T{hour:02}:{:02}:00Z", rest % 60),
    })
}
