//! Notices about queries without effect: unknown parameters, and filter values that are in no registry.

use crate::world::*;
use serde_json::Value;

const IGNORED: &str = "x-service-ignored-parameters";
const UNKNOWN: &str = "x-service-unknown-values";

fn fault(reply: &rds_edge::respond::Reply) -> Value {
    serde_json::from_str::<Value>(&text(reply)).unwrap()["error"].clone()
}

#[test]
fn callers_with_different_mistakes_share_a_cached_response_and_get_their_own_notice() {
    let world = World::new(|_| Ok(page("{}")));
    let first = world.get("/v1/vaults?risktier=prime");
    let second = world.get("/v1/vaults?foo=1&asOf=2026-01-01");
    let third = world.get("/v1/vaults");
    assert_eq!(first.header(IGNORED), Some("risktier"));
    assert_eq!((second.header(IGNORED), x_cache(&second)), (Some("foo, asOf"), "HIT"));
    assert_eq!((third.header(IGNORED), x_cache(&third)), (None, "HIT"));
    assert_eq!(world.asked(), 1);
    assert_eq!(world.last_call().target, "/v1/vaults");
}

#[test]
fn ignored_parameters_are_named_on_304_errors_and_uncached_routes_too() {
    let world = World::new(|call| match call.target.as_str() {
        "/v1/health" => Ok(answer(200, "{}")),
        "/v1/vaults/nobody" => Ok(envelope(404, "NOT_FOUND", call)),
        _ => Ok(page("{}")),
    });
    let etag = world.get("/v1/chains").header("etag").unwrap().to_owned();
    let unchanged = world.send(&Ask::new("GET", "/v1/chains?x=1").with("if-none-match", &etag));
    assert_eq!((unchanged.status, unchanged.header(IGNORED)), (304, Some("x")));
    for (target, status) in
        [("/v1/health?x=1", 200), ("/v1/vaults/nobody?x=1", 404), ("/v1/docs?x=1", 200), ("/v1/openapi.json?x=1", 200)]
    {
        let reply = world.get(target);
        assert_eq!((reply.status, reply.header(IGNORED)), (status, Some("x")), "{target}");
    }
    assert_eq!(world.get("/v1/docs/site.js?v=0123").header(IGNORED), None);
}

#[test]
fn strict_refuses_unknown_parameters_without_calling_the_origin() {
    let world = World::new(|_| Ok(page("{}")));
    let refused = world.get("/v1/vaults?risktier=prime&strict=true");
    assert_eq!((refused.status, world.asked()), (400, 0));
    let error = fault(&refused);
    assert_eq!(error["code"], "INVALID_PARAMETER");
    assert_eq!(error["details"][0]["name"], "risktier");
    assert_eq!(error["details"][0]["reason"], "is not a parameter of this route; did you mean riskTier?");
    let kept = world.get("/v1/vaults?riskTier=prime&strict=true");
    assert_eq!((kept.status, world.last_call().target.as_str()), (200, "/v1/vaults?riskTier=prime"));
    assert_eq!(x_cache(&world.get("/v1/vaults?riskTier=prime")), "HIT");
}

#[test]
fn unknown_values_are_cached_and_strict_refuses_them_from_the_cache() {
    let world = World::new(|_| Ok(page("{}").with(UNKNOWN, "chain=mars")));
    for expected in ["MISS", "HIT"] {
        let reply = world.get("/v1/vaults?chain=mars");
        assert_eq!((reply.header(UNKNOWN), x_cache(&reply)), (Some("chain=mars"), expected));
    }
    let refused = world.get("/v1/vaults?chain=mars&strict=true");
    assert_eq!((refused.status, world.asked()), (400, 1));
    let error = fault(&refused);
    assert_eq!(
        (&error["code"], &error["message"]),
        (&"INVALID_PARAMETER".into(), &"chain has the unknown value mars".into())
    );
    assert_eq!(refused.header("cache-control"), Some("no-store"));
}

#[test]
fn first_party_pages_may_read_both_headers() {
    let world = World::new(|_| Ok(page("{}")));
    let reply = world.send(&Ask::new("GET", "/v1/vaults?x=1").with("origin", OUR_PAGE));
    let exposed = reply.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains(IGNORED) && exposed.contains(UNKNOWN), "{exposed}");
}
