//! Chains that are withheld: no answer made from rows has any of them once the edge has acknowledged the withholding.

use crate::market::{OPTIMISM, VAULTS};
use crate::origin_messages::origin_message;
use crate::replica::{LIST, seen, world};
use crate::world::*;
use rds_shared::access::link::{ORIGIN, TAG_INVALIDATION_PATH};

/// The origin's message that it withholds a chain as of the version 2 of the vaults.
fn withhold(world: &World) {
    say(world, r#"{"versions":"vaults=2","withheld":[10]}"#);
}

/// A message of the origin about versions.
fn say(world: &World, body: &str) {
    let message = origin_message(TAG_INVALIDATION_PATH, body.as_bytes(), KEY, ORIGIN, world.now().as_seconds());
    assert_eq!(world.send(&message).status, 204);
}

fn total(world: &World, target: &str) -> String {
    let reply = world.get(target);
    let body = text(&reply);
    assert!(!body.contains("OPTIMISM") && !body.contains("optimism"), "{target}: {body}");
    let total = body.split("\"total\":").nth(1).unwrap_or_default();
    format!("{} {}", x_cache(&reply), total.split([',', '}']).next().unwrap_or_default())
}

#[test]
fn stale_answers_have_no_row_of_a_chain_that_was_withheld_since() {
    let mut world = world();
    assert!(text(&world.get("/v1/chains")).contains("optimism"));
    assert_eq!(seen(&world.get(LIST)), ("MISS", Some(1)));
    world.origin_is_down();
    world.replica.origin.is_away.set(true);
    withhold(&world);
    for is_new in [false, true] {
        if is_new {
            world.new_isolate();
        }
        assert_eq!(total(&world, LIST), format!("STALE-ERROR {}", VAULTS / 2), "despite the cached response");
        assert_eq!(total(&world, "/v1/vaults?limit=3"), format!("STALE-ERROR {}", VAULTS / 2));
        assert!(!text(&world.get("/v1/chains?limit=9")).contains("optimism"));
        let reply = world.get("/v1/vaults?chain=optimism");
        assert_eq!(reply.header("x-service-unknown-values"), Some("chain=optimism"), "as the origin without the chain");
    }
}

#[test]
fn sums_over_chains_are_not_answered_from_rows_until_they_exclude_the_chain() {
    let world = world();
    world.get(LIST);
    world.origin_is_down();
    world.replica.origin.is_away.set(true);
    withhold(&world);
    for target in ["/v1/stats", "/v1/protocols", "/v1/assets", "/v1/curators", "/v1/security-events?hasLoss=true"] {
        assert_eq!(world.get(target).status, 503, "{target}");
    }
    world.replica.origin.is_away.set(false);
    world.replica.origin.documents.borrow_mut().publish(&[OPTIMISM], world.now());
    world.pass_seconds(3);
    world.get(LIST);
    let reply = world.get("/v1/stats");
    assert_eq!((reply.status, x_cache(&reply)), (200, "MISS"));
    assert!(text(&reply).contains(&format!("\"vault_count\":{}", VAULTS / 2)));
}

#[test]
fn a_cached_sum_made_before_a_chain_was_withheld_is_not_served_even_if_the_origin_is_down() {
    const SUMS: [&str; 5] =
        ["/v1/stats", "/v1/protocols", "/v1/assets", "/v1/curators", "/v1/security-events?hasLoss=true"];
    let world = world();
    for target in SUMS {
        assert_eq!(world.get(target).status, 200, "{target}");
    }
    world.origin_is_down();
    world.replica.origin.is_away.set(true);
    say(&world, r#"{"versions":"vaults=2;assets=2;security=2","withheld":[10]}"#);
    for target in SUMS {
        assert_eq!(world.get(target).status, 503, "{target}: it may show the chain");
    }
}

#[test]
fn a_cached_sum_made_after_a_chain_was_withheld_is_served_when_the_origin_is_down() {
    let world = world();
    say(&world, r#"{"versions":"vaults=2","withheld":[10]}"#);
    world.replica.origin.documents.borrow_mut().publish(&[OPTIMISM], world.now());
    world.pass_seconds(3);
    assert_eq!(world.get("/v1/assets").status, 200);
    world.origin_is_down();
    world.replica.origin.is_away.set(true);
    say(&world, r#"{"versions":"vaults=3;assets=2","withheld":[10]}"#);
    let reply = world.get("/v1/assets");
    assert_eq!((reply.status, x_cache(&reply)), (200, "STALE-ERROR"));
}
