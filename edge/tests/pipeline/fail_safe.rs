//! The fail-safe mode at the edge: it takes effect on every copy within a lease, and no copy of a score outlives a closure.

use crate::tag_news::word;
use crate::world::*;
use rds_edge::origin::{Call, OriginAnswer};
use rds_edge::respond::Reply;
use rds_shared::model::health::FailSafeMode::{self, Degraded, FailClosed, Normal};
use rds_shared::route::fail_safe::version;
use rds_shared::route::{Tag, TagVersions};
use std::cell::Cell;
use std::rc::Rc;

const SCORES: &str = "/v1/vaults";
const NO_SCORES: &str = "/v1/chains";
const MODE: &str = "x-service-failsafe-mode";

/// The version by which the origin's `step`th word says `mode`.
fn spelled(mode: FailSafeMode, step: i64) -> i64 {
    version(mode, step * 4)
}

/// An origin that answers as it would in this mode.
fn in_mode(mode: FailSafeMode, step: i64, call: &Call) -> OriginAnswer {
    let told = |answer: OriginAnswer| match mode {
        Normal => answer,
        mode => answer.with(MODE, mode.as_str()),
    };
    let scores = !call.target.starts_with(NO_SCORES);
    match mode {
        FailClosed if scores => told(envelope(503, "FAIL_CLOSED", call)).with("retry-after", "60"),
        _ => {
            let page = page(ROWS).with("x-service-tags", &format!("vaults=7;fail_safe={}", spelled(mode, step)));
            if scores { told(page) } else { page }
        }
    }
}

const ROWS: &str = r#"{"data":[]}"#;

/// A world whose origin is in the mode of its latest step.
fn world() -> (World, Rc<Cell<(FailSafeMode, i64)>>) {
    let said = Rc::new(Cell::new((Normal, 1)));
    let heard = said.clone();
    (World::new(move |call| Ok(in_mode(heard.get().0, heard.get().1, call))), said)
}

fn told(world: &World, mode: FailSafeMode, step: i64) {
    assert_eq!(world.send(&word(world, &format!("fail_safe={}", spelled(mode, step)))).status, 204);
}

fn seen(reply: &Reply) -> (u16, Option<&str>, &str) {
    (reply.status, reply.header(MODE), x_cache(reply))
}

#[test]
fn a_mode_that_is_told_shows_on_copies_from_before_and_goes_as_it_came() {
    let (world, said) = world();
    world.get(SCORES);
    world.get(NO_SCORES);
    assert_eq!(seen(&world.get(SCORES)), (200, None, "HIT"));

    said.set((Degraded, 2));
    told(&world, Degraded, 2);
    assert_eq!(seen(&world.get(SCORES)), (200, Some("degraded"), "HIT"), "the copy of before, and the mode of now");
    assert_eq!(seen(&world.get(NO_SCORES)), (200, None, "HIT"), "what holds no score says nothing of scores");
    assert_eq!(seen(&world.get("/v1/vaults?limit=7")), (200, Some("degraded"), "MISS"));

    said.set((Normal, 3));
    told(&world, Normal, 3);
    for target in [SCORES, "/v1/vaults?limit=7"] {
        assert_eq!(seen(&world.get(target)), (200, None, "HIT"), "{target}");
    }
}

#[test]
fn closed_means_no_score_from_any_copy_of_any_isolate() {
    let (mut world, said) = world();
    world.get(SCORES);
    world.get(NO_SCORES);
    said.set((FailClosed, 2));
    told(&world, FailClosed, 2);
    for _ in 0..2 {
        let reply = world.get(SCORES);
        assert_eq!((reply.status, reply.header(MODE)), (503, Some("fail_closed")));
        assert_eq!((reply.header("retry-after"), reply.header("cache-control")), (Some("60"), Some("no-store")));
        assert!(text(&reply).contains("\"FAIL_CLOSED\""));
        assert_eq!(seen(&world.get(NO_SCORES)).0, 200);
        // The data centre's copies are there for an isolate that was never told.
        world.new_isolate();
    }
    world.origin_is_down();
    world.pass_seconds(60);
    for _ in 0..5 {
        assert_eq!(seen(&world.get(SCORES)).0, 503, "the last good copy stands in for no closure");
    }
    assert!(text(&world.get(SCORES)).contains("\"FAIL_CLOSED\""));
}

#[test]
fn a_closure_that_is_heard_of_while_the_origin_is_asked_counts_whatever_comes_back() {
    let closed = |world: &World| {
        world.meanwhile.set(TagVersions::default().with(Tag::FailSafe, spelled(FailClosed, 2)));
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
fn an_edge_that_was_told_nothing_closes_by_the_origins_word_and_forgets_its_copy() {
    let (world, said) = world();
    world.get(SCORES);
    said.set((FailClosed, 2));
    world.pass_seconds(16);
    let reply = world.get(SCORES);
    assert_eq!((reply.status, reply.header(MODE)), (503, Some("fail_closed")));
    world.origin_is_down();
    assert_eq!(world.get(SCORES).status, 503, "there is no copy any more to stand in");
}

#[test]
fn an_isolate_that_cannot_be_told_hears_from_the_origin_that_it_is_over() {
    let (world, said) = world();
    said.set((FailClosed, 2));
    told(&world, FailClosed, 2);
    world.epochs.is_away.set(true);
    assert_eq!(world.get(SCORES).status, 503);
    said.set((Normal, 3));
    assert_eq!(seen(&world.get(SCORES)), (200, None, "MISS"));
    assert_eq!(seen(&world.get(SCORES)), (200, None, "HIT"));
}

#[test]
fn a_process_of_the_origin_that_is_behind_opens_nothing() {
    let (world, said) = world();
    said.set((Normal, 1));
    told(&world, FailClosed, 2);
    let reply = world.get(SCORES);
    assert_eq!((reply.status, reply.header(MODE)), (503, Some("fail_closed")));
    let asked = world.last_call();
    let named = asked.headers.iter().find(|(name, _)| *name == "x-service-tags").map(|(_, value)| value.as_str());
    assert_eq!(
        named,
        Some(format!("fail_safe={}", spelled(FailClosed, 2)).as_str()),
        "it is told what to catch up with"
    );
}

#[test]
fn a_route_that_is_never_kept_passes_the_origins_word_on() {
    let (world, said) = world();
    let batch = Ask::new("POST", "/v1/vaults/batch").with("content-type", "application/json").body(b"{}");
    for (mode, status) in [(Degraded, 200), (FailClosed, 503), (Normal, 200)] {
        said.set((mode, 2));
        let reply = world.send(&batch);
        let header = (mode != Normal).then(|| mode.as_str());
        assert_eq!((reply.status, reply.header(MODE)), (status, header));
    }
}

#[test]
fn answers_with_fields_on_their_way_out_say_so() {
    let (world, _) = world();
    for _ in 0..2 {
        let reply = world.get("/v1/rwa");
        assert_eq!(reply.header("deprecation"), Some("@1795219200"));
        assert_eq!(reply.header("link"), Some("</v1/docs#deprecated>; rel=\"deprecation\"; type=\"text/html\""));
        assert_eq!(reply.header("sunset"), None);
    }
    assert_eq!(world.get("/v1/rwa?page=0").header("deprecation"), None, "an error holds no such field");
    assert_eq!(world.get(SCORES).header("deprecation"), None);
}
