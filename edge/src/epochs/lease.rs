//! What one isolate may take for the current versions, for how long, and when it asks again.

use core::time::Duration;
use rds_shared::route::TagVersions;
use rds_shared::wire::Timestamp;

/// How long an isolate may go by what the object told it, counted from before it asked.
pub const LEASE_MILLIS: i64 = 1_000;
/// From then on it asks again while the lease still holds, so that under steady traffic no request waits for the object: its
/// reply may take the rest of the lease, which spans an ocean.
const RENEW_AFTER_MILLIS: i64 = 700;

/// An isolate's lease. At most one question is out at a time; an answer is plain data that any request may use.
#[derive(Debug, Default)]
pub struct Lease {
    /// The newest versions heard of, whoever told them. They hold for ever: nothing older is current again.
    known: TagVersions,
    standing: Option<Standing>,
    asking_since: Option<Timestamp>,
}

/// What the latest question came to.
#[derive(Debug, Clone, Copy)]
struct Standing {
    from: Timestamp,
    /// Without a reply, copies are judged by their age and by what was heard before.
    replied: bool,
}

/// Whether a request may go ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// By the object's word.
    Held,
    /// Without it: the object could not be asked a moment ago.
    Unknown,
    /// Not yet: what was known is too old.
    Lapsed,
}

impl Lease {
    /// The newest versions heard of.
    pub fn known(&self) -> TagVersions {
        self.known
    }

    /// Takes up versions that an answer of the origin carried, or a message.
    pub fn heard(&mut self, versions: &TagVersions) {
        self.known.raise_to(versions);
    }

    /// Whether a request that is here at `now` may go ahead.
    pub fn state(&self, now: Timestamp) -> State {
        let Some(Standing { from, replied }) = self.standing else { return State::Lapsed };
        // After a failure the next question may take as long to fail: nobody waits for that again.
        let tries_again = || self.asking_since.is_some_and(|since| is_within(from, since, LEASE_MILLIS));
        match is_within(from, now, LEASE_MILLIS) {
            true if replied => State::Held,
            true => State::Unknown,
            false if !replied && tries_again() => State::Unknown,
            false => State::Lapsed,
        }
    }

    /// Begins a question, if it is time for one and none is out: what to tell the object with it. A question that has been
    /// out for longer than `patience` is given up.
    pub fn begin(&mut self, now: Timestamp, patience: Duration) -> Option<TagVersions> {
        let patience = i64::try_from(patience.as_millis()).unwrap_or(i64::MAX);
        let is_out = self.asking_since.is_some_and(|since| is_within(since, now, patience));
        let is_recent = self.standing.is_some_and(|standing| is_within(standing.from, now, RENEW_AFTER_MILLIS));
        if is_out || is_recent {
            return None;
        }
        self.asking_since = Some(now);
        Some(self.known)
    }

    /// Ends the question begun at `begun`: the object's word, or none. No answer is remembered for as long as one is.
    pub fn end(&mut self, begun: Timestamp, now: Timestamp, answer: Option<TagVersions>) {
        if self.asking_since == Some(begun) {
            self.asking_since = None;
        }
        let standing = match answer {
            Some(versions) => {
                self.known.raise_to(&versions);
                Standing { from: begun, replied: true }
            }
            None => Standing { from: now, replied: false },
        };
        // A reply that comes after one to a later question has nothing to add.
        if self.standing.is_none_or(|known| known.from <= standing.from || !is_within(known.from, now, LEASE_MILLIS)) {
            self.standing = Some(standing);
        }
    }
}

/// Whether `now` is at most `millis` after `from`. A clock that was set back is not believed.
fn is_within(from: Timestamp, now: Timestamp, millis: i64) -> bool {
    (0..millis).contains(&now.as_millis().saturating_sub(from.as_millis()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rds_shared::route::Tag;

    const PATIENCE: Duration = Duration::from_secs(1);

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_795_219_200_000 + millis)
    }

    fn events(version: i64) -> TagVersions {
        [(Tag::Events, version)].into_iter().collect()
    }

    fn held(version: i64) -> Lease {
        let mut lease = Lease::default();
        assert!(lease.begin(at(0), PATIENCE).is_some());
        lease.end(at(0), at(50), Some(events(version)));
        lease
    }

    #[test]
    fn a_lease_counts_from_before_it_was_asked_for() {
        let lease = held(7);
        let states = [0, 999, 1_000, -1].map(|millis| lease.state(at(millis)));
        assert_eq!(states, [State::Held, State::Held, State::Lapsed, State::Lapsed]);
    }

    #[test]
    fn one_question_is_out_at_a_time_and_none_while_the_last_is_young() {
        let mut lease = held(7);
        assert_eq!(lease.begin(at(699), PATIENCE), None);
        assert_eq!(lease.begin(at(700), PATIENCE), Some(events(7)));
        assert_eq!(lease.begin(at(900), PATIENCE), None);
        lease.end(at(700), at(950), Some(events(8)));
        assert_eq!((lease.state(at(1_699)), lease.known()), (State::Held, events(8)));
        assert_eq!(lease.begin(at(1_399), PATIENCE), None);
    }

    #[test]
    fn no_answer_is_remembered_for_a_second_and_what_was_heard_stays() {
        let mut lease = held(7);
        lease.begin(at(1_500), PATIENCE);
        lease.end(at(1_500), at(2_500), None);
        assert_eq!((lease.state(at(2_500)), lease.state(at(3_499))), (State::Unknown, State::Unknown));
        assert_eq!((lease.state(at(3_500)), lease.known()), (State::Lapsed, events(7)));
    }

    #[test]
    fn while_the_object_is_tried_again_nobody_waits_and_its_word_counts_at_once() {
        let mut lease = Lease::default();
        lease.begin(at(0), PATIENCE);
        lease.end(at(0), at(1_000), None);
        assert!(lease.begin(at(1_800), PATIENCE).is_some());
        assert_eq!(lease.state(at(2_700)), State::Unknown);
        lease.end(at(1_800), at(2_750), Some(events(7)));
        assert_eq!((lease.state(at(2_799)), lease.state(at(2_800))), (State::Held, State::Lapsed));
    }

    #[test]
    fn a_question_whose_asker_was_lost_is_asked_again() {
        let mut lease = Lease::default();
        assert!(lease.begin(at(0), PATIENCE).is_some());
        assert!(lease.begin(at(999), PATIENCE).is_none());
        assert!(lease.begin(at(1_000), PATIENCE).is_some());
        lease.end(at(1_000), at(1_010), Some(events(9)));
        lease.end(at(0), at(1_020), Some(events(8)));
        assert_eq!((lease.state(at(1_999)), lease.known()), (State::Held, events(9)));
    }

    proptest! {
        /// The promise to the origin: a second after the object took up a version, whoever is let ahead knows it.
        #[test]
        fn whoever_goes_ahead_a_second_after_the_news_knows_them(
            questions in prop::collection::vec((0i64..3_000, 0i64..400), 0..12),
            news_at in 0i64..3_000,
            asked_after in 0i64..2_000,
        ) {
            let (mut lease, mut now) = (Lease::default(), 0);
            for (pause, flight) in questions {
                now += pause;
                if lease.begin(at(now), PATIENCE).is_some() {
                    // The object speaks somewhere on the way; at the latest when the reply arrives.
                    let version = if now + flight / 2 >= news_at { 2 } else { 1 };
                    lease.end(at(now), at(now + flight), Some(events(version)));
                    now += flight;
                }
            }
            let request = now.max(news_at + LEASE_MILLIS) + asked_after;
            if lease.state(at(request)) == State::Held {
                prop_assert_eq!(lease.known(), events(2));
            }
        }
    }
}
