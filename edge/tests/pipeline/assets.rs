//! Pages and the OpenAPI document: their content comes from assets, and everything else from the tables in the module.

use crate::world::*;

const PAGE: &str = "/v1/docs/errors";
const OPENAPI: &str = "/v1/openapi.json";
const FILES: [&str; 4] = ["/v1/docs", PAGE, OPENAPI, "/favicon.ico"];

fn world() -> World {
    World::new(|_| Ok(page("{}")))
}

/// A world whose assets cannot be loaded.
fn without_assets() -> World {
    let world = world();
    world.has_assets.set(false);
    world
}

#[test]
fn the_content_is_that_of_the_etag() {
    let world = world();
    let body = bytes(&world.get(PAGE));
    let digest = rds_shared::access::BodyDigest::of(&body);
    let etag = format!("\"{}\"", rds_shared::wire::hex(digest.as_bytes()).get(..24).unwrap());
    assert_eq!(world.get(PAGE).header("etag"), Some(etag.as_str()));
    assert!(text(&world.get(PAGE)).contains("<h1"));
}

#[test]
fn head_and_conditional_requests_need_no_asset() {
    for path in FILES {
        let (with, without) = (world(), without_assets());
        let full = with.get(path);
        let etag = full.header("etag").unwrap();
        for world in [&with, &without] {
            let before = world.assets_asked.get();
            let head = world.send(&Ask::new("HEAD", path));
            assert_eq!((head.status, head.body.is_none()), (200, true), "{path}");
            assert_eq!(head.header("content-length"), Some(bytes(&full).len().to_string().as_str()), "{path}");
            assert_eq!((head.header("etag"), head.header("content-type")), (Some(etag), full.header("content-type")));
            let unchanged = world.send(&Ask::new("GET", path).with("if-none-match", etag));
            assert_eq!((unchanged.status, unchanged.body.is_none()), (304, true), "{path}");
            assert_eq!((unchanged.header("etag"), unchanged.header("content-type")), (Some(etag), None), "{path}");
            assert_eq!(unchanged.header("cache-control"), full.header("cache-control"), "{path}");
            assert_eq!(world.assets_asked.get(), before, "{path}");
        }
    }
}

#[test]
fn without_its_asset_a_file_is_unavailable_and_the_log_says_why() {
    for path in FILES {
        let world = without_assets();
        let reply = world.get(path);
        assert_eq!((reply.status, reply.header("content-type")), (503, Some("application/json")), "{path}");
        assert!(text(&reply).contains("\"SERVICE_UNAVAILABLE\""), "{path}");
        assert_eq!((reply.header("etag"), reply.header("cache-control")), (None, Some("no-store")), "{path}");
        let id = reply.header("x-request-id").unwrap();
        assert!(text(&reply).contains(id), "{path}");
        let log = world.log.borrow();
        assert!(log.len() == 1 && log[0].starts_with(id) && log[0].ends_with("ASSETS is not bound"), "{path}: {log:?}");
    }
    assert!(without_assets().get(OPENAPI).header("x-ratelimit-remaining").is_some(), "the request was charged");
}

#[test]
fn a_missing_page_stays_missing_without_the_page_that_says_so() {
    let browser = Ask::new("GET", "/v1/docs/nope").with("accept", "text/html");
    let reply = without_assets().send(&browser);
    assert_eq!((reply.status, reply.header("content-type")), (404, Some("application/json")));
    assert!(text(&reply).contains("\"NOT_FOUND\""));
    let world = world();
    let page = world.send(&browser);
    assert_eq!((page.status, page.header("etag"), world.assets_asked.get()), (404, None, 1));
}

#[test]
fn an_answer_of_the_origin_needs_no_asset() {
    let world = without_assets();
    assert_eq!((world.get("/v1/vaults").status, world.assets_asked.get()), (200, 0));
}
