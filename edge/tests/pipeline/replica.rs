//! Answers from the replica's rows: equal to the origin's, current, and stale only while the origin fails.

use crate::market::rows;
use crate::objects::{bearer, record};
use crate::tag_invalidations::tag_message;
use crate::world::*;
use rds_edge::respond::Reply;
use rds_shared::access::{Plan, Principal};
use rds_shared::model::health::FailSafeMode;
use rds_shared::read_model::request::Request;
use rds_shared::read_model::{self, ReadModel};
use rds_shared::replica::Rows;
use rds_shared::route::fail_safe::version as mode_version;
use rds_shared::route::unknown::unknown_values;
use rds_shared::route::{Matching, Method, Query, ROUTES, TagVersions, match_route};
use std::cell::Cell;

pub const LIST: &str = "/v1/vaults";
pub const BY_ORIGIN: &str = "{\"data\":\"of the origin\"}";

/// A world with the replica of a market, whose origin answers callers with a page of its own.
pub fn world() -> World {
    let world = World::new(|_| Ok(page(BY_ORIGIN)));
    world.replica.is_bound.set(true);
    world.tag_versions.versions.replace(TagVersions::parse("vaults=1;markets=1;feeds=1;assets=1;security=1"));
    world
}

/// Commits a change and reports it to the edge; returns when it is acknowledged.
pub fn publish(world: &World) -> i64 {
    let version = world.replica.origin.documents.borrow_mut().publish(&[], world.now());
    let changed = world.replica.origin.documents.borrow().changed;
    let versions: Vec<String> = changed.iter().map(|tag| format!("{}={version}", tag.as_str())).collect();
    assert_eq!(world.send(&tag_message(world, &versions.join(";"))).status, 204);
    version
}

/// A request of a caller whom no limit concerns: each has an address of its own.
pub fn read(world: &World, target: &str) -> Reply {
    thread_local!(static CALLERS: Cell<u32> = const { Cell::new(0) });
    let [_, a, b, c] = CALLERS.replace(CALLERS.get() + 256).to_be_bytes();
    world.send(&Ask::new("GET", target).with("cf-connecting-ip", &format!("10.{a}.{b}.{c}")))
}

/// `X-Cache` and the version of the rows in a list of vaults.
pub fn seen(reply: &Reply) -> (&str, Option<i64>) {
    let body = text(reply);
    let value = body.split("\"tvl_usd\":1000").nth(1).and_then(|rest| rest.get(..3)).and_then(|text| text.parse().ok());
    (x_cache(reply), value)
}

/// Both hosts of the read model answer with this.
fn expected(target: &str, principal: &Principal, world: &World, version: i64) -> (Option<String>, String) {
    expected_of(&rows(version, &[]), target, principal, world, version)
}

/// Like [`expected`], from these rows.
pub fn expected_of(
    rows: &Rows,
    target: &str,
    principal: &Principal,
    world: &World,
    version: i64,
) -> (Option<String>, String) {
    let (path, text) = target.split_once('?').unwrap_or((target, ""));
    let Matching::Found(mut found) = match_route(Some(Method::Get), path) else { panic!("{target} is a route") };
    found.fold();
    let query = Query::parse(found.route.query, text).unwrap();
    let model = ReadModel::from_rows(version, rows, None).unwrap();
    let unknown = unknown_values(&query, |registry, name| model.registries.knows(registry, name));
    let unknown_values = unknown.as_deref();
    let (if_none_match, now) = (None, world.now());
    let request = Request { found: &found, query: &query, unknown_values, principal, if_none_match, now };
    read_model::check(&request).unwrap();
    let response = read_model::answer(&model, request).unwrap().unwrap();
    (unknown, String::from_utf8(response.body.unwrap().bytes().to_vec()).unwrap())
}

#[test]
fn a_new_isolate_answers_every_list_as_the_origin_would_without_calling_it() {
    let world = world();
    for route in ROUTES.iter().filter(|route| read_model::serves(route.id) && !route.path.contains('{')) {
        let has = |name: &str| route.query.iter().any(|param| param.name == name);
        let with = |name: &str, value: &str| has(name).then(|| format!("{}?{name}={value}", route.path));
        let targets = [Some(route.path.to_owned()), with("limit", "3"), with("chain", "mars")];
        for target in targets.into_iter().flatten() {
            let reply = world.get(&target);
            if reply.status == 401 {
                continue;
            }
            let (unknown, body) = expected(&target, &Principal::Anonymous, &world, 1);
            assert_eq!((reply.status, text(&reply)), (200, body), "{target}");
            assert_eq!(reply.header("x-service-unknown-values"), unknown.as_deref(), "{target}");
            assert_eq!(reply.header("x-data-version"), Some("1"));
            let how = (x_cache(&reply), reply.header("cache-status"), reply.header("age"));
            assert_eq!(how, ("MISS", Some("rds-replica; hit, rds-edge; fwd=miss; stored"), None), "{target}");
            let again = world.get(&target);
            assert_eq!((x_cache(&again), again.header("etag")), ("HIT", reply.header("etag")), "{target}");
            world.pass_seconds(60);
        }
    }
    assert_eq!(world.asked(), 0);
    assert!(world.stored.borrow().is_empty(), "answers from rows are kept in the isolate only");
}

#[test]
fn other_routes_are_answered_by_the_origin() {
    let world = world();
    assert_eq!(text(&world.get("/v1/events")), BY_ORIGIN);
    assert_eq!(world.asked(), 1);
}

#[test]
fn without_a_binding_everything_is_answered_by_the_origin() {
    let world = world();
    world.replica.is_bound.set(false);
    assert_eq!((text(&world.get(LIST)).as_str(), world.replica.asked.get()), (BY_ORIGIN, 0));
}

#[test]
fn no_request_that_begins_after_an_acknowledgement_sees_an_older_state() {
    let mut world = world();
    assert_eq!([seen(&world.get(LIST)), seen(&world.get(LIST))], [("MISS", Some(1)), ("HIT", Some(1))]);
    for round in 0..5 {
        let mut other = rds_edge::pipeline::Isolate::default();
        let version = publish(&world);
        for _ in 0..2 {
            // Another client each round, so that no rate limit interferes.
            let read = || world.send(&Ask::new("GET", LIST).with("cf-connecting-ip", &format!("192.0.2.{round}")));
            let [first, second] = [read(), read()];
            assert_eq!((seen(&first).1, seen(&second)), (Some(version), ("HIT", Some(version))));
            std::mem::swap(&mut world.isolate, &mut other);
        }
    }
    assert_eq!(world.asked(), 0);
}

#[test]
fn a_known_change_that_the_rows_lack_goes_to_the_origin_if_nobody_has_it() {
    let world = world();
    world.get(LIST);
    world.replica.is_away.set(true);
    publish(&world);
    assert_eq!(text(&world.get(LIST)), BY_ORIGIN);
}

#[test]
fn an_unchanged_answer_is_confirmed_and_its_body_kept() {
    let world = world();
    let first = world.get("/v1/chains");
    world.pass_seconds(31);
    let again = world.get("/v1/chains");
    assert_eq!((x_cache(&again), again.header("etag")), ("HIT", first.header("etag")));
    assert_eq!(again.header("cache-status"), Some("rds-replica; hit, rds-edge; fwd=stale; fwd-status=304; stored"));
}

#[test]
fn ages_in_the_body_are_those_of_the_answers_instant() {
    let world = world();
    assert!(text(&world.get(LIST)).contains("\"freshness_seconds\":30"));
    world.pass_seconds(7);
    let hit = world.get(LIST);
    assert_eq!(x_cache(&hit), "HIT");
    assert!(text(&hit).contains("\"freshness_seconds\":37"));
}

#[test]
fn head_and_conditional_requests_have_the_headers_and_no_body() {
    let world = world();
    let full = world.get(LIST);
    world.pass_seconds(20);
    let head = world.send(&Ask::new("HEAD", LIST));
    let length = Some(bytes(&full).len().to_string());
    assert_eq!(
        (head.status, head.body.is_none(), head.header("content-length").map(str::to_owned)),
        (200, true, length)
    );
    let etag = full.header("etag").unwrap();
    for target in [LIST, "/v1/vaults?limit=20"] {
        let unchanged = world.send(&Ask::new("GET", target).with("if-none-match", etag));
        assert_eq!((unchanged.status, unchanged.body.is_none(), unchanged.header("etag")), (304, true, Some(etag)));
    }
    assert_eq!(world.asked(), 0);
}

#[test]
fn callers_with_a_key_get_the_answer_of_their_class() {
    let world = world();
    world.objects.mint(1, record(Plan::Data, 300));
    let key = |target: &str| world.send(&Ask::new("GET", target).with("authorization", &bearer(1)));
    let scores = key("/v1/vaults/scores");
    let holder = Principal::Key { id: 7, org_id: 3, plan: Plan::Data };
    assert_eq!(text(&scores), expected("/v1/vaults/scores", &holder, &world, 1).1);
    assert_eq!(scores.header("cache-control"), Some("private, max-age=0, must-revalidate"));
    assert_eq!(world.get("/v1/vaults/scores").status, 401);
    assert_eq!(world.asked(), 0);
}

#[test]
fn errors_of_the_read_model_are_final() {
    let world = world();
    for (target, status) in [
        ("/v1/vaults?chain=mars&strict=true", 400),
        ("/v1/oracle/ethereum/0x00000000000000000000000000000000000000aa", 404),
        ("/v1/oracle/ethereum/nonsense", 400),
    ] {
        let reply = world.get(target);
        assert_eq!((reply.status, reply.header("cache-control")), (status, Some("no-store")), "{target}");
    }
    assert_eq!(world.asked(), 0);
}

#[test]
fn while_the_origin_is_down_answers_are_current_and_then_stale() {
    let world = world();
    world.get("/v1/chains");
    world.origin_is_down();
    world.replica.origin.is_away.set(true);
    assert_eq!(seen(&world.get(LIST)), ("MISS", Some(1)), "confirmed a moment ago");
    world.pass_seconds(100);
    for _ in 0..5 {
        let reply = world.get("/v1/vaults?limit=2");
        assert_eq!((reply.status, seen(&reply)), (200, ("STALE-ERROR", Some(1))));
        assert_eq!(reply.header("age"), Some("100"));
        assert!(reply.header("warning").unwrap().starts_with("111 "));
        assert_eq!(reply.header("x-data-version"), Some("1"));
        assert!(reply.header("cache-status").unwrap().starts_with("rds-replica; hit, rds-edge; "));
        assert!(text(&reply).contains("\"freshness_seconds\":130"));
    }
    world.pass_seconds(86_400);
    assert_eq!(world.get(LIST).status, 503, "a day is over");
}

#[test]
fn a_new_isolate_answers_stale_from_what_the_data_centre_or_the_durable_object_keeps() {
    let mut world = world();
    world.get(LIST);
    world.origin_is_down();
    world.replica.origin.is_away.set(true);
    world.pass_seconds(60);
    for lost in ["nothing", "the Durable Object", "the data centre's cache"] {
        let kept = world.replica.kept.borrow().clone();
        world.new_isolate();
        world.replica.is_away.set(lost == "the Durable Object");
        if lost == "the data centre's cache" {
            world.replica.kept.borrow_mut().clear();
        }
        let reply = world.get(LIST);
        assert_eq!((reply.status, seen(&reply)), (200, ("STALE-ERROR", Some(1))), "{lost} is lost");
        world.replica.kept.replace(kept);
    }
}

#[test]
fn the_newer_of_a_cached_response_and_the_rows_is_served_stale() {
    let world = world();
    world.get(LIST);
    world.replica.is_away.set(true);
    world.pass_seconds(20);
    assert_eq!(text(&world.get(LIST)), BY_ORIGIN, "the rows are too old");
    world.origin_is_down();
    world.pass_seconds(20);
    let reply = world.get(LIST);
    assert_eq!((x_cache(&reply), text(&reply).as_str()), ("STALE-ERROR", BY_ORIGIN), "the cached response is newer");
    let reply = world.get("/v1/vaults?limit=2");
    assert_eq!(seen(&reply), ("STALE-ERROR", Some(1)), "only the rows have this page");
}

#[test]
fn in_fail_closed_mode_no_score_is_answered_from_rows() {
    let world = world();
    world.get(LIST);
    let mode = format!("fail_safe={}", mode_version(FailSafeMode::FailClosed, 8));
    world.send(&tag_message(&world, &mode));
    world.origin_is_down();
    for target in [LIST, "/v1/vaults?limit=2"] {
        assert_eq!(world.get(target).status, 503, "{target}");
    }
    assert_eq!(world.get("/v1/chains?limit=1").status, 200, "no scores");
}

#[test]
fn while_the_tag_versions_are_away_rows_are_judged_by_age() {
    let world = world();
    world.get(LIST);
    world.tag_versions.is_away.set(true);
    world.replica.is_away.set(true);
    world.pass_seconds(10);
    assert_eq!(seen(&world.get("/v1/vaults?limit=2")), ("MISS", Some(1)));
    world.pass_seconds(6);
    assert_eq!(text(&world.get("/v1/vaults?limit=2")), BY_ORIGIN);
}

#[test]
fn rows_that_the_origin_confirmed_long_ago_are_not_current_even_without_a_known_change() {
    let world = world();
    world.get(LIST);
    // The Durable Object does not reach the origin, so nothing is confirmed; nor may the edge have heard of a change.
    world.replica.origin.is_away.set(true);
    world.pass_seconds(16);
    assert_eq!(text(&world.get(LIST)), BY_ORIGIN);
}
