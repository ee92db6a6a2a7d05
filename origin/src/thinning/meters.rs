//! What this process has thinned, as metrics.

use rds_store::thinning::{History, Step};
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// What this process has thinned.
#[derive(Debug, Default)]
pub struct ThinningMeters {
    deleted: [AtomicU64; History::ALL.len()],
    /// Start of the first day that is not thinned; 0 if unknown.
    thinned_to: [AtomicI64; History::ALL.len()],
}

impl ThinningMeters {
    /// Counts a step.
    pub fn note(&self, history: History, step: Step) {
        if let Some(deleted) = self.deleted.get(history as usize) {
            deleted.fetch_add(step.deleted, Relaxed);
        }
        if let Some(to) = self.thinned_to.get(history as usize) {
            to.store(step.thinned_to.as_seconds(), Relaxed);
        }
    }

    /// Appends the metrics to a page.
    pub fn render(&self, out: &mut String) {
        let _ = write!(
            out,
            "# HELP rds_thinned_rows_total Rows of old days deleted by this process.\n# TYPE rds_thinned_rows_total counter\n"
        );
        for (history, rows) in History::ALL.iter().zip(&self.deleted) {
            let _ = writeln!(out, "rds_thinned_rows_total{{history=\"{}\"}} {}", history.name(), rows.load(Relaxed));
        }
        let _ = write!(
            out,
            "# HELP rds_thinned_to_seconds Start of the first day that is not thinned; 0 before this process has looked.\n\
             # TYPE rds_thinned_to_seconds gauge\n"
        );
        for (history, at) in History::ALL.iter().zip(&self.thinned_to) {
            let _ = writeln!(out, "rds_thinned_to_seconds{{history=\"{}\"}} {}", history.name(), at.load(Relaxed));
        }
    }
}
