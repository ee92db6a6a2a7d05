//! Cached responses as callers see them.

use crate::world::*;
use std::cell::Cell;

const ROWS: &str = r#"{"data":[{"id":"a","freshness_seconds":30},{"id":"b","freshness_seconds":null}],"meta":{}}"#;

#[test]
fn the_first_response_comes_from_the_origin_and_later_ones_state_their_age() {
    let world = World::new(|_| Ok(page(ROWS)));
    let first = world.get("/v1/vaults");
    assert_eq!((first.status, x_cache(&first), first.header("age")), (200, "MISS", None));
    assert_eq!(first.header("cache-status"), Some("rds-edge; fwd=miss; fwd-status=200; stored"));
    world.pass_seconds(4);
    let second = world.get("/v1/vaults");
    assert_eq!((second.status, x_cache(&second), second.header("age")), (200, "HIT", Some("4")));
    assert_eq!(second.header("cache-status"), Some("rds-edge; hit; ttl=11"));
    for reply in [&first, &second] {
        assert_eq!(reply.header("x-data-version"), Some("7"));
        assert_eq!(reply.header("cache-control"), Some("public, max-age=0, must-revalidate"));
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert_eq!(reply.header("cdn-cache-control"), None, "this header is for the edge only");
    }
    assert_eq!(world.asked(), 1);
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
}

#[test]
fn ages_in_a_cached_response_grow_while_its_etag_stays() {
    let world = World::new(|_| Ok(page(ROWS)));
    let first = world.get("/v1/vaults");
    assert_eq!(text(&first), ROWS);
    world.pass_seconds(5);
    let second = world.get("/v1/vaults");
    assert_eq!(text(&second), ROWS.replace(":30", ":35"));
    assert_eq!(first.header("etag"), second.header("etag"));
}

#[test]
fn a_cached_feed_turns_stale_at_its_heartbeat_even_while_the_origin_is_down() {
    let feed = |age: u64, status: &str| {
        format!(
            r#"{{"data":[{{"heartbeat_seconds":60,"used_by":[],"age_seconds":{age},"status":"{status}"}}],"meta":{{}}}}"#
        )
    };
    let body = feed(55, "fresh");
    let world = World::new(move |_| Ok(page(&body)));
    assert_eq!(text(&world.get("/v1/oracle")), feed(55, "fresh"));
    world.pass_seconds(5);
    assert_eq!(text(&world.get("/v1/oracle")), feed(60, "fresh"));
    world.pass_seconds(1);
    assert_eq!(text(&world.get("/v1/oracle")), feed(61, "stale"));
    world.origin_is_down();
    world.pass_seconds(600);
    let reply = world.get("/v1/oracle");
    assert_eq!((x_cache(&reply), text(&reply)), ("STALE-ERROR", feed(661, "stale")));
}

#[test]
fn spellings_of_one_request_share_a_cached_response() {
    let world = World::new(|_| Ok(page(ROWS)));
    for target in [
        "/v1/vaults?chain=base,ethereum",
        "/v1/vaults?utm_source=x&chain=Ethereum,Base,base",
        "/v1/vaults?limit=20&chain=ethereum,base&page=1",
    ] {
        world.get(target);
    }
    assert_eq!(world.asked(), 1);
    assert_eq!(
        world.last_call().target,
        "/v1/vaults?chain=base,ethereum",
        "only the canonical target reaches the origin"
    );
    for address in ["0x00B6F2C15E4439749F192D10C70F65354848CF4B", "0x00b6f2c15e4439749f192d10c70f65354848cf4b"] {
        world.get(&format!("/v1/vault/ethereum/{address}"));
    }
    assert_eq!(world.asked(), 2);
}

#[test]
fn a_new_isolate_starts_with_the_data_centres_cache() {
    let mut world = World::new(|_| Ok(page(ROWS)));
    world.get("/v1/vaults");
    world.new_isolate();
    world.pass_seconds(6);
    let reply = world.get("/v1/vaults");
    assert_eq!((x_cache(&reply), reply.header("age"), world.asked()), ("HIT", Some("6"), 1));
    assert_eq!(text(&reply), ROWS.replace(":30", ":36"));
    world.stored.borrow_mut().clear();
    assert_eq!(x_cache(&world.get("/v1/vaults")), "HIT", "the isolate has cached it, too");
}

#[test]
fn a_response_confirmed_by_the_origin_is_fresh_again() {
    let reads = Cell::new(0);
    let world = World::new(move |call| {
        reads.set(reads.get() + 1);
        let condition = call.headers.iter().find(|(name, _)| *name == "if-none-match");
        match condition {
            None => Ok(page(ROWS)),
            Some((_, etag)) => {
                assert_eq!(etag, "W/\"version-7\"");
                let unchanged = rds_edge::origin_link::signed_call::OriginAnswer { status: 304, ..Default::default() };
                Ok(unchanged.with("x-data-version", "9").with("cdn-cache-control", "max-age=15, stale-if-error=86400"))
            }
        }
    });
    world.get("/v1/vaults");
    world.pass_seconds(20);
    let confirmed = world.get("/v1/vaults");
    assert_eq!((confirmed.status, x_cache(&confirmed), confirmed.header("age")), (200, "HIT", Some("0")));
    assert_eq!(confirmed.header("cache-status"), Some("rds-edge; fwd=stale; fwd-status=304; stored"));
    assert_eq!(confirmed.header("x-data-version"), Some("9"));
    assert_eq!(text(&confirmed), ROWS.replace(":30", ":50"));
    world.pass_seconds(14);
    let hit = world.get("/v1/vaults");
    assert_eq!((x_cache(&hit), hit.header("age"), world.asked()), ("HIT", Some("14"), 2));
    assert_eq!(text(&hit), ROWS.replace(":30", ":64"));
}

#[test]
fn a_304_may_change_the_lifetime_and_keeps_it_if_it_states_none() {
    for (stated, seconds) in
        [(Some("max-age=5, stale-if-error=60"), 5), (Some("max-age=40, stale-if-error=60"), 40), (None, 15)]
    {
        let world = World::new(|_| Ok(page(ROWS)));
        world.get("/v1/vaults");
        world.pass_seconds(15);
        world.origin(move |_| {
            let unchanged = rds_edge::origin_link::signed_call::OriginAnswer { status: 304, ..Default::default() };
            Ok(stated.into_iter().fold(unchanged, |answer, value| answer.with("cdn-cache-control", value)))
        });
        world.get("/v1/vaults");
        world.pass_seconds(seconds - 1);
        world.get("/v1/vaults");
        assert_eq!(world.asked(), 2, "{stated:?}");
        world.pass_seconds(1);
        world.get("/v1/vaults");
        assert_eq!(world.asked(), 3, "{stated:?}");
    }
}

#[test]
fn a_cached_response_is_dropped_when_the_origin_withdraws_its_consent() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.get("/v1/vaults");
    world.pass_seconds(15);
    world.origin(|_| Ok(answer(200, ROWS).with("cdn-cache-control", "no-store")));
    assert_eq!(x_cache(&world.get("/v1/vaults")), "MISS");
    assert_eq!(world.get("/v1/vaults").header("cache-status"), Some("rds-edge; fwd=miss; fwd-status=200"));
    world.origin_is_down();
    assert_eq!(world.get("/v1/vaults").status, 503);
    assert!(world.stored.borrow().is_empty());
}

#[test]
fn a_changed_answer_replaces_the_cached_response() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.get("/v1/vaults");
    world.origin(|_| Ok(page("{\"data\":[]}")));
    world.pass_seconds(15);
    assert_eq!(x_cache(&world.get("/v1/vaults")), "MISS");
    let reply = world.get("/v1/vaults");
    assert_eq!((x_cache(&reply), text(&reply).as_str()), ("HIT", "{\"data\":[]}"));
}

#[test]
fn a_404_removes_the_cached_response_and_is_not_cached() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.get("/v1/curators/someone");
    world.origin(|call| Ok(envelope(404, "NOT_FOUND", call)));
    world.pass_seconds(15);
    for _ in 0..2 {
        let reply = world.get("/v1/curators/someone");
        assert_eq!((reply.status, reply.header("cache-control")), (404, Some("no-store")));
    }
    assert_eq!(world.asked(), 3);
    world.origin_is_down();
    assert_eq!(world.get("/v1/curators/someone").status, 503, "a removed response must not be served again");
}

#[test]
fn an_answer_without_cdn_cache_control_is_not_cached() {
    let world = World::new(|_| Ok(answer(200, ROWS)));
    world.get("/v1/vaults");
    let reply = world.get("/v1/vaults");
    assert_eq!((x_cache(&reply), world.asked()), ("MISS", 2));
    assert_eq!(reply.header("cache-status"), Some("rds-edge; fwd=miss; fwd-status=200"));
}

#[test]
fn health_and_readiness_are_never_cached() {
    let world = World::new(|_| Ok(page("{\"status\":\"ok\"}")));
    for target in ["/v1/health", "/ready", "/v1/health"] {
        let reply = world.get(target);
        assert_eq!((x_cache(&reply), reply.header("cache-control")), ("BYPASS", Some("no-store")));
        assert_eq!(reply.header("cache-status"), Some("rds-edge; fwd=bypass; fwd-status=200"));
        assert_eq!(reply.header("age"), None);
    }
    assert_eq!(world.asked(), 3);
    world.origin(|_| {
        Ok(answer(503, "{\"status\":\"not_ready\",\"db\":\"down\",\"cache\":\"closed\"}").with("retry-after", "5"))
    });
    let reply = world.get("/ready");
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("5")));
    assert!(text(&reply).contains("not_ready"));
}

#[test]
fn a_batch_look_up_is_passed_on_unchanged_and_never_cached() {
    let world = World::new(|_| Ok(page(ROWS)));
    let ask =
        || Ask::new("POST", "/v1/vaults/batch").with("content-type", "application/json").body(b"{\"ids\":[\"a\"]}");
    for _ in 0..2 {
        assert_eq!(x_cache(&world.send(&ask())), "BYPASS");
    }
    assert_eq!(world.asked(), 2);
    assert_eq!(world.last_call().body, b"{\"ids\":[\"a\"]}");
}
