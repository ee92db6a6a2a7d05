//! The table: what was measured, what was hoped for, and whether it held.

use std::fmt::Write as _;

use anyhow::Result;
use xtask::workspace;

use crate::{Plan, cores};

/// The lines measured so far.
#[derive(Default)]
pub struct Report {
    lines: Vec<Line>,
}

struct Line {
    what: String,
    figure: String,
    target: String,
    verdict: &'static str,
    seen: String,
}

impl Report {
    /// A figure that should not be smaller than `target`. `seen` are the figures behind it.
    pub fn at_least(&mut self, what: &str, figure: f64, target: f64, seen: &str) {
        self.add(what, figure, format!("≥ {target}"), figure >= target, seen);
    }

    /// A figure that should not be greater than `target`.
    pub fn at_most(&mut self, what: &str, figure: f64, target: f64, seen: &str) {
        self.add(what, figure, format!("≤ {target}"), figure <= target, seen);
    }

    /// Something that could not be measured here.
    pub fn skipped(&mut self, what: &str, why: &str) {
        self.lines.push(Line {
            what: what.to_owned(),
            figure: "–".to_owned(),
            target: "–".to_owned(),
            verdict: "not measured",
            seen: why.to_owned(),
        });
    }

    fn add(&mut self, what: &str, figure: f64, target: String, held: bool, seen: &str) {
        let figure = if figure < 100.0 { format!("{figure:.2}") } else { format!("{figure:.0}") };
        println!("  {figure:>8}  {what} ({target})  {seen}");
        let verdict = if held { "held" } else { "missed" };
        self.lines.push(Line { what: what.to_owned(), figure, target, verdict, seen: seen.to_owned() });
    }

    /// The lines as a Markdown table.
    pub fn table(&self) -> String {
        let mut out = String::from("| measured | figure | target | | behind it |\n|---|---:|---:|---|---|\n");
        for Line { what, figure, target, verdict, seen } in &self.lines {
            let _ = writeln!(out, "| {what} | {figure} | {target} | {verdict} | {seen} |");
        }
        out
    }

    /// Writes `bench/RESULTS.md`.
    pub fn write(&self, plan: &Plan) -> Result<()> {
        let text = format!(
            "# Results\n\nWritten by `cargo xtask bench reads` on {date}, on {cores} cores of {model}.\n\n{table}\n\
             A ratio is the median of {rounds} pairs, each peer loaded for {seconds} s in turn over {connections} keep-alive connections, after a \
             load that is not counted. Servers run on one core, the client on another. CPU is what the kernel charged the server's process, user and system, \
             divided by the requests answered. Every request to the origin carries a fresh signature, which the origin verifies; the origin's peer is axum of the same version on the same \
             runtime, with one handler that returns a static body. The edge and its peer run on plain workerd. Only ratios compare between machines.\n",
            date = today(),
            cores = cores::count(),
            model = cores::model(),
            table = self.table(),
            rounds = plan.rounds,
            seconds = plan.seconds,
            connections = plan.connections,
        );
        std::fs::write(workspace::root().join("bench/RESULTS.md"), text)?;
        Ok(())
    }
}

/// Today's date in UTC.
fn today() -> String {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let text = rds_shared::wire::Timestamp::from_seconds(i64::try_from(seconds).unwrap_or(0)).to_string();
    text.chars().take(10).collect()
}
