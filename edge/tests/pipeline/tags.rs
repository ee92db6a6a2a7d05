//! A changed tag shows on the next request at every isolate, and unchanged tags cause no calls.

use crate::tag_invalidations::tag_message;
use crate::world::*;
use rds_edge::origin_link::signed_call::{Call, OriginAnswer};
use rds_edge::pipeline::Isolate;
use rds_shared::route::TagVersions;
use std::cell::Cell;
use std::rc::Rc;

const LIST: &str = "/v1/vaults";

/// The tag version that the origin has committed for vaults.
type Committed = Rc<Cell<i64>>;

/// A page made from vaults of `version`; 304 if the edge already has it.
fn made_from(version: i64, call: &Call) -> OriginAnswer {
    let (etag, tags) = (format!("W/\"of-{version}\""), format!("vaults={version}"));
    let kept = |answer: OriginAnswer| {
        answer.with("cdn-cache-control", "max-age=15, stale-if-error=86400").with("x-service-tags", &tags)
    };
    match header(call, "if-none-match") {
        Some(held) if held == etag => kept(OriginAnswer { status: 304, ..OriginAnswer::default() }),
        _ => kept(answer(200, &body(version))).with("etag", &etag),
    }
}

fn header(call: &Call, name: &str) -> Option<String> {
    call.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
}

fn body(version: i64) -> String {
    format!("{{\"data\":[{version}]}}")
}

/// A world whose origin answers from the committed state.
fn world() -> (World, Committed) {
    let committed = Committed::new(Cell::new(1));
    let origin = committed.clone();
    (World::new(move |call| Ok(made_from(origin.get(), call))), committed)
}

fn seen(world: &World) -> (String, String) {
    let reply = world.get(LIST);
    (x_cache(&reply).to_owned(), text(&reply))
}

fn now(x_cache: &str, version: i64) -> (String, String) {
    (x_cache.to_owned(), body(version))
}

#[test]
fn after_the_acknowledgement_every_isolate_and_the_data_centre_serve_the_new_state() {
    let (mut world, committed) = world();
    assert_eq!([seen(&world), seen(&world)], [now("MISS", 1), now("HIT", 1)]);
    let mut other = Isolate::default();
    std::mem::swap(&mut world.isolate, &mut other);
    assert_eq!(seen(&world), now("HIT", 1), "from the data centre's cache");

    committed.set(2);
    assert_eq!(world.send(&tag_message(&world, "vaults=2")).status, 204);
    assert_eq!([seen(&world), seen(&world)], [now("MISS", 2), now("HIT", 2)]);
    std::mem::swap(&mut world.isolate, &mut other);
    assert_eq!([seen(&world), seen(&world)], [now("HIT", 2), now("HIT", 2)]);
    assert_eq!(world.asked(), 2);
    world.new_isolate();
    world.stored.borrow_mut().clear();
    assert_eq!(seen(&world), now("MISS", 2));
}

#[test]
fn a_response_of_the_data_centre_that_lacks_the_change_is_not_served() {
    let (mut world, committed) = world();
    seen(&world);
    committed.set(2);
    world.send(&tag_message(&world, "vaults=2"));
    world.new_isolate();
    assert_eq!([seen(&world), seen(&world)], [now("MISS", 2), now("HIT", 2)]);
}

#[test]
fn a_change_shows_within_one_lease_after_the_durable_object_knows_it() {
    let (world, committed) = world();
    seen(&world);
    committed.set(2);
    world.tag_versions.versions.replace(TagVersions::parse("vaults=2"));
    world.pass_millis(1_000);
    assert_eq!(seen(&world), now("MISS", 2));
}

#[test]
fn a_change_of_other_tags_does_not_affect_a_cached_response() {
    let (world, _) = world();
    seen(&world);
    world.send(&tag_message(&world, "events=7;feeds=9"));
    assert_eq!(seen(&world), now("HIT", 1));
    assert_eq!(world.asked(), 1);
}

#[test]
fn a_confirmed_response_includes_the_change() {
    let (world, _) = world();
    seen(&world);
    // Another vault changed, so this page is unchanged but now includes the change.
    world.origin(|call| {
        assert_eq!(header(call, "x-service-tags").as_deref(), Some("vaults=2"));
        assert_eq!(header(call, "if-none-match").as_deref(), Some("W/\"of-1\""));
        let unchanged = OriginAnswer { status: 304, ..OriginAnswer::default() };
        Ok(unchanged.with("cdn-cache-control", "max-age=15, stale-if-error=86400").with("x-service-tags", "vaults=2"))
    });
    world.send(&tag_message(&world, "vaults=2"));
    assert_eq!([seen(&world), seen(&world), seen(&world)], [now("HIT", 1), now("HIT", 1), now("HIT", 1)]);
    assert_eq!(world.asked(), 2);
}

#[test]
fn an_answer_made_before_a_change_is_not_cached_as_newer_than_it() {
    let (world, _) = world();
    let world = Rc::new(world);
    let meanwhile = world.clone();
    world.origin(move |call| {
        // The origin reads, then another process commits and reports the change, then the origin answers.
        meanwhile.tag_versions.versions.borrow_mut().raise_to(&TagVersions::parse("vaults=2"));
        Ok(made_from(1, call))
    });
    assert_eq!(seen(&world), now("MISS", 1), "a request that began before the change may see the old state");
    world.origin(|call| Ok(made_from(2, call)));
    world.pass_millis(1_000);
    assert_eq!([seen(&world), seen(&world)], [now("MISS", 2), now("HIT", 2)]);
}

#[test]
fn answers_of_a_lagging_process_are_revalidated_until_it_has_caught_up() {
    let (world, committed) = world();
    seen(&world);
    world.send(&tag_message(&world, "vaults=2"));
    for _ in 0..3 {
        assert_eq!(seen(&world), now("HIT", 1), "confirmed by the origin, but without the change");
        assert_eq!(header(&world.last_call(), "x-service-tags").as_deref(), Some("vaults=2"));
    }
    assert_eq!(world.asked(), 4);
    committed.set(2);
    assert_eq!([seen(&world), seen(&world)], [now("MISS", 2), now("HIT", 2)]);
    assert_eq!(world.asked(), 5);
}

#[test]
fn an_unreported_change_is_learned_from_an_answer_and_spreads() {
    let (mut world, committed) = world();
    let mut other = Isolate::default();
    std::mem::swap(&mut world.isolate, &mut other);
    assert_eq!(seen(&world), now("MISS", 1));
    std::mem::swap(&mut world.isolate, &mut other);
    committed.set(2);
    world.get("/v1/vaults?limit=1");
    world.pass_millis(700);
    world.get("/v1/vaults?limit=1");
    assert_eq!(world.tag_versions.versions.borrow().to_text(), "vaults=2", "the next lease renewal reported it");
    std::mem::swap(&mut world.isolate, &mut other);
    world.pass_millis(700);
    assert_eq!(seen(&world), now("MISS", 2));
}

#[test]
fn a_response_that_lacks_a_change_is_served_stale_while_the_origin_is_down() {
    let (world, _) = world();
    seen(&world);
    world.send(&tag_message(&world, "vaults=2"));
    world.origin_is_down();
    assert_eq!(seen(&world), now("STALE-ERROR", 1));
}

#[test]
fn the_durable_object_is_asked_once_per_700_ms_under_any_load() {
    let (world, _) = world();
    for number in 0..10_000 {
        // Distinct client addresses, so that no rate limit interferes.
        let address = format!("10.0.{}.{}", number / 250, number % 250);
        let reply = world.send(&Ask::new("GET", LIST).with("cf-connecting-ip", &address));
        assert_eq!(reply.status, 200);
        world.pass_millis(1);
    }
    assert_eq!(world.tag_versions.asked.get(), 15, "one renewal per 700 ms for ten seconds");
    assert_eq!(world.asked(), 1);
    for _ in 0..20 {
        world.get("/v1/health");
        world.get("/v1/nothing");
        world.pass_millis(1_000);
    }
    assert_eq!(world.tag_versions.asked.get(), 15, "uncached routes do not renew the lease");
}

#[test]
fn without_the_durable_object_responses_are_judged_by_age_and_only_the_first_reader_waits() {
    let (world, committed) = world();
    seen(&world);
    world.tag_versions.is_away.set(true);
    world.tag_versions.flight_millis.set(5_000);
    world.pass_millis(1_000);
    committed.set(2);
    let begun = world.now();
    assert_eq!(seen(&world), now("HIT", 1));
    let waited = world.now().as_millis() - begun.as_millis();
    assert!((1_000..1_050).contains(&waited), "at most the Durable Object's timeout: {waited} ms");
    for _ in 0..7 {
        let begun = world.now();
        assert_eq!(seen(&world), now("HIT", 1));
        assert_eq!(world.now(), begun, "later readers do not wait");
        world.pass_millis(900);
    }
    world.pass_seconds(10);
    assert_eq!(seen(&world), now("MISS", 2), "the cached responses are too old");
}

#[test]
fn a_known_change_counts_while_the_durable_object_is_down() {
    let (world, committed) = world();
    seen(&world);
    world.send(&tag_message(&world, "vaults=2"));
    committed.set(2);
    world.tag_versions.is_away.set(true);
    world.pass_seconds(2);
    assert_eq!(seen(&world), now("MISS", 2));
}

#[test]
fn a_reader_with_a_lapsed_lease_waits_just_for_the_durable_object() {
    let (world, _) = world();
    world.tag_versions.flight_millis.set(40);
    let begun = world.now();
    assert_eq!(seen(&world), now("MISS", 1));
    assert!((40..50).contains(&(world.now().as_millis() - begun.as_millis())));
    world.pass_millis(750);
    let begun = world.now();
    assert_eq!(seen(&world), now("HIT", 1));
    assert_eq!(world.now(), begun, "a valid lease is renewed in the background");
    world.pass_millis(50);
    world.pass_millis(600);
    assert_eq!(seen(&world), now("HIT", 1));
    assert_eq!(world.tag_versions.asked.get(), 2);
}
