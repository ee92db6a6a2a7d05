//! The reservations of a key that are out: counted on the disk, and not settled yet.
//!
//! Where a budget is spent but for what is out, nobody knows whether it is spent. Then a refusal waits until everything is back,
//! or so long over that it will not come: no request is refused that another one's reservation has room for.

use super::message::Reservation;
use rds_shared::route::Family;

/// The longest that a reservation lasts, in milliseconds. Less than what whoever acknowledges a change of a key waits first.
pub const LONGEST_MILLIS: u32 = 250;
/// The shortest that is worth asking for.
const SHORTEST_MILLIS: i64 = 20;
/// Reservations that are out at once, at most.
const MOST: usize = 256;

/// A reservation as its object knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Out {
    /// Its name.
    pub id: i64,
    /// The window that it was counted in.
    pub window: i64,
    /// The budget.
    pub family: Family,
    /// How many requests.
    pub size: u32,
}

/// Those that are out.
#[derive(Debug, Clone, Default)]
pub struct Outstanding {
    /// Each with the milliseconds between which its return is worth waiting for; of one from before a restart they are not known.
    all: Vec<(Out, Option<(i64, i64)>)>,
}

impl Outstanding {
    /// What the disk holds.
    pub fn new(out: Vec<Out>) -> Self {
        Outstanding { all: out.into_iter().map(|out| (out, None)).collect() }
    }

    /// How long one may last that is asked for at `now`, in milliseconds, if it is worth it: no longer than asked for, than `end`,
    /// and not while too many are out.
    pub fn lasts(&self, wanted: u32, now: i64, end: i64) -> Option<u32> {
        let lasts = i64::from(wanted.min(LONGEST_MILLIS)).min(end.saturating_sub(now));
        let lasts = u32::try_from(lasts).ok().filter(|_| lasts >= SHORTEST_MILLIS);
        lasts.filter(|_| self.all.len() < MOST)
    }

    /// Notes one that was made at `now` and is on disk. It may be as long on its way back as it was to last.
    pub fn made(&mut self, out: Out, reservation: &Reservation, wanted: u32, now: i64) {
        let back = wanted.min(LONGEST_MILLIS);
        let until = now.saturating_add(reservation.lasts.into()).saturating_add(back.into());
        self.all.push((out, Some((now, until))));
    }

    /// The one of this name, if it is out.
    pub fn find(&self, id: i64) -> Option<Out> {
        self.all.iter().map(|(out, _)| *out).find(|out| out.id == id)
    }

    /// Notes that it is settled on disk.
    pub fn settled(&mut self, id: i64) {
        self.all.retain(|(out, _)| out.id != id);
    }

    /// Leaves every window before `window` behind: what is out of them never comes back.
    pub fn enter(&mut self, window: i64) {
        self.all.retain(|(out, _)| out.window >= window);
    }

    /// Whether a refusal in `window`, at `now`, has to wait for any of them, or for any of `family`.
    pub fn is_awaited(&self, family: Option<Family>, window: i64, now: i64) -> bool {
        let counts = |out: &Out| out.window == window && family.is_none_or(|family| family == out.family);
        let runs = |awaited: Option<(i64, i64)>| awaited.is_some_and(|(from, until)| (from..until).contains(&now));
        self.all.iter().any(|(out, awaited)| counts(out) && runs(*awaited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::denials::KEY_LEASE_MILLIS;
    use rds_shared::access::budget::Allowance;

    const T: i64 = 1_795_219_205_000;

    fn out(id: i64, window: i64) -> Out {
        Out { id, window, family: Family::Public, size: 64 }
    }

    fn made(outstanding: &mut Outstanding, id: i64, now: i64) {
        let allowance = Allowance { limit: 1_000, remaining: 0, reset: 0 };
        outstanding.made(out(id, 1), &Reservation { id, size: 64, lasts: 250, allowance }, 250, now);
    }

    #[test]
    fn it_is_over_before_a_change_of_its_key_is_acknowledged() {
        assert!(i64::from(LONGEST_MILLIS) < KEY_LEASE_MILLIS);
    }

    #[test]
    fn it_lasts_no_longer_than_what_it_rests_on() {
        let none = Outstanding::default();
        assert_eq!(none.lasts(9_000, T, T + 60_000), Some(250));
        assert_eq!(none.lasts(100, T, T + 60_000), Some(100));
        assert_eq!(none.lasts(250, T, T + 20), Some(20));
        assert_eq!((none.lasts(250, T, T + 19), none.lasts(250, T, T - 1)), (None, None));
    }

    #[test]
    fn a_refusal_waits_until_all_are_back_or_long_over() {
        let mut outstanding = Outstanding::default();
        made(&mut outstanding, 1, T);
        made(&mut outstanding, 2, T + 100);
        outstanding.settled(1);
        let awaited = |now| outstanding.is_awaited(Some(Family::Public), 1, now);
        assert!(awaited(T + 100) && awaited(T + 599) && outstanding.is_awaited(None, 1, T + 100));
        assert!(!outstanding.is_awaited(Some(Family::GraphRead), 1, T + 100));
        assert!(!outstanding.is_awaited(None, 2, T + 100), "what comes back of another window is of no use");
        assert!(!awaited(T + 600) && !awaited(T + 99), "by a clock that was set back there is nothing to wait for");
        assert_eq!(outstanding.find(2).map(|out| out.size), Some(64), "and it still counts when it comes");
        outstanding.enter(2);
        assert_eq!(outstanding.find(2), None);
    }

    #[test]
    fn after_a_restart_nobody_waits_and_what_comes_back_is_taken() {
        let outstanding = Outstanding::new(vec![out(7, 1)]);
        assert!(!outstanding.is_awaited(None, 1, T));
        assert_eq!(outstanding.find(7), Some(out(7, 1)));
    }

    #[test]
    fn a_short_one_has_as_long_to_come_back_as_others() {
        let mut outstanding = Outstanding::default();
        let allowance = Allowance { limit: 1_000, remaining: 0, reset: 0 };
        outstanding.made(out(1, 1), &Reservation { id: 1, size: 64, lasts: 20, allowance }, 250, T);
        assert!(outstanding.is_awaited(None, 1, T + 269) && !outstanding.is_awaited(None, 1, T + 270));
    }

    #[test]
    fn so_many_are_out_and_no_more() {
        let mut outstanding = Outstanding::default();
        (0..256).for_each(|id| made(&mut outstanding, id, T));
        assert_eq!(outstanding.lasts(250, T, T + 60_000), None);
    }
}
