//! The fail-safe mode at the edge: a changed mode applies to every cached response after at most one lease, and fail-closed mode
//! withholds every cached score.

use crate::tag_invalidations::tag_message;
use crate::world::*;
use rds_edge::origin_link::signed_call::{Call, OriginAnswer};
use rds_edge::respond::Reply;
use rds_shared::model::health::FailSafeMode::{self, Degraded, FailClosed, Normal};
use rds_shared::route::fail_safe::version;
use rds_shared::route::{Tag, TagVersions};
use std::cell::Cell;
use std::rc::Rc;

const SCORES: &str = "/v1/vaults";
const NO_SCORES: &str = "/v1/chains";
const MODE: &str = "x-service-failsafe-mode";

/// The tag version with which the origin's `step`th message states `mode`.
fn version_of_mode(mode: FailSafeMode, step: i64) -> i64 {
    version(mode, step * 4)
}

/// The origin's answer in this mode.
fn in_mode(mode: FailSafeMode, step: i64, call: &Call) -> OriginAnswer {
    let with_mode = |answer: OriginAnswer| match mode {
        Normal => answer,
        mode => answer.with(MODE, mode.as_str()),
    };
    let scores = !call.target.starts_with(NO_SCORES);
    match mode {
        FailClosed if scores => with_mode(envelope(503, "FAIL_CLOSED", call)).with("retry-after", "60"),
        _ => {
            let page =
                page(ROWS).with("x-service-tags", &format!("vaults=7;fail_safe={}", version_of_mode(mode, step)));
            if scores { with_mode(page) } else { page }
        }
    }
}

const ROWS: &str = r#"{"data":[]}"#;

/// A world whose origin is in the mode set by the test.
fn world() -> (World, Rc<Cell<(FailSafeMode, i64)>>) {
    let current = Rc::new(Cell::new((Normal, 1)));
    let origin_mode = current.clone();
    (World::new(move |call| Ok(in_mode(origin_mode.get().0, origin_mode.get().1, call))), current)
}

fn push_mode(world: &World, mode: FailSafeMode, step: i64) {
    assert_eq!(world.send(&tag_message(world, &format!("fail_safe={}", version_of_mode(mode, step)))).status, 204);
}

fn seen(reply: &Reply) -> (u16, Option<&str>, &str) {
    (reply.status, reply.header(MODE), x_cache(reply))
}

#[test]
fn a_pushed_mode_shows_on_cached_responses_and_ends_likewise() {
    let (world, current) = world();
    world.get(SCORES);
    world.get(NO_SCORES);
    assert_eq!(seen(&world.get(SCORES)), (200, None, "HIT"));

    current.set((Degraded, 2));
    push_mode(&world, Degraded, 2);
    assert_eq!(seen(&world.get(SCORES)), (200, Some("degraded"), "HIT"), "the cached response with the current mode");
    assert_eq!(seen(&world.get(NO_SCORES)), (200, None, "HIT"), "a route without scores does not show the mode");
    assert_eq!(seen(&world.get("/v1/vaults?limit=7")), (200, Some("degraded"), "MISS"));

    current.set((Normal, 3));
    push_mode(&world, Normal, 3);
    for target in [SCORES, "/v1/vaults?limit=7"] {
        assert_eq!(seen(&world.get(target)), (200, None, "HIT"), "{target}");
    }
}

#[test]
fn fail_closed_mode_withholds_cached_scores_at_every_isolate() {
    let (mut world, current) = world();
    world.get(SCORES);
    world.get(NO_SCORES);
    current.set((FailClosed, 2));
    push_mode(&world, FailClosed, 2);
    for _ in 0..2 {
        let reply = world.get(SCORES);
        assert_eq!((reply.status, reply.header(MODE)), (503, Some("fail_closed")));
        assert_eq!((reply.header("retry-after"), reply.header("cache-control")), (Some("60"), Some("no-store")));
        assert!(text(&reply).contains("\"FAIL_CLOSED\""));
        assert_eq!(seen(&world.get(NO_SCORES)).0, 200);
        // A new isolate, which got no message, finds the data centre's cached responses.
        world.new_isolate();
    }
    world.origin_is_down();
    world.pass_seconds(60);
    for _ in 0..5 {
        assert_eq!(seen(&world.get(SCORES)).0, 503, "no stale response is served in fail-closed mode");
    }
    assert!(text(&world.get(SCORES)).contains("\"FAIL_CLOSED\""));
}

#[test]
fn fail_closed_mode_learned_during_a_call_overrides_its_answer() {
    let closed = |world: &World| {
        world.meanwhile.set(TagVersions::default().with(Tag::FailSafe, version_of_mode(FailClosed, 2)));
        let reply = world.get(SCORES);
        assert_eq!((reply.status, reply.header(MODE)), (503, Some("fail_closed")));
        assert!(text(&reply).contains("\"FAIL_CLOSED\""), "{}", text(&reply));
    };
    let (answered, _) = world();
    closed(&answered);
    let (failed, _) = world();
    failed.get(SCORES);
    failed.pass_seconds(16);
    failed.origin_is_down();
    closed(&failed);
}

#[test]
fn without_a_message_the_origins_answer_starts_fail_closed_mode_and_removes_the_cached_response() {
    let (world, current) = world();
    world.get(SCORES);
    current.set((FailClosed, 2));
    world.pass_seconds(16);
    let reply = world.get(SCORES);
    assert_eq!((reply.status, reply.header(MODE)), (503, Some("fail_closed")));
    world.origin_is_down();
    assert_eq!(world.get(SCORES).status, 503, "no stale response is left");
}

#[test]
fn an_isolate_without_messages_learns_from_the_origin_that_the_mode_ended() {
    let (world, current) = world();
    current.set((FailClosed, 2));
    push_mode(&world, FailClosed, 2);
    world.tag_versions.is_away.set(true);
    assert_eq!(world.get(SCORES).status, 503);
    current.set((Normal, 3));
    assert_eq!(seen(&world.get(SCORES)), (200, None, "MISS"));
    assert_eq!(seen(&world.get(SCORES)), (200, None, "HIT"));
}

#[test]
fn a_lagging_process_of_the_origin_does_not_end_fail_closed_mode() {
    let (world, current) = world();
    current.set((Normal, 1));
    push_mode(&world, FailClosed, 2);
    let reply = world.get(SCORES);
    assert_eq!((reply.status, reply.header(MODE)), (503, Some("fail_closed")));
    let asked = world.last_call();
    let named = asked.headers.iter().find(|(name, _)| *name == "x-service-tags").map(|(_, value)| value.as_str());
    assert_eq!(
        named,
        Some(format!("fail_safe={}", version_of_mode(FailClosed, 2)).as_str()),
        "the request states the version to catch up with"
    );
}

#[test]
fn an_uncached_route_passes_the_origins_mode_on() {
    let (world, current) = world();
    let batch = Ask::new("POST", "/v1/vaults/batch").with("content-type", "application/json").body(b"{}");
    for (mode, status) in [(Degraded, 200), (FailClosed, 503), (Normal, 200)] {
        current.set((mode, 2));
        let reply = world.send(&batch);
        let header = (mode != Normal).then(|| mode.as_str());
        assert_eq!((reply.status, reply.header(MODE)), (status, header));
    }
}

#[test]
fn responses_with_deprecated_fields_have_deprecation_headers() {
    let (world, _) = world();
    for _ in 0..2 {
        let reply = world.get("/v1/rwa");
        assert_eq!(reply.header("deprecation"), Some("@1795219200"));
        assert_eq!(reply.header("link"), Some("</v1/docs#deprecated>; rel=\"deprecation\"; type=\"text/html\""));
        assert_eq!(reply.header("sunset"), None);
    }
    assert_eq!(world.get("/v1/rwa?page=0").header("deprecation"), None, "an error has no such field");
    assert_eq!(world.get(SCORES).header("deprecation"), None);
}
