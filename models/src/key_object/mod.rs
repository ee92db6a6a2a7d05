//! The Durable Object of a key with its reservations, and the isolates that spend them.
//!
//! Real: [`KeyGuard`] (ledger, outstanding reservations, usage batches) and [`Reserved`]. Modelled: storage (the rows that the tests of limits use),
//! messages that arrive late, twice or not at all, evictions of the Durable Object and of an isolate, and a clock that moves at any time and may be
//! set back once. A request that the Durable Object answers is one action; its answer may be lost.

#[path = "../../../edge/tests/guard/rows.rs"]
mod rows;
mod world;

pub use world::{Disk, Rows, step};

use rds_edge::guard::keys::isolate_reservations::RESERVABLE_CLASS;
use rds_edge::guard::keys::state::KeyGuard;
use rds_edge::guard::keys::subclient::Subclient;
use rds_edge::guard::objects::message::Take;
use rds_shared::access::budget::window_of;
use stateright::{Model, Property};
use world::{Message, World};

/// Requests per minute of the key: two reservations of the smallest size fit beside the first requests.
pub const LIMIT: u32 = 592;
/// Requests that make a key busy, so that an isolate asks for a reservation.
const BURST: u32 = 16;
/// The requests of a reservation.
const LONG_BURST: u32 = 64;

/// Bounds of the exploration.
#[derive(Debug, Clone, Copy)]
pub struct KeyObject {
    /// Isolates with requests of the key.
    pub isolates: usize,
    /// Bursts of requests.
    pub bursts: u8,
    /// Evictions, losses, repetitions and steps of the clock backwards.
    pub mishaps: u8,
    /// Steps of the clock forwards.
    pub steps: u8,
}

/// What may happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// An isolate makes this many requests, one after the other. With `is_lost` the Durable Object's answers are lost.
    Requests { isolate: usize, count: u32, is_lost: bool },
    /// Requests of many other isolates arrive together, until one is refused.
    Crowd,
    /// An isolate reports its ended reservations by a timer.
    Settle(usize),
    /// A message arrives, for the first time or again.
    Deliver { message: usize, is_repeated: bool },
    /// A message is lost.
    Lose(usize),
    /// Milliseconds pass; negative if the clock is set back.
    Pass(i64),
    /// The Durable Object ends and starts again from its storage.
    Evict,
    /// An isolate ends with its reservations.
    EndIsolate(usize),
    /// The Durable Object folds closed windows and sends the batch; the acknowledgement may be lost.
    Fold { is_acknowledged: bool },
}

impl Model for KeyObject {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.isolates)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        let may_fail = world.mishaps < self.mishaps;
        for isolate in 0..self.isolates {
            if world.bursts < self.bursts {
                let calls = [BURST, LONG_BURST].map(|count| Action::Requests { isolate, count, is_lost: false });
                actions.extend(calls);
                if may_fail {
                    actions.push(Action::Requests { isolate, count: BURST, is_lost: true });
                }
            }
            if world.has_ended(isolate) {
                actions.push(Action::Settle(isolate));
            }
            if may_fail && world.isolates[isolate] != Default::default() {
                actions.push(Action::EndIsolate(isolate));
            }
        }
        if !world.is_crowded && world.bursts > 0 {
            actions.push(Action::Crowd);
        }
        for message in 0..world.messages.len() {
            actions.push(Action::Deliver { message, is_repeated: false });
            if may_fail {
                actions.push(Action::Lose(message));
                if !matches!(world.messages[message], Message::Answer { .. }) {
                    actions.push(Action::Deliver { message, is_repeated: true });
                }
            }
        }
        if world.steps < self.steps {
            actions.extend([90, 260, 3_000, 61_000].map(Action::Pass));
        }
        if may_fail {
            actions.extend([Action::Evict, Action::Pass(-4_000)]);
            actions.push(Action::Fold { is_acknowledged: false });
        }
        if world.may_fold() {
            actions.push(Action::Fold { is_acknowledged: true });
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Requests { isolate, count, is_lost } => {
                next.bursts += 1;
                next.mishaps += u8::from(is_lost);
                next.requests(isolate, count, is_lost);
            }
            Action::Crowd => {
                next.is_crowded = true;
                next.crowd();
            }
            Action::Settle(isolate) => next.settle_by_timer(isolate),
            Action::Deliver { message, is_repeated } => {
                next.mishaps += u8::from(is_repeated);
                next.deliver(message, is_repeated);
            }
            Action::Lose(message) => {
                next.mishaps += 1;
                next.lose(message);
            }
            Action::Pass(millis) => {
                let is_back = millis < 0;
                next.mishaps += u8::from(is_back);
                next.steps += u8::from(!is_back);
                next.was_set_back |= is_back;
                next.now += millis;
            }
            Action::Evict => {
                next.mishaps += 1;
                next.object = None;
            }
            Action::EndIsolate(isolate) => {
                next.mishaps += 1;
                next.isolates[isolate] = Default::default();
            }
            Action::Fold { is_acknowledged } => {
                next.mishaps += u8::from(!is_acknowledged);
                next.fold(is_acknowledged);
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a limit is never exceeded", |_, world: &World| {
                world.admitted.values().all(|count| *count <= LIMIT)
            }),
            Property::always(
                "a request is counted on the object's disk before it is answered, or was reserved there before",
                |_, world: &World| world.admitted.iter().all(|(window, count)| world.is_counted(*window, *count)),
            ),
            Property::always("memory only mirrors storage", |_, world: &World| mirrors(world)),
            Property::always("a verdict is of the current window", |_, world: &World| !world.had_foreign_verdict),
            Property::always("an isolate admits from a reservation for 250 ms at most", |_, world: &World| {
                !world.is_too_long
            }),
            Property::always("usage never exceeds the requests that were made", |_, world: &World| {
                world.reported() <= world.admitted_in_all() + u64::from(world.unanswered)
            }),
            Property::always("every repetition of a usage batch is identical", |_, world: &World| {
                !world.had_other_batch
            }),
            Property::sometimes("a request is refused at the limit", |_, world: &World| world.was_refused),
            Property::sometimes("an isolate admits from a reservation", |_, world: &World| world.was_spent),
            Property::sometimes("unused requests are given back", |_, world: &World| world.has_given_back),
            Property::sometimes("the whole limit is admitted", |_, world: &World| {
                world.admitted.values().any(|count| *count == LIMIT)
            }),
            Property::sometimes("usage is reported", |_, world: &World| world.reported() > 0),
        ]
    }
}

/// Whether a Durable Object that is loaded from storage admits and refuses as the one in memory does.
fn mirrors(world: &World) -> bool {
    // After the clock was set back, only memory may know a later window, in which nothing was counted.
    let Some(object) = world.object.as_ref().filter(|_| !world.was_set_back) else { return true };
    let next = |mut object: KeyGuard| {
        let rows = std::cell::RefCell::new(world.rows.clone());
        let take = Take { class: RESERVABLE_CLASS, endpoint: String::new(), client: Subclient::Pooled };
        object
            .take(&Disk(&rows), &[(world::record(), &take)], world.seconds())
            .ok()
            .and_then(|mut verdicts| verdicts.pop())
    };
    let rows = std::cell::RefCell::new(world.rows.clone());
    let loaded = KeyGuard::load(&Disk(&rows)).ok();
    loaded.and_then(next) == next(object.clone())
}

/// The window of a time in milliseconds.
fn window_at(millis: i64) -> i64 {
    window_of(millis.div_euclid(1_000))
}
