//! A world: its machines, and the loop over its events.

use crate::clock;
use crate::edge::Edge;
use crate::ether::{ASSERTION_KEY, Ether};
use crate::journal::Journal;
use crate::ledger::Ledger;
use crate::load::{self, Caller};
use crate::network::{Network, Site};
use crate::objects::address::AddressObject;
use crate::objects::key::KeyObject;
use crate::objects::register::Registers;
use crate::readers::Publication;
use crate::runtime::{Due, Runtime};
use crate::scenario::Scenario;
use anyhow::anyhow;
use rds_edge::config::Config;
use rds_shared::access::KeyDigest;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

pub struct World {
    pub ether: Rc<Ether>,
    pub scenario: Scenario,
    pub config: Config,
    pub edges: Vec<Rc<Edge>>,
    pub keys: RefCell<BTreeMap<KeyDigest, Rc<KeyObject>>>,
    pub registers: Registers,
    pub register_site: Site,
    addresses: RefCell<BTreeMap<u8, Rc<AddressObject>>>,
    pub publication: Publication,
    pub ledger: RefCell<Ledger>,
    pub callers: RefCell<Vec<Caller>>,
    /// Requests of keys sent so far.
    pub sent: Cell<u64>,
}

impl World {
    pub fn new(scenario: Scenario) -> anyhow::Result<Rc<Self>> {
        let runtime = Rc::<Runtime>::default();
        let network = Network::new(Rc::clone(&runtime), scenario.edges, scenario.seed, scenario.faults);
        let journal = Journal::new(Rc::clone(&runtime), scenario.is_logged);
        let Scenario { seed, skew, planted, .. } = scenario;
        let ether = Rc::new(Ether::new(network, journal, runtime, seed, skew, planted));
        let variable = |name: &str| match name {
            "ORIGIN_URL" => Some("http://origin.example".to_owned()),
            "ASSERTION_KEY" => Some(ASSERTION_KEY.to_owned()),
            _ => None,
        };
        let config = Config::read(variable).map_err(|faults| anyhow!("configuration: {faults:?}"))?;
        let edges = (0..scenario.edges).map(|site| Rc::new(Edge::new(&ether, site))).collect();
        let publication = Publication::new(&ether, &config.verification_keys, scenario.has_replica);
        let world = Rc::new(World {
            ether,
            publication,
            config,
            edges,
            keys: RefCell::default(),
            registers: Registers::default(),
            register_site: 0,
            addresses: RefCell::default(),
            ledger: RefCell::default(),
            callers: RefCell::default(),
            sent: Cell::new(0),
            scenario,
        });
        load::populate(&world);
        Ok(world)
    }

    /// Runs until all requests were sent, and a little longer so that they are answered.
    pub fn run(self: &Rc<Self>) {
        self.run_until(u64::MAX, |world| world.sent.get() >= world.scenario.requests);
        self.run_until(self.ether.runtime.now() + 10_000_000, |_| false);
    }

    fn run_until(self: &Rc<Self>, until: u64, is_over: impl Fn(&Self) -> bool) {
        let runtime = &self.ether.runtime;
        runtime.settle();
        while !is_over(self) {
            match runtime.next(until) {
                Some(Due::Wake(waker)) => {
                    waker.wake();
                    runtime.settle();
                }
                Some(Due::Arrival(number)) => load::arrive(self, number),
                None => return,
            }
        }
    }

    /// The true time, in milliseconds since the Unix epoch: the clock of the registers and address objects.
    pub fn millis(&self) -> i64 {
        clock::true_millis(&self.ether.runtime)
    }

    pub fn key_object(&self, digest: &KeyDigest) -> Option<Rc<KeyObject>> {
        self.keys.borrow().get(digest).cloned()
    }

    /// The object of an address shard, and its site.
    pub fn address_object(&self, shard: u8) -> (Site, Rc<AddressObject>) {
        let object = Rc::clone(self.addresses.borrow_mut().entry(shard).or_default());
        (usize::from(shard) % self.edges.len(), object)
    }

    pub fn address_objects(&self) -> Vec<Rc<AddressObject>> {
        self.addresses.borrow().values().cloned().collect()
    }
}
