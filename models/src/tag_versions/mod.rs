//! Tag versions from a commit at the origin to the acknowledgement: the Durable Object, isolates with leases, their cached responses, restores.
//!
//! Real: [`Register`](rds_edge::tag_versions::register::Register), [`Lease`](rds_edge::tag_versions::lease::Lease) and the condition of a cached response
//! ([`Entry`](rds_edge::cache::Entry)). Modelled: the origin's tag row (its version is raised to at
//! least the database's clock, as `touch_tags` does), messages that arrive late or not at all, storage that fails between two writes, and a
//! restore of the origin's database, also together with a clock that was set back.

mod world;

use rds_edge::cache::policy::Lifetime;
use rds_edge::tag_versions::Withheld;
use rds_edge::tag_versions::lease::State;
use rds_shared::model::ids::ChainId;
use rds_shared::wire::Timestamp;
use stateright::{Model, Property};
use std::time::Duration;
use world::{Cached, Isolate, Message, of};

pub use world::World;

const START: i64 = 1_795_219_200_000;
/// The version in the backup, which was made a second before.
const BACKUP: i64 = START - 1_000;
/// The least time that a restore takes.
const RESTORE_MILLIS: i64 = 10;
const PATIENCE: Duration = Duration::from_secs(1);
const LIFETIME: Lifetime = Lifetime { fresh: 15, stale_if_error: 60 };

/// Bounds of the exploration.
#[derive(Debug, Clone, Copy)]
pub struct TagVersionsModel {
    pub isolates: usize,
    /// Commits that change the tag.
    pub commits: u8,
    /// Losses, evictions, failures of storage and restores.
    pub mishaps: u8,
    /// Steps of the clock.
    pub steps: u8,
}

/// What may happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// The origin commits a change. With `withholds` it withholds a chain.
    Commit {
        withholds: bool,
    },
    /// The origin sends the versions that the edge has not acknowledged to an isolate.
    Push,
    /// An isolate begins a renewal of its lease, as every request does if one is due.
    Renew(usize),
    /// An isolate asks the origin for the response.
    Fetch(usize),
    /// An isolate takes the response from the data centre's cache.
    Load(usize),
    /// A message arrives; storage fails after this many writes.
    Deliver {
        message: usize,
        writes: u8,
    },
    Lose(usize),
    Pass(i64),
    /// The Durable Object ends and starts again from its storage.
    Evict,
    /// The origin's database is replaced by its first state; with `clock` also its clock is set back.
    Restore {
        clock: bool,
    },
}

impl Model for TagVersionsModel {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            now: START,
            version: BACKUP,
            withheld: Vec::new(),
            commit: 0,
            acknowledged: (0, BACKUP),
            clock_behind: 0,
            stored: (of(BACKUP), Withheld::default()),
            object: None,
            isolates: vec![Isolate::default(); self.isolates],
            shared: None,
            messages: Vec::new(),
            commits: 0,
            mishaps: 0,
            steps: 0,
            withholding: 0,
            has_decreased: false,
            has_unstored_reply: false,
            has_stepped: false,
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        let may_fail = world.mishaps < self.mishaps;
        if world.commits < self.commits {
            actions.extend([false, true].map(|withholds| Action::Commit { withholds }));
        }
        let is_pushing = |message: &Message| matches!(message, Message::Push { .. } | Message::Wait { .. });
        if world.version > world.acknowledged.1 && !world.messages.iter().any(is_pushing) {
            actions.push(Action::Push);
        }
        for (isolate, held) in world.isolates.iter().enumerate() {
            if held.lease.clone().begin(world.at(), PATIENCE).is_some() {
                actions.push(Action::Renew(isolate));
            }
            let is_asking =
                |message: &Message| matches!(message, Message::Answer { isolate: other, .. } if *other == isolate);
            if held.cached.is_none_or(|cached| cached.commit < world.commit) && !world.messages.iter().any(is_asking) {
                actions.push(Action::Fetch(isolate));
            }
            if world.shared.is_some() && held.cached != world.shared {
                actions.push(Action::Load(isolate));
            }
        }
        for (message, sent) in world.messages.iter().enumerate() {
            if !matches!(sent, Message::Wait { ready_at, .. } if *ready_at > world.now) {
                actions.push(Action::Deliver { message, writes: u8::MAX });
            }
            if may_fail {
                actions.push(Action::Lose(message));
                match sent {
                    Message::Push { .. } => {
                        actions.extend([0, 1].map(|writes| Action::Deliver { message, writes }));
                    }
                    Message::Renew { .. } => actions.push(Action::Deliver { message, writes: 0 }),
                    _ => {}
                }
            }
        }
        if world.steps < self.steps {
            actions.extend([300, 1_000].map(Action::Pass));
        }
        if may_fail {
            actions.push(Action::Evict);
            if world.commit > 0 {
                actions.extend([false, true].map(|clock| Action::Restore { clock }));
            }
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Commit { withholds } => {
                next.commits += 1;
                if withholds {
                    next.withheld.push(ChainId(u64::from(next.commits)));
                }
                next.touch();
            }
            Action::Push => {
                let (versions, commit, withheld) = (of(next.version), next.commit, next.withheld.clone());
                next.send(Message::Push { versions, commit, withheld });
            }
            Action::Renew(isolate) => {
                let begun = next.now;
                let seen = next.isolates[isolate].lease.begin(world.at(), PATIENCE)?;
                next.send(Message::Renew { isolate, begun, seen });
            }
            Action::Fetch(isolate) => {
                let response = Cached { commit: next.commit, tags: of(next.version), confirmed_at: 0 };
                next.send(Message::Answer { isolate, response });
            }
            Action::Load(isolate) => next.isolates[isolate].cached = next.shared,
            Action::Deliver { message, writes } => {
                next.mishaps += u8::from(writes != u8::MAX);
                next.deliver(message, writes);
            }
            Action::Lose(message) => {
                next.mishaps += 1;
                let now = next.at();
                if let Message::Renew { isolate, begun, .. } | Message::Renewed { isolate, begun, .. } =
                    next.messages.remove(message)
                {
                    next.isolates[isolate].lease.end(Timestamp::from_millis(begun), now, None);
                }
            }
            Action::Pass(millis) => {
                next.steps += 1;
                next.now += millis;
            }
            Action::Evict => {
                next.mishaps += 1;
                next.object = None;
            }
            Action::Restore { clock } => {
                next.mishaps += 1;
                (next.version, next.withheld) = (BACKUP, Vec::new());
                next.acknowledged.1 = BACKUP;
                next.now += RESTORE_MILLIS;
                // The first change after the restore makes the restored state public.
                next.clock_behind = if clock { 60_000 } else { 0 };
                next.touch();
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a tag version never decreases", |_, world: &World| !world.has_decreased),
            Property::always("every version in a reply is stored", |_, world: &World| !world.has_unstored_reply),
            Property::always("after the acknowledgement no later request sees an older state", |_, world: &World| {
                world.served().all(|(_, cached)| cached.commit >= world.acknowledged.0)
            }),
            Property::always(
                "a cached response that lacks a known change is revalidated before it is served",
                |_, world: &World| world.served().all(|(isolate, cached)| cached.tags.covers(&isolate.lease.known())),
            ),
            Property::always(
                "after the acknowledgement of a withholding every lease names its chains",
                |_, world: &World| {
                    let mut held =
                        world.isolates.iter().filter(|isolate| isolate.lease.state(world.at()) == State::Held);
                    held.all(|isolate| isolate.lease.withheld().version >= world.withholding)
                },
            ),
            Property::sometimes("a change is acknowledged while a response is cached", |_, world: &World| {
                world.acknowledged.0 > 0 && world.served().next().is_some()
            }),
            Property::sometimes("a response lacks a change that its isolate knows", |_, world: &World| {
                world
                    .isolates
                    .iter()
                    .any(|isolate| isolate.cached.is_some_and(|cached| !cached.tags.covers(&isolate.lease.known())))
            }),
            Property::sometimes("a restored origin steps above the edge", |_, world: &World| world.has_stepped),
        ]
    }
}
