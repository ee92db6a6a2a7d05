//! Managing webhooks with a key: bodies and idempotency keys are passed on, nothing is cached, access and limits apply.

use crate::objects::*;
use crate::world::*;
use rds_edge::origin_link::signed_call::Call;
use rds_shared::access::Plan;

const SUBSCRIPTION: &str = "{\"data\":{\"id\":1}}";

fn world_with(plan: Plan, rpm: u32) -> World {
    let world = World::new(|_| Ok(page(SUBSCRIPTION)));
    world.objects.mint(1, record(plan, rpm));
    world
}

fn keyed(method: &'static str, target: &'static str) -> Ask {
    Ask::new(method, target).with("authorization", &bearer(1))
}

fn header<'a>(call: &'a Call, name: &str) -> Option<&'a str> {
    call.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

#[test]
fn a_creation_is_passed_on_with_its_body_and_idempotency_key() {
    let world = world_with(Plan::Decisioning, 600);
    let body = b"{\"url\":\"https://hooks.partner.dev/\"}";
    let ask = keyed("POST", "/v1/webhooks").with("content-type", "application/json").with("idempotency-key", "a-1");
    let reply = world.send(&ask.body(body));
    assert_eq!(
        (reply.status, reply.header("cache-control"), reply.header("x-cache")),
        (200, Some("no-store"), Some("BYPASS"))
    );
    let call = world.last_call();
    assert_eq!((call.method.as_str(), call.body.as_slice()), ("POST", body.as_slice()));
    assert_eq!(header(&call, "idempotency-key"), Some("a-1"));
    world.send(&keyed("GET", "/v1/webhooks").with("idempotency-key", "a-1"));
    assert_eq!(header(&world.last_call(), "idempotency-key"), None, "a read forwards no idempotency key");
}

#[test]
fn deletions_and_actions_are_passed_on_without_a_body() {
    let world = world_with(Plan::Embedded, 600);
    for (method, target, sent) in [
        ("DELETE", "/v1/webhooks/7?force=1", "/v1/webhooks/7"),
        ("POST", "/v1/webhooks/7/test", "/v1/webhooks/7/test"),
        ("POST", "/v1/webhooks/7/enable", "/v1/webhooks/7/enable"),
        ("POST", "/v1/webhooks/7/replay?to=2026-11-21", "/v1/webhooks/7/replay?to=2026-11-21T00:00:00.000000Z"),
    ] {
        assert_eq!(world.send(&keyed(method, target)).status, 200, "{target}");
        let call = world.last_call();
        assert_eq!((call.method.as_str(), call.target.as_str(), call.body.len()), (method, sent, 0));
    }
}

#[test]
fn lists_of_webhooks_are_never_cached() {
    let world = world_with(Plan::Decisioning, 600);
    for asked in 1..=3 {
        assert_eq!(world.send(&keyed("GET", "/v1/webhooks")).header("x-cache"), Some("BYPASS"));
        assert_eq!(world.asked(), asked);
    }
    assert!(world.stored.borrow().is_empty());
}

#[test]
fn webhooks_are_charged_to_the_keys_limit() {
    let world = world_with(Plan::Decisioning, 2);
    let statuses: Vec<u16> = (0..3).map(|_| world.send(&keyed("POST", "/v1/webhooks/7/test")).status).collect();
    assert_eq!((statuses, world.asked()), (vec![200, 200, 429], 2));
}

#[test]
fn writes_to_basket_webhooks_are_limited_to_thirty_a_minute_for_any_key() {
    let world = world_with(Plan::Decisioning, 600);
    let limit = |method, target| {
        let reply = world.send(&keyed(method, target));
        (reply.status, reply.header("x-ratelimit-limit").map(str::to_owned))
    };
    let (thirty, own) = (Some("30".to_owned()), Some("600".to_owned()));
    for write in 0..30 {
        let (method, target) = [
            ("POST", "/v1/baskets/prime/webhooks/7/enable"),
            ("POST", "/v1/baskets/prime/webhooks/7/replay"),
            ("DELETE", "/v1/baskets/prime/webhooks/7"),
        ][write % 3];
        assert_eq!(limit(method, target), (200, thirty.clone()), "{method} {target}");
    }
    assert_eq!(limit("POST", "/v1/baskets/prime/webhooks/7/enable"), (429, thirty));
    assert_eq!(limit("GET", "/v1/baskets/webhooks"), (200, own.clone()));
    assert_eq!(limit("GET", "/v1/baskets/prime/webhooks"), (200, own));
}
