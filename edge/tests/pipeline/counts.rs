//! Counts of the edge's own responses for the status feed. Each is counted once; responses that the origin counted are excluded.

use crate::objects::*;
use crate::world::*;
use rds_shared::access::Plan;

const ROWS: &str = r#"{"data":[]}"#;

fn from(number: u32, target: &str) -> Ask {
    Ask::new("GET", target).with("cf-connecting-ip", &format!("192.0.2.{number}"))
}

/// The counts that this isolate would report now: good, refused and failed.
fn counted(world: &World) -> (u64, u64, u64) {
    let report = world.isolate.answered.borrow_mut().begin([1; 16]);
    world.isolate.answered.borrow_mut().end(true);
    let minutes = report.map(|report| report.minutes).unwrap_or_default();
    minutes.iter().fold((0, 0, 0), |(good, refused, failed), minute| {
        (good + minute.good, refused + minute.refused, failed + minute.failed)
    })
}

#[test]
fn cached_responses_refusals_and_the_edges_errors_are_counted_by_class() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.get("/v1/vaults");
    assert_eq!(counted(&world), (0, 0, 0), "the origin answered");
    for _ in 0..3 {
        assert_eq!(x_cache(&world.send(&from(1, "/v1/vaults"))), "HIT");
    }
    assert_eq!(world.send(&from(1, "/v1/vaults?page=0")).status, 400);
    assert_eq!(world.send(&from(1, "/v1/vaults").with("authorization", "nonsense")).status, 401);
    assert_eq!(counted(&world), (3, 2, 0));
    world.origin_is_down();
    world.pass_seconds(100);
    assert_eq!(x_cache(&world.send(&from(2, "/v1/vaults"))), "STALE-ERROR");
    for number in 0..4 {
        assert_eq!(world.send(&from(3 + number, "/v1/chains")).status, 503);
    }
    assert_eq!(counted(&world), (1, 0, 4), "the origin has not counted these");
    assert_eq!(counted(&world), (0, 0, 0), "they are reported once");
}

#[test]
fn responses_of_the_origin_are_not_counted_at_the_edge() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.get("/v1/vaults");
    world.pass_seconds(100);
    world.origin(|call| Ok(envelope(503, "SERVICE_UNAVAILABLE", call)));
    assert_eq!(x_cache(&world.get("/v1/vaults")), "STALE-ERROR");
    assert_eq!(world.get("/v1/chains").status, 503);
    world.origin(|call| Ok(envelope(404, "NOT_FOUND", call)));
    assert_eq!(world.get("/v1/vaults/7").status, 404);
    assert_eq!(counted(&world), (0, 0, 0));
}

#[test]
fn probes_and_unknown_paths_are_not_counted() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.origin_is_down();
    for target in ["/ready", "/v1/health", "/v1/status", "/v1/nothing", "/v1/docs"] {
        world.get(target);
    }
    assert_eq!(counted(&world), (0, 0, 0));
}

#[test]
fn a_503_for_an_unknown_key_is_not_counted_but_for_a_known_one_is() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.objects.mint(1, record(Plan::Data, 300));
    let keyed = |number| from(1, "/v1/vaults").with("authorization", &bearer(number));
    assert_eq!(world.send(&keyed(1)).status, 200);
    world.objects.keys_are_away.set(true);
    assert_eq!((world.send(&keyed(1)).status, world.send(&keyed(2)).status), (503, 503));
    assert_eq!(counted(&world), (0, 0, 1));
}

#[test]
fn scores_withheld_in_fail_closed_mode_are_not_counted_as_failures() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.tag_versions.versions.borrow_mut().raise_to(&rds_shared::route::TagVersions::parse("fail_safe=10"));
    world.origin_is_down();
    let reply = world.get("/v1/vaults");
    assert!(text(&reply).contains("FAIL_CLOSED"), "{}", text(&reply));
    assert_eq!(counted(&world), (0, 0, 0));
}

#[test]
fn counts_are_reported_in_the_background_and_not_per_request() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.get("/v1/vaults");
    for _ in 0..5 {
        world.get("/v1/vaults");
    }
    assert_eq!(world.counts_arranged.get(), 1);
}
