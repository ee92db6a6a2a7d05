//! What goes wrong in a world, and what the origin changes meanwhile: evictions, partitions, restarts and moves of objects, clocks that are
//! set, and revoked keys.

use crate::edge::{Ask, Edge, EdgeHost};
use crate::ether::ASSERTION_KEY;
use crate::random::Random;
use crate::runtime::Promise;
use crate::world::World;
use rds_edge::pipeline;
use rds_shared::access::link::{KEY_UPDATE_PATH, KeyUpdate, ORIGIN};
use rds_shared::access::{Assertion, AssertionKey, KeyRecord, SignedRequest};
use rds_shared::wire::headers;
use std::rc::Rc;
use std::time::Duration;

/// Longest time for which an edge is cut off, in microseconds.
const LONGEST_CUT_MICROS: u64 = 20_000_000;
/// Largest step of a clock that is set, in microseconds.
const LARGEST_STEP_MICROS: i64 = 1_500_000;

/// Begins the disturbances of a world.
pub fn begin(world: &Rc<World>) {
    if world.scenario.disturbed_every_micros == 0 {
        return;
    }
    for kind in 0..5 {
        let (world, mut random) = (Rc::clone(world), Random::new(world.scenario.seed, 10 + kind));
        let runtime = Rc::clone(&world.ether.runtime);
        runtime.spawn(0, async move {
            loop {
                let gap = random.gap(world.scenario.disturbed_every_micros);
                world.ether.runtime.sleep(Duration::from_micros(gap)).await;
                disturb(&world, kind, &mut random);
            }
        });
    }
}

fn edge(world: &World, random: &mut Random) -> Option<Rc<Edge>> {
    world.edges.get(usize::try_from(random.below(world.edges.len() as u64)).unwrap_or(0)).cloned()
}

fn disturb(world: &Rc<World>, kind: u64, random: &mut Random) {
    let Some(edge) = edge(world, random) else { return };
    match kind {
        0 => edge.evict(&world.ether),
        1 => {
            // Sometimes a whole region is cut off.
            let sites = if random.once_in(8) { 1 + world.edges.len() / 20 } else { 1 };
            let until = world.ether.runtime.now() + random.between(200_000, LONGEST_CUT_MICROS);
            for site in (0..sites).map(|next| (edge.site + next) % world.edges.len()) {
                world.ether.network.cut(site, until);
                world.ether.journal.line(format_args!("edge {site} is cut off until {until}"));
            }
        }
        2 => {
            let objects: Vec<_> = world.keys.borrow().values().cloned().collect();
            let object = objects.get(usize::try_from(random.below(objects.len() as u64)).unwrap_or(0)).cloned();
            // One restart in three is that of the hot key, which has most to lose.
            let hot = objects.iter().find(|object| object.record.get().id == 0).cloned();
            let Some(object) = (if random.once_in(3) { hot } else { object }) else { return };
            let moves = random.once_in(2);
            let site = if moves { edge.site } else { object.instance().site() };
            object.restart(site, !random.once_in(4));
        }
        3 => {
            let step = random.around(LARGEST_STEP_MICROS);
            if random.once_in(4) {
                let objects: Vec<_> = world.keys.borrow().values().cloned().collect();
                let Some(object) = objects.get(usize::try_from(random.below(objects.len() as u64)).unwrap_or(0)) else {
                    return;
                };
                object.instance().set_clock_by(step);
                world.ether.journal.line(format_args!("the clock of key {} is set by {step}", object.record.get().id));
            } else {
                edge.clock.set_by(step);
                if step < 0 {
                    edge.set_back_at.set(world.ether.runtime.now().max(1));
                }
                world.ether.journal.line(format_args!("the clock of edge {} is set by {step}", edge.site));
            }
        }
        _ => {
            world.registers.restart();
            world.publication.tags.restart(false);
            if random.once_in(2) {
                world.publication.tag_site.set(edge.site);
            }
            world.publication.replica.iter().for_each(|object| object.restart());
            let wiped = world.ether.planted.address_object_forgets_its_disk;
            world.address_objects().iter().for_each(|object| object.restart(wiped));
            world.ether.journal.line(format_args!(
                "all other objects restart; the tag versions are at {}",
                world.publication.tag_site.get()
            ));
        }
    }
}

/// Revokes a key after `micros`, and tells the edge until it acknowledges.
pub fn revoke_later(world: &Rc<World>, key: usize, micros: u64) {
    let (world, mut random) = (Rc::clone(world), Random::new(world.scenario.seed, 1_000 + key as u64));
    let runtime = Rc::clone(&world.ether.runtime);
    runtime.spawn(0, async move {
        world.ether.runtime.sleep(Duration::from_micros(micros)).await;
        let Some(digest) = world.ledger.borrow().keys.get(key).map(|key| key.digest) else { return };
        let Some(object) = world.key_object(&digest) else { return };
        let record = KeyRecord { active: false, version: 2, ..object.record.get() };
        object.record.set(record);
        let Ok(body) = serde_json::to_vec(&KeyUpdate { digest, record }) else { return };
        loop {
            let Some(edge) = edge(&world, &mut random) else { return };
            if tell(&world, &edge, KEY_UPDATE_PATH, body.clone(), Duration::from_secs(10)).await == Some(204) {
                world.ether.journal.line(format_args!("the revocation of key {key} is acknowledged"));
                world.ledger.borrow_mut().revoked(key, world.ether.runtime.now());
                return;
            }
            world.ether.runtime.sleep(Duration::from_secs(1)).await;
        }
    });
}

/// Sends a signed message of the origin to an edge's isolate; returns the status, or `None` without an answer in time.
pub async fn tell(
    world: &Rc<World>,
    edge: &Rc<Edge>,
    path: &'static str,
    body: Vec<u8>,
    limit: Duration,
) -> Option<u16> {
    let seconds = world.millis().div_euclid(1_000);
    let nonce = world.ether.random.borrow_mut().bytes();
    let key = AssertionKey::parse(ASSERTION_KEY)?;
    let signed = SignedRequest { method: "POST", target: path, body: &body, principal: ORIGIN };
    let assertion = Assertion::sign(&key, &signed, seconds, nonce).to_header();
    let headers = vec![(headers::ASSERTION, assertion), (headers::PRINCIPAL, ORIGIN.to_owned())];
    let ask = Rc::new(Ask { method: "POST", target: path, headers, body });
    let answered = Promise::default();
    let (there, back, at) = (Rc::clone(world), answered.clone(), Rc::clone(edge));
    world.ether.runtime.spawn(edge.group(), async move {
        let network = &there.ether.network;
        if !network.carry(there.ether.origin_site, at.site).await {
            return;
        }
        let host = EdgeHost::new(&there, &at);
        let reply = pipeline::handle(&*ask, &host.isolate, &there.config, &host).await;
        if network.carry(at.site, there.ether.origin_site).await {
            back.keep(reply.status);
        }
    });
    answered.within(&world.ether.runtime, limit).await
}
