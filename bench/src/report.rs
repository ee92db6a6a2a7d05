//! The results table: figures, targets, and whether they were reached.

use std::fmt::Write as _;

use anyhow::Result;
use xtask::workspace;

use crate::summary::{self, Comparison, Target, figure};
use crate::{Plan, cores};

/// The results of one benchmark.
#[derive(Default)]
pub struct Report {
    lines: Vec<Line>,
    /// Rows for the summary, without the name of the benchmark.
    rows: Vec<String>,
}

struct Line {
    what: String,
    figure: String,
    target: String,
    verdict: &'static str,
    seen: String,
}

impl Report {
    /// Adds a figure that should be at least `target`. `seen` are the underlying figures.
    pub fn at_least(&mut self, what: &str, figure: f64, target: f64, seen: &str) {
        self.add(what, figure, Target::AtLeast(target), seen);
    }

    /// Adds a figure that should be at most `target`.
    pub fn at_most(&mut self, what: &str, figure: f64, target: f64, seen: &str) {
        self.add(what, figure, Target::AtMost(target), seen);
    }

    /// Adds a figure without a target.
    pub fn stated(&mut self, what: &str, figure: f64, seen: &str) {
        self.add(what, figure, Target::Stated, seen);
    }

    /// Adds a comparison with a peer: a line of this table and a row of the summary. `more` is appended to the figures of the line.
    pub fn compare(&mut self, comparison: &Comparison<'_>, more: &str) {
        let Comparison { part, peer, of, ratio, target, ours, theirs } = *comparison;
        let sides = [("ours", ours.text()), ("theirs", theirs.text())];
        let told = sides.iter().filter(|(_, text)| !text.is_empty()).map(|(whose, text)| format!("{whose} {text}"));
        let seen = format!("{}{more}", told.collect::<Vec<_>>().join("; "));
        self.add(&format!("{part}, beside {peer}: {of}"), ratio, target, &seen);
        self.rows.push(comparison.row());
    }

    /// Adds a line for something that could not be measured.
    pub fn skipped(&mut self, what: &str, why: &str) {
        self.lines.push(Line {
            what: what.to_owned(),
            figure: "–".to_owned(),
            target: "–".to_owned(),
            verdict: "not measured",
            seen: why.to_owned(),
        });
    }

    fn add(&mut self, what: &str, value: f64, target: Target, seen: &str) {
        let (figure, verdict, target) = (figure(value), target.verdict(value), target.text());
        println!("  {figure:>8}  {what} ({target})  {seen}");
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

    /// Writes the section of a benchmark of peers under load; see [`write`](Self::write).
    pub fn write_pairs(&self, name: &str, plan: &Plan, method: &str) -> Result<()> {
        let Plan { rounds, seconds, connections } = plan;
        let pairs = format!(
            "A ratio is the median of {rounds} pairs. Each peer is loaded in turn for {seconds} s over {connections} keep-alive connections, \
             after an uncounted warm-up. {method}"
        );
        self.write(name, &pairs)
    }

    /// Writes the section of one benchmark to `bench/RESULTS.md` and keeps the others. `method` describes the benchmark for readers.
    pub fn write(&self, name: &str, method: &str) -> Result<()> {
        let section = format!(
            "## {name}\n\nWritten by `cargo xtask bench {name}` on {date}, on {cores} cores of {model}.\n\n{table}\n{method}\n",
            date = today(),
            cores = cores::count(),
            model = cores::model(),
            table = self.table(),
        );
        let file = workspace::root().join("bench/RESULTS.md");
        let before = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(std::fs::write(file, with_section(&before, name, &section, &self.rows))?)
    }
}

const INTRODUCTION: &str = "# Results

The summary and one section per benchmark, written by `cargo xtask bench NAME`. Servers run on one core, the client on another. CPU is the server process's user and system \
time, divided by the number of answered requests. Only ratios are comparable between machines.
";

/// The results with this section replaced or appended, and with its rows in the summary.
fn with_section(results: &str, name: &str, section: &str, rows: &[String]) -> String {
    let mut sections: Vec<(&str, &str)> = results
        .split("\n## ")
        .skip(1)
        .map(|rest| rest.split_once('\n').unwrap_or((rest, "")))
        .map(|(title, text)| (title.trim(), text))
        .collect();
    let text = section.split_once('\n').map_or("", |(_, text)| text);
    let summary = sections.extract_if(.., |(title, _)| *title == summary::TITLE).next().map_or("", |(_, text)| text);
    let summary = summary::section(summary, name, &today(), rows);
    match sections.iter_mut().find(|(title, _)| *title == name) {
        Some(older) => older.1 = text,
        None => sections.push((name, text)),
    }
    let mut out = String::from(INTRODUCTION);
    for (title, text) in std::iter::once((summary::TITLE, summary.as_str())).chain(sections) {
        let _ = write!(out, "\n## {title}\n\n{}\n", text.trim());
    }
    out
}

/// Today's date in UTC.
fn today() -> String {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let text = rds_shared::wire::Timestamp::from_seconds(i64::try_from(seconds).unwrap_or(0)).to_string();
    text.chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::with_section;

    #[test]
    fn a_benchmark_replaces_only_its_own_section() {
        let row = |part: &str| vec![format!("| {part} | p | 1.00 | rates | – |  |  |  |")];
        let first = with_section("", "reads", "## reads\n\none\n", &row("list"));
        let both = with_section(&first, "access", "## access\n\ntwo\n", &row("hit"));
        let again = with_section(&both, "reads", "## reads\n\nthree\n", &row("page"));
        assert!(first.ends_with("\n\n## reads\n\none\n"));
        assert!(both.ends_with("\n\n## reads\n\none\n\n## access\n\ntwo\n"));
        assert!(again.ends_with("\n\n## reads\n\nthree\n\n## access\n\ntwo\n"));
        assert_eq!(again.matches("# Results").count(), 1);
        assert_eq!(again.matches("## summary\n").count(), 1);
        assert!(again.find("| page |") < again.find("| hit |") && !again.contains("| list |"));
    }
}
