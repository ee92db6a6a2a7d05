//! Models of what must never happen: every interleaving of what may happen, over the product's own state machines.
//!
//! A model drives the state machines that the edge and the origin run, not copies. What lies between them is modelled: networks that delay, lose and
//! repeat, processes that end, clocks, and the few SQL statements that decide. [`stateright`] explores the states and checks the invariants, which
//! have the names that the code's documentation and ARCHITECTURE.md give them. `cargo xtask models` explores the models in full; the tests explore a part of
//! each.

pub mod dwell;
pub mod explore;
pub mod key_object;
pub mod key_record;
pub mod replica;
pub mod sequencer;
pub mod tag_versions;
pub mod webhooks;

use dwell::Dwell;
use explore::{Extent, Report, explore};
use key_object::KeyObject;
use key_record::KeyRecordModel;
use replica::{Catalogue, Replica};
use sequencer::Sequencer;
use std::sync::Arc;
use tag_versions::TagVersionsModel;
use webhooks::Webhooks;

/// How much of the models is explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A few actions: seconds without optimisation.
    Test,
    /// Some more actions: seconds with optimisation.
    Small,
    /// Every state within the model's bounds, or more than 10^7.
    Full,
}

/// The actions explored by [`Size::Test`] and [`Size::Small`].
type Actions = (usize, usize);
/// States that are generated before a full exploration ends.
const MOST_STATES: usize = 60_000_000;

fn extent(size: Size, actions: Actions) -> Extent {
    match size {
        Size::Test => Extent::Actions(actions.0),
        Size::Small => Extent::Actions(actions.1),
        Size::Full => Extent::States(MOST_STATES),
    }
}

/// A model.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    pub name: &'static str,
    /// Explores the model on this number of threads.
    pub run: fn(Size, usize) -> Report,
}

/// Every model.
pub const SUBJECTS: &[Subject] = &[
    Subject { name: "key-object", run: run_key_object },
    Subject { name: "key-record", run: run_key_record },
    Subject { name: "tag-versions", run: run_tag_versions },
    Subject { name: "webhooks", run: run_webhooks },
    Subject { name: "dwell", run: run_dwell },
    Subject { name: "replica", run: run_replica },
    Subject { name: "sequencer", run: run_sequencer },
];

fn run_key_object(size: Size, threads: usize) -> Report {
    let model = match size {
        Size::Test | Size::Small => KeyObject { isolates: 2, bursts: 3, mishaps: 1, steps: 2 },
        Size::Full => KeyObject { isolates: 2, bursts: 5, mishaps: 2, steps: 3 },
    };
    explore("key-object", model, extent(size, (3, 5)), threads)
}

fn run_key_record(size: Size, threads: usize) -> Report {
    let model = match size {
        Size::Test | Size::Small => KeyRecordModel { changes: 1, look_ups: 1, bursts: 2, mishaps: 1, steps: 3 },
        Size::Full => KeyRecordModel { changes: 2, look_ups: 2, bursts: 2, mishaps: 1, steps: 4 },
    };
    explore("key-record", model, extent(size, (4, 7)), threads)
}

fn run_tag_versions(size: Size, threads: usize) -> Report {
    let model = match size {
        Size::Test | Size::Small => TagVersionsModel { isolates: 2, commits: 1, mishaps: 1, steps: 2 },
        Size::Full => TagVersionsModel { isolates: 2, commits: 2, mishaps: 2, steps: 4 },
    };
    explore("tag-versions", model, extent(size, (5, 7)), threads)
}

fn run_webhooks(size: Size, threads: usize) -> Report {
    let model = match size {
        Size::Test | Size::Small => {
            Webhooks { deliveries: 3, workers: 2, mishaps: 1, attempts: 4, commands: 1, steps: 2 }
        }
        Size::Full => Webhooks { deliveries: 4, workers: 2, mishaps: 2, attempts: 9, commands: 2, steps: 5 },
    };
    explore("webhooks", model, extent(size, (4, 5)), threads)
}

fn run_dwell(size: Size, threads: usize) -> Report {
    let model = match size {
        Size::Test | Size::Small => Dwell { runs: 3 },
        Size::Full => Dwell { runs: 7 },
    };
    explore("dwell", model, extent(size, (3, 3)), threads)
}

fn run_replica(size: Size, threads: usize) -> Report {
    let catalogue = Arc::new(Catalogue::new());
    let model = match size {
        Size::Test | Size::Small => Replica { catalogue, isolates: 1, moves: 4, mishaps: 1 },
        Size::Full => Replica { catalogue, isolates: 2, moves: 6, mishaps: 2 },
    };
    explore("replica", model, extent(size, (4, 6)), threads)
}

fn run_sequencer(size: Size, threads: usize) -> Report {
    let model = match size {
        Size::Test | Size::Small => Sequencer { writers: 2, crashes: 1, restores: 1, reads: 1 },
        Size::Full => Sequencer { writers: 3, crashes: 1, restores: 1, reads: 2 },
    };
    explore("sequencer", model, extent(size, (7, 11)), threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_invariant_breaks_within_a_few_actions() {
        for subject in SUBJECTS {
            let report = (subject.run)(Size::Test, 1);
            assert!(report.broken.is_empty(), "{report}");
            assert!(report.states > 300, "{report}");
        }
    }
}
