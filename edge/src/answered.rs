//! What an isolate answered by itself, minute by minute, for the status feed: copies, refusals and errors of the edge's own.
//!
//! What reached the origin is counted there. Counts go to the object of the versions, which adds up all isolates and tells the origin.
//! A report is repeated unchanged until the object has taken it, and the object takes each number of an isolate once.

use crate::pipeline::Walk;
use crate::ports::{Guards, Host, Inbound};
use crate::respond::Answer;
use rds_shared::access::link::AnsweredMinute;
use rds_shared::route::Route;
use rds_shared::wire::{ErrorCode, Timestamp, hex};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Minutes that an isolate keeps while the object cannot be told; the oldest go first.
const MINUTES: usize = 16;
/// After this long a telling that was arranged counts as lost, in seconds.
const LOST_SECONDS: i64 = 60;

/// Counts of one isolate, on their way to the object of the versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredReport {
    /// The isolate's name, drawn at random.
    pub isolate: String,
    /// The report's number there: 1, 2, 3…
    pub sequence: u64,
    /// What was answered since the report before.
    pub minutes: Vec<AnsweredMinute>,
}

/// What an isolate has answered and not told yet.
#[derive(Debug, Default)]
pub struct Answered {
    minutes: BTreeMap<i64, AnsweredMinute>,
    isolate: String,
    sequence: u64,
    /// The report that is out, or in doubt.
    out: Option<AnsweredReport>,
    /// When the next telling was arranged, until it has ended.
    arranged_at: Option<Timestamp>,
}

impl Answered {
    /// Notes an answer. True when a telling has to be arranged.
    pub fn note(&mut self, status: u16, now: Timestamp) -> bool {
        let minute = now.as_seconds().div_euclid(60);
        let counts = self.minutes.entry(minute).or_insert(AnsweredMinute { minute, ..AnsweredMinute::default() });
        let count = match status {
            ..400 => &mut counts.good,
            400..500 => &mut counts.refused,
            500.. => &mut counts.failed,
        };
        *count = count.saturating_add(1);
        if self.minutes.len() > MINUTES {
            self.minutes.pop_first();
        }
        let is_arranged = self
            .arranged_at
            .is_some_and(|at| (0..LOST_SECONDS).contains(&now.as_seconds().saturating_sub(at.as_seconds())));
        if !is_arranged {
            self.arranged_at = Some(now);
        }
        !is_arranged
    }

    /// What is to be told now, if anything: the report in doubt first. `name` names the isolate if it has no name yet.
    pub fn begin(&mut self, name: [u8; 16]) -> Option<AnsweredReport> {
        if self.out.is_none() && !self.minutes.is_empty() {
            if self.isolate.is_empty() {
                self.isolate = hex(&name);
            }
            self.sequence = self.sequence.saturating_add(1);
            let minutes = core::mem::take(&mut self.minutes).into_values().collect();
            self.out = Some(AnsweredReport { isolate: self.isolate.clone(), sequence: self.sequence, minutes });
        }
        self.out.clone()
    }

    /// Ends the telling; `taken` when the object has the report on its disk.
    pub fn end(&mut self, taken: bool) {
        self.arranged_at = None;
        if taken {
            self.out = None;
        }
    }
}

impl<I: Inbound, H: Host + Guards> Walk<'_, I, H> {
    /// Whether an answer counts here: it says how the service does for its callers, and the origin has not counted it. What is
    /// withheld on purpose is no fault.
    pub(crate) fn is_counted(&self, route: &Route, answer: &Answer) -> bool {
        let is_withheld = matches!(answer, Answer::Error(error) if error.code == ErrorCode::FailClosed);
        route.family.is_traffic() && !self.uncounted.get() && !is_withheld
    }

    /// Counts an answer, and sees to it that the count is told.
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
    fn answers_are_counted_by_class_and_minute_and_told_once() {
        let mut answered = Answered::default();
        assert!(answered.note(200, NOW), "the first one has to be told");
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
    fn a_report_in_doubt_is_repeated_unchanged_and_what_came_since_waits() {
        let mut answered = Answered::default();
        answered.note(200, NOW);
        let first = answered.begin(NAME).unwrap();
        answered.note(503, NOW);
        answered.end(false);
        assert!(answered.note(503, NOW), "the next answer arranges another telling");
        assert_eq!(answered.begin([8; 16]), Some(first.clone()));
        answered.end(true);
        let second = answered.begin([8; 16]).unwrap();
        assert_eq!((second.isolate, second.sequence), (first.isolate, 2));
        assert_eq!(second.minutes[0].failed, 2);
    }

    #[test]
    fn it_is_bounded_and_a_telling_that_was_lost_is_arranged_again() {
        let mut answered = Answered::default();
        for minute in 0..1_000 {
            assert!(answered.note(200, NOW.plus_seconds(60 * minute)));
        }
        assert!(!answered.note(200, NOW.plus_seconds(999 * 60 + 59)));
        assert_eq!(answered.begin(NAME).unwrap().minutes.len(), MINUTES);
    }
}
