//! Metrics of event streams.

use crate::metrics::{head, metric};
use rds_shared::push::gap::GapReason;
use rds_shared::wire::Timestamp;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Counters of this process.
#[derive(Debug, Default)]
pub struct StreamMeters {
    /// Streams that were opened.
    pub opened: AtomicU64,
    /// Streams that were refused because a limit was reached.
    pub refused: AtomicU64,
    /// Streams that were ended because their key was revoked.
    pub revoked: AtomicU64,
    /// Operation frames handed to connections.
    pub frames: AtomicU64,
    /// Pages read from the journal for streams whose position the ring no longer contained.
    pub pages: AtomicU64,
    /// Clients with a cursor above the head; a database restored to an older state causes them.
    pub ahead: AtomicU64,
    gaps: [AtomicU64; GapReason::ALL.len()],
    overflowed_at: AtomicI64,
}

impl StreamMeters {
    /// Counts a gap frame, sent at `now`.
    pub fn gap(&self, reason: GapReason, now: Timestamp) {
        if let Some(count) = self.gaps.get(reason as usize) {
            count.fetch_add(1, Relaxed);
        }
        if reason == GapReason::QueueOverflow {
            self.overflowed_at.store(now.as_micros(), Relaxed);
        }
    }

    /// When a client's queue last overflowed.
    pub fn overflowed_at(&self) -> Option<Timestamp> {
        let at = self.overflowed_at.load(Relaxed);
        (at != 0).then(|| Timestamp::from_micros(at))
    }

    /// Number of gap frames sent with this reason.
    pub fn gaps(&self, reason: GapReason) -> u64 {
        self.gaps.get(reason as usize).map_or(0, |count| count.load(Relaxed))
    }

    /// Appends the metrics as Prometheus text; `open` is the number of open streams.
    pub fn render(&self, out: &mut String, open: usize) {
        for (name, help, value) in [
            ("rds_streams_opened_total", "Event streams opened.", &self.opened),
            ("rds_streams_refused_total", "Event streams refused because a limit was reached.", &self.refused),
            ("rds_streams_revoked_total", "Event streams ended because their key was revoked.", &self.revoked),
            ("rds_stream_frames_total", "Operation frames handed to connections.", &self.frames),
            ("rds_stream_pages_total", "Pages read from the journal for streams.", &self.pages),
            ("rds_stream_cursors_ahead_total", "Clients with a cursor above the head.", &self.ahead),
        ] {
            metric(out, name, help, "counter", value.load(Relaxed) as f64);
        }
        metric(out, "rds_streams_open", "Event streams open.", "gauge", open as f64);
        head(out, "rds_stream_gaps_total", "Gap frames sent.", "counter");
        for reason in GapReason::ALL {
            let _ = writeln!(out, "rds_stream_gaps_total{{reason=\"{reason}\"}} {}", self.gaps(*reason));
        }
    }
}
