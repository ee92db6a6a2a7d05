//! The replica: documents and segments from the origin's processes to the Durable Object, and from there to isolates.
//!
//! Real: [`pull()`], [`Store`] and [`Kept::update_for`](rds_edge::replica::store::Kept::update_for) in the Durable Object, [`Opened`] and [`Segments`] in an
//! isolate, and every document of [`rds_shared::replica`]. Modelled: storage, processes of the origin of which one may lag, segments that are not sent,
//! sent damaged or damaged on disk, and answers that an isolate gets late. Each action begins with a new instance of the Durable Object.

mod catalogue;
mod world;

use stateright::{Model, Property};
use std::sync::Arc;

pub use catalogue::Catalogue;
pub use world::World;

/// Bounds of the exploration.
#[derive(Debug, Clone)]
pub struct Replica {
    pub catalogue: Arc<Catalogue>,
    pub isolates: usize,
    /// Pulls, questions and answers.
    pub moves: u8,
    /// Faults of storage, segments and documents.
    pub mishaps: u8,
}

/// What the origin or storage does wrong in a pull.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mishap {
    None,
    /// The call with this number, from 0, is not answered.
    Unanswered(u8),
    /// The first segment asked for is not sent.
    Missing,
    /// Each segment is sent with other bytes.
    Damaged,
    /// Storage fails at this write, from 0.
    Disk(u8),
    /// Deltas are sent that do not begin at the state asked for.
    OtherDeltas,
}

/// What may happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A process of the origin catches up by one version.
    Advance(usize),
    /// The Durable Object pulls from a process of the origin, which sends the manifest of its version or, with `is_old`, that of the one before.
    Pull { process: usize, is_old: bool, mishap: Mishap },
    /// An isolate asks the Durable Object; the answer is on its way.
    Ask(usize),
    /// An isolate takes the answer.
    Take(usize),
    /// The answer is lost.
    Lose(usize),
    /// A stored segment is damaged.
    Damage(usize),
    /// An isolate ends.
    End(usize),
}

impl Model for Replica {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.isolates)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for process in 0..world.versions.len() {
            if world.versions[process] + 1 < self.catalogue.len() {
                actions.push(Action::Advance(process));
            }
        }
        let may_fail = world.mishaps < self.mishaps;
        if world.moves < self.moves {
            for process in 0..world.versions.len() {
                for is_old in [false, true].into_iter().filter(|is_old| !is_old || world.versions[process] > 0) {
                    let mut mishaps = vec![Mishap::None];
                    if may_fail {
                        use Mishap::{Damaged, Disk, Missing, OtherDeltas, Unanswered};
                        mishaps.extend([Unanswered(1), Missing, Damaged, Disk(0), Disk(1), OtherDeltas]);
                    }
                    actions.extend(mishaps.into_iter().map(|mishap| Action::Pull { process, is_old, mishap }));
                }
            }
        }
        for isolate in 0..self.isolates {
            match &world.isolates[isolate].answer {
                None if world.moves < self.moves => actions.push(Action::Ask(isolate)),
                Some(_) => {
                    actions.push(Action::Take(isolate));
                    if may_fail {
                        actions.push(Action::Lose(isolate));
                    }
                }
                None => {}
            }
            if may_fail && world.isolates[isolate].held.is_some() {
                actions.push(Action::End(isolate));
            }
        }
        if may_fail {
            actions.extend((0..world.stored_segments()).map(Action::Damage));
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Advance(process) => next.versions[process] += 1,
            Action::Pull { process, is_old, mishap } => {
                next.moves += 1;
                next.mishaps += u8::from(mishap != Mishap::None);
                next.pull(&self.catalogue, process, is_old, mishap);
            }
            Action::Ask(isolate) => {
                next.moves += 1;
                next.ask(isolate);
            }
            Action::Take(isolate) => next.take(&self.catalogue, isolate),
            Action::Lose(isolate) => {
                next.mishaps += 1;
                next.isolates[isolate].answer = None;
            }
            Action::Damage(segment) => {
                next.mishaps += 1;
                next.damage(segment);
            }
            Action::End(isolate) => {
                next.mishaps += 1;
                next.isolates[isolate] = Default::default();
            }
        }
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("rows are exactly those of the version that their stamp names", |_, world: &World| {
                !world.has_other_rows
            }),
            Property::always("a stamp that lacks a change never replaces one that includes it", |_, world: &World| {
                !world.has_gone_back
            }),
            Property::always("the Durable Object leads every holder to the stamp's state", |_, world: &World| {
                !world.misleads
            }),
            Property::always("no damaged segment is stored or sent", |_, world: &World| !world.has_sent_damage),
            Property::sometimes("an isolate follows deltas", |_, world: &World| world.has_followed),
            Property::sometimes("an isolate takes a whole state", |_, world: &World| world.has_taken_whole),
            Property::sometimes("an older state is refused", |_, world: &World| world.has_refused_older),
        ]
    }
}
