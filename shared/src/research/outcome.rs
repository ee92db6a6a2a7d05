//! What is looked for behind an instant: a price that fell, an incident; and when a window was watched at all.

use crate::scoring::named_enum;
use crate::wire::time::Timestamp;

const DAY: i64 = 86_400;

named_enum! {
    /// How far ahead is looked.
    pub enum Horizon {
        Week = "7d",
        Month = "30d",
        Quarter = "90d",
    }
}

impl Horizon {
    /// Whole days.
    pub const fn days(self) -> i64 {
        match self {
            Horizon::Week => 7,
            Horizon::Month => 30,
            Horizon::Quarter => 90,
        }
    }

    /// The same in seconds.
    pub const fn seconds(self) -> i64 {
        self.days() * DAY
    }
}

named_enum! {
    /// What counts as a loss.
    pub enum OutcomeKind {
        /// The price per share fell by [`LOSS_FROM_BP`] or more from its running peak within the window.
        PriceLoss = "price_loss",
        /// A published incident of the vault, or of its protocol and counted against it, happened within the window.
        Incident = "incident",
    }
}

named_enum! {
    /// What became of a prediction.
    pub enum PredictionOutcome {
        /// Its window has not ended.
        Pending = "pending",
        /// The price fell.
        Loss = "loss",
        /// The price was watched to the end and did not.
        NoLoss = "no_loss",
        /// Nobody read the price well enough to say.
        Unobserved = "unobserved",
    }
}

/// A fall from this many basis points on is a loss: 1 percent. Rounding and fees of a sound vault stay far below it.
pub const LOSS_FROM_BP: i64 = 100;
/// A window is looked into only where a price was read in so many days before it.
pub const BASE_WITHIN_DAYS: i64 = 7;
/// "No loss" needs a reading in the window's last quarter: what nobody watched did not do well.
const WATCHED_TO: (i64, i64) = (3, 4);
/// The most that a price per share rises between two prices, as a factor. Beyond it the series is broken: the contract, its
/// decimals or its few remaining shares changed, and its falls are no losses.
pub const LEAP: i64 = 5;

/// What the prices read in a window say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Greatest fall from the running peak that begins with the last price before the window, in basis points rounded down.
    pub drawdown_bp: i64,
    /// The last price in the window; none when there was none.
    pub last_at: Option<Timestamp>,
    /// The last price in the window that differs from the one before it; none when all repeat one. Sources publish the last
    /// price again where they read none: a price that repeats is no evidence that anybody looked.
    pub moved_at: Option<Timestamp>,
}

impl Watched {
    /// Whether prices reach into the window's last quarter and, at least there, only repeat what was read before.
    pub fn only_repeats(self, from: Timestamp, horizon: Horizon) -> bool {
        let in_last_quarter = |at: Option<Timestamp>| at.is_some_and(|at| is_late(at, from, horizon));
        in_last_quarter(self.last_at) && !in_last_quarter(self.moved_at)
    }
}

fn is_late(at: Timestamp, from: Timestamp, horizon: Horizon) -> bool {
    let (part, of) = WATCHED_TO;
    at.seconds_since(from) * of >= horizon.seconds() * part
}

/// Whether the window that begins at `from` saw a loss; none when it was not watched well enough to say that it did not.
///
/// A loss that was read is one however few the readings are, so gaps can hide losses and never make one.
pub fn price_loss(watched: Watched, from: Timestamp, horizon: Horizon) -> Option<bool> {
    let moved_at = watched.moved_at?;
    if watched.drawdown_bp >= LOSS_FROM_BP {
        return Some(true);
    }
    is_late(moved_at, from, horizon).then_some(false)
}

/// Days after its window in which a prediction waits for late readings.
const LATE_DAYS: i64 = 7;

/// What became of a prediction made at `from`, as of `now`: pending until its window has ended, and while readings may be late.
pub fn resolved(watched: Watched, from: Timestamp, horizon: Horizon, now: Timestamp) -> PredictionOutcome {
    let over = now.seconds_since(from) - horizon.seconds();
    match price_loss(watched, from, horizon) {
        _ if over < 0 => PredictionOutcome::Pending,
        Some(true) => PredictionOutcome::Loss,
        Some(false) => PredictionOutcome::NoLoss,
        None if over < LATE_DAYS * DAY => PredictionOutcome::Pending,
        None => PredictionOutcome::Unobserved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_day(day: i64) -> Timestamp {
        Timestamp::from_seconds(day * DAY)
    }

    /// Prices that moved each time, up to a day.
    fn moving(drawdown_bp: i64, last_day: Option<i64>) -> Watched {
        let last_at = last_day.map(on_day);
        Watched { drawdown_bp, last_at, moved_at: last_at }
    }

    fn seen(drawdown_bp: i64, last_day: Option<i64>) -> Option<bool> {
        price_loss(moving(drawdown_bp, last_day), on_day(100), Horizon::Month)
    }

    #[test]
    fn a_price_that_is_published_again_and_again_is_no_reading() {
        let seen = |moved_day: Option<i64>| {
            let watched = Watched { moved_at: moved_day.map(on_day), ..moving(0, Some(130)) };
            let (from, month) = (on_day(100), Horizon::Month);
            (price_loss(watched, from, month), watched.only_repeats(from, month))
        };
        assert_eq!([seen(None), seen(Some(122)), seen(Some(123))], [(None, true), (None, true), (Some(false), false)]);
        // Where no price reaches the last quarter, nothing is repeated there.
        assert!(!moving(0, Some(110)).only_repeats(on_day(100), Horizon::Month));
    }

    #[test]
    fn a_fall_of_one_percent_is_a_loss_and_less_is_none() {
        assert_eq!(seen(100, Some(101)), Some(true));
        assert_eq!(seen(99, Some(130)), Some(false));
    }

    #[test]
    fn a_prediction_is_settled_when_its_window_ends_and_no_earlier() {
        let at = |drawdown_bp, last_day: Option<i64>, now| {
            resolved(moving(drawdown_bp, last_day), on_day(100), Horizon::Month, on_day(now))
        };
        assert_eq!(at(500, Some(110), 129), PredictionOutcome::Pending);
        assert_eq!(at(500, Some(110), 130), PredictionOutcome::Loss);
        assert_eq!(at(0, Some(130), 130), PredictionOutcome::NoLoss);
        assert_eq!(
            (at(0, Some(110), 136), at(0, None, 137)),
            (PredictionOutcome::Pending, PredictionOutcome::Unobserved)
        );
    }

    #[test]
    fn a_window_that_was_not_watched_to_its_last_quarter_says_nothing_but_a_loss() {
        // Three quarters of thirty days are twenty-two and a half.
        assert_eq!((seen(0, Some(122)), seen(0, Some(123))), (None, Some(false)));
        assert_eq!(seen(5_000, Some(101)), Some(true));
        assert_eq!(seen(5_000, None), None);
    }
}
