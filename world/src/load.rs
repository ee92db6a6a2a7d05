//! The traffic of a world: callers with and without keys, and how each of their requests is metered.

use crate::disturbances;
use crate::edge::{Ask, Edge, EdgeHost};
use crate::ledger::Answered;
use crate::objects::key::KeyObject;
use crate::random::Random;
use crate::readers;
use crate::runtime::Due;
use crate::world::World;
use rds_edge::pipeline;
use rds_shared::access::{KeyDigest, KeyRecord, Plan};
use rds_shared::route::RouteId;
use std::rc::Rc;

/// The header in which the proxy names the caller's address.
const ADDRESS_HEADER: &str = "cf-connecting-ip";

/// What a caller's requests are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// They are metered, at the limit of the key with this number.
    Key(usize),
    /// They are metered, at the limit of the caller's address.
    Address,
    /// They read the list with the key of this number, and are answered.
    Reads(usize),
}

/// A caller at one edge.
pub struct Caller {
    edge: Rc<Edge>,
    ask: Rc<Ask>,
    use_of: Use,
    /// Mean time between requests, in microseconds.
    gap: u64,
    random: Random,
}

fn key_text(seed: u64, number: usize) -> String {
    format!("pk_live_{seed:016x}{number:016x}")
}

/// Adds keys and callers to a new world, and begins its disturbances.
pub fn populate(world: &Rc<World>) {
    let scenario = &world.scenario;
    let mut random = Random::new(scenario.seed, 3);
    // The hot key is asked for at every edge, at some forty times as often as at others.
    let hot_limit = scenario.hot_per_second * 60 * 100 / scenario.hot_load_percent;
    let hot = add_key(world, &mut random, u32::try_from(hot_limit).unwrap_or(u32::MAX));
    let mut edges: Vec<usize> = (0..scenario.edges).collect();
    shuffle(&mut random, &mut edges);
    let weights: Vec<u64> = (0..edges.len() as u64).map(|rank| 1_000_000 / (8 + rank)).collect();
    let whole: u64 = weights.iter().sum();
    for (edge, weight) in edges.iter().zip(&weights) {
        add_caller(world, &mut random, *edge, Use::Key(hot), 1_000_000 * whole / (scenario.hot_per_second * weight));
    }
    for _ in 0..scenario.small_keys {
        let limit = random.between(30, 3_000);
        let key = add_key(world, &mut random, u32::try_from(limit).unwrap_or(u32::MAX));
        let places = random.between(1, 6);
        // Together they ask for 1.5 to 4 times the limit.
        let percent = random.between(150, 400);
        for _ in 0..places {
            let edge = usize::try_from(random.below(scenario.edges as u64)).unwrap_or(0);
            add_caller(world, &mut random, edge, Use::Key(key), 60_000_000 * places * 100 / (limit * percent));
        }
    }
    for number in 0..scenario.revoked_keys {
        let key = add_key(world, &mut random, 60_000);
        // Half of them are busy enough for reservations.
        let gap = if number % 2 == 0 { 3_000 } else { 200_000 };
        for _ in 0..=number % 2 {
            let edge = usize::try_from(random.below(scenario.edges as u64)).unwrap_or(0);
            add_caller(world, &mut random, edge, Use::Key(key), gap);
        }
        disturbances::revoke_later(world, key, random.between(5_000_000, 40_000_000));
    }
    for _ in 0..scenario.addresses {
        let edge = usize::try_from(random.below(scenario.edges as u64)).unwrap_or(0);
        add_caller(world, &mut random, edge, Use::Address, 60_000_000 / 20);
    }
    if let Some(gap) = (1_000_000 * scenario.edges as u64).checked_div(scenario.reads_per_second) {
        let key = add_key(world, &mut random, u32::MAX);
        (0..scenario.edges).for_each(|edge| add_caller(world, &mut random, edge, Use::Reads(key), gap));
        readers::publish(world);
    }
    disturbances::begin(world);
}

fn shuffle(random: &mut Random, all: &mut [usize]) {
    for place in (1..all.len()).rev() {
        all.swap(place, usize::try_from(random.below(place as u64 + 1)).unwrap_or(0));
    }
}

fn add_key(world: &World, random: &mut Random, rpm: u32) -> usize {
    let number = world.keys.borrow().len();
    let digest = KeyDigest::of(&key_text(world.scenario.seed, number));
    let id = i64::try_from(number).unwrap_or(0);
    let record = KeyRecord { id, org_id: 1, plan: Plan::Data, rpm, shared: false, active: true, version: 1 };
    let site = usize::try_from(random.below(world.edges.len() as u64)).unwrap_or(0);
    world.keys.borrow_mut().insert(digest, KeyObject::new(&world.ether, digest, record, site));
    world.ledger.borrow_mut().add(digest, rpm)
}

fn add_caller(world: &World, random: &mut Random, edge: usize, use_of: Use, gap: u64) {
    let Some(edge) = world.edges.get(edge).cloned() else { return };
    let number = world.callers.borrow().len();
    let identity = match use_of {
        Use::Key(key) | Use::Reads(key) => ("authorization", format!("Bearer {}", key_text(world.scenario.seed, key))),
        // Eight addresses in each neighbourhood.
        Use::Address => (ADDRESS_HEADER, format!("10.{}.{}.{}", number / 2_048, number / 8 % 256, number % 8)),
    };
    let ask = Rc::new(Ask { method: "GET", target: "/v1/vaults", headers: vec![identity], body: Vec::new() });
    let mut random = Random::new(random.draw(), 4);
    let first = random.gap(gap.max(1));
    world.callers.borrow_mut().push(Caller { edge, ask, use_of, gap: gap.max(1), random });
    world.ether.runtime.schedule(first, Due::Arrival(number));
}

/// A caller sends its next request.
pub fn arrive(world: &Rc<World>, number: usize) {
    let (edge, ask, use_of) = {
        let mut callers = world.callers.borrow_mut();
        let Some(caller) = callers.get_mut(number) else { return };
        let next = world.ether.runtime.now() + caller.random.gap(caller.gap);
        world.ether.runtime.schedule(next, Due::Arrival(number));
        (Rc::clone(&caller.edge), Rc::clone(&caller.ask), caller.use_of)
    };
    let (world, group) = (Rc::clone(world), edge.group());
    let runtime = Rc::clone(&world.ether.runtime);
    match use_of {
        Use::Key(key) => {
            world.sent.set(world.sent.get() + 1);
            world.ledger.borrow_mut().sent(key);
            runtime.start(group, meter(world, edge, ask, Some(key)));
        }
        Use::Address => {
            world.ledger.borrow_mut().addresses_sent += 1;
            runtime.start(group, meter(world, edge, ask, None));
        }
        Use::Reads(_) => runtime.start(group, readers::read(world, edge, ask)),
    }
}

async fn meter(world: Rc<World>, edge: Rc<Edge>, ask: Rc<Ask>, key: Option<usize>) {
    let sent_at = world.ether.runtime.now();
    let host = EdgeHost::new(&world, &edge);
    let was_cut = world.ether.network.is_cut(edge.site);
    let route = RouteId::VaultList.route();
    let identified = pipeline::identify(&*ask, &host.isolate, &world.config, &host, route).await;
    let answered_at = world.ether.runtime.now();
    let is_disturbed = was_cut || world.ether.network.is_cut(edge.site);
    let Some(key) = key else {
        return world.ledger.borrow_mut().address_answered(&identified, is_disturbed);
    };
    let has_asked = host.has_asked.get();
    if world.ether.journal.is_whole || has_asked {
        let admitted = identified.verdict.map(|verdict| (verdict.admitted, verdict.allowance));
        let how = identified.outcome.as_ref().map_err(|error| error.code).err();
        world.ether.journal.line(format_args!("edge {} answers key {key}: {admitted:?} {how:?}", edge.site));
    }
    let answered = Answered {
        key,
        site: edge.site,
        span: (sent_at, answered_at),
        has_asked,
        is_disturbed,
        set_back_at: edge.set_back_at.get(),
    };
    world.ledger.borrow_mut().answered(&world.ether, answered, &identified);
}
