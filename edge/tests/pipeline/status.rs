//! The status feed at the edge: cached for a minute at most, and generated at the edge while the origin is down.

use crate::tag_invalidations::tag_message;
use crate::world::*;
use rds_edge::ports::NoAnswer;
use rds_shared::access::link;

const STATUS: &str = "/v1/status";

/// A world whose origin serves the feed.
fn world() -> World {
    World::new(|_| {
        let feed = answer(200, r#"{"status":"operational"}"#).with("etag", "W/\"s\"");
        Ok(feed.with("cdn-cache-control", "max-age=60, stale-if-error=0").with("x-service-tags", "fail_safe=8"))
    })
}

fn from(address: &str) -> Ask {
    Ask::new("GET", STATUS).with("cf-connecting-ip", address)
}

#[test]
fn the_feed_is_cached_for_a_minute() {
    let world = world();
    assert_eq!(x_cache(&world.get(STATUS)), "MISS");
    world.pass_seconds(59);
    assert_eq!((x_cache(&world.get(STATUS)), world.asked()), ("HIT", 1));
    world.pass_seconds(1);
    assert_eq!((x_cache(&world.get(STATUS)), world.asked()), ("MISS", 2));
}

#[test]
fn an_origin_that_does_not_answer_is_down_and_no_stale_feed_is_served() {
    let world = world();
    world.get(STATUS);
    world.pass_seconds(60);
    let faults: [fn() -> NoAnswer; 2] = [|| NoAnswer::Timeout, || NoAnswer::Unreachable("refused".to_owned())];
    for fault in faults {
        world.origin(move |_| Err(fault()));
        for _ in 0..3 {
            let reply = world.get(STATUS);
            assert_eq!((reply.status, reply.header("cache-control")), (200, Some("no-store")));
            let feed: serde_json::Value = serde_json::from_slice(&bytes(&reply)).unwrap();
            assert_eq!((&feed["status"], &feed["rollup"]), (&"down".into(), &"down".into()));
            assert_eq!(feed["components"][0]["name"], "api");
            assert_eq!(feed["uptime"], serde_json::json!({}));
        }
    }
}

#[test]
fn an_origin_that_answers_with_an_error_is_degraded_not_down() {
    let world = world();
    for (status, code) in [(500, "INTERNAL_ERROR"), (503, "SERVICE_UNAVAILABLE"), (504, "DEADLINE_EXCEEDED")] {
        world.origin(move |call| Ok(envelope(status, code, call)));
        let reply = world.get(STATUS);
        assert_eq!(reply.status, 200, "a failure is a status, not an error response");
        let feed: serde_json::Value = serde_json::from_slice(&bytes(&reply)).unwrap();
        assert_eq!((&feed["status"], &feed["rollup"]), (&"degraded".into(), &"degraded".into()), "{status}");
        assert_eq!(feed["components"][0]["detail"], "could not be read: the service answered with an error");
        assert_eq!(feed["signals"]["requests_15m"], serde_json::Value::Null, "unknown");
    }
}

#[test]
fn failures_of_other_requests_do_not_change_the_status() {
    let world = world();
    world.origin(|call| match call.target.as_str() {
        STATUS => Ok(answer(200, r#"{"status":"operational"}"#)),
        link::ALIVE => Ok(answer(204, "")),
        _ => Err(NoAnswer::Timeout),
    });
    for _ in 0..4 {
        assert_eq!(world.get("/v1/vaults").status, 504);
    }
    assert!(text(&world.get(STATUS)).contains("operational"), "the origin is asked for its status");
    assert!(world.last_limit().as_secs() < 5, "with a short timeout");
}

#[test]
fn an_origin_that_does_not_answer_a_probe_is_down() {
    let world = world();
    world.origin(|_| Err(NoAnswer::Timeout));
    world.get("/v1/vaults");
    let asked = world.asked();
    assert!(text(&world.get(STATUS)).contains(r#""status":"down""#));
    assert_eq!(world.asked(), asked);
}

#[test]
fn the_next_feed_shows_a_change_of_the_fail_safe_mode() {
    let world = world();
    world.get(STATUS);
    world.send(&tag_message(&world, "fail_safe=9"));
    world.origin(|_| {
        let feed = answer(200, r#"{"status":"operational","rollup":"degraded"}"#).with("x-service-tags", "fail_safe=9");
        Ok(feed.with("cdn-cache-control", "max-age=60, stale-if-error=0").with("etag", "W/\"t\""))
    });
    let reply = world.get(STATUS);
    assert!(text(&reply).contains("rollup"));
    assert_eq!((x_cache(&reply), reply.header("x-service-failsafe-mode")), ("MISS", Some("degraded")));
    assert_eq!(x_cache(&world.get(STATUS)), "HIT");
}

#[test]
fn the_status_has_its_own_limit_of_sixty_a_minute_also_at_the_fallback_limiter() {
    for away in [false, true] {
        let world = world();
        world.objects.addresses_are_away.set(away);
        for _ in 0..10 {
            world.send(&Ask::new("GET", "/v1/vaults").with("cf-connecting-ip", "192.0.2.7"));
        }
        for left in (0..60).rev() {
            let reply = world.send(&from("192.0.2.7"));
            assert_eq!((reply.status, reply.header("x-ratelimit-limit")), (200, Some("60")));
            assert_eq!(reply.header("x-ratelimit-remaining"), Some(left.to_string().as_str()));
        }
        assert_eq!(world.send(&from("192.0.2.7")).status, 429);
        assert_eq!(world.send(&from("192.0.2.8")).status, 200, "another address has its own limit");
    }
}

#[test]
fn a_key_that_cannot_be_judged_gets_503_here_too() {
    let world = world();
    world.objects.keys_are_away.set(true);
    let ask = from("192.0.2.7").with("authorization", &format!("Bearer pk_live_{}", "0".repeat(32)));
    assert_eq!(world.send(&ask).status, 503);
    assert_eq!(world.send(&from("192.0.2.7")).status, 200, "a request without a key is served");
}
