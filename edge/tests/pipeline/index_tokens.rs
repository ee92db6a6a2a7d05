//! Index tokens give access to the routes with `Access::Index` and to no other route. Other credentials give no access to these routes.

use crate::objects::*;
use crate::world::*;
use rds_edge::respond::Reply;
use rds_shared::access::{KeyDigest, KeyRecord, Plan, Principal};

const LEVELS: &str = "{\"data\":[]}";
const PRIVATE: [&str; 5] =
    ["/v1/indices", "/v1/indices/prime", "/v1/indices/prime/levels", "/v1/rates", "/v1/rates/USDC"];

fn token_text(number: u32) -> String {
    format!("ix_live_{number:032x}")
}

fn holding(number: u32, target: &str) -> Ask {
    Ask::new("GET", target).with("authorization", &format!("Bearer {}", token_text(number)))
}

/// A world with token 1, live or revoked, and key 1.
fn world(is_live: bool) -> World {
    let world = World::new(|_| Ok(page(LEVELS)));
    let token = KeyDigest::of(&token_text(1));
    world.objects.keys.borrow_mut().insert(token, KeyRecord::of_index_token(9, is_live));
    world.objects.mint(1, record(Plan::Embedded, 600));
    world
}

fn refusal(reply: &Reply) -> (u16, bool) {
    (reply.status, text(reply).contains("\"legacy_code\":\"invalid_api_key\""))
}

#[test]
fn a_token_opens_the_private_routes_within_its_own_limit() {
    let world = world(true);
    for target in PRIVATE {
        let reply = world.send(&holding(1, target));
        assert_eq!((reply.status, reply.header("x-ratelimit-limit")), (200, Some("300")), "{target}");
        assert_eq!(reply.header("cache-control"), Some("private, max-age=0, must-revalidate"));
        let call = world.last_call();
        let principal = call.headers.iter().find(|(name, _)| *name == "x-service-principal").unwrap().1.clone();
        assert_eq!(Principal::from_json(&principal), Some(Principal::IndexToken { id: 9 }));
    }
    let again = world.send(&holding(1, "/v1/rates"));
    assert_eq!((x_cache(&again), again.header("x-ratelimit-remaining")), ("HIT", Some("294")));
    assert_eq!((world.asked(), world.objects.address_calls.get()), (5, 0));
}

#[test]
fn keys_and_anonymous_callers_are_refused_even_if_a_response_is_cached() {
    let world = world(true);
    for target in PRIVATE {
        world.send(&holding(1, target));
        let keyed = world.send(&Ask::new("GET", target).with("authorization", &bearer(1)).with("if-none-match", "*"));
        assert_eq!((refusal(&keyed), keyed.header("etag")), ((401, false), None), "{target}");
        assert!(text(&keyed).contains("index token") && text(&keyed).contains("tier_required"));
        assert_eq!(refusal(&world.get(target)), (401, false), "{target}");
    }
    assert_eq!(world.asked(), PRIVATE.len());
}

#[test]
fn a_token_is_an_invalid_credential_on_other_routes() {
    let world = world(true);
    for target in ["/v1/vaults", "/v1/vaults/scores", "/v1/me", "/v1/baskets/webhooks"] {
        assert_eq!(refusal(&world.send(&holding(1, target))), (401, true), "{target}");
    }
    assert_eq!((world.asked(), world.objects.key_calls.get()), (0, 0));
}

#[test]
fn an_unknown_or_revoked_token_is_charged_to_the_address() {
    let world = world(false);
    for attempt in 0..10 {
        let reply = world.send(&holding(1 + attempt % 2, "/v1/rates"));
        assert_eq!((refusal(&reply), reply.header("x-ratelimit-limit")), ((401, true), Some("10")));
    }
    assert_eq!(world.send(&holding(1, "/v1/rates")).status, 429);
    assert_eq!(world.asked(), 0);
}

#[test]
fn a_token_that_cannot_be_judged_gets_503() {
    let world = world(true);
    world.send(&holding(1, "/v1/rates"));
    world.objects.keys_are_away.set(true);
    let reply = world.send(&holding(1, "/v1/rates"));
    assert_eq!(
        (reply.status, reply.header("retry-after").is_some()),
        (503, true),
        "the cached response is not served either"
    );
}
