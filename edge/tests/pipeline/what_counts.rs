//! What opens the breaker: only an origin that is down, never the requests of callers.

use crate::objects::{bearer, record};
use crate::world::*;
use rds_edge::origin_link::signed_call::OriginAnswer;
use rds_edge::ports::NoAnswer;
use rds_shared::access::{Assertion, Plan, link};

const ROWS: &str = r#"{"data":[]}"#;
const BATCH: &str = "/v1/vaults/batch";

fn broken() -> NoAnswer {
    NoAnswer::Unreachable("the connection was reset".to_owned())
}

/// A world whose origin answers probes, and answers callers' requests with `fault`.
fn where_callers_get(fault: impl Fn() -> Result<OriginAnswer, NoAnswer> + 'static) -> World {
    World::new(move |call| if call.target == link::ALIVE { Ok(answer(204, "")) } else { fault() })
}

/// Ten callers request uncached pages from different addresses; returns whether a request to the healthy origin is then refused.
fn is_held_off_after_ten(world: &World) -> bool {
    for caller in 0..10 {
        let from = format!("192.0.2.{caller}");
        world.send(&Ask::new("GET", &format!("/v1/vaults?page={}", caller + 2)).with("cf-connecting-ip", &from));
    }
    world.origin(|_| Ok(page(ROWS)));
    world.get("/v1/chains").status != 200
}

#[test]
fn unsigned_answers_to_callers_do_not_open_the_breaker() {
    for status in [200, 204, 301, 304, 400, 401, 403, 404, 408, 413, 414, 417, 431, 500, 502, 503, 504] {
        let world = where_callers_get(move || Ok(unsigned(answer(status, "<html>"))));
        let reply = world.get("/v1/vaults");
        assert_eq!((reply.status, text(&reply).contains("<html>")), (503, false), "{status}");
        assert!(!is_held_off_after_ten(&world), "{status}");
    }
}

#[test]
fn timeouts_and_broken_connections_do_not_open_the_breaker_of_a_live_origin() {
    assert!(!is_held_off_after_ten(&where_callers_get(|| Err(NoAnswer::Timeout))));
    assert!(!is_held_off_after_ten(&where_callers_get(|| Err(broken()))));
}

#[test]
fn an_endless_request_times_out_and_does_not_open_the_breaker() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.is_slow.set(true);
    let before = world.now();
    assert_eq!(world.get("/v1/vaults?search=slow").status, 504);
    assert_eq!(world.now().as_millis() - before.as_millis(), 61_000, "the read deadline");
    world.is_slow.set(false);
    assert_eq!(world.get("/v1/chains").status, 200);
    assert!(world.calls.borrow().iter().filter(|(call, _)| call.target == link::ALIVE).count() == 1);
}

#[test]
fn a_signed_error_of_any_size_is_accepted() {
    let long = "x".repeat(200 << 10);
    let world = World::new(move |_| Ok(answer(400, &long)));
    assert_eq!(world.get("/v1/vaults").status, 400);
    assert_eq!(bytes(&world.get("/v1/vaults")).len(), 200 << 10);
}

#[test]
fn an_answer_to_another_request_is_not_passed_on_and_does_not_open_the_breaker() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.origin(|call| {
        let other =
            rds_edge::origin_link::signed_call::UnsignedCall::alive(rds_shared::wire::RequestId::from_random([1; 16]));
        let key = rds_shared::access::AssertionKey::parse(KEY).unwrap();
        let now = rds_shared::wire::Timestamp::from_seconds(1_795_219_200);
        let other = other.sign(&key, rds_edge::origin_link::signed_call::CallStamp { now, nonce: [0xee; 16] });
        assert_ne!(call.nonce, other.nonce);
        let head = rds_shared::access::AnswerHead { nonce: &other.nonce, status: 200, headers: Default::default() };
        let digest = rds_shared::access::BodyDigest::of(b"{}");
        let signature = Some(key.sign_answer(&head, Some(&digest)));
        Ok(OriginAnswer { status: 200, body: b"{}".to_vec(), signature, ..OriginAnswer::default() })
    });
    assert_eq!(world.get("/v1/vaults").status, 503);
    assert!(!is_held_off_after_ten(&world));
}

#[test]
fn probes_detect_an_origin_that_is_down() {
    let world = World::new(|_| Err(broken()));
    for _ in 0..3 {
        world.get("/v1/vaults");
    }
    assert!(world.calls.borrow().iter().any(|(call, _)| call.target == link::ALIVE));
    let asked = world.asked();
    assert_eq!((world.get("/v1/vaults").status, world.asked()), (503, asked));
}

#[test]
fn a_hanging_origin_delays_the_first_caller_by_seconds_and_later_ones_not_at_all() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.hangs.set(true);
    let before = world.now();
    let reply = world.get("/v1/chains");
    assert_eq!(reply.status, 503);
    assert_eq!(world.now().as_millis() - before.as_millis(), 2_500, "not the read deadline of a minute");
    let before = world.now();
    assert_eq!(world.get("/v1/stats").status, 503);
    assert_eq!(world.now(), before, "at once");
    world.hangs.set(false);
    world.pass_seconds(2);
    assert_eq!(world.get("/v1/chains").status, 200);
}

#[test]
fn a_request_refused_by_one_process_is_retried_at_another() {
    for is_signed in [true, false] {
        let world = World::new(|_| Ok(page(ROWS)));
        let tries = std::cell::Cell::new(0);
        world.origin(move |call| {
            tries.set(tries.get() + 1);
            let refusal = envelope(401, "UNAUTHORIZED", call);
            match tries.get() {
                1 if is_signed => Ok(refusal),
                1 => Ok(unsigned(refusal)),
                _ => Ok(page(ROWS)),
            }
        });
        assert_eq!((world.get("/v1/vaults").status, world.asked()), (200, 2));
    }
    let world = World::new(|call| Ok(unsigned(envelope(401, "UNAUTHORIZED", call))));
    assert_eq!((world.get("/v1/vaults").status, world.asked()), (503, 2), "after the second attempt");
    assert!(!is_held_off_after_ten(&world));
}

/// The status of a request whose first connection breaks, and the number of calls to the origin.
fn with_a_broken_connection(ask: &Ask) -> (u16, usize) {
    let tries = std::cell::Cell::new(0);
    let world = World::new(move |call| {
        assert_ne!(call.target, link::ALIVE, "one broken connection does not cause a probe");
        tries.set(tries.get() + 1);
        if tries.get() == 1 { Err(broken()) } else { Ok(answer(200, ROWS)) }
    });
    world.objects.mint(1, record(Plan::Decisioning, 300));
    let reply = world.send(ask);
    let nonces: std::collections::BTreeSet<_> =
        world.calls.borrow().iter().map(|(call, _)| call.nonce.clone()).collect();
    assert_eq!(nonces.len(), world.asked(), "each attempt has its own nonce");
    for (call, _) in world.calls.borrow().iter() {
        let header = call.headers.iter().find(|(name, _)| *name == "x-service-assertion").unwrap().1.clone();
        assert_eq!(Assertion::parse(&header).unwrap().nonce(), call.nonce);
    }
    (reply.status, world.asked())
}

fn posted(target: &str) -> Ask {
    Ask::new("POST", target).with("content-type", "application/json").with("authorization", &bearer(1)).body(b"{}")
}

#[test]
fn a_broken_connection_is_retried_once_if_that_is_safe() {
    assert_eq!(with_a_broken_connection(&Ask::new("GET", "/v1/vaults")), (200, 2));
    assert_eq!(with_a_broken_connection(&posted(BATCH)), (200, 2));
    assert_eq!(with_a_broken_connection(&posted("/v1/graph/check")), (200, 2));
    assert_eq!(with_a_broken_connection(&posted("/v1/webhooks").with("idempotency-key", "one")), (200, 2));
}

#[test]
fn a_write_that_the_origin_does_not_deduplicate_is_not_retried() {
    for ask in [
        posted("/v1/webhooks"),
        posted("/v1/webhooks/1/test").with("idempotency-key", "one"),
        Ask::new("DELETE", "/v1/webhooks/1").with("authorization", &bearer(1)),
    ] {
        let world = World::new(|call| if call.target == link::ALIVE { Ok(answer(204, "")) } else { Err(broken()) });
        world.objects.mint(1, record(Plan::Decisioning, 300));
        assert_eq!(world.send(&ask).status, 503);
        assert_eq!(world.calls.borrow().iter().filter(|(call, _)| call.target != link::ALIVE).count(), 1);
    }
}

#[test]
fn the_error_for_a_malformed_idempotency_key_names_the_header() {
    let world = World::new(|_| Ok(page(ROWS)));
    for odd in ["a\u{1}", "\u{7f}", "\u{e9}", "", &"x".repeat(256), &"x".repeat(60_000)] {
        let anonymous = Ask::new("POST", BATCH).with("content-type", "application/json").body(b"{}");
        let reply = world.send(&anonymous.with("idempotency-key", odd));
        assert_eq!((reply.status, world.asked()), (400, 0), "{odd}");
        assert!(text(&reply).contains(r#""in":"header","name":"idempotency-key""#), "{}", text(&reply));
    }
}
