//! Basket versions: cacheable for a year, but answered with 410 as soon as they are retired.

use crate::tag_invalidations::tag_message;
use crate::world::*;
use rds_edge::origin_link::signed_call::{Call, OriginAnswer};
use rds_edge::pipeline::Isolate;
use std::cell::Cell;
use std::rc::Rc;

const VERSION: &str = "/v1/baskets/b/version/b-v1";
const FOR_A_YEAR: &str = "public, max-age=31536000, immutable";
const NEXT: &str = "</v1/baskets/b/version/b-v2>; rel=\"successor-version\"";

/// The version, or 410 once it is retired.
fn version(is_retired: bool, call: &Call) -> OriginAnswer {
    if is_retired {
        return envelope(410, "VERSION_RETIRED", call).with("link", NEXT).with("cache-control", "no-store");
    }
    let held = call.headers.iter().any(|(name, value)| *name == "if-none-match" && value == "\"hash\"");
    let answer =
        if held { OriginAnswer { status: 304, ..OriginAnswer::default() } } else { answer(200, "{\"data\":1}") };
    answer
        .with("cdn-cache-control", "max-age=60, stale-if-error=86400")
        .with("cache-control", FOR_A_YEAR)
        .with("etag", "\"hash\"")
        .with("x-service-tags", "baskets=1")
}

fn world() -> (World, Rc<Cell<bool>>) {
    let retired = Rc::new(Cell::new(false));
    let origin = retired.clone();
    (World::new(move |call| Ok(version(origin.get(), call))), retired)
}

#[test]
fn a_retired_version_is_gone_at_once_despite_cached_responses() {
    let (mut world, retired) = world();
    world.get(VERSION);
    let kept = world.get(VERSION);
    assert_eq!((kept.status, x_cache(&kept), kept.header("cache-control")), (200, "HIT", Some(FOR_A_YEAR)));
    // A second isolate has its own cached response.
    let mut other = Isolate::default();
    std::mem::swap(&mut world.isolate, &mut other);
    assert_eq!(x_cache(&world.get(VERSION)), "HIT");

    retired.set(true);
    assert_eq!(world.send(&tag_message(&world, "baskets=2")).status, 204);
    for _ in 0..2 {
        let gone = world.get(VERSION);
        assert_eq!(
            (gone.status, gone.header("link"), gone.header("cache-control")),
            (410, Some(NEXT), Some("no-store"))
        );
        assert!(text(&gone).contains("VERSION_RETIRED"));
        std::mem::swap(&mut world.isolate, &mut other);
    }
    assert!(world.stored.borrow().is_empty(), "it is removed from the data centre's cache");
    // A conditional request gets 410, too.
    let held = world.send(&Ask::new("GET", VERSION).with("if-none-match", "\"hash\""));
    assert_eq!(held.status, 410);
}

#[test]
fn a_stale_response_is_not_cacheable_for_a_year() {
    let (world, _) = world();
    world.get(VERSION);
    world.pass_seconds(61);
    world.origin_is_down();
    let stale = world.get(VERSION);
    assert_eq!((stale.status, x_cache(&stale)), (200, "STALE-ERROR"));
    assert_eq!(stale.header("cache-control"), Some("public, max-age=0, must-revalidate"));
}

#[test]
fn a_version_that_a_known_change_may_have_retired_is_not_served_stale() {
    let (world, _) = world();
    world.get(VERSION);
    assert_eq!(world.send(&tag_message(&world, "baskets=2")).status, 204);
    world.origin_is_down();
    let unknown = world.get(VERSION);
    assert_eq!((unknown.status, x_cache(&unknown)), (503, ""));
    // The basket itself is served stale: it remains a correct earlier state.
    let basket = "/v1/baskets/b";
    let (world, _) = self::world();
    world.get(basket);
    world.send(&tag_message(&world, "baskets=2"));
    world.origin_is_down();
    assert_eq!(x_cache(&world.get(basket)), "STALE-ERROR");
}

#[test]
fn a_caller_with_the_content_hash_gets_304() {
    let (world, _) = world();
    world.get(VERSION);
    for held in ["\"hash\"", "W/\"hash\"", "\"other\", \"hash\""] {
        let reply = world.send(&Ask::new("GET", VERSION).with("if-none-match", held));
        assert_eq!((reply.status, reply.header("etag")), (304, Some("\"hash\"")), "{held}");
        assert_eq!(reply.header("cache-control"), Some(FOR_A_YEAR));
    }
}
