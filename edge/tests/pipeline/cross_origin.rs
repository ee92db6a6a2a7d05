//! CORS, as a page's script sees it.

use crate::world::*;
use rds_edge::respond::Reply;

fn granted(reply: &Reply) -> Option<&str> {
    reply.header("access-control-allow-origin")
}

#[test]
fn only_first_party_pages_may_read() {
    let world = World::new(|_| Ok(page("{}")));
    for (origin, grant) in
        [(OUR_PAGE, Some(OUR_PAGE)), ("https://evil.example", None), ("null", None), ("https://app.example.evil", None)]
    {
        let reply = world.send(&Ask::new("GET", "/v1/vaults").with("origin", origin));
        assert_eq!((reply.status, granted(&reply)), (200, grant), "{origin}");
        assert_eq!(reply.header("vary"), Some("Origin"));
    }
    assert_eq!(granted(&world.get("/v1/vaults")), None);
    assert_eq!(world.asked(), 1, "pages and other callers share a cached response");
}

#[test]
fn a_page_can_read_errors_as_well_as_answers() {
    let world = World::new(|_| Ok(page("{}")));
    let answer = world.send(&Ask::new("GET", "/v1/vaults").with("origin", OUR_PAGE));
    let error = world.send(&Ask::new("GET", "/nowhere").with("origin", OUR_PAGE));
    for name in ["access-control-allow-origin", "access-control-expose-headers", "vary"] {
        assert_eq!(answer.header(name), error.header(name), "{name}");
        assert!(error.header(name).is_some());
    }
}

#[test]
fn preflights_are_answered_without_the_origin() {
    let world = World::new(|_| Ok(page("{}")));
    let ask = |origin: &str| {
        Ask::new("OPTIONS", "/v1/vaults/batch").with("origin", origin).with("access-control-request-method", "POST")
    };
    let ours = world.send(&ask(OUR_PAGE));
    assert_eq!((ours.status, granted(&ours), ours.body.is_none()), (204, Some(OUR_PAGE), true));
    assert!(ours.header("access-control-allow-methods").unwrap().contains("POST"));
    assert!(ours.header("access-control-allow-headers").unwrap().contains("content-type"));
    assert_eq!(ours.header("access-control-max-age"), Some("86400"));
    let theirs = world.send(&ask("https://evil.example"));
    assert_eq!((theirs.status, granted(&theirs), theirs.header("access-control-allow-methods")), (204, None, None));
    assert_eq!(world.asked(), 0);
}
