//! The rows of one subscription, its deliveries and leases, and the attempts in progress.

use super::{CAPACITY, FAULT_PAUSE_SECONDS, LEASE_SECONDS, Response, START};
use rds_shared::push::breaker::{Breaker, DisabledReason, Event, FAILURES_WITHIN_SECONDS, Finals, Status, Transition};
use rds_shared::push::schedule::{Attempt, Delivery, MAX_LAPSES};
use rds_shared::wire::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    pub token: u8,
    pub until: Timestamp,
    pub lapses: i16,
    pub is_resting: bool,
}

/// A delivery's row, its lease, and what was recorded of it since it was enqueued.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Row {
    pub delivery: Delivery,
    pub finished_at: Option<Timestamp>,
    pub lease: Option<Lease>,
    /// The numbers of the recorded attempts, in order.
    pub recorded: Vec<u8>,
    /// Whether an attempt with a 2xx answer was recorded.
    pub was_accepted: bool,
    pub was_given_up: bool,
    /// When the latest attempt failed.
    pub failed_at: Option<Timestamp>,
}

/// An attempt in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run {
    pub worker: usize,
    pub delivery: usize,
    pub token: u8,
    pub lapses: i16,
    pub attempt: Attempt,
}

/// The world. Its last fields remember what happened, for the invariants.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    pub now: Timestamp,
    pub breaker: Breaker,
    pub rows: Vec<Row>,
    pub runs: Vec<Run>,
    pub next_token: u8,
    /// Final outcomes of earlier deliveries, which ended at the start.
    pub earlier: Finals,
    pub mishaps: u8,
    pub attempts: u8,
    pub commands: u8,
    pub steps: u8,
    /// Ends of the recorded failures since the last success, opening or enabling; the newest three.
    pub failures: Vec<Timestamp>,
    /// Openings of the breaker since the last success or enabling.
    pub openings: u8,
    /// Keys that were revoked.
    pub revoked: Vec<i64>,
    pub is_misjudged: bool,
    pub claimed_while_held_back: bool,
    pub was_early: bool,
    pub was_fenced: bool,
}

impl World {
    fn limit(&self) -> usize {
        if self.breaker.failures.count == 0 { CAPACITY.0 } else { CAPACITY.1 }
    }

    fn live_leases(&self) -> usize {
        self.rows.iter().filter(|row| row.lease.is_some_and(|lease| lease.until > self.now)).count()
    }

    /// The claim's condition: due, not leased, and the subscription delivers and has room.
    pub fn is_claimable(&self, row: &Row) -> bool {
        let is_leased = row.lease.is_some_and(|lease| lease.until > self.now);
        let delivers = match self.breaker.status {
            Status::Active => true,
            Status::Paused(until) => until <= self.now,
            Status::Disabled(_) => false,
        };
        let is_due = matches!(row.delivery, Delivery::Pending { due, .. } if due <= self.now);
        is_due && !is_leased && delivers && self.live_leases() < self.limit()
    }

    pub fn claim(&mut self, worker: usize, delivery: usize) {
        self.claimed_while_held_back |= !self.breaker.delivers(self.now);
        let (now, token) = (self.now, self.next_token);
        self.next_token += 1;
        let row = &mut self.rows[delivery];
        let Delivery::Pending { attempt, .. } = row.delivery else { return };
        self.was_early |= row.failed_at.is_some_and(|failed| now < failed.plus_seconds(10));
        let lapses = row.lease.map_or(0, |lease| lease.lapses + i16::from(!lease.is_resting));
        row.lease = Some(Lease { token, until: now.plus_seconds(LEASE_SECONDS), lapses, is_resting: false });
        self.runs.push(Run { worker, delivery, token, lapses, attempt });
        self.runs.sort_unstable();
    }

    /// Records an ended attempt in one transaction.
    pub fn record(&mut self, run: usize, outcome: Option<Response>) {
        let Run { delivery, token, lapses, attempt, .. } = self.runs.remove(run);
        let now = self.now;
        let row = &mut self.rows[delivery];
        let Some(lease) = row.lease.as_mut().filter(|lease| lease.token == token) else {
            self.was_fenced = true;
            return;
        };
        let Some(outcome) = outcome else {
            (lease.until, lease.is_resting) = (now.plus_seconds(FAULT_PAUSE_SECONDS), true);
            return;
        };
        row.lease = None;
        row.delivery = Delivery::ended(attempt, outcome.into(), lapses, now);
        row.recorded.push(attempt.get());
        row.was_accepted |= outcome == Response::Accepted;
        row.was_given_up |= lapses >= MAX_LAPSES;
        row.failed_at = (outcome == Response::Failed).then_some(now);
        row.finished_at = (!matches!(row.delivery, Delivery::Pending { .. })).then_some(now);
        let delivery = row.delivery;
        let finals = self.finals();
        if outcome == Response::Failed {
            self.failures.push(now);
        }
        let before = self.breaker.status;
        let moved = self.breaker.apply(now, Event::of_attempt(delivery, finals));
        self.judge(before, outcome == Response::Failed, moved, finals);
        if outcome == Response::Accepted {
            (self.failures, self.openings) = (Vec::new(), 0);
        }
    }

    /// Compares what the breaker did about an ended attempt with what was recorded.
    fn judge(&mut self, before: Status, has_failed: bool, moved: Option<Transition>, finals: Finals) {
        let has_opened = matches!(moved, Some(Transition::Paused(_) | Transition::Disabled(DisabledReason::Breaker)));
        let last = self.failures.len().checked_sub(3).map(|first| self.failures[first]);
        let is_a_run = last.is_some_and(|first| self.now.seconds_since(first) <= FAILURES_WITHIN_SECONDS);
        let is_a_share = finals.total >= 10 && 2 * finals.failed >= finals.total;
        let may_open = match before {
            Status::Active => true,
            Status::Paused(until) => self.now >= until,
            Status::Disabled(_) => false,
        };
        self.is_misjudged |= has_opened != (may_open && (has_failed && is_a_run || is_a_share));
        self.openings += u8::from(has_opened);
        let excess = self.failures.len().saturating_sub(3);
        self.failures.drain(..excess);
    }

    /// Final outcomes that count, as the statement counts them. Subscriptions without a failed one are left out.
    fn finals(&self) -> Finals {
        let since = self.breaker.finals_from(self.now);
        let ended = self.rows.iter().filter(|row| row.finished_at.is_some_and(|at| at > since));
        let failed = ended.clone().filter(|row| row.delivery == Delivery::FailedTerminal).count();
        let earlier = if START.plus_seconds(-1) > since { self.earlier } else { Finals::default() };
        let add = |count: usize, earlier: u32| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(earlier);
        let finals = Finals { total: add(ended.count(), earlier.total), failed: add(failed, earlier.failed) };
        if finals.failed == 0 { Finals::default() } else { finals }
    }
}
