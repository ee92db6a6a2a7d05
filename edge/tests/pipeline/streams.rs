//! The event stream through the edge: passed through unbuffered and uncached, with the caller's headers that the origin needs.

use crate::objects::{bearer, record};
use crate::world::{Ask, World, answer, envelope, page, text, x_cache};
use rds_edge::config::Config;
use rds_edge::origin_link::signed_call::{Call, OriginAnswer};
use rds_edge::ports::NoAnswer;
use rds_edge::respond::{Reply, ReplyBody};
use rds_shared::access::{Plan, Principal};

const STREAM: &str = "/v1/events/stream";

/// A stream as the host returns it: headers only.
fn stream() -> OriginAnswer {
    let headers =
        vec![("content-type", "text/event-stream".to_owned()), ("cache-control", "no-store, no-transform".to_owned())];
    OriginAnswer { status: 200, headers, ..OriginAnswer::default() }
}

fn world(script: impl Fn(&Call) -> Result<OriginAnswer, NoAnswer> + 'static) -> World {
    let world = World::new(script);
    world.objects.mint(1, record(Plan::Data, 300));
    world
}

fn keyed(target: &str) -> Ask {
    Ask::new("GET", target).with("authorization", &bearer(1)).with("cf-connecting-ip", "192.0.2.7")
}

fn said<'a>(call: &'a Call, name: &str) -> Vec<&'a str> {
    call.headers.iter().filter(|(known, _)| *known == name).map(|(_, value)| value.as_str()).collect()
}

fn is_stream(reply: &Reply) -> bool {
    matches!(reply.body, Some(ReplyBody::Stream))
}

#[test]
fn a_stream_is_passed_through_and_not_cached() {
    let world = world(|_| Ok(stream()));
    for asked in 1..=2 {
        let reply = world.send(&keyed(&format!("{STREAM}?since=v2:7&vaultId=a-1-0xB&junk=1")));
        assert_eq!((reply.status, is_stream(&reply)), (200, true));
        assert_eq!(reply.header("content-type"), Some("text/event-stream"));
        assert_eq!(reply.header("cache-control"), Some("no-store, no-transform"));
        assert_eq!((reply.header("x-accel-buffering"), x_cache(&reply)), (Some("no"), "BYPASS"));
        assert_eq!((reply.header("content-length"), reply.header("etag")), (None, None));
        assert!(reply.header("x-request-id").is_some() && reply.header("x-ratelimit-remaining").is_some());
        assert_eq!(world.asked(), asked, "each caller has a separate stream");
    }
    let call = world.last_call();
    assert_eq!((call.target.as_str(), call.streams), ("/v1/events/stream?since=v2:7&vaultId=a-1-0xB", true));
    assert_eq!(said(&call, "accept"), ["text/event-stream"]);
    assert!(world.stored.borrow().is_empty());
}

#[test]
fn the_last_cursor_and_the_relays_viewer_reach_the_origin() {
    let world = world(|_| Ok(stream()));
    world.send(&keyed(STREAM).with("last-event-id", "v2:7").with("x-service-client-ip", "203.0.113.9"));
    let call = world.last_call();
    assert_eq!(said(&call, "last-event-id"), ["v2:7"]);
    assert_eq!(said(&call, "x-service-client-ip"), ["203.0.113.9"]);
    world.send(&keyed(STREAM).with("last-event-id", ""));
    assert_eq!(said(&world.last_call(), "last-event-id"), [""; 0], "an EventSource without a cursor");
    assert_eq!(said(&world.last_call(), "x-service-client-ip"), [""; 0], "no viewer was stated");
    world.send(&keyed("/v1/vaults").with("last-event-id", "v2:1").with("x-service-client-ip", "203.0.113.9"));
    let call = world.last_call();
    assert_eq!((said(&call, "last-event-id"), said(&call, "x-service-client-ip")), (vec![], vec![]));
}

#[test]
fn a_malformed_cursor_is_forwarded_as_invalid_and_a_malformed_viewer_refused() {
    let world = world(|_| Ok(stream()));
    for odd in ["v2:7\u{1}", "\u{7f}", "v2:\u{e9}", &"9".repeat(5_000)] {
        assert!(is_stream(&world.send(&keyed(STREAM).with("last-event-id", odd))), "{odd}");
        assert_eq!(said(&world.last_call(), "last-event-id"), ["invalid"]);
    }
    let asked = world.asked();
    for odd in ["203.0.113.9\u{1}", "\u{7f}", &"9".repeat(65)] {
        let reply = world.send(&keyed(STREAM).with("x-service-client-ip", odd));
        assert_eq!((reply.status, world.asked()), (400, asked), "{odd}");
        assert!(text(&reply).contains(r#""in":"header","name":"x-service-client-ip""#), "{}", text(&reply));
    }
}

#[test]
fn a_stream_without_a_key_is_refused_unless_enabled() {
    let mut world = world(|_| Ok(stream()));
    let anonymous =
        Ask::new("GET", STREAM).with("cf-connecting-ip", "192.0.2.7").with("x-service-client-ip", "203.0.113.9");
    let reply = world.send(&anonymous);
    assert_eq!((reply.status, world.asked()), (401, 0));
    assert!(text(&reply).contains("tier_required"));
    world.config = Config { anonymous_stream: true, ..world.config };
    assert!(is_stream(&world.send(&anonymous)));
    let call = world.last_call();
    assert_eq!(said(&call, "x-service-client-ip"), ["192.0.2.7"], "the header of an anonymous caller is ignored");
    assert_eq!(Principal::from_json(said(&call, "x-service-principal")[0]), Some(Principal::Anonymous));
    world.send(&anonymous.clone().with("cf-connecting-ip", "2001:db8:1:2:3::4"));
    assert_eq!(said(&world.last_call(), "x-service-client-ip"), ["2001:db8:1:2::"]);
    let rejected = world.send(&anonymous.with("authorization", &bearer(9)));
    assert_eq!((rejected.status, rejected.header("x-ratelimit-limit")), (401, Some("10")));
    assert!(text(&rejected).contains("invalid_api_key"), "an invalid key is never anonymous");
}

#[test]
fn a_refusal_of_the_origin_is_passed_on_as_an_ordinary_response() {
    let world = world(|call| {
        Ok(OriginAnswer {
            headers: vec![
                ("content-type", "application/json".to_owned()),
                ("retry-after", "10".to_owned()),
                ("cache-control", "no-store".to_owned()),
            ],
            ..envelope(429, "STREAM_LIMIT_REACHED", call)
        })
    });
    let reply = world.send(&keyed(STREAM));
    assert_eq!((reply.status, is_stream(&reply), reply.header("retry-after")), (429, false, Some("10")));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert!(text(&reply).contains("STREAM_LIMIT_REACHED"));
}

#[test]
fn an_answer_that_is_not_a_stream_becomes_503() {
    for odd in [page("{}"), answer(200, "<html>"), OriginAnswer { status: 204, ..stream() }] {
        let world = world(move |_| Ok(odd.clone()));
        let reply = world.send(&keyed(STREAM));
        assert_eq!((reply.status, is_stream(&reply)), (503, false));
    }
    let world = world(|_| Err(NoAnswer::Timeout));
    assert_eq!(world.send(&keyed(STREAM)).status, 504);
}

#[test]
fn head_returns_the_stream_headers_and_opens_no_stream() {
    let world = world(|_| Ok(stream()));
    let reply = world.send(&Ask::new("HEAD", STREAM).with("authorization", &bearer(1)));
    assert_eq!((reply.status, reply.body.is_none(), world.asked()), (200, true, 0));
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
}
