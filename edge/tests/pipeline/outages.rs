//! Responses while the origin is down, slow or broken.

use crate::world::*;
use rds_edge::ports::NoAnswer;
use rds_edge::respond::Reply;

const ROWS: &str = r#"{"data":[{"id":"a","freshness_seconds":30}]}"#;

/// A world with a stale cached response of `/v1/vaults`.
fn with_a_stale_response() -> World {
    let world = World::new(|_| Ok(page(ROWS)));
    world.get("/v1/vaults");
    world.pass_seconds(100);
    world
}

fn code(reply: &Reply) -> String {
    let body = text(reply);
    assert!(body.contains(reply.header("x-request-id").unwrap()), "the envelope names the request: {body}");
    body.split("\"code\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned()
}

#[test]
fn a_stale_response_is_served_and_marked_as_stale() {
    let world = with_a_stale_response();
    world.origin_is_down();
    let reply = world.get("/v1/vaults");
    assert_eq!((reply.status, x_cache(&reply), reply.header("age")), (200, "STALE-ERROR", Some("100")));
    assert!(reply.header("warning").unwrap().starts_with("111 "));
    assert_eq!(reply.header("cache-status"), Some("rds-edge; fwd=stale; ttl=-85; detail=\"stale-if-error\""));
    assert_eq!(text(&reply), ROWS.replace(":30", ":130"));
    assert!(world.log.borrow()[0].contains("connection refused"), "the cause is for the log");
}

#[test]
fn a_stale_response_covers_every_kind_of_failure() {
    for status in [500, 502, 503, 504] {
        let world = with_a_stale_response();
        world.origin(move |call| Ok(envelope(status, "ANY", call)));
        let reply = world.get("/v1/vaults");
        assert_eq!((reply.status, x_cache(&reply)), (200, "STALE-ERROR"), "{status}");
        let said = format!("rds-edge; fwd=stale; fwd-status={status}; ttl=-85; detail=\"stale-if-error\"");
        assert_eq!(reply.header("cache-status"), Some(said.as_str()));
    }
    let world = with_a_stale_response();
    world.origin(|_| Err(NoAnswer::Timeout));
    assert_eq!(x_cache(&world.get("/v1/vaults")), "STALE-ERROR");
    let world = with_a_stale_response();
    world.origin(|call| Ok(envelope(401, "UNAUTHORIZED", call)));
    assert_eq!(x_cache(&world.get("/v1/vaults")), "STALE-ERROR", "a refused edge assertion is not the caller's error");
}

#[test]
fn the_timeout_is_short_if_a_stale_response_exists_and_long_otherwise() {
    let world = with_a_stale_response();
    world.get("/v1/vaults");
    assert_eq!(world.last_limit().as_millis(), 2_500);
    world.get("/v1/chains");
    assert_eq!(world.last_limit().as_millis(), 61_000);
}

#[test]
fn after_three_failures_no_request_waits_for_the_origin_until_it_is_back() {
    let world = with_a_stale_response();
    world.origin_is_down();
    for _ in 0..3 {
        world.get("/v1/vaults");
    }
    let asked = world.asked();
    let stale = world.get("/v1/vaults");
    assert_eq!((x_cache(&stale), world.asked()), ("STALE-ERROR", asked));
    assert_eq!(stale.header("cache-status"), Some("rds-edge; hit; ttl=-85; detail=\"stale-if-error\""));
    let without_stale = world.get("/v1/chains");
    assert_eq!((without_stale.status, without_stale.header("retry-after"), world.asked()), (503, Some("2"), asked));
    assert_eq!(code(&without_stale), "SERVICE_UNAVAILABLE");

    world.origin(|_| Ok(page("{\"data\":[]}")));
    world.pass_seconds(2);
    assert_eq!(x_cache(&world.get("/v1/vaults")), "STALE-ERROR", "this one probes the origin in the background");
    let fresh = world.get("/v1/vaults");
    assert_eq!((x_cache(&fresh), text(&fresh).as_str()), ("MISS", "{\"data\":[]}"));
    assert_eq!(world.get("/v1/chains").status, 200);
}

#[test]
fn an_origin_that_answers_with_errors_is_alive_and_called_again() {
    let world = with_a_stale_response();
    world.origin(|call| Ok(envelope(503, "SERVICE_UNAVAILABLE", call)));
    let before = world.asked();
    for _ in 0..6 {
        world.get("/v1/vaults");
    }
    assert_eq!(world.asked() - before, 6);
}

#[test]
fn an_expired_response_is_not_served() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.get("/v1/vaults");
    world.origin_is_down();
    world.pass_seconds(15 + 86_400);
    let reply = world.get("/v1/vaults");
    assert_eq!((reply.status, code(&reply).as_str()), (503, "SERVICE_UNAVAILABLE"));
}

#[test]
fn without_a_stale_response_the_origins_envelope_is_passed_on() {
    let world = World::new(|call| {
        Ok(envelope(503, "FAIL_CLOSED", call).with("retry-after", "60").with("x-service-failsafe-mode", "fail_closed"))
    });
    let reply = world.get("/v1/vaults");
    assert_eq!((reply.status, reply.header("retry-after"), code(&reply).as_str()), (503, Some("60"), "FAIL_CLOSED"));
    assert_eq!(reply.header("x-service-failsafe-mode"), Some("fail_closed"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
}

#[test]
fn without_a_stale_response_timeouts_and_unsigned_answers_become_the_edges_envelope() {
    let world = World::new(|_| Err(NoAnswer::Timeout));
    let reply = world.get("/v1/vaults");
    assert_eq!(
        (reply.status, reply.header("retry-after"), code(&reply).as_str()),
        (504, Some("5"), "DEADLINE_EXCEEDED")
    );
    for (status, content_type) in
        [(502, "text/html"), (404, "text/html"), (302, "text/html"), (304, "application/json")]
    {
        world.pass_seconds(60);
        world.origin(move |_| {
            let mut page = answer(status, "<h1>nginx</h1>");
            page.headers = vec![("content-type", content_type.to_owned())];
            Ok(unsigned(page))
        });
        let reply = world.get("/v1/vaults");
        assert_eq!((reply.status, code(&reply).as_str()), (503, "SERVICE_UNAVAILABLE"), "{status}");
        assert!(!text(&reply).contains("nginx"));
    }
}

#[test]
fn an_unsigned_envelope_is_not_passed_on() {
    let world = World::new(|_| Err(NoAnswer::Timeout));
    for status in [404, 503] {
        world.origin(move |_| {
            let envelope = "{\"error\":{\"code\":\"SECRET\",\"message\":\"\",\"request_id\":\"another\"}}";
            Ok(unsigned(answer(status, envelope)))
        });
        let reply = world.get("/v1/vaults");
        assert_eq!((reply.status, code(&reply).as_str()), (503, "SERVICE_UNAVAILABLE"), "{status}");
    }
}
