//! Metrics of the journal.

use crate::metrics::metric;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Counters and gauges of this process.
#[derive(Debug, Default)]
pub struct JournalMeters {
    /// Operations numbered by this process.
    pub numbered: AtomicU64,
    /// Operations that this process found by polling, because no commit had woken it.
    pub polled: AtomicU64,
    /// Ticks that failed.
    pub ticks_failed: AtomicU64,
    /// Ticks that exceeded their time limit.
    pub ticks_timed_out: AtomicU64,
    /// When this process last found all operations numbered, in seconds of the wall clock; 0 before the first time.
    pub current_at: AtomicI64,
    /// The last sequence number that this process has read.
    pub tail: AtomicU64,
    /// The last assigned number, as of the latest read.
    pub head: AtomicU64,
    /// Duration of the latest read of operations that another process had numbered, in microseconds.
    pub read_micros: AtomicU64,
    /// Gaps in the numbering, and missing operations.
    pub broken: AtomicU64,
    /// Steps of the numbering made by this process.
    pub steps: AtomicU64,
    /// Partitions dropped by this process.
    pub dropped: AtomicU64,
    /// Expired partitions that the latest round could not drop.
    pub kept: AtomicU64,
}

impl JournalMeters {
    /// Appends the metrics as Prometheus text. `since` converts a wall-clock time in seconds to its age in seconds; for 0 it returns the
    /// age of the process. `ring` is the number of operations in the ring, and their size in bytes.
    pub fn render(&self, out: &mut String, since: impl Fn(i64) -> i64, ring: (usize, usize)) {
        for (name, help, value) in [
            ("rds_journal_numbered_total", "Operations numbered by this process.", &self.numbered),
            ("rds_journal_polled_total", "Operations whose commit had woken nobody, found by polling.", &self.polled),
            ("rds_journal_ticks_failed_total", "Ticks of the sequencer that failed.", &self.ticks_failed),
            ("rds_journal_ticks_timed_out_total", "Ticks that exceeded their time limit.", &self.ticks_timed_out),
            ("rds_journal_broken_total", "Gaps in the numbering, and missing operations.", &self.broken),
            ("rds_journal_steps_total", "Steps of the numbering after a restore.", &self.steps),
            ("rds_journal_partitions_dropped_total", "Partitions dropped by this process.", &self.dropped),
        ] {
            metric(out, name, help, "counter", value.load(Relaxed) as f64);
        }
        let age = since(self.current_at.load(Relaxed));
        let behind = self.head.load(Relaxed).saturating_sub(self.tail.load(Relaxed));
        for (name, help, value) in [
            ("rds_journal_lag_seconds", "Seconds since all visible operations had numbers.", age as f64),
            ("rds_journal_head", "The last assigned number.", self.head.load(Relaxed) as f64),
            ("rds_journal_behind", "Assigned numbers that this process has not read.", behind as f64),
            ("rds_journal_read_seconds", "Duration of the latest read.", self.read_micros.load(Relaxed) as f64 / 1e6),
            ("rds_journal_ring_entries", "Operations in the ring.", ring.0 as f64),
            ("rds_journal_ring_bytes", "Bytes of frames in the ring.", ring.1 as f64),
            (
                "rds_journal_partitions_kept",
                "Expired partitions that are still needed or in use.",
                self.kept.load(Relaxed) as f64,
            ),
        ] {
            metric(out, name, help, "gauge", value);
        }
    }
}
