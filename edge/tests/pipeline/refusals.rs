//! Requests that are refused, as the caller sees them.

use crate::objects::{bearer, record};
use crate::world::*;
use rds_edge::config::Config;
use rds_edge::pipeline;
use rds_edge::respond::Reply;
use rds_shared::access::Plan;

/// Sends a request that must be refused at the edge, and returns the reply.
fn refused(ask: &Ask, status: u16, code: &str) -> Reply {
    let world = World::new(|_| Ok(page("{}")));
    let reply = world.send(ask);
    let body = text(&reply);
    assert_eq!(reply.status, status, "{body}");
    assert!(body.starts_with(&format!("{{\"error\":{{\"code\":\"{code}\",\"message\":\"")), "{body}");
    assert!(body.contains(reply.header("x-request-id").unwrap()), "{body}");
    assert_eq!(
        (reply.header("cache-control"), reply.header("content-type")),
        (Some("no-store"), Some("application/json"))
    );
    assert_eq!(reply.header("x-cache"), None);
    assert_eq!(world.asked(), 0, "the origin is not called");
    reply
}

fn get(target: &str) -> Ask {
    Ask::new("GET", target)
}

#[test]
fn an_unknown_route_is_not_found() {
    for target in [
        "/nope",
        "/v2/vaults",
        "/v1/vaults/",
        "/v1/vaults/a%2fb",
        "/v1/health/x.css",
        "/.copies/1/VaultList/public/v1/vaults",
    ] {
        refused(&get(target), 404, "NOT_FOUND");
    }
}

#[test]
fn with_the_graph_disabled_its_routes_are_404_for_everybody() {
    let mut world = World::new(|_| Ok(page("{}")));
    world.objects.mint(1, record(Plan::Decisioning, 300));
    let asks = || {
        let id = "0".repeat(64);
        let targets = [format!("/v1/graph/snapshot/{id}"), format!("/v1/graph/decision/{id}/verify")];
        let targets = targets.into_iter().chain(["/v1/graph/breach".into(), "/v1/graph/look-through?vaults=x".into()]);
        targets.map(|target| Ask::new("GET", &target)).chain([Ask::new("POST", "/v1/graph/check")])
    };
    for ask in asks() {
        assert_ne!(world.send(&ask).status, 404, "the route exists");
    }
    world.config = Config { graph: false, ..world.config };
    let before = world.asked();
    for ask in asks().chain([Ask::new("DELETE", "/v1/graph/check")]) {
        assert_eq!(world.send(&ask).status, 404);
        assert_eq!(world.send(&ask.with("authorization", &bearer(1))).status, 404);
    }
    assert_eq!(world.asked(), before, "the origin is not called");
}

#[test]
fn a_wrong_method_gets_the_allowed_ones() {
    for (method, target, allow) in [
        ("POST", "/v1/vaults", "GET, HEAD, OPTIONS"),
        ("PATCH", "/v1/vaults", "GET, HEAD, OPTIONS"),
        ("GET", "/v1/vaults/batch", "POST, OPTIONS"),
        ("DELETE", "/ready", "GET, HEAD, OPTIONS"),
    ] {
        let reply = refused(&Ask::new(method, target), 405, "METHOD_NOT_ALLOWED");
        assert_eq!(reply.header("allow"), Some(allow), "{method} {target}");
    }
}

#[test]
fn a_url_of_more_than_8192_bytes_is_too_long() {
    let world = World::new(|_| Ok(page("{}")));
    let longest = format!("/v1/vaults?x={}", "a".repeat(8_192 - 13));
    assert_eq!(world.get(&longest).status, 200);
    refused(&get(&format!("{longest}a")), 414, "URI_TOO_LONG");
    let grows_when_encoded = format!("/v1/vaults?curator={}", "|".repeat(4_000));
    refused(&get(&grows_when_encoded), 414, "URI_TOO_LONG");
}

#[test]
fn a_bad_parameter_is_named_with_its_bounds() {
    let reply = refused(&get("/v1/vaults?minRiskScore=11&riskTier=platinum&limit=0"), 400, "INVALID_PARAMETER");
    let body = text(&reply);
    for part in
        ["minRiskScore must be a number from 0 to 10", "riskTier must be", "\"name\":\"limit\"", "\"maximum\":100"]
    {
        assert!(body.contains(part), "{part} in {body}");
    }
}

#[test]
fn a_page_beyond_the_public_rows_requires_a_key() {
    let reply = refused(&get("/v1/vaults?page=3&limit=100"), 403, "FORBIDDEN");
    assert!(text(&reply).contains("key"));
}

#[test]
fn an_invalid_credential_is_never_anonymous() {
    let reply = refused(&get("/v1/vaults").with("authorization", "Bearer pk_live_nonsense"), 401, "UNAUTHORIZED");
    assert!(text(&reply).contains("\"legacy_code\":\"invalid_api_key\""));
    assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    refused(&get("/v1/vaults").with("authorization", "Basic eDp5").with("origin", OUR_PAGE), 401, "UNAUTHORIZED");
}

#[test]
fn a_body_must_be_json_within_the_size_limit() {
    let batch = || Ask::new("POST", "/v1/vaults/batch");
    refused(&batch().body(b"{}"), 415, "UNSUPPORTED_MEDIA_TYPE");
    refused(&batch().with("content-type", "text/plain").body(b"{}"), 415, "UNSUPPORTED_MEDIA_TYPE");
    let json = || batch().with("content-type", "Application/JSON; charset=utf-8");
    refused(&json().with("content-length", "65537").body(b"{}"), 413, "PAYLOAD_TOO_LARGE");
    refused(&json().body(&[b' '; 65_537]), 413, "PAYLOAD_TOO_LARGE");
    let world = World::new(|_| Ok(page("{}")));
    assert_eq!(world.send(&json().body(&[b' '; 65_536])).status, 200);
}

#[test]
fn the_origins_4xx_errors_are_passed_on() {
    let world = World::new(|call| Ok(envelope(400, "INVALID_ADDRESS", call)));
    let reply = world.get("/v1/vault/ethereum/0x12");
    assert_eq!((reply.status, reply.header("cache-control")), (400, Some("no-store")));
    assert!(text(&reply).contains("in the origin's words"));
    world.get("/v1/vault/ethereum/0x12");
    assert_eq!((world.asked(), world.stored.borrow().is_empty()), (2, true), "errors are not cached");
}

#[test]
fn a_worker_without_a_configuration_answers_503_in_the_envelope() {
    let reply = pipeline::unconfigured(&get("/v1/vaults"), [3; 16]);
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("5")));
    assert!(text(&reply).contains("03030303030303030303030303030303"));
}
