//! Requests that keys' objects have counted ahead for this isolate, to be let through without asking.
//!
//! Only of a key that is asked for very often here: the first requests of a burst ask each for itself, then so many are reserved
//! as will come while the reservation lasts, and more before those are used up. What is over is told, with what was let through,
//! so that the object takes the rest back. It is told once: what may be lost on its way stays counted.

use super::ledger::LEAST_RESERVED;
use super::message::{Reservation, Settled, Tally};
use super::outstanding::LONGEST_MILLIS;
use core::time::Duration;
use rds_shared::access::budget::{Allowance, Verdict};
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::route::{Family, RouteId};
use rds_shared::wire::Timestamp;
use std::collections::BTreeMap;

/// The one family whose requests are charged to the key and to nothing else.
pub const FAMILY: Family = Family::Public;
/// A key is asked for often when its object is asked so many times in so many milliseconds.
const OFTEN: u32 = 16;
const SHORTLY_MILLIS: i64 = 100;
/// The largest reservation.
const LARGEST: u32 = 4_096;
/// The next one is asked for when one in so many is left of the last.
const REST: u32 = 4;
/// How long a key is left alone of which nothing could be reserved, in milliseconds.
const QUIET_MILLIS: i64 = 1_000;
/// Reservations of one key at once.
const MOST_HELD: usize = 4;
/// Keys that are watched at once.
const MOST: usize = 1_024;

/// What an isolate knows of its keys' reservations.
#[derive(Debug, Default)]
pub struct Reserved {
    keys: BTreeMap<KeyDigest, Demand>,
}

/// A request that was let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// The key.
    pub record: KeyRecord,
    /// How its budget stands.
    pub verdict: Verdict,
    /// Whether it is time to ask for more.
    pub is_low: bool,
}

/// What to ask a key's object for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// Requests.
    pub want: u32,
    /// Milliseconds.
    pub lasts: u32,
}

#[derive(Debug, Default)]
struct Demand {
    /// How often the object was asked since when.
    asked: u32,
    since: i64,
    /// How many to ask for.
    want: u32,
    /// How many the last reservation was of.
    size: u32,
    /// When the question was sent that is out, and until when its answer is waited for.
    out: Option<(i64, i64)>,
    /// Since when and until when the object is not asked, because it had nothing.
    quiet: (i64, i64),
    /// What the object last said is left, beside what is held.
    remaining: u32,
    /// In the order of their ends.
    held: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    id: i64,
    record: KeyRecord,
    limit: u32,
    reset: i64,
    size: u32,
    left: u32,
    /// Between these milliseconds requests are let through.
    from: i64,
    until: i64,
    /// When the last was.
    last: i64,
    spent: Vec<(RouteId, u32)>,
}

impl Held {
    fn runs(&self, now: i64) -> bool {
        self.left > 0 && (self.from..self.until).contains(&now)
    }

    /// How many would be needed for the longest that one lasts, as it went so far.
    fn demand(&self, now: i64) -> u32 {
        let end = if self.left == 0 { self.last } else { now.min(self.until) };
        let lasted = end.saturating_sub(self.from).max(1);
        let spent = u64::from(self.size.saturating_sub(self.left));
        let demand = spent.saturating_mul(LONGEST_MILLIS.into()).checked_div(lasted.unsigned_abs()).unwrap_or(spent);
        u32::try_from(demand).unwrap_or(LARGEST).clamp(LEAST_RESERVED, LARGEST)
    }

    fn settled(self) -> Settled {
        let tally =
            |(route, served): (RouteId, u32)| Tally { endpoint: route.route().endpoint(), served, throttled: 0 };
        Settled { id: self.id, spent: self.spent.into_iter().map(tally).collect() }
    }
}

impl Demand {
    /// Whether nothing of it is of any use: whoever was to see to what it held is gone.
    fn is_idle(&self, now: i64) -> bool {
        let is_watched = (0..SHORTLY_MILLIS).contains(&now.saturating_sub(self.since));
        !is_watched && !self.is_asking(now) && !self.held.iter().any(|held| held.runs(now))
    }

    fn is_asking(&self, now: i64) -> bool {
        self.out.is_some_and(|(from, until)| (from..until).contains(&now))
    }

    fn left(&self, now: i64) -> u32 {
        self.held.iter().filter(|held| held.runs(now)).fold(0, |sum, held| sum.saturating_add(held.left))
    }
}

impl Reserved {
    /// Lets a request through, if one is reserved.
    pub fn spend(&mut self, digest: &KeyDigest, family: Family, route: RouteId, now: Timestamp) -> Option<Spent> {
        let (demand, now) = (self.keys.get_mut(digest).filter(|_| family == FAMILY)?, now.as_millis());
        let held = demand.held.iter_mut().find(|held| held.runs(now))?;
        held.left = held.left.saturating_sub(1);
        held.last = now;
        match held.spent.iter_mut().find(|(known, _)| *known == route) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => held.spent.push((route, 1)),
        }
        let (record, limit, reset) = (held.record, held.limit, held.reset);
        let left = demand.left(now);
        let remaining = demand.remaining.saturating_add(left).min(limit);
        let allowance = Allowance { limit, remaining, reset };
        let verdict = Verdict { admitted: true, allowance, subclient: None, daily: false, of_neighbourhood: false };
        Some(Spent { record, verdict, is_low: left <= demand.size / REST })
    }

    /// Notes that a key's object was asked and let the request through: `left` is what it says is left. Whether that happens so
    /// often that it is worth asking for a reservation.
    pub fn asked(&mut self, digest: &KeyDigest, left: u32, now: Timestamp) -> bool {
        let now = now.as_millis();
        if self.keys.len() >= MOST && !self.keys.contains_key(digest) {
            self.keys.retain(|_, demand| !demand.is_idle(now));
            if self.keys.len() >= MOST {
                return false;
            }
        }
        let demand = self.keys.entry(*digest).or_default();
        if !(0..SHORTLY_MILLIS).contains(&now.saturating_sub(demand.since)) {
            (demand.since, demand.asked) = (now, 0);
        }
        demand.asked = demand.asked.saturating_add(1);
        demand.remaining = left;
        demand.asked >= OFTEN
    }

    /// What to ask the object for at `now`, unless it is being asked, or has nothing. An answer that takes longer than `patience`
    /// is none.
    pub fn begin(&mut self, digest: &KeyDigest, now: Timestamp, patience: Duration) -> Option<Wish> {
        let (demand, now) = (self.keys.get_mut(digest)?, now.as_millis());
        let patience = i64::try_from(patience.as_millis()).unwrap_or(i64::MAX);
        if demand.is_asking(now) || (demand.quiet.0..demand.quiet.1).contains(&now) || demand.held.len() >= MOST_HELD {
            return None;
        }
        demand.out = Some((now, now.saturating_add(patience)));
        demand.want = demand.held.iter().map(|held| held.demand(now)).fold(demand.want, u32::max).max(LEAST_RESERVED);
        // Whoever is refused meanwhile waits until it is over and back, and must not wait longer than an object is waited for.
        let lasts = LONGEST_MILLIS.min(u32::try_from(patience / 4).unwrap_or(LONGEST_MILLIS));
        Some(Wish { want: demand.want, lasts })
    }

    /// Takes the answer to the question of `asked_at`, and says for how long from now on it has requests let through.
    pub fn end(
        &mut self,
        digest: &KeyDigest,
        (asked_at, now): (Timestamp, Timestamp),
        answer: Option<(KeyRecord, Reservation)>,
    ) -> Option<Duration> {
        let (demand, from, now) = (self.keys.get_mut(digest)?, asked_at.as_millis(), now.as_millis());
        if demand.out.is_some_and(|(begun, _)| begun == from) {
            demand.out = None;
        }
        let Some((record, Reservation { id, size, lasts, allowance })) = answer else {
            demand.quiet = (now, now.saturating_add(QUIET_MILLIS));
            return None;
        };
        let until = from.saturating_add(lasts.into());
        if until <= now {
            // The object is too far away for that.
            demand.quiet = (now, now.saturating_add(QUIET_MILLIS));
        }
        let Allowance { limit, remaining, reset } = allowance;
        (demand.remaining, demand.size) = (remaining, size);
        demand.held.push(Held {
            id,
            record,
            limit,
            reset,
            size,
            left: size,
            from,
            until,
            last: from,
            spent: Vec::new(),
        });
        Some(Duration::from_millis(until.saturating_sub(now).max(0).unsigned_abs()))
    }

    /// Takes what is over: used up, or at its end.
    pub fn over(&mut self, digest: &KeyDigest, now: Timestamp) -> Vec<Settled> {
        let (Some(demand), now) = (self.keys.get_mut(digest), now.as_millis()) else { return Vec::new() };
        let (running, over): (Vec<_>, Vec<_>) =
            std::mem::take(&mut demand.held).into_iter().partition(|held| held.runs(now));
        demand.held = running;
        if let Some(last) = over.last() {
            demand.want = last.demand(now);
        }
        over.into_iter().map(Held::settled).collect()
    }
}
