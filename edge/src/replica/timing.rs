//! When an isolate asks for an update of its rows.

use rds_shared::wire::Timestamp;

/// Pause after a question that was not answered.
pub const BACKOFF_MILLIS: i64 = 1_000;
/// Pause after an answer that this isolate cannot use, such as rows that do not fit: the next answer will hardly be another one.
pub const UNUSABLE_MILLIS: i64 = 60_000;
/// Time after which a question that never ended counts as lost. The runtime ends what outlives its request after 30 seconds.
const LOST_MILLIS: i64 = 31_000;

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The isolate has every change that it knew of when it asked.
    Renewed,
    /// No answer, or none with every such change.
    Failed,
    /// An answer that this isolate cannot use.
    Unusable,
}

/// When questions are asked.
#[derive(Debug, Default)]
pub struct Timing {
    asking_since: Option<Timestamp>,
    /// When the last question failed, and the pause after it in milliseconds; `None` if it was answered, or none was asked yet.
    failed: Option<(Timestamp, i64)>,
    /// Whether a request has waited in vain for the question that is out.
    is_slow: bool,
}

impl Timing {
    /// Begins a question, unless one is out or the last one failed less than a second ago.
    pub fn begin(&mut self, now: Timestamp) -> bool {
        let is_within =
            |(from, millis): (Timestamp, i64)| (0..millis).contains(&now.as_millis().saturating_sub(from.as_millis()));
        if self.asking_since.map(|since| (since, LOST_MILLIS)).is_some_and(is_within)
            || self.failed.is_some_and(is_within)
        {
            return false;
        }
        (self.asking_since, self.is_slow) = (Some(now), false);
        true
    }

    /// Ends the question begun at `begun`.
    pub fn end(&mut self, begun: Timestamp, now: Timestamp, outcome: Outcome) {
        if self.asking_since == Some(begun) {
            self.asking_since = None;
            self.failed = match outcome {
                Outcome::Renewed => None,
                Outcome::Failed => Some((now, BACKOFF_MILLIS)),
                Outcome::Unusable => Some((now, UNUSABLE_MILLIS)),
            };
        }
    }

    /// Whether the last question that has ended failed.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Notes that a request has waited in vain for the question that is out, so that no other one waits for it.
    pub fn gave_up(&mut self) {
        self.is_slow = true;
    }

    /// Whether a request may wait for the question that is out.
    pub fn is_promising(&self) -> bool {
        self.asking_since.is_some() && self.failed.is_none() && !self.is_slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_795_219_200_000 + millis)
    }

    #[test]
    fn one_question_is_out_at_a_time_and_a_lost_one_is_asked_again() {
        let mut timing = Timing::default();
        assert!(timing.begin(at(0)) && timing.is_promising());
        assert!(!timing.begin(at(30_999)));
        assert!(timing.begin(at(31_000)));
        timing.end(at(0), at(31_001), Outcome::Failed);
        assert!(timing.is_promising(), "the end of an earlier question changes nothing");
        timing.end(at(31_000), at(31_100), Outcome::Renewed);
        assert!(!timing.is_promising() && timing.begin(at(31_100)));
    }

    #[test]
    fn once_a_request_has_waited_in_vain_no_other_one_waits_for_the_same_question() {
        let mut timing = Timing::default();
        timing.begin(at(0));
        timing.gave_up();
        assert!(!timing.is_promising());
        timing.end(at(0), at(2_000), Outcome::Renewed);
        assert!(timing.begin(at(3_000)) && timing.is_promising());
    }

    #[test]
    fn after_a_failure_nobody_waits_until_a_question_is_answered_again() {
        let mut timing = Timing::default();
        timing.begin(at(0));
        timing.end(at(0), at(100), Outcome::Failed);
        assert!(!timing.begin(at(1_099)));
        assert!(timing.begin(at(1_100)) && !timing.is_promising());
        timing.end(at(1_100), at(1_200), Outcome::Renewed);
        assert!(timing.begin(at(1_200)) && timing.is_promising());
    }
}
