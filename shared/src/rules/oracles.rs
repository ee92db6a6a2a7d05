//! Price feeds: the age of the latest update, and whether the feed is stale.
//!
//! A feed promises an update at least once per heartbeat, whether its price moved or not. The feed is stale if its latest update is older
//! than one heartbeat. If the heartbeat or the latest update is not known, the status is unknown.

use crate::scoring::named_enum;
use crate::wire::time::Timestamp;

named_enum! {
    /// Whether a feed keeps its heartbeat.
    pub enum FeedStatus {
        /// The latest update is at most one heartbeat old.
        Fresh = "fresh",
        /// The latest update is older than one heartbeat.
        Stale = "stale",
        /// The heartbeat or the latest update is not known.
        Unknown = "unknown",
    }
}

/// Whole seconds since the feed's latest update: `None` if no update is known, 0 if the update is in the future.
pub fn age_seconds(updated_at: Option<Timestamp>, now: Timestamp) -> Option<u64> {
    updated_at.map(|updated| u64::try_from(now.seconds_since(updated)).unwrap_or(0))
}

/// The last instant at which the feed is fresh without another update; `None` if the heartbeat or the latest update is not known.
///
/// This is the end of the second in which the age in whole seconds equals the heartbeat, so that status and age never contradict each
/// other.
pub fn fresh_until(updated_at: Option<Timestamp>, heartbeat_seconds: Option<u64>) -> Option<Timestamp> {
    let (updated, heartbeat) = updated_at.zip(heartbeat_seconds)?;
    let until = updated.plus_seconds(i64::try_from(heartbeat).unwrap_or(i64::MAX)).as_micros();
    Some(Timestamp::from_micros(until.saturating_add(999_999)))
}

/// The feed's status at `now`, from the result of [`fresh_until`].
pub fn status(fresh_until: Option<Timestamp>, now: Timestamp) -> FeedStatus {
    match fresh_until {
        None => FeedStatus::Unknown,
        Some(until) if now <= until => FeedStatus::Fresh,
        Some(_) => FeedStatus::Stale,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPDATED: Timestamp = Timestamp::from_seconds(10_000);

    #[test]
    fn a_feed_goes_stale_right_after_its_heartbeat() {
        let until = fresh_until(Some(UPDATED), Some(3_600));
        let at = |seconds| status(until, UPDATED.plus_seconds(seconds));
        assert_eq!(
            [at(-5), at(0), at(3_600), at(3_601)],
            [FeedStatus::Fresh, FeedStatus::Fresh, FeedStatus::Fresh, FeedStatus::Stale]
        );
    }

    #[test]
    fn status_and_age_agree_at_every_microsecond() {
        let until = fresh_until(Some(UPDATED), Some(60));
        for micros in [59_999_999, 60_000_000, 60_000_001, 60_999_999, 61_000_000] {
            let now = Timestamp::from_micros(UPDATED.as_micros() + micros);
            assert_eq!(
                status(until, now) == FeedStatus::Fresh,
                age_seconds(Some(UPDATED), now) <= Some(60),
                "{micros}"
            );
        }
    }

    #[test]
    fn without_a_heartbeat_or_an_update_the_status_is_unknown() {
        for until in [fresh_until(None, Some(60)), fresh_until(Some(UPDATED), None)] {
            assert_eq!(status(until, UPDATED), FeedStatus::Unknown);
        }
    }

    #[test]
    fn age_is_never_negative() {
        assert_eq!(age_seconds(None, UPDATED), None);
        assert_eq!(age_seconds(Some(UPDATED), UPDATED.plus_seconds(61)), Some(61));
        assert_eq!(age_seconds(Some(UPDATED), UPDATED.plus_seconds(-1)), Some(0));
    }
}
