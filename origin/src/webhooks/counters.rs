//! Webhook metrics, as Prometheus text.

use super::send::AttemptEnd;
use crate::metrics::{head, metric};
use rds_shared::push::schedule::{AttemptOutcome, Failure};
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Counters and gauges of this process.
#[derive(Debug, Default)]
pub struct Counters {
    delivered: AtomicU64,
    failed: [AtomicU64; Failure::ALL.len()],
    ours: AtomicU64,
    /// Deliveries given up after their last attempt.
    pub given_up: AtomicU64,
    /// Attempts that ended after their lease had expired; another worker has claimed the delivery.
    pub fenced: AtomicU64,
    /// Deliveries enqueued from the journal.
    pub enqueued: AtomicU64,
    /// Running attempts of this process.
    pub in_flight: AtomicI64,
    /// Deliveries that wait for an attempt, of all processes.
    pub waiting: AtomicU64,
    /// How long the oldest pending delivery of an active subscription has been due, in seconds.
    pub lag_seconds: AtomicI64,
    /// Operations of the journal that have not been fanned out.
    pub fanout_behind: AtomicU64,
    /// Milliseconds by which this process's clock is ahead of the database's.
    pub clock_offset_ms: AtomicI64,
}

impl Counters {
    /// Counts the end of an attempt.
    pub fn ended(&self, ended: &AttemptEnd) {
        let cell = match ended.outcome() {
            Some(AttemptOutcome::Delivered) => &self.delivered,
            Some(AttemptOutcome::Failed(failure)) => match Failure::ALL.iter().position(|known| *known == failure) {
                Some(position) => &self.failed[position],
                None => return,
            },
            None => &self.ours,
        };
        cell.fetch_add(1, Relaxed);
    }

    /// Appends the metrics to a scrape.
    pub fn render(&self, out: &mut String) {
        let name = "rds_webhook_attempts_total";
        head(out, name, "Attempts of webhook deliveries, by outcome.", "counter");
        let failed = Failure::ALL.iter().map(|failure| failure.as_str()).zip(&self.failed);
        for (outcome, count) in
            [("delivered", &self.delivered), ("fault_of_ours", &self.ours)].into_iter().chain(failed)
        {
            let _ = writeln!(out, "{name}{{outcome=\"{outcome}\"}} {}", count.load(Relaxed));
        }
        let counters = [
            ("rds_webhook_given_up_total", "Webhook deliveries given up.", &self.given_up),
            ("rds_webhook_fenced_total", "Webhook attempts that ended after their lease had expired.", &self.fenced),
            ("rds_webhook_enqueued_total", "Webhook deliveries enqueued from the journal.", &self.enqueued),
        ];
        for (name, help, count) in counters {
            metric(out, name, help, "counter", count.load(Relaxed) as f64);
        }
        let (in_flight, lag) = (self.in_flight.load(Relaxed) as f64, self.lag_seconds.load(Relaxed) as f64);
        let (waiting, behind) = (self.waiting.load(Relaxed) as f64, self.fanout_behind.load(Relaxed) as f64);
        let offset = self.clock_offset_ms.load(Relaxed) as f64 / 1e3;
        let offset_help = "Seconds by which this process's clock is ahead of the database's; receivers refuse signatures that are 300 seconds off.";
        for (name, help, value) in [
            ("rds_webhook_in_flight", "Running webhook attempts of this process.", in_flight),
            ("rds_webhook_waiting", "Webhook deliveries that wait for an attempt.", waiting),
            ("rds_webhook_lag_seconds", "Time for which the oldest due webhook delivery has been waiting.", lag),
            ("rds_webhook_fanout_behind", "Journal operations not yet fanned out to webhooks.", behind),
            ("rds_webhook_clock_offset_seconds", offset_help, offset),
        ] {
            metric(out, name, help, "gauge", value);
        }
    }
}
