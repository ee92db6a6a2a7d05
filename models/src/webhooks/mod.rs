//! Webhook deliveries: leases with fencing tokens, retries and the breaker, with workers that crash and replies that come late.
//!
//! Real: [`Breaker`], [`Delivery`], [`Attempt`] and what an ended attempt makes of them. Modelled: the claim's and the record's statements (a claim takes
//! due deliveries without a live lease of a subscription that delivers; a record takes effect only under the lease's token), and the endpoint.

mod world;

use rds_shared::push::breaker::{Breaker, DisabledReason, Event, Finals, PAUSE_SECONDS, Status, Transition};
use rds_shared::push::schedule::{ATTEMPTS, Attempt, AttemptOutcome, Delivery, Failure, MAX_LAPSES};
use rds_shared::wire::Timestamp;
use stateright::{Model, Property};
use world::{Lease, Row};

pub use world::World;

const START: Timestamp = Timestamp::from_seconds(1_795_219_200);
/// As in the claim's statement.
const LEASE_SECONDS: i64 = 45;
/// As in the statement that postpones after an error of our own.
const FAULT_PAUSE_SECONDS: i64 = 5;
/// Concurrent attempts of a subscription: if its latest attempt did not fail, and if it did.
const CAPACITY: (usize, usize) = (8, 1);
/// The key that the subscription was made with, and another of the organisation.
const KEYS: [i64; 2] = [1, 2];

/// Bounds of the exploration.
#[derive(Debug, Clone, Copy)]
pub struct Webhooks {
    pub deliveries: usize,
    pub workers: usize,
    /// Crashes, errors of our own and leases that expire.
    pub mishaps: u8,
    /// Attempts.
    pub attempts: u8,
    /// Commands: enabling, revoking, replaying.
    pub commands: u8,
    /// Steps of the clock.
    pub steps: u8,
}

/// What may happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A worker claims a due delivery and starts the attempt.
    Claim {
        worker: usize,
        delivery: usize,
    },
    /// An attempt ends and is recorded. `None` is an error of our own.
    Record {
        run: usize,
        outcome: Option<Response>,
    },
    /// A worker ends with its attempts.
    Crash(usize),
    Pass(i64),
    Revoke(i64),
    Enable(i64),
    Replay(usize),
    /// The upkeep ends pauses that are over.
    Tick,
}

/// Whether the endpoint answered with a 2xx status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Response {
    Accepted,
    Failed,
}

impl From<Response> for AttemptOutcome {
    fn from(outcome: Response) -> Self {
        match outcome {
            Response::Accepted => AttemptOutcome::Delivered,
            Response::Failed => AttemptOutcome::Failed(Failure::Status),
        }
    }
}

impl Model for Webhooks {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let row = Row {
            delivery: Delivery::enqueued(START),
            finished_at: None,
            lease: None,
            recorded: Vec::new(),
            was_accepted: false,
            was_given_up: false,
            failed_at: None,
        };
        // The last attempt, and a delivery that has crashed its workers almost as often as they try.
        let last = Row {
            delivery: Delivery::Pending { attempt: Attempt::new(ATTEMPTS).unwrap_or(Attempt::FIRST), due: START },
            ..row.clone()
        };
        let worn = Lease { token: 0, until: START, lapses: MAX_LAPSES - 2, is_resting: false };
        let worn = Row { lease: Some(worn), ..row.clone() };
        let mut rows = vec![last, worn];
        rows.resize(self.deliveries.max(2), row);
        rows.reverse();
        rows.truncate(self.deliveries);
        let world = World {
            now: START,
            breaker: Breaker::new(KEYS[0], START.plus_seconds(-3_600)),
            rows,
            runs: Vec::new(),
            next_token: 1,
            earlier: Finals::default(),
            mishaps: 0,
            attempts: 0,
            commands: 0,
            steps: 0,
            failures: Vec::new(),
            openings: 0,
            revoked: Vec::new(),
            is_misjudged: false,
            claimed_while_held_back: false,
            was_early: false,
            was_fenced: false,
        };
        let failing = World { earlier: Finals { total: 9, failed: 5 }, ..world.clone() };
        vec![world, failing]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.attempts < self.attempts {
            for delivery in (0..world.rows.len()).filter(|delivery| world.is_claimable(&world.rows[*delivery])) {
                actions.extend((0..self.workers).map(|worker| Action::Claim { worker, delivery }));
            }
        }
        let may_fail = world.mishaps < self.mishaps;
        for run in 0..world.runs.len() {
            actions.push(Action::Record { run, outcome: Some(Response::Failed) });
            // A delivery that is given up is not sent.
            let is_sent = world.runs[run].lapses < MAX_LAPSES;
            if is_sent {
                actions.push(Action::Record { run, outcome: Some(Response::Accepted) });
            }
            if may_fail && is_sent {
                actions.push(Action::Record { run, outcome: None });
            }
        }
        if may_fail {
            let busy = (0..self.workers).filter(|worker| world.runs.iter().any(|run| run.worker == *worker));
            actions.extend(busy.map(Action::Crash));
        }
        if world.commands < self.commands {
            actions.extend(KEYS.into_iter().filter(|key| !world.revoked.contains(key)).map(Action::Revoke));
            if world.breaker.status != Status::Active {
                // The origin enables with live keys only; the breaker itself refuses the revoked key that it delivered for.
                let may_enable = |key: &i64| !world.revoked.contains(key) || *key == world.breaker.credential;
                actions.extend(KEYS.into_iter().filter(may_enable).map(Action::Enable));
            }
            let given_up = |row: &Row| row.delivery == Delivery::FailedTerminal;
            actions.extend((0..world.rows.len()).filter(|row| given_up(&world.rows[*row])).map(Action::Replay));
        }
        if matches!(world.breaker.status, Status::Paused(_)) {
            actions.push(Action::Tick);
        }
        if world.steps < self.steps {
            actions.extend([10, LEASE_SECONDS + 1, 300, PAUSE_SECONDS, 7_200].map(Action::Pass));
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Claim { worker, delivery } => {
                next.attempts += 1;
                next.claim(worker, delivery);
            }
            Action::Record { run, outcome } => {
                next.mishaps += u8::from(outcome.is_none());
                next.record(run, outcome);
            }
            Action::Crash(worker) => {
                next.mishaps += 1;
                next.runs.retain(|run| run.worker != worker);
            }
            Action::Pass(seconds) => {
                next.steps += 1;
                next.now = next.now.plus_seconds(seconds);
            }
            Action::Revoke(key) => {
                next.commands += 1;
                next.revoked.push(key);
                next.revoked.sort_unstable();
                next.breaker.apply(next.now, Event::KeyRevoked(key));
            }
            Action::Enable(key) => {
                next.commands += 1;
                if next.breaker.apply(next.now, Event::Enabled(key)) == Some(Transition::Enabled) {
                    (next.failures, next.openings) = (Vec::new(), 0);
                }
            }
            Action::Replay(row) => {
                next.commands += 1;
                let row = &mut next.rows[row];
                row.delivery = row.delivery.replayed(next.now)?;
                (row.finished_at, row.failed_at, row.was_given_up) = (None, None, false);
                row.recorded.clear();
            }
            Action::Tick => {
                next.breaker.apply(next.now, Event::Tick)?;
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one attempt of a number is recorded", |_, world: &World| {
                world.rows.iter().all(|row| row.recorded.is_sorted_by(|one, next| one < next))
            }),
            Property::always("crashes and our own errors consume no attempts", |_, world: &World| {
                world.rows.iter().all(|row| match (row.delivery, row.recorded.last()) {
                    (Delivery::Pending { attempt, .. }, Some(last)) => attempt.get() == last + 1,
                    (Delivery::FailedTerminal, last) => row.was_given_up || last == Some(&ATTEMPTS),
                    _ => true,
                })
            }),
            Property::always("a delivery is delivered exactly if a 2xx answer was recorded", |_, world: &World| {
                world.rows.iter().all(|row| row.was_accepted == (row.delivery == Delivery::Delivered))
            }),
            Property::always("a delivery that crashes its workers is given up", |_, world: &World| {
                world.rows.iter().all(|row| row.lease.is_none_or(|lease| lease.lapses <= MAX_LAPSES + 1))
                    && world.rows.iter().all(|row| !row.was_given_up || row.delivery == Delivery::FailedTerminal)
            }),
            Property::always("a failed attempt is repeated after its delay", |_, world: &World| !world.was_early),
            Property::always("nothing is claimed while a subscription is held back", |_, world: &World| {
                !world.claimed_while_held_back
            }),
            Property::always(
                "the breaker opens exactly for three failures in a row or half of ten",
                |_, world: &World| !world.is_misjudged,
            ),
            Property::always("the third opening without a success disables", |_, world: &World| {
                world.openings <= 3 && (world.openings < 3 || matches!(world.breaker.status, Status::Disabled(_)))
            }),
            Property::always("a pause lasts an hour", |_, world: &World| match world.breaker.status {
                Status::Paused(until) => until == world.breaker.finals_since.plus_seconds(PAUSE_SECONDS),
                _ => true,
            }),
            Property::always("a subscription does not deliver for a revoked key", |_, world: &World| {
                !world.revoked.contains(&world.breaker.credential) || !world.breaker.delivers(world.now)
            }),
            Property::always(
                "the failures that count are those recorded since the last success",
                |_, world: &World| {
                    let newest = world.failures.last().copied();
                    matches!(world.breaker.status, Status::Disabled(_)) || world.breaker.failures.latest == newest
                },
            ),
            Property::sometimes("an outcome is fenced out", |_, world: &World| world.was_fenced),
            Property::sometimes("a delivery is given up", |_, world: &World| {
                world.rows.iter().any(|row| row.was_given_up)
            }),
            Property::sometimes("the breaker disables", |_, world: &World| {
                world.breaker.status == Status::Disabled(DisabledReason::Breaker)
            }),
            Property::sometimes("a pause is over", |_, world: &World| {
                matches!(world.breaker.status, Status::Paused(_)) && world.breaker.delivers(world.now)
            }),
        ]
    }
}
