//! Lines of the text that a scraper gets.

use std::fmt::Write;

/// Appends the HELP and TYPE lines of a metric.
pub(crate) fn head(out: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// Appends one metric without labels.
pub(crate) fn metric(out: &mut String, name: &str, help: &str, kind: &str, value: f64) {
    head(out, name, help, kind);
    let _ = writeln!(out, "{name} {value}");
}
