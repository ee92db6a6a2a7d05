//! Requests of busy keys: reservations must be invisible to the caller.

use crate::objects::*;
use crate::origin_messages::origin_message;
use crate::world::*;
use rds_edge::respond::Reply;
use rds_shared::access::link::{KEY_UPDATE_PATH, KeyUpdate, ORIGIN};
use rds_shared::access::{KeyRecord, Plan};

const ROWS: &str = "{\"data\":[]}";

fn world(record: KeyRecord) -> World {
    let world = World::new(|_| Ok(page(ROWS)));
    world.objects.mint(1, record);
    world
}

fn keyed(target: &str) -> Ask {
    Ask::new("GET", target).with("authorization", &bearer(1)).with("cf-connecting-ip", "192.0.2.7")
}

fn rate(reply: &Reply) -> (u16, Option<u32>) {
    (reply.status, reply.header("x-ratelimit-remaining").map(|left| left.parse().unwrap()))
}

/// Sends twenty requests, after which the isolate has a reservation.
fn busy(world: &World) {
    for _ in 0..20 {
        assert_eq!(world.send(&keyed("/v1/vaults")).status, 200);
    }
    assert!(!world.objects.reserved.borrow().is_empty());
}

#[test]
fn a_busy_keys_requests_are_counted_one_by_one_with_few_calls() {
    let world = world(record(Plan::Data, 6_000));
    for left in (0..6_000).rev() {
        assert_eq!(rate(&world.send(&keyed("/v1/vaults"))), (200, Some(left)));
    }
    // The last 500 requests are each charged separately.
    let calls = world.objects.key_calls.get();
    assert!(calls < 700, "{calls} calls for 6000 requests");
    let refused = world.send(&keyed("/v1/vaults"));
    assert_eq!((rate(&refused), refused.header("x-ratelimit-limit")), ((429, Some(0)), Some("6000")));
    world.pass_seconds(60);
    assert_eq!(rate(&world.send(&keyed("/v1/vaults"))), (200, Some(5_999)));
}

#[test]
fn unused_reserved_requests_are_given_back_within_250_ms() {
    let world = world(record(Plan::Data, 6_000));
    busy(&world);
    world.send(&keyed("/v1/chains"));
    world.pass_millis(252);
    let settled: Vec<_> = world.objects.settled.take();
    let spent: Vec<_> =
        settled.iter().flat_map(|one| &one.spent).map(|tally| (&*tally.endpoint, tally.served)).collect();
    assert_eq!(spent, [("GET /v1/vaults", 4), ("GET /v1/chains", 1)]);
    assert_eq!(rate(&world.send(&keyed("/v1/vaults"))), (200, Some(6_000 - 22)));
}

#[test]
fn a_revoked_key_gets_401_after_the_acknowledgement_despite_reservations() {
    let live = record(Plan::Data, 6_000);
    let world = world(live);
    busy(&world);
    let (calls, now) = (world.objects.key_calls.get(), world.now().as_seconds());
    assert_eq!(world.send(&keyed("/v1/vaults")).status, 200);
    assert_eq!(world.objects.key_calls.get(), calls, "it was admitted from a reservation");
    let digest = rds_shared::access::KeyDigest::of(&key_text(1));
    let news = KeyUpdate { digest, record: KeyRecord { active: false, version: 2, ..live } };
    let body = serde_json::to_vec(&news).unwrap();
    assert_eq!(world.send(&origin_message(KEY_UPDATE_PATH, &body, KEY, ORIGIN, now)).status, 204);
    assert_eq!(world.send(&keyed("/v1/vaults")).status, 401);
}

#[test]
fn nothing_is_reserved_on_routes_that_charge_the_address_or_for_shared_keys() {
    for (target, shared) in [("/v1/graph/breach", false), ("/v1/vaults", true), ("/v1/health", false)] {
        let world = world(KeyRecord { shared, ..record(Plan::Embedded, 6_000) });
        for _ in 0..200 {
            world.send(&keyed(target));
        }
        assert!(world.objects.reserved.borrow().is_empty(), "{target}");
    }
}

#[test]
fn after_a_refused_reservation_each_request_is_charged_separately() {
    let world = world(record(Plan::Data, 300));
    for left in (0..300).rev() {
        assert_eq!(rate(&world.send(&keyed("/v1/vaults"))), (200, Some(left)));
        world.pass_millis(5);
    }
    let attempts = world.objects.reserved.borrow().len();
    assert!((1..=3).contains(&attempts), "{attempts} reservation requests in 1.5 seconds");
}

#[test]
fn with_its_durable_object_down_a_key_has_only_its_reserved_requests() {
    let world = world(record(Plan::Data, 6_000));
    busy(&world);
    world.objects.keys_are_away.set(true);
    let replies: Vec<_> = (0..200).map(|_| world.send(&keyed("/v1/me")).status).collect();
    let served = replies.iter().filter(|status| **status == 200).count();
    assert_eq!(served, 60, "64 were reserved and 4 used before");
    assert!(replies[60..].iter().all(|status| *status == 503));
    world.pass_seconds(1);
    world.objects.keys_are_away.set(false);
    assert_eq!(world.send(&keyed("/v1/vaults")).status, 200);
}
