//! An isolate's lease on the tag versions: which versions it treats as current, for how long, and when it renews.

use super::withheld::Withheld;
use core::time::Duration;
use rds_shared::route::TagVersions;
use rds_shared::wire::Timestamp;

/// How long versions from the Durable Object may be treated as current, counted from the moment before they were requested.
pub const LEASE_MILLIS: i64 = 1_000;
/// Age at which the lease is renewed in the background, so that under steady traffic requests never wait. The remaining 300 ms allow for a
/// reply across an ocean.
const RENEW_AFTER_MILLIS: i64 = 700;

/// An isolate's lease. At most one renewal is in progress at a time; its answer is plain data that any request may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The newest versions known, from any source. They stay valid for ever, because versions never decrease.
    known: TagVersions,
    /// The chains whose data is not served, as far as known.
    withheld: Withheld,
    latest: Option<Renewal>,
    asking_since: Option<Timestamp>,
}

/// The outcome of the latest renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Renewal {
    from: Timestamp,
    /// Whether the Durable Object replied. If not, cached responses are used according to their age and the versions already known.
    replied: bool,
}

/// Whether a request may proceed under the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The request proceeds with current versions.
    Held,
    /// The request proceeds with the versions already known, because the Durable Object did not answer within the last second.
    Unknown,
    /// The request waits for a renewal.
    Lapsed,
}

impl Lease {
    /// The newest versions known.
    pub fn known(&self) -> TagVersions {
        self.known
    }

    /// Records versions from an answer or a message of the origin.
    pub fn record_versions(&mut self, versions: &TagVersions) {
        self.known.raise_to(versions);
    }

    /// The chains whose data is not served, as far as known.
    pub fn withheld(&self) -> &Withheld {
        &self.withheld
    }

    /// Records withheld chains, unless a newer list is known.
    pub fn record_withheld(&mut self, withheld: &Withheld) {
        self.withheld.renew(withheld);
    }

    /// Whether a request may proceed at `now`.
    pub fn state(&self, now: Timestamp) -> State {
        let Some(Renewal { from, replied }) = self.latest else { return State::Lapsed };
        // After a failed renewal the next one may fail as slowly, so requests do not wait for it.
        let tries_again = || self.asking_since.is_some_and(|since| is_within(from, since, LEASE_MILLIS));
        match is_within(from, now, LEASE_MILLIS) {
            true if replied => State::Held,
            true => State::Unknown,
            false if !replied && tries_again() => State::Unknown,
            false => State::Lapsed,
        }
    }

    /// Starts a renewal if the latest one is older than `RENEW_AFTER_MILLIS` and none is in progress; returns the versions to report.
    /// A renewal in progress for longer than `patience` counts as failed.
    pub fn begin(&mut self, now: Timestamp, patience: Duration) -> Option<TagVersions> {
        let patience = i64::try_from(patience.as_millis()).unwrap_or(i64::MAX);
        let is_out = self.asking_since.is_some_and(|since| is_within(since, now, patience));
        let is_recent = self.latest.is_some_and(|latest| is_within(latest.from, now, RENEW_AFTER_MILLIS));
        if is_out || is_recent {
            return None;
        }
        self.asking_since = Some(now);
        Some(self.known)
    }

    /// Ends the renewal begun at `begun` with its answer, or without one. A missing answer is remembered for as long as a lease.
    pub fn end(&mut self, begun: Timestamp, now: Timestamp, answer: Option<TagVersions>) {
        if self.asking_since == Some(begun) {
            self.asking_since = None;
        }
        let ended = match answer {
            Some(versions) => {
                self.known.raise_to(&versions);
                Renewal { from: begun, replied: true }
            }
            None => Renewal { from: now, replied: false },
        };
        // A reply that arrives after the reply to a later renewal must not shorten the lease.
        if self.latest.is_none_or(|known| known.from <= ended.from || !is_within(known.from, now, LEASE_MILLIS)) {
            self.latest = Some(ended);
        }
    }
}

/// Whether `now` is less than `millis` after `from`; false after the clock was set back.
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
    fn a_lease_counts_from_before_it_was_requested() {
        let lease = held(7);
        let states = [0, 999, 1_000, -1].map(|millis| lease.state(at(millis)));
        assert_eq!(states, [State::Held, State::Held, State::Lapsed, State::Lapsed]);
    }

    #[test]
    fn one_renewal_is_out_at_a_time_and_none_while_the_lease_is_young() {
        let mut lease = held(7);
        assert_eq!(lease.begin(at(699), PATIENCE), None);
        assert_eq!(lease.begin(at(700), PATIENCE), Some(events(7)));
        assert_eq!(lease.begin(at(900), PATIENCE), None);
        lease.end(at(700), at(950), Some(events(8)));
        assert_eq!((lease.state(at(1_699)), lease.known()), (State::Held, events(8)));
        assert_eq!(lease.begin(at(1_399), PATIENCE), None);
    }

    #[test]
    fn a_missing_answer_is_remembered_for_a_second_and_versions_stay() {
        let mut lease = held(7);
        lease.begin(at(1_500), PATIENCE);
        lease.end(at(1_500), at(2_500), None);
        assert_eq!((lease.state(at(2_500)), lease.state(at(3_499))), (State::Unknown, State::Unknown));
        assert_eq!((lease.state(at(3_500)), lease.known()), (State::Lapsed, events(7)));
    }

    #[test]
    fn requests_do_not_wait_for_a_retry_and_its_answer_counts_at_once() {
        let mut lease = Lease::default();
        lease.begin(at(0), PATIENCE);
        lease.end(at(0), at(1_000), None);
        assert!(lease.begin(at(1_800), PATIENCE).is_some());
        assert_eq!(lease.state(at(2_700)), State::Unknown);
        lease.end(at(1_800), at(2_750), Some(events(7)));
        assert_eq!((lease.state(at(2_799)), lease.state(at(2_800))), (State::Held, State::Lapsed));
    }

    #[test]
    fn a_renewal_that_never_ended_is_repeated() {
        let mut lease = Lease::default();
        assert!(lease.begin(at(0), PATIENCE).is_some());
        assert!(lease.begin(at(999), PATIENCE).is_none());
        assert!(lease.begin(at(1_000), PATIENCE).is_some());
        lease.end(at(1_000), at(1_010), Some(events(9)));
        lease.end(at(0), at(1_020), Some(events(8)));
        assert_eq!((lease.state(at(1_999)), lease.known()), (State::Held, events(9)));
    }

    proptest! {
        /// The guarantee to the origin: one second after the Durable Object stored a version, every request that proceeds uses this version.
        #[test]
        fn a_request_that_proceeds_a_second_after_a_change_knows_it(
            questions in prop::collection::vec((0i64..3_000, 0i64..400), 0..12),
            news_at in 0i64..3_000,
            asked_after in 0i64..2_000,
        ) {
            let (mut lease, mut now) = (Lease::default(), 0);
            for (pause, flight) in questions {
                now += pause;
                if lease.begin(at(now), PATIENCE).is_some() {
                    // The Durable Object answers halfway through the round trip.
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
