//! Paths that people, browsers and crawlers try first.

use crate::world::*;
use rds_edge::respond::Reply;

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

fn browse(world: &World, target: &str) -> Reply {
    world.send(&Ask::new("GET", target).with("accept", BROWSER))
}

#[test]
fn a_browser_is_redirected_to_the_documentation_and_a_program_gets_an_index() {
    let world = World::new(|_| Ok(page("{}")));
    let redirect = browse(&world, "/");
    assert_eq!(
        (redirect.status, redirect.header("location"), redirect.header("cache-control")),
        (302, Some("/v1/docs"), Some("no-store"))
    );
    let index = world.send(&Ask::new("GET", "/").with("accept", "*/*"));
    assert_eq!((index.status, index.header("content-type")), (200, Some("application/json")));
    assert!(text(&index).contains("\"openapi\":\"/v1/openapi.json\""));
    for (path, target) in [("/v1", "/v1/docs"), ("/docs", "/v1/docs"), ("/openapi.json", "/v1/openapi.json")] {
        assert_eq!(world.get(path).header("location"), Some(target), "{path}");
    }
    assert_eq!(
        (world.asked(), world.get("/").header("x-ratelimit-limit")),
        (0, None),
        "these paths are not rate-limited"
    );
}

#[test]
fn crawlers_and_machines_get_their_files() {
    let world = World::new(|_| Ok(page("{}")));
    for (path, kind, holds) in [
        ("/robots.txt", "text/plain; charset=utf-8", "Allow: /v1/docs\n"),
        ("/llms.txt", "text/plain; charset=utf-8", "# Risk Data Service"),
        ("/favicon.ico", "image/svg+xml", "<svg"),
    ] {
        let reply = world.get(path);
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(kind)), "{path}");
        assert!(text(&reply).contains(holds), "{path}");
    }
    let head = world.send(&Ask::new("HEAD", "/robots.txt"));
    assert!(head.status == 200 && head.body.is_none());
    assert_eq!(world.send(&Ask::new("POST", "/robots.txt")).status, 404);
}

#[test]
fn security_txt_names_a_contact_and_has_not_expired() {
    let world = World::new(|_| Ok(page("{}")));
    let given = text(&world.send(&Ask::new("GET", "/.well-known/security.txt").with("host", "risk.example")));
    assert!(given.contains("Contact: https://risk.example/v1/docs/security\n"), "{given}");
    let expires = given.lines().find_map(|line| line.strip_prefix("Expires: ")).unwrap();
    let days = rds_shared::wire::Timestamp::parse(expires).unwrap().seconds_since(world.now()) / 86_400;
    assert_eq!(days, 180);
    let odd = text(&world.send(&Ask::new("GET", "/.well-known/security.txt").with("host", "evil.example/\u{1}")));
    assert!(!odd.contains("evil"), "{odd}");
    assert_eq!(world.get("/v1/docs/security").status, 200);
}

#[test]
fn a_missing_page_is_a_page_for_browsers_and_an_error_for_programs() {
    let world = World::new(|_| Ok(page("{}")));
    let missing = browse(&world, "/v1/docs/nope");
    assert_eq!(
        (missing.status, missing.header("cache-control"), missing.header("etag")),
        (404, Some("no-store"), None)
    );
    assert!(text(&missing).contains("<a href=\"/v1/docs/reference\">"));
    assert!(missing.header("content-security-policy").is_some());
    assert_eq!(world.get("/v1/docs/nope").header("content-type"), Some("application/json"));
}
