//! The OpenAPI document, which the edge serves without calling the origin.

use crate::world::*;

const PATH: &str = "/v1/openapi.json";

#[test]
fn it_is_served_while_the_origin_is_down() {
    let world = World::new(|_| Ok(page("{}")));
    world.origin_is_down();
    let reply = world.get(PATH);
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    assert_eq!(text(&reply), include_str!("../../../openapi/openapi.json"));
    assert_eq!(reply.header("cache-control"), Some("public, max-age=300, must-revalidate"));
    assert_eq!((x_cache(&reply), reply.header("vary")), ("BYPASS", Some("Origin")));
    assert_eq!(world.asked(), 0);
}

#[test]
fn it_is_metered_like_any_other_route() {
    let world = World::new(|_| Ok(page("{}")));
    assert_eq!(world.get(PATH).header("x-ratelimit-limit"), Some("10"));
}

#[test]
fn a_caller_with_the_current_version_gets_304_and_head_has_no_body() {
    let world = World::new(|_| Ok(page("{}")));
    let etag = world.get(PATH).header("etag").unwrap().to_owned();
    let again = world.send(&Ask::new("GET", PATH).with("if-none-match", &etag));
    assert_eq!((again.status, again.body.is_none(), again.header("etag")), (304, true, Some(etag.as_str())));
    let head = world.send(&Ask::new("HEAD", PATH));
    assert_eq!((head.status, head.body.is_none(), head.header("etag")), (200, true, Some(etag.as_str())));
}
