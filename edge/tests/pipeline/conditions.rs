//! ETags, conditional requests and HEAD.

use crate::world::*;

const ROWS: &str = r#"{"data":[{"freshness_seconds":9}]}"#;

fn ask(condition: &str) -> Ask {
    Ask::new("GET", "/v1/vaults").with("if-none-match", condition)
}

#[test]
fn a_caller_with_the_current_version_gets_304() {
    let world = World::new(|_| Ok(page(ROWS)));
    for condition in ["W/\"version-7\"", "\"version-7\"", "\"other\", W/\"version-7\"", "*"] {
        let reply = world.send(&ask(condition));
        assert_eq!(reply.status, 304, "{condition}");
        assert!(reply.body.is_none());
        assert_eq!(reply.header("etag"), Some("W/\"version-7\""));
        assert_eq!(reply.header("cache-control"), Some("public, max-age=0, must-revalidate"));
        assert_eq!(reply.header("vary"), Some("Origin"));
        assert_eq!((reply.header("content-type"), reply.header("content-length")), (None, None));
    }
    assert_eq!(world.asked(), 1, "the condition is evaluated against the cached response");
}

#[test]
fn a_caller_with_another_version_gets_the_current_one() {
    let world = World::new(|_| Ok(page(ROWS)));
    for condition in ["W/\"version-6\"", "version-7", ""] {
        assert_eq!(text(&world.send(&ask(condition))), ROWS);
    }
    assert!(
        world.last_call().headers.iter().all(|(name, _)| *name != "if-none-match"),
        "the caller's condition is not forwarded"
    );
}

#[test]
fn conditions_apply_to_stale_responses_too() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.get("/v1/vaults");
    world.pass_seconds(60);
    world.origin_is_down();
    let reply = world.send(&ask("\"version-7\""));
    assert_eq!((reply.status, x_cache(&reply), reply.header("age")), (304, "STALE-ERROR", Some("60")));
    assert!(reply.header("warning").is_some());
}

#[test]
fn a_callers_cache_directives_dates_and_ranges_are_ignored() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.get("/v1/vaults");
    for (name, value) in [
        ("cache-control", "no-cache"),
        ("cache-control", "no-store, max-age=0"),
        ("pragma", "no-cache"),
        ("range", "bytes=0-1"),
        ("if-modified-since", "Sun, 21 Nov 2286 04:46:39 GMT"),
        ("if-match", "\"other\""),
        ("vary", "*"),
    ] {
        let reply = world.send(&Ask::new("GET", "/v1/vaults").with(name, value));
        assert_eq!((reply.status, x_cache(&reply), text(&reply).as_str()), (200, "HIT", ROWS), "{name}: {value}");
    }
    world.pass_seconds(60);
    world.origin_is_down();
    let strict = Ask::new("GET", "/v1/vaults").with("cache-control", "only-if-cached, max-stale=0");
    assert_eq!(x_cache(&world.send(&strict)), "STALE-ERROR", "the origin alone decides about stale responses");
}

#[test]
fn an_error_is_never_answered_with_304() {
    let world = World::new(|call| Ok(envelope(404, "NOT_FOUND", call).with("etag", "\"x\"")));
    assert_eq!(world.send(&ask("*")).status, 404);
}

#[test]
fn head_is_get_without_the_body() {
    let world = World::new(|_| Ok(page(ROWS)));
    let head = world.send(&Ask::new("HEAD", "/v1/vaults"));
    assert_eq!((head.status, x_cache(&head), head.body.is_none()), (200, "MISS", true));
    assert_eq!(head.header("content-length"), Some(ROWS.len().to_string().as_str()));
    let get = world.get("/v1/vaults");
    assert_eq!((x_cache(&get), text(&get).as_str()), ("HIT", ROWS), "both share a cached response");
    assert_eq!(world.last_call().method.as_str(), "GET");
    let missing = world.send(&Ask::new("HEAD", "/nowhere"));
    assert_eq!((missing.status, missing.body.is_none()), (404, true));
    assert!(missing.header("content-length").is_some());
}
