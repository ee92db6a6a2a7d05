//! Metrics of the replica.

use super::holders::Holders;
use crate::metrics::{head, metric};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What an update consists of, apart from the stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Served {
    Current,
    Delta,
    Whole,
}

impl Served {
    const ALL: [Served; 3] = [Served::Current, Served::Delta, Served::Whole];

    const fn name(self) -> &'static str {
        match self {
            Served::Current => "current",
            Served::Delta => "delta",
            Served::Whole => "whole",
        }
    }
}

/// Counters and gauges of this process.
#[derive(Debug, Default)]
pub struct Meters {
    updates: [AtomicU64; Served::ALL.len()],
    update_bytes: AtomicU64,
    /// Bytes of segments sent.
    pub(super) segment_bytes: AtomicU64,
    /// Segments that were compressed.
    pub(super) segments_made: AtomicU64,
    /// States that a delta can begin at or lead to.
    pub(super) states: AtomicU64,
    /// Duration of the latest computation of a state, in microseconds.
    pub(super) state_micros: AtomicU64,
    /// Answers refused because too many bytes of answers were in memory.
    pub(super) refused: AtomicU64,
    /// What the edge's isolates hold.
    pub(super) holders: Holders,
}

impl Meters {
    /// Counts an update of `bytes`.
    pub(super) fn served(&self, what: Served, bytes: usize) {
        self.updates[what as usize].fetch_add(1, Relaxed);
        self.update_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Appends the metrics as Prometheus text.
    pub fn render(&self, out: &mut String) {
        head(out, "rds_replica_updates_total", "Updates sent to replicas at the edge, by content.", "counter");
        for (what, count) in Served::ALL.iter().zip(&self.updates) {
            let _ = writeln!(out, "rds_replica_updates_total{{content=\"{}\"}} {}", what.name(), count.load(Relaxed));
        }
        for (name, help, value) in [
            ("rds_replica_update_bytes_total", "Bytes of updates sent to replicas.", &self.update_bytes),
            ("rds_replica_segment_bytes_total", "Bytes of segments sent to replicas.", &self.segment_bytes),
            ("rds_replica_segments_made_total", "Segments compressed for replicas.", &self.segments_made),
            ("rds_replica_answers_refused_total", "Answers to replicas refused for lack of memory.", &self.refused),
        ] {
            metric(out, name, help, "counter", value.load(Relaxed) as f64);
        }
        metric(
            out,
            "rds_replica_states",
            "States that replicas can be led on from; 0 while no edge asks.",
            "gauge",
            self.states.load(Relaxed) as f64,
        );
        metric(
            out,
            "rds_replica_state_seconds",
            "Duration of the latest computation of a state.",
            "gauge",
            self.state_micros.load(Relaxed) as f64 / 1e6,
        );
        self.holders.render(out);
    }
}
