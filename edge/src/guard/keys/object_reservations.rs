//! A key's outstanding reservations: counted in storage and not settled yet.
//!
//! If the limit is used up only because of outstanding reservations, a refusal may be premature. The Durable Object holds the refusal back
//! until these reservations are settled or overdue, because another isolate may still give unused requests back.

use crate::guard::objects::message::Reservation;
use rds_shared::route::RateLimitClass;

/// Longest duration of a reservation, in milliseconds; shorter than the wait before a change of a key is acknowledged.
pub const LONGEST_MILLIS: u32 = 250;
/// Shortest useful duration, in milliseconds.
const MIN_MILLIS: i64 = 20;
/// Maximum number of outstanding reservations.
const MAX_OUTSTANDING: usize = 256;

/// A reservation that is counted in storage and not settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OutstandingReservation {
    pub id: i64,
    /// The window in which it was counted.
    pub window: i64,
    pub class: RateLimitClass,
    /// Number of requests.
    pub size: u32,
}

/// The outstanding reservations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Outstanding {
    /// Each reservation with the interval, in milliseconds, in which refusals wait for its settlement; `None` after a restart.
    all: Vec<(OutstandingReservation, Option<(i64, i64)>)>,
}

impl Outstanding {
    pub fn new(out: Vec<OutstandingReservation>) -> Self {
        Outstanding { all: out.into_iter().map(|out| (out, None)).collect() }
    }

    /// Duration in milliseconds of a reservation requested at `now`: at most `wanted`, and not beyond `end`. `None` if that is too short or
    /// too many are outstanding.
    pub fn lasts(&self, wanted: u32, now: i64, end: i64) -> Option<u32> {
        let lasts = i64::from(wanted.min(LONGEST_MILLIS)).min(end.saturating_sub(now));
        let lasts = u32::try_from(lasts).ok().filter(|_| lasts >= MIN_MILLIS);
        lasts.filter(|_| self.all.len() < MAX_OUTSTANDING)
    }

    /// Adds a stored reservation made at `now`. Its settlement is awaited until one requested duration after the reservation's end.
    pub fn made(&mut self, out: OutstandingReservation, reservation: &Reservation, wanted: u32, now: i64) {
        let back = wanted.min(LONGEST_MILLIS);
        let until = now.saturating_add(reservation.lasts.into()).saturating_add(back.into());
        self.all.push((out, Some((now, until))));
    }

    /// The outstanding reservation with this id.
    pub fn find(&self, id: i64) -> Option<OutstandingReservation> {
        self.all.iter().map(|(out, _)| *out).find(|out| out.id == id)
    }

    /// Removes a reservation that is settled in storage.
    pub fn settled(&mut self, id: i64) {
        self.all.retain(|(out, _)| out.id != id);
    }

    /// Drops the reservations of earlier windows, which can no longer be settled.
    pub fn enter(&mut self, window: i64) {
        self.all.retain(|(out, _)| out.window >= window);
    }

    /// Whether a refusal in `window` at `now` must wait for a reservation, of `class` or of any rate-limit class.
    pub fn is_awaited(&self, class: Option<RateLimitClass>, window: i64, now: i64) -> bool {
        let counts =
            |out: &OutstandingReservation| out.window == window && class.is_none_or(|class| class == out.class);
        let runs = |awaited: Option<(i64, i64)>| awaited.is_some_and(|(from, until)| (from..until).contains(&now));
        self.all.iter().any(|(out, awaited)| counts(out) && runs(*awaited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::addresses::denials::KEY_LEASE_MILLIS;
    use rds_shared::access::budget::Allowance;

    const T: i64 = 1_795_219_205_000;

    fn out(id: i64, window: i64) -> OutstandingReservation {
        OutstandingReservation { id, window, class: RateLimitClass::Public, size: 64 }
    }

    fn made(outstanding: &mut Outstanding, id: i64, now: i64) {
        let allowance = Allowance { limit: 1_000, remaining: 0, reset: 0 };
        outstanding.made(out(id, 1), &Reservation { id, size: 64, lasts: 250, allowance }, 250, now);
    }

    #[test]
    fn a_reservation_ends_before_a_change_of_its_key_is_acknowledged() {
        assert!(i64::from(LONGEST_MILLIS) < KEY_LEASE_MILLIS);
    }

    #[test]
    fn a_reservation_ends_before_its_window_or_record_does() {
        let none = Outstanding::default();
        assert_eq!(none.lasts(9_000, T, T + 60_000), Some(250));
        assert_eq!(none.lasts(100, T, T + 60_000), Some(100));
        assert_eq!(none.lasts(250, T, T + 20), Some(20));
        assert_eq!((none.lasts(250, T, T + 19), none.lasts(250, T, T - 1)), (None, None));
    }

    #[test]
    fn a_refusal_waits_until_all_reservations_are_settled_or_overdue() {
        let mut outstanding = Outstanding::default();
        made(&mut outstanding, 1, T);
        made(&mut outstanding, 2, T + 100);
        outstanding.settled(1);
        let awaited = |now| outstanding.is_awaited(Some(RateLimitClass::Public), 1, now);
        assert!(awaited(T + 100) && awaited(T + 599) && outstanding.is_awaited(None, 1, T + 100));
        assert!(!outstanding.is_awaited(Some(RateLimitClass::GraphRead), 1, T + 100));
        assert!(!outstanding.is_awaited(None, 2, T + 100), "reservations of another window do not matter");
        assert!(!awaited(T + 600) && !awaited(T + 99), "nor after the clock was set back");
        assert_eq!(outstanding.find(2).map(|out| out.size), Some(64), "a late settlement is still accepted");
        outstanding.enter(2);
        assert_eq!(outstanding.find(2), None);
    }

    #[test]
    fn after_a_restart_nothing_waits_and_settlements_are_accepted() {
        let outstanding = Outstanding::new(vec![out(7, 1)]);
        assert!(!outstanding.is_awaited(None, 1, T));
        assert_eq!(outstanding.find(7), Some(out(7, 1)));
    }

    #[test]
    fn a_short_reservation_has_as_long_to_be_settled_as_others() {
        let mut outstanding = Outstanding::default();
        let allowance = Allowance { limit: 1_000, remaining: 0, reset: 0 };
        outstanding.made(out(1, 1), &Reservation { id: 1, size: 64, lasts: 20, allowance }, 250, T);
        assert!(outstanding.is_awaited(None, 1, T + 269) && !outstanding.is_awaited(None, 1, T + 270));
    }

    #[test]
    fn outstanding_reservations_are_bounded() {
        let mut outstanding = Outstanding::default();
        (0..256).for_each(|id| made(&mut outstanding, id, T));
        assert_eq!(outstanding.lasts(250, T, T + 60_000), None);
    }
}
