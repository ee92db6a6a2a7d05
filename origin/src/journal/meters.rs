//! What the journal tells about itself.

use crate::metrics::metric;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Counters and gauges of one process.
#[derive(Debug, Default)]
pub struct JournalMeters {
    /// Operations numbered by this process.
    pub numbered: AtomicU64,
    /// Ticks that failed.
    pub ticks_failed: AtomicU64,
    /// Ticks that took longer than they may.
    pub ticks_timed_out: AtomicU64,
    /// When this process last found nothing left to number, in seconds of the wall clock; 0 before the first time.
    pub current_at: AtomicI64,
    /// The last number that this process has read.
    pub tail: AtomicU64,
    /// The head when it was last looked at.
    pub head: AtomicU64,
    /// Microseconds that the latest read of new operations took.
    pub read_micros: AtomicU64,
    /// Numbers that did not follow each other, and operations that were not there.
    pub broken: AtomicU64,
    /// Steps over numbers that this process made.
    pub steps: AtomicU64,
    /// Partitions dropped by this process.
    pub dropped: AtomicU64,
    /// Partitions whose hour is over and that could not be dropped at the last look.
    pub kept: AtomicU64,
}

impl JournalMeters {
    /// Appends them as Prometheus text. `since` tells the seconds since a second of the wall clock, or since the process began where
    /// that is 0; `ring` is the number of frames and their bytes.
    pub fn render(&self, out: &mut String, since: impl Fn(i64) -> i64, ring: (usize, usize)) {
        for (name, help, value) in [
            ("rds_journal_numbered_total", "Operations numbered by this process.", &self.numbered),
            ("rds_journal_ticks_failed_total", "Ticks of the sequencer that failed.", &self.ticks_failed),
            ("rds_journal_ticks_timed_out_total", "Ticks that took longer than they may.", &self.ticks_timed_out),
            ("rds_journal_broken_total", "Numbers that did not follow, and operations missing.", &self.broken),
            ("rds_journal_steps_total", "Steps over numbers that a restore may have undone.", &self.steps),
            ("rds_journal_partitions_dropped_total", "Partitions dropped by this process.", &self.dropped),
        ] {
            metric(out, name, help, "counter", value.load(Relaxed) as f64);
        }
        let age = since(self.current_at.load(Relaxed));
        let behind = self.head.load(Relaxed).saturating_sub(self.tail.load(Relaxed));
        for (name, help, value) in [
            ("rds_journal_lag_seconds", "Seconds since everything visible had its number.", age as f64),
            ("rds_journal_head", "The last number given.", self.head.load(Relaxed) as f64),
            ("rds_journal_behind", "Numbers given that this process has not read.", behind as f64),
            ("rds_journal_read_seconds", "Duration of the latest read.", self.read_micros.load(Relaxed) as f64 / 1e6),
            ("rds_journal_ring_entries", "Operations in the ring.", ring.0 as f64),
            ("rds_journal_ring_bytes", "Bytes of frames in the ring.", ring.1 as f64),
            (
                "rds_journal_partitions_kept",
                "Partitions past their hour, still needed or in use.",
                self.kept.load(Relaxed) as f64,
            ),
        ] {
            metric(out, name, help, "gauge", value);
        }
    }
}
