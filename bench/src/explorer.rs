//! The explorer in Chromium: frames while the table of 25 000 vaults scrolls, and the first paint on a slow machine.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Deserialize;
use xtask::provision::cache::Cache;
use xtask::provision::{browser, npm};
use xtask::up::Edge;
use xtask::workspace;

use crate::cores;
use crate::market::Market;
use crate::report::Report;
use crate::versus::median;

const VAULTS: u32 = 25_000;
/// Requests per minute of the visitor's key, so that none is refused.
const RPM: u32 = 1_000_000;
/// Longest frame while a table scrolls, in milliseconds.
const LONGEST_FRAME: f64 = 50.0;
/// Largest paint of a first visit, in milliseconds.
const LARGEST_PAINT: f64 = 1_200.0;

/// Number of first visits.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// First visits of each kind.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { rounds: 9 }
    }
}

/// What `bench/explorer-browser/measure.mjs` prints.
#[derive(Deserialize)]
struct Measured {
    fast: Scrolling,
    slow: Scrolling,
    paint: Paint,
}

#[derive(Deserialize)]
struct Scrolling {
    /// Rows of the table.
    total: u32,
    rest: Frames,
    gesture: Frames,
    reading: Frames,
}

/// Frames of a recording, in milliseconds.
#[derive(Deserialize)]
struct Frames {
    /// Pauses between the frames.
    gaps: Vec<f64>,
    /// Frames of more than 50 ms, as the browser counts them (Long Animation Frames API).
    long: Vec<f64>,
}

#[derive(Deserialize)]
struct Paint {
    near: Vec<Visit>,
    far: Vec<Visit>,
    docs: Vec<Visit>,
}

#[derive(Deserialize)]
struct Visit {
    /// Largest contentful paint, in milliseconds.
    paint: f64,
    /// Cumulative layout shift.
    shift: f64,
}

/// Measures, prints the table, and writes it to the results.
///
/// # Errors
/// If the stack or the browser cannot be started, or the table does not have every vault.
pub fn run(options: &Options) -> Result<()> {
    let cache = Cache::open()?;
    let (browser, modules) = (browser::find(&cache)?, npm::locked(&cache, "e2e", &workspace::root().join("e2e"))?);
    let market = Market::start(VAULTS, Edge::Workerd)?;
    let key = market.mint(RPM)?;
    let mut node = Command::new("node");
    node.arg(workspace::root().join("bench/explorer-browser/measure.mjs")).arg(modules);
    node.args([market.text("edge")?, &key, &options.rounds.to_string()]).env("RDS_CHROMIUM", browser.program);
    node.envs(browser.libraries.map(|libraries| ("LD_LIBRARY_PATH", libraries)));
    node.envs(browser.fonts.map(|fonts| ("FONTCONFIG_PATH", fonts)));
    // A browser needs more than one core: the servers are idle most of the time.
    cores::release()?;
    let said = xtask::command::output(&mut node)?;
    let measured: Measured = serde_json::from_str(&said).context("the browser's figures cannot be read")?;
    let mut report = Report::default();
    scrolling(&mut report, "", &measured.fast, true)?;
    scrolling(&mut report, ", CPU 4 times slower", &measured.slow, false)?;
    paint(&mut report, &measured.paint);
    println!("\n{}", report.table());
    report.write("explorer", &method(options.rounds))
}

fn scrolling(report: &mut Report, how: &str, seen: &Scrolling, is_judged: bool) -> Result<()> {
    ensure!(seen.total >= VAULTS - VAULTS / 20, "the table has {} rows", seen.total);
    let kinds = [("the whole table in one gesture", &seen.gesture), ("a reader who waits for the rows", &seen.reading)];
    for (what, frames) in kinds {
        let name = format!("{what}{how}: longest pause between two frames, ms");
        let said = format!(
            "{} frames, p99 {:.0} ms, {} frames of more than 50 ms; at rest the longest pause is {:.0} ms",
            frames.gaps.len(),
            quantile(&frames.gaps, 0.99),
            frames.long.len(),
            longest(&seen.rest.gaps)
        );
        if is_judged {
            report.at_most(&name, longest(&frames.gaps), LONGEST_FRAME, &said);
        } else {
            report.stated(&name, longest(&frames.gaps), &said);
        }
    }
    Ok(())
}

fn paint(report: &mut Report, seen: &Paint) {
    let of = |visits: &[Visit]| median(visits.iter().map(|visit| visit.paint).collect());
    let shift = |visits: &[Visit]| longest(&visits.iter().map(|visit| visit.shift).collect::<Vec<_>>());
    let said = |visits: &[Visit]| {
        let paints: Vec<f64> = visits.iter().map(|visit| visit.paint).collect();
        format!(
            "{:.0} to {:.0} ms in {} visits",
            paints.iter().copied().fold(f64::MAX, f64::min),
            longest(&paints),
            paints.len()
        )
    };
    let beside = format!("{}; a page of the documentation {:.0} ms", said(&seen.near), of(&seen.docs));
    report.at_most(
        "first visit, 40 ms away: largest contentful paint, ms, median",
        of(&seen.near),
        LARGEST_PAINT,
        &beside,
    );
    report.stated("first visit, 150 ms away: largest contentful paint, ms, median", of(&seen.far), &said(&seen.far));
    report.at_most(
        "first visit: largest layout shift",
        shift(&seen.near).max(shift(&seen.far)),
        0.0,
        "sum of the shifts of a visit",
    );
}

fn longest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a position in a short list"
    )]
    let place = (share * sorted.len() as f64) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

fn method(rounds: usize) -> String {
    format!(
        "Headless Chromium without a GPU, 1280 × 900 pixels, on the cores of the servers. The service has {VAULTS} simulated vaults, of which up to 5 % are not listed. \
         The gesture scrolls the table from the first to the last row at 60,000 pixels a second. The reader scrolls 40 rows and waits for them, 60 times. \
         Pauses are those between animation frames; frames of more than 50 ms are those of the browser's Long Animation Frames API. \
         A first visit has an empty cache, a CPU that the browser slows down to a quarter, 1.6 Mbit/s down and 0.75 up, and the latency named; {rounds} visits each."
    )
}
