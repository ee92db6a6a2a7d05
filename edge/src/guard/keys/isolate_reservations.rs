//! Reserved requests: counted in advance by a key's Durable Object, and admitted by this isolate without a call.
//!
//! Only busy keys get reservations. The first requests of a burst each call the Durable Object. A reservation then
//! covers the requests expected during its lifetime, and the isolate requests the next reservation before the current
//! one is used up. When a reservation has ended, the isolate reports the requests that it admitted, and the Durable
//! Object takes the unused requests back. The report is sent once; if it is lost, all reserved requests stay counted.

use crate::guard::keys::ledger::MIN_RESERVED;
use crate::guard::keys::object_reservations::LONGEST_MILLIS;
use crate::guard::objects::message::{Reservation, Settled, Tally};
use core::time::Duration;
use rds_shared::access::budget::{Allowance, Verdict};
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::route::{RateLimitClass, RouteId};
use rds_shared::wire::Timestamp;
use std::collections::BTreeMap;

/// The only rate-limit class whose requests are charged to the key alone.
pub const RESERVABLE_CLASS: RateLimitClass = RateLimitClass::Public;
/// A key is busy once this isolate has sent this many of its requests to the Durable Object within [`BUSY_MILLIS`] milliseconds.
const BUSY_REQUESTS: u32 = 16;
const BUSY_MILLIS: i64 = 100;
const MAX_RESERVED: u32 = 4_096;
/// The next reservation is requested when at most 1/4 of the last reservation's size is left.
const LOW_DIVISOR: u32 = 4;
/// Pause after a reservation was refused or came too late, in milliseconds.
const BACKOFF_MILLIS: i64 = 1_000;
/// Maximum number of concurrent reservations of one key.
const MAX_HELD: usize = 4;
/// Maximum number of keys whose demand is tracked.
const MAX_KEYS: usize = 1_024;

/// An isolate's reservations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Reserved {
    keys: BTreeMap<KeyDigest, Demand>,
}

/// An admitted request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    pub record: KeyRecord,
    pub verdict: Verdict,
    /// Whether more requests should be reserved.
    pub is_low: bool,
}

/// A reservation to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReservationRequest {
    /// Number of requests.
    pub want: u32,
    /// Duration in milliseconds.
    pub lasts: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Demand {
    /// Number of requests to the Durable Object since the time `since`, which is in milliseconds.
    asked: u32,
    since: i64,
    /// Requests to reserve next.
    want: u32,
    /// Size of the last reservation.
    size: u32,
    /// When the reservation request in flight was sent, and when it counts as unanswered, in milliseconds.
    out: Option<(i64, i64)>,
    /// Interval in which no reservation is requested, in milliseconds.
    backoff: (i64, i64),
    /// Requests left according to the Durable Object, without the reserved ones.
    remaining: u32,
    /// Reservations in the order in which the Durable Object's replies arrived.
    held: Vec<Held>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Held {
    id: i64,
    record: KeyRecord,
    limit: u32,
    reset: i64,
    size: u32,
    left: u32,
    /// Requests are admitted between these times, in milliseconds.
    from: i64,
    until: i64,
    /// Time of the last admitted request.
    last: i64,
    spent: Vec<(RouteId, u32)>,
}

impl Held {
    fn runs(&self, now: i64) -> bool {
        self.left > 0 && (self.from..self.until).contains(&now)
    }

    /// Requests needed for a reservation of the longest duration, at the rate seen so far.
    fn demand(&self, now: i64) -> u32 {
        let end = if self.left == 0 { self.last } else { now.min(self.until) };
        let lasted = end.saturating_sub(self.from).max(1);
        let spent = u64::from(self.size.saturating_sub(self.left));
        let demand = spent.saturating_mul(LONGEST_MILLIS.into()).checked_div(lasted.unsigned_abs()).unwrap_or(spent);
        u32::try_from(demand).unwrap_or(MAX_RESERVED).clamp(MIN_RESERVED, MAX_RESERVED)
    }

    fn settled(self) -> Settled {
        let tally =
            |(route, served): (RouteId, u32)| Tally { endpoint: route.route().endpoint(), served, throttled: 0 };
        Settled { id: self.id, spent: self.spent.into_iter().map(tally).collect() }
    }
}

impl Demand {
    /// Whether the entry can be dropped: no recent request to the Durable Object, no reservation request in flight and no running
    /// reservation. An ended reservation that is still listed has lost the task that would settle it.
    fn is_idle(&self, now: i64) -> bool {
        let is_watched = (0..BUSY_MILLIS).contains(&now.saturating_sub(self.since));
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
    /// Admits a request from a reservation, if there is one.
    pub fn spend(
        &mut self,
        digest: &KeyDigest,
        class: RateLimitClass,
        route: RouteId,
        now: Timestamp,
    ) -> Option<Spent> {
        let (demand, now) = (self.keys.get_mut(digest).filter(|_| class == RESERVABLE_CLASS)?, now.as_millis());
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
        Some(Spent { record, verdict, is_low: left <= demand.size / LOW_DIVISOR })
    }

    /// Records that a key's Durable Object admitted a request with `left` requests remaining. Returns true if the key is busy enough for
    /// a reservation.
    pub fn asked(&mut self, digest: &KeyDigest, left: u32, now: Timestamp) -> bool {
        let now = now.as_millis();
        if self.keys.len() >= MAX_KEYS && !self.keys.contains_key(digest) {
            self.keys.retain(|_, demand| !demand.is_idle(now));
            if self.keys.len() >= MAX_KEYS {
                return false;
            }
        }
        let demand = self.keys.entry(*digest).or_default();
        if !(0..BUSY_MILLIS).contains(&now.saturating_sub(demand.since)) {
            (demand.since, demand.asked) = (now, 0);
        }
        demand.asked = demand.asked.saturating_add(1);
        demand.remaining = left;
        demand.asked >= BUSY_REQUESTS
    }

    /// The reservation to request at `now`; `None` while a request is in flight or in the pause after a refusal. An answer after
    /// `patience` counts as missing.
    pub fn begin(&mut self, digest: &KeyDigest, now: Timestamp, patience: Duration) -> Option<ReservationRequest> {
        let (demand, now) = (self.keys.get_mut(digest)?, now.as_millis());
        let patience = i64::try_from(patience.as_millis()).unwrap_or(i64::MAX);
        if demand.is_asking(now) || (demand.backoff.0..demand.backoff.1).contains(&now) || demand.held.len() >= MAX_HELD
        {
            return None;
        }
        demand.out = Some((now, now.saturating_add(patience)));
        demand.want = demand.held.iter().map(|held| held.demand(now)).fold(demand.want, u32::max).max(MIN_RESERVED);
        // The Durable Object holds refusals back until this reservation is settled. The reservation's duration must therefore stay well
        // below the timeout of a call to the Durable Object.
        let lasts = LONGEST_MILLIS.min(u32::try_from(patience / 4).unwrap_or(LONGEST_MILLIS));
        Some(ReservationRequest { want: demand.want, lasts })
    }

    /// Records the answer to the request of `asked_at`. Returns the time until the reservation ends.
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
            demand.backoff = (now, now.saturating_add(BACKOFF_MILLIS));
            return None;
        };
        let until = from.saturating_add(lasts.into());
        if until <= now {
            // The round trip takes longer than the reservation lasts.
            demand.backoff = (now, now.saturating_add(BACKOFF_MILLIS));
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

    /// Takes the reservations that are used up or have ended.
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
