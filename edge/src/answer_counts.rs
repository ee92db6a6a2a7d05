//! Counts per minute of the responses that the edge gave by itself (cached responses, refusals, its own errors), for the status feed.
//!
//! The origin counts the responses it gives. The counts go to the tag versions' Durable Object, which sums them over all isolates and
//! reports them to the origin. An isolate repeats a report unchanged until it is acknowledged; the Durable Object counts each
//! (isolate, sequence number) once.

use crate::pipeline::RequestContext;
use crate::ports::{Guards, Host, Inbound};
use crate::respond::Answer;
use crate::tag_versions::answer_totals::AnsweredReport;
use rds_shared::access::link::AnsweredMinute;
use rds_shared::route::Route;
use rds_shared::wire::{ErrorCode, Timestamp, hex};
use std::collections::BTreeMap;

/// Maximum number of minutes kept while reporting fails; the oldest are dropped first.
const MAX_MINUTES: usize = 16;
/// Age in seconds after which a scheduled report counts as lost.
const REPORT_LOST_SECONDS: i64 = 60;

/// Counts not yet acknowledged.
#[derive(Debug, Default)]
pub struct Answered {
    minutes: BTreeMap<i64, AnsweredMinute>,
    isolate: String,
    sequence: u64,
    /// The report that was sent and not acknowledged.
    in_flight: Option<AnsweredReport>,
    /// When the next report was scheduled; `None` after the attempt to send it.
    scheduled_at: Option<Timestamp>,
}

impl Answered {
    /// Counts a response. Returns true if a report must be scheduled.
    pub fn note(&mut self, status: u16, now: Timestamp) -> bool {
        let minute = now.as_seconds().div_euclid(60);
        let counts = self.minutes.entry(minute).or_insert(AnsweredMinute { minute, ..AnsweredMinute::default() });
        let count = match status {
            ..400 => &mut counts.good,
            400..500 => &mut counts.refused,
            500.. => &mut counts.failed,
        };
        *count = count.saturating_add(1);
        if self.minutes.len() > MAX_MINUTES {
            self.minutes.pop_first();
        }
        let is_scheduled = self
            .scheduled_at
            .is_some_and(|at| (0..REPORT_LOST_SECONDS).contains(&now.as_seconds().saturating_sub(at.as_seconds())));
        if !is_scheduled {
            self.scheduled_at = Some(now);
        }
        !is_scheduled
    }

    /// The report to send now, if any; an unacknowledged report is sent again first. `name` becomes the isolate's name if it has none.
    pub fn begin(&mut self, name: [u8; 16]) -> Option<AnsweredReport> {
        if self.in_flight.is_none() && !self.minutes.is_empty() {
            if self.isolate.is_empty() {
                self.isolate = hex(&name);
            }
            self.sequence = self.sequence.saturating_add(1);
            let minutes = core::mem::take(&mut self.minutes).into_values().collect();
            self.in_flight = Some(AnsweredReport { isolate: self.isolate.clone(), sequence: self.sequence, minutes });
        }
        self.in_flight.clone()
    }

    /// Ends the attempt to send a report. `taken` is true if the Durable Object stored the report.
    pub fn end(&mut self, taken: bool) {
        self.scheduled_at = None;
        if taken {
            self.in_flight = None;
        }
    }
}

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// Whether the edge counts this response: the route's responses reflect the service's health, and the origin has not counted this one.
    /// Scores withheld in fail-closed mode are not counted, because they are no failure.
    pub(crate) fn is_counted(&self, route: &Route, answer: &Answer) -> bool {
        let is_withheld = matches!(answer, Answer::Error(error) if error.code == ErrorCode::FailClosed);
        route.rate_limit_class.is_traffic() && !self.uncounted.get() && !is_withheld
    }

    /// Counts a response and schedules a report.
    pub(crate) fn count(&self, status: u16) {
        if self.isolate.answered.borrow_mut().note(status, self.host.now()) {
            self.host.count_later();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_795_219_205);
    const NAME: [u8; 16] = [7; 16];

    #[test]
    fn responses_are_counted_by_class_and_minute_and_reported_once() {
        let mut answered = Answered::default();
        assert!(answered.note(200, NOW), "the first response schedules a report");
        assert!(![304, 401, 429, 503, 504].into_iter().any(|status| answered.note(status, NOW)));
        answered.note(200, NOW.plus_seconds(60));
        let report = answered.begin(NAME).unwrap();
        let minute = NOW.as_seconds() / 60;
        let of = |minute, good, refused, failed| AnsweredMinute { minute, good, refused, failed };
        assert_eq!(report.minutes, [of(minute, 2, 2, 2), of(minute + 1, 1, 0, 0)]);
        answered.end(true);
        assert_eq!(answered.begin(NAME), None);
    }

    #[test]
    fn an_unacknowledged_report_is_repeated_unchanged_before_newer_counts() {
        let mut answered = Answered::default();
        answered.note(200, NOW);
        let first = answered.begin(NAME).unwrap();
        answered.note(503, NOW);
        answered.end(false);
        assert!(answered.note(503, NOW), "the next response schedules another report");
        assert_eq!(answered.begin([8; 16]), Some(first.clone()));
        answered.end(true);
        let second = answered.begin([8; 16]).unwrap();
        assert_eq!((second.isolate, second.sequence), (first.isolate, 2));
        assert_eq!(second.minutes[0].failed, 2);
    }

    #[test]
    fn counts_are_bounded_and_a_lost_report_is_scheduled_again() {
        let mut answered = Answered::default();
        for minute in 0..1_000 {
            assert!(answered.note(200, NOW.plus_seconds(60 * minute)));
        }
        assert!(!answered.note(200, NOW.plus_seconds(999 * 60 + 59)));
        assert_eq!(answered.begin(NAME).unwrap().minutes.len(), MAX_MINUTES);
    }
}
