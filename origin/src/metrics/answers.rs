//! Answers of public routes by outcome, from the origin and from the edge: what the availability objective counts (`origin/slo.yml`).

use super::exposition::head;
use rds_store::service::status::Tally;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Answers counted by this process.
#[derive(Debug, Default)]
pub struct Answers {
    /// Answers that this process gave: served and failed.
    own: [AtomicU64; 2],
    /// Answers that the edge gave without the origin and reported to this process: served and failed.
    edge: [AtomicU64; 2],
}

impl Answers {
    /// Counts an answer of this process. Intended refusals, such as those of `fail_closed`, are not counted at all.
    pub fn note_own(&self, failed: bool) {
        self.own[usize::from(failed)].fetch_add(1, Relaxed);
    }

    /// Counts answers of the edge that it had not reported before.
    pub fn note_edge(&self, more: Tally) {
        self.edge[0].fetch_add(more.requests.saturating_sub(more.failed), Relaxed);
        self.edge[1].fetch_add(more.failed, Relaxed);
    }

    /// Appends the metric as Prometheus text.
    pub(super) fn render(&self, out: &mut String) {
        const NAME: &str = "rds_answers_total";
        head(out, NAME, "Answers of public routes, by who gave them and whether the service failed.", "counter");
        for (by, counts) in [("origin", &self.own), ("edge", &self.edge)] {
            for (outcome, count) in ["served", "failed"].iter().zip(counts) {
                let _ = writeln!(out, "{NAME}{{by=\"{by}\",outcome=\"{outcome}\"}} {}", count.load(Relaxed));
            }
        }
    }
}
