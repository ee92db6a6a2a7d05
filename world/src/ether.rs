//! What all machines of a world share: time, network, randomness, the log, and what went wrong.

use crate::clock::Skew;
use crate::journal::Journal;
use crate::network::{Network, Site};
use crate::random::Random;
use crate::runtime::Runtime;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The key that edge and origin sign with in every world.
pub const ASSERTION_KEY: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Faults planted in the world, to show that the checks find them. None of them is in the edge's code.
#[derive(Debug, Clone, Copy, Default)]
pub struct Planted {
    /// A restarted key object finds an empty disk.
    pub object_forgets_its_disk: bool,
    /// A reservation lasts longer at the isolate than its object granted.
    pub reservation_outlives_its_end: bool,
    /// A settled reservation is reported as unused.
    pub settlement_hides_requests: bool,
    /// The timer that an acknowledgement waits for fires at once.
    pub acknowledgement_does_not_wait: bool,
    /// A restarted address object finds an empty disk.
    pub address_object_forgets_its_disk: bool,
    /// The tag versions' object replies and stores nothing.
    pub tag_object_stores_nothing: bool,
    /// An answer of the origin states the newest versions although its body is older.
    pub origin_states_newer_versions: bool,
    /// The answer to a lease renewal is the one of five seconds ago.
    pub lease_answers_are_old: bool,
}

pub struct Ether {
    pub runtime: Rc<Runtime>,
    pub network: Network,
    pub journal: Journal,
    pub random: RefCell<Random>,
    pub skew: Skew,
    pub origin_site: Site,
    pub planted: Planted,
    violations: RefCell<Vec<String>>,
    violated: Cell<u64>,
}

/// Maximum number of violations that are kept as text; further ones are counted.
const MAX_VIOLATIONS: usize = 20;

impl Ether {
    pub fn new(
        network: Network,
        journal: Journal,
        runtime: Rc<Runtime>,
        seed: u64,
        skew: Skew,
        planted: Planted,
    ) -> Self {
        Ether {
            runtime,
            network,
            journal,
            random: Random::new(seed, 1).into(),
            skew,
            origin_site: 0,
            planted,
            violations: RefCell::default(),
            violated: Cell::new(0),
        }
    }

    /// Records that something happened that must never happen.
    pub fn violation(&self, what: String) {
        self.journal.line(format_args!("VIOLATION {what}"));
        self.violated.set(self.violated.get() + 1);
        let mut violations = self.violations.borrow_mut();
        if violations.len() < MAX_VIOLATIONS {
            violations.push(format!("at {} us: {what}", self.runtime.now()));
        }
    }

    pub fn violations(&self) -> Vec<String> {
        self.violations.borrow().clone()
    }

    pub fn violated(&self) -> u64 {
        self.violated.get()
    }
}
