//! The result of a drill for Prometheus, as the textfile collector of node_exporter reads it.

use super::Report;
use anyhow::Context;
use rds_shared::wire::Timestamp;
use std::fmt::Write;
use std::path::Path;

/// Writes the result; `None` is a drill that could not be carried out. The file is replaced at once, so that no half of it is read.
pub(super) fn write(file: &Path, report: Option<&Report>, now: Timestamp) -> anyhow::Result<()> {
    let cannot = || format!("{} cannot be written", file.display());
    let temporary = file.with_extension("prom.tmp");
    std::fs::write(&temporary, page(report, now)).with_context(cannot)?;
    std::fs::rename(&temporary, file).with_context(cannot)
}

fn page(report: Option<&Report>, now: Timestamp) -> String {
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, value: i64| {
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n");
    };
    let ok = report.is_some_and(|report| report.ok);
    gauge("rds_drill_ok", "Whether the last restore drill verified a backup.", i64::from(ok));
    gauge("rds_drill_ended_seconds", "Time at which the last restore drill ended.", now.as_seconds());
    if let Some(report) = report {
        let failed = report.checks.iter().filter(|check| !check.ok).count();
        let seconds = i64::try_from(report.seconds).unwrap_or(i64::MAX);
        gauge("rds_drill_seconds", "Duration of the last restore drill.", seconds);
        gauge("rds_drill_checks_failed", "Checks that the last restored backup failed.", failed as i64);
        if let Some(at) = report.newest_work {
            gauge(
                "rds_drill_newest_work_seconds",
                "Time of the newest work in the last restored backup.",
                at.as_seconds(),
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drill_that_was_not_carried_out_counts_as_failed() {
        let text = page(None, Timestamp::from_seconds(100));
        assert!(text.contains("\nrds_drill_ok 0\n") && text.contains("\nrds_drill_ended_seconds 100\n"), "{text}");
        assert!(!text.contains("checks_failed"));
    }
}
