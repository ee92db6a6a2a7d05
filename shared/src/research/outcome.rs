//! Outcomes of a window after an instant: a price loss, an incident, no loss, or too few readings to conclude.

use crate::scoring::named_enum;
use crate::wire::time::Timestamp;

const DAY: i64 = 86_400;

named_enum! {
    /// Length of the window in which outcomes are counted; the window begins at the instant of the sample or prediction.
    pub enum Horizon {
        Week = "7d",
        Month = "30d",
        Quarter = "90d",
    }
}

impl Horizon {
    /// The horizon in whole days.
    pub const fn days(self) -> i64 {
        match self {
            Horizon::Week => 7,
            Horizon::Month => 30,
            Horizon::Quarter => 90,
        }
    }

    /// The horizon in seconds.
    pub const fn seconds(self) -> i64 {
        self.days() * DAY
    }
}

named_enum! {
    /// What counts as a loss.
    pub enum OutcomeKind {
        /// The price per share fell by 1 percent or more from its running peak within the window.
        PriceLoss = "price_loss",
        /// A published incident of the vault, or a protocol incident attributed to it, happened within the window.
        Incident = "incident",
    }
}

named_enum! {
    /// The outcome of a prediction.
    pub enum PredictionOutcome {
        /// The window has not ended, or late readings may still arrive.
        Pending = "pending",
        /// The price per share fell by 1 percent or more within the window.
        Loss = "loss",
        /// No loss within the window; in its last quarter a price was read that differs from the price before it.
        NoLoss = "no_loss",
        /// Too few prices were read to decide between loss and no loss.
        Unobserved = "unobserved",
    }
}

/// Smallest drawdown that counts as a loss, in basis points: 1 percent. Rounding and fees of a sound vault stay far below it.
pub const LOSS_FROM_BP: i64 = 100;
/// A window is evaluated only if a price was read within this many days before its start.
pub const BASE_WITHIN_DAYS: i64 = 7;
/// Fraction of the window (numerator, denominator). The outcome "no loss" requires a changed price at or after this point, because a vault
/// without new prices may have lost value.
const LAST_QUARTER_FROM: (i64, i64) = (3, 4);
/// Largest plausible rise of a price per share between two prices, as a factor. A larger rise means that the series is broken (the contract
/// or its decimals changed, or almost no shares remained), so its falls are not losses.
pub const MAX_PRICE_RISE: i64 = 5;

/// Summary of the prices read in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowPrices {
    /// Largest fall from the running peak, in basis points rounded down. The peak starts at the last price before the window.
    pub drawdown_bp: i64,
    /// Time of the last price in the window; none without a price.
    pub last_at: Option<Timestamp>,
    /// Time of the last price in the window that differs from the price before it; none if all prices are equal. A source that reads no new
    /// price publishes its last price again, so a repeated price is not evidence of a reading.
    pub moved_at: Option<Timestamp>,
}

impl WindowPrices {
    /// Whether the window's last quarter has prices, and all of them repeat an earlier price.
    pub fn only_repeats(self, from: Timestamp, horizon: Horizon) -> bool {
        let in_last_quarter = |at: Option<Timestamp>| at.is_some_and(|at| is_late(at, from, horizon));
        in_last_quarter(self.last_at) && !in_last_quarter(self.moved_at)
    }
}

fn is_late(at: Timestamp, from: Timestamp, horizon: Horizon) -> bool {
    let (numerator, denominator) = LAST_QUARTER_FROM;
    at.seconds_since(from) * denominator >= horizon.seconds() * numerator
}

/// Whether there was a loss in the window that begins at `from`; `None` if there are too few readings to rule out a loss.
///
/// An observed loss counts even with few readings, so missing readings can hide a loss but never create one.
pub fn price_loss(prices: WindowPrices, from: Timestamp, horizon: Horizon) -> Option<bool> {
    let moved_at = prices.moved_at?;
    if prices.drawdown_bp >= LOSS_FROM_BP {
        return Some(true);
    }
    is_late(moved_at, from, horizon).then_some(false)
}

/// Days after the window's end for which an undecided prediction waits for late readings.
const LATE_DAYS: i64 = 7;

/// The outcome at `now` of a prediction made at `from`. It is pending until the window has ended. An undecided prediction stays pending for
/// seven more days, because late readings may still decide it.
pub fn prediction_outcome(
    prices: WindowPrices,
    from: Timestamp,
    horizon: Horizon,
    now: Timestamp,
) -> PredictionOutcome {
    let over = now.seconds_since(from) - horizon.seconds();
    match price_loss(prices, from, horizon) {
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

    /// Prices that change with every reading, up to `last_day`.
    fn moving(drawdown_bp: i64, last_day: Option<i64>) -> WindowPrices {
        let last_at = last_day.map(on_day);
        WindowPrices { drawdown_bp, last_at, moved_at: last_at }
    }

    fn seen(drawdown_bp: i64, last_day: Option<i64>) -> Option<bool> {
        price_loss(moving(drawdown_bp, last_day), on_day(100), Horizon::Month)
    }

    #[test]
    fn a_repeated_price_is_not_a_reading() {
        let seen = |moved_day: Option<i64>| {
            let prices = WindowPrices { moved_at: moved_day.map(on_day), ..moving(0, Some(130)) };
            let (from, month) = (on_day(100), Horizon::Month);
            (price_loss(prices, from, month), prices.only_repeats(from, month))
        };
        assert_eq!([seen(None), seen(Some(122)), seen(Some(123))], [(None, true), (None, true), (Some(false), false)]);
        // The last quarter has no price, so it has no repeated price either.
        assert!(!moving(0, Some(110)).only_repeats(on_day(100), Horizon::Month));
    }

    #[test]
    fn a_fall_of_one_percent_is_a_loss_and_less_is_none() {
        assert_eq!(seen(100, Some(101)), Some(true));
        assert_eq!(seen(99, Some(130)), Some(false));
    }

    #[test]
    fn a_prediction_is_settled_no_earlier_than_the_end_of_its_window() {
        let at = |drawdown_bp, last_day: Option<i64>, now| {
            prediction_outcome(moving(drawdown_bp, last_day), on_day(100), Horizon::Month, on_day(now))
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
    fn a_window_without_readings_in_its_last_quarter_can_only_show_a_loss() {
        // Three quarters of 30 days are 22.5 days.
        assert_eq!((seen(0, Some(122)), seen(0, Some(123))), (None, Some(false)));
        assert_eq!(seen(5_000, Some(101)), Some(true));
        assert_eq!(seen(5_000, None), None);
    }
}
