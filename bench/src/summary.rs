//! The summary at the top of the results: one row per part of the service and peer, from all benchmarks.

use std::fmt::Write as _;

use crate::cores;
use crate::versus::Side;

/// Target of a figure.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// At least this value.
    AtLeast(f64),
    /// At most this value.
    AtMost(f64),
    /// No target.
    Stated,
}

impl Target {
    /// Text for the table.
    pub fn text(self) -> String {
        match self {
            Target::AtLeast(bound) => format!("≥ {bound}"),
            Target::AtMost(bound) => format!("≤ {bound}"),
            Target::Stated => "–".to_owned(),
        }
    }

    /// Whether the target was reached. NaN never reaches a target.
    pub fn verdict(self, figure: f64) -> &'static str {
        let held = match self {
            Target::AtLeast(bound) => figure >= bound,
            Target::AtMost(bound) => figure <= bound,
            Target::Stated => return "",
        };
        if held { "held" } else { "missed" }
    }
}

/// A comparison of a part of the service with one peer.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'a> {
    /// The task of the service and the peer, such as "public list at the origin".
    pub part: &'a str,
    /// Name of the peer, such as "Fastify + pg".
    pub peer: &'a str,
    /// Meaning of the ratio, such as "requests/s, ours over theirs".
    pub of: &'a str,
    /// Median of the pairs' ratios.
    pub ratio: f64,
    /// Target of the ratio.
    pub target: Target,
    /// Figures of the service.
    pub ours: Side,
    /// Figures of the peer.
    pub theirs: Side,
}

impl Comparison<'_> {
    /// The row of the summary, without the last column.
    pub fn row(&self) -> String {
        let Comparison { part, peer, of, ratio, target, ours, theirs } = self;
        let (target, verdict) = (target.text(), target.verdict(*ratio));
        let (ours, theirs, ratio) = (ours.text(), theirs.text(), figure(*ratio));
        format!("| {part} | {peer} | {ratio} | {of} | {target} | {verdict} | {ours} | {theirs} |")
    }
}

impl Side {
    /// The finite figures with units.
    pub fn text(&self) -> String {
        let known =
            [(self.cpu, 1, " µs CPU"), (self.rate, 0, "/s"), (self.p50, 2, " ms p50"), (self.p99, 2, " ms p99")];
        let known = known.iter().filter(|(figure, ..)| figure.is_finite());
        known.map(|(figure, digits, unit)| format!("{figure:.digits$}{unit}")).collect::<Vec<_>>().join(", ")
    }
}

/// A figure formatted for tables.
pub fn figure(figure: f64) -> String {
    if figure < 100.0 { format!("{figure:.2}") } else { format!("{figure:.0}") }
}

/// Title of the section in the results.
pub const TITLE: &str = "summary";

const HEAD: &str =
    "| part | peer | ratio | of | target | | ours | peer's | by, on |\n|---|---|---:|---|---:|---|---|---|---|\n";

/// The section's text: the rows of `before`, in which the rows of benchmark `name` are replaced by `rows` of `date`.
pub fn section(before: &str, name: &str, date: &str, rows: &[String]) -> String {
    let own = format!(" [{name}](#{name}), ");
    let rows: Vec<String> = rows.iter().map(|row| format!("{row}{own}{date} |")).collect();
    let old: Vec<&str> =
        before.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| part |")).collect();
    let at = old.iter().position(|row| row.contains(&own)).unwrap_or(old.len());
    let (first, rest) = old.split_at(at);
    let kept = rest.iter().filter(|row| !row.contains(&own));
    let all = first.iter().copied().chain(rows.iter().map(String::as_str)).chain(kept.copied());
    let mut out = format!(
        "Each row compares a part with a peer that does the same job on the same data. Every peer passed the same checks before it was timed. \
         CPU is per request (or per frame, delivery or decision where a row says so), and rates are at saturation. p50 and p99 are taken at \
         half of each server's own saturation, from a request's scheduled instant to the last byte of its answer, unless a row names \
         another load. The last run was on \
         {} cores of {}.\n\n{HEAD}",
        cores::count(),
        cores::model()
    );
    all.for_each(|row| {
        let _ = writeln!(out, "{row}");
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_replaces_its_own_rows_in_place() {
        let ours = Side { cpu: 12.34, rate: 1000.4, p50: f64::NAN, p99: f64::NAN };
        let (target, theirs) = (Target::AtLeast(10.0), Side { cpu: f64::NAN, rate: f64::NAN, ..ours });
        let row = |part| Comparison { part, peer: "p", of: "rates", ratio: 12.0, target, ours, theirs }.row();
        let first = section("", "reads", "2026-11-22", &[row("one"), row("two")]);
        let both = section(&first, "push", "2026-11-23", &[row("three")]);
        let again = section(&both, "reads", "2026-11-24", &[row("four")]);
        let rows: Vec<_> = again.lines().filter(|line| line.contains("| p |")).collect();
        assert_eq!(
            rows,
            [
                "| four | p | 12.00 | rates | ≥ 10 | held | 12.3 µs CPU, 1000/s |  | [reads](#reads), 2026-11-24 |",
                "| three | p | 12.00 | rates | ≥ 10 | held | 12.3 µs CPU, 1000/s |  | [push](#push), 2026-11-23 |"
            ]
        );
        assert!(again.contains(HEAD) && again.matches("| part |").count() == 1);
    }

    #[test]
    fn nan_reaches_no_target() {
        assert_eq!(Target::AtLeast(1.0).verdict(f64::NAN), "missed");
        assert_eq!(Target::AtMost(1.0).verdict(f64::NAN), "missed");
        assert_eq!(Target::AtMost(1.0).verdict(1.0), "held");
    }
}
