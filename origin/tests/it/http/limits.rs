//! Access to the listeners: the edge assertion, the relay's routes, the operators' token.

use crate::support::market::{VAULTS, lines};
use crate::support::testapp::{ADMIN_TOKEN, EDGE_KEY, Reply, TestApp, signed, signed_at};
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use rds_engine::clock::Clock;
use rds_origin::listener::Listener;
use rds_shared::access::{Assertion, AssertionKey, SignedRequest};
use rds_shared::wire::headers;
use serde_json::json;

fn wall() -> i64 {
    Clock::system().wall().as_seconds()
}

/// An unsigned request.
pub fn bare(method: &str, target: &str) -> Request {
    Request::builder().method(method).uri(target).body(Body::empty()).unwrap()
}

/// The request with another request's headers.
fn with_headers_of(mut request: Request, other: &Request) -> Request {
    *request.headers_mut() = other.headers().clone();
    request
}

/// Asserts the response that an unauthenticated caller gets for every path.
fn is_refused(reply: &Reply) {
    assert_eq!((reply.status, reply.code()), (StatusCode::UNAUTHORIZED, "UNAUTHORIZED".to_owned()));
    assert_eq!(reply.message(), "only the edge may call this listener");
    assert_eq!((reply.header("allow"), reply.header("etag"), reply.header("x-data-version")), (None, None, None));
}

#[tokio::test]
async fn without_an_assertion_every_path_gets_the_same_response() {
    let test = TestApp::with_market().await;
    for (method, target) in [
        ("GET", "/v1/vaults"),
        ("GET", "/v1/nothing"),
        ("POST", "/v1/vaults"),
        ("DELETE", "/"),
        ("GET", "/v1/vaults?page=0"),
        ("GET", "/ready"),
        ("PATCH", "/x"),
    ] {
        is_refused(&test.ask(bare(method, target)).await);
    }
    let mut named = bare("GET", "/v1/vaults");
    named.headers_mut().insert(headers::REQUEST_ID, "ab".repeat(16).parse().unwrap());
    let reply = test.ask(named).await;
    is_refused(&reply);
    assert_ne!(reply.header("x-request-id").unwrap(), "ab".repeat(16), "a stranger's request id is not taken over");
}

#[tokio::test]
async fn an_assertion_is_good_for_one_request_and_half_a_minute() {
    let test = TestApp::with_market().await;
    let original = signed("GET", "/v1/vaults", "");
    let replayed = with_headers_of(bare("GET", "/v1/vaults"), &original);
    assert_eq!(test.ask(original).await.status, StatusCode::OK);
    is_refused(&test.ask(replayed).await);

    for seconds in [wall() - 40, wall() + 40] {
        is_refused(&test.ask(signed_at("GET", "/v1/vaults", "", seconds)).await);
    }
    for seconds in [wall() - 25, wall() + 25] {
        assert_eq!(test.ask(signed_at("GET", "/v1/vaults", "", seconds)).await.status, StatusCode::OK);
    }
    test.app.clock.advance(86_400);
    assert_eq!(test.get("/v1/vaults").await.status, StatusCode::OK, "a test clock does not age assertions");
}

#[tokio::test]
async fn a_changed_request_is_refused() {
    let test = TestApp::with_market().await;
    let get = || signed("GET", "/v1/vaults", "");
    is_refused(&test.ask(with_headers_of(bare("GET", "/v1/vaults?page=2"), &get())).await);
    is_refused(&test.ask(with_headers_of(bare("GET", "/v1/protocols"), &get())).await);
    assert_eq!(test.ask(with_headers_of(bare("HEAD", "/v1/vaults"), &get())).await.status, StatusCode::UNAUTHORIZED);
    let batch = signed("POST", "/v1/vaults/batch", "{}");
    let mut changed = with_headers_of(bare("POST", "/v1/vaults/batch"), &batch);
    *changed.body_mut() = Body::from("{\"ids\":[]}");
    is_refused(&test.ask(changed).await);
    for (name, value) in [
        (headers::PRINCIPAL, "{\"kind\":\"first_party\",\"origin\":\"https://x\"}"),
        (headers::PRINCIPAL, "{}"),
        (headers::ASSERTION, "v1;k1;0;00;00"),
        (headers::ASSERTION, "nonsense"),
    ] {
        let mut request = get();
        request.headers_mut().insert(name, value.parse().unwrap());
        is_refused(&test.ask(request).await);
    }
    let stranger = AssertionKey::parse(&EDGE_KEY.replace("00112233", "ffffffff")).unwrap();
    let principal = "{\"kind\":\"anonymous\"}";
    let covered = SignedRequest { method: "GET", target: "/v1/vaults", body: b"", principal };
    let forged = Assertion::sign(&stranger, &covered, wall(), [7; 16]);
    let mut request = get();
    request.headers_mut().insert(headers::ASSERTION, forged.to_header().parse().unwrap());
    is_refused(&test.ask(request).await);
}

#[tokio::test]
async fn a_body_is_read_up_to_its_cap_and_no_further() {
    let test = TestApp::with_market().await;
    for target in ["/v1/vaults/batch", "/v1/nothing"] {
        let large = signed("POST", target, &"x".repeat(64 * 1024 + 1));
        assert_eq!(test.ask(large).await.code(), "PAYLOAD_TOO_LARGE", "{target}");
    }
}

#[tokio::test]
async fn the_edges_request_id_is_used_and_routing_errors_reach_the_edge() {
    let test = TestApp::with_market().await;
    let id = "0123456789abcdef0123456789abcdef";
    let mut request = signed("GET", "/v1/nothing", "");
    request.headers_mut().insert(headers::REQUEST_ID, id.parse().unwrap());
    let reply = test.ask(request).await;
    assert_eq!(
        (reply.status, reply.code(), reply.header("x-request-id")),
        (StatusCode::NOT_FOUND, "NOT_FOUND".to_owned(), Some(id))
    );
    let mut request = signed("GET", "/v1/vaults", "");
    request.headers_mut().insert(headers::REQUEST_ID, "not an id".parse().unwrap());
    assert_ne!(test.ask(request).await.header("x-request-id"), Some("not an id"));
    let reply = test.ask(signed("DELETE", "/v1/vaults", "")).await;
    assert_eq!((reply.status, reply.header("allow")), (StatusCode::METHOD_NOT_ALLOWED, Some("GET, HEAD, OPTIONS")));
    let reply = test.ask(signed("PATCH", "/v1/vaults/batch", "")).await;
    assert_eq!((reply.code().as_str(), reply.header("allow")), ("METHOD_NOT_ALLOWED", Some("POST, OPTIONS")));
}

#[tokio::test]
async fn the_relay_answers_its_few_routes_and_knows_no_others() {
    let test = TestApp::with_market().await;
    for target in ["/v1/health", "/ready"] {
        assert_eq!(test.at(Listener::Relay, bare("GET", target)).await.status, StatusCode::OK, "{target}");
        assert_eq!(
            test.at(Listener::Relay, bare("POST", target)).await.status,
            StatusCode::METHOD_NOT_ALLOWED,
            "{target}"
        );
    }
    for (method, target) in
        [("GET", "/v1/vaults"), ("POST", "/v1/vaults"), ("GET", "/metrics"), ("GET", "/"), ("POST", "/ingest")]
    {
        assert_eq!(test.at(Listener::Relay, bare(method, target)).await.code(), "NOT_FOUND", "{method} {target}");
    }
}

#[tokio::test]
async fn operators_need_the_token_for_everything_but_readiness() {
    let test = TestApp::with_market().await;
    for (method, target) in [("POST", "/ingest"), ("GET", "/metrics"), ("GET", "/clock"), ("GET", "/nothing")] {
        let reply = test.at(Listener::Admin, bare(method, target)).await;
        assert_eq!(
            (reply.status, reply.header("www-authenticate")),
            (StatusCode::UNAUTHORIZED, Some("Bearer")),
            "{target}"
        );
        let mut wrong = bare(method, target);
        wrong.headers_mut().insert("authorization", format!("Bearer {ADMIN_TOKEN}x").parse().unwrap());
        assert_eq!(test.at(Listener::Admin, wrong).await.status, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(test.at(Listener::Admin, bare("GET", "/ready")).await.status, StatusCode::OK);
    assert_eq!(test.admin("GET", "/nothing", "").await.code(), "NOT_FOUND");
    assert_eq!(test.admin("GET", "/ingest", "").await.header("allow"), Some("POST"));
    assert_eq!(test.admin("GET", "/v1/vaults", "").await.code(), "NOT_FOUND", "public routes are not here");
}

#[tokio::test]
async fn a_batch_is_taken_whole_or_refused_with_every_bad_line() {
    let test = TestApp::new().await;
    let taken = test.ingest(&lines()).await.json();
    assert_eq!(taken["data"]["data_version"], 1);
    assert_eq!(taken["data"]["observations"]["vault"], VAULTS.len());
    let again = test.ingest(&lines()).await.json();
    assert_eq!(
        (&again["data"]["data_version"], &again["data"]["changed"]),
        (&json!(1), &json!({})),
        "a repeated batch changes nothing"
    );

    let good = VAULTS[0].state("2026-11-20T23:59:00Z", json!({ "tvl_usd": 1 }));
    let bad = format!("{good}{{\"kind\":\"price\"}}\n\n{}", VAULTS[1].state("yesterday", json!({})));
    let refused = test.admin("POST", "/ingest", &bad).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::BAD_REQUEST, "INVALID_BODY".to_owned()));
    let names: Vec<_> = refused.json()["error"]["details"]
        .as_array()
        .unwrap()
        .iter()
        .map(|detail| detail["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["line 2, kind", "line 4, observed_at"]);
    rds_origin::catalog::refresh::refresh(&test.app).await.unwrap();
    assert_eq!(
        test.json(&format!("/v1/vaults/{}", VAULTS[0].id())).await["data"]["vault"]["tvl_usd"],
        5e6,
        "nothing of it was kept"
    );
}

#[tokio::test]
async fn the_test_clock_is_read_set_and_advanced() {
    let test = TestApp::new().await;
    let now = |reply: &Reply| reply.json()["now"].as_str().unwrap().to_owned();
    assert_eq!(now(&test.admin("GET", "/clock", "").await), "2026-11-21T00:00:00.000000Z");
    assert_eq!(now(&test.admin("PUT", "/clock", "{\"advance_seconds\":90}").await), "2026-11-21T00:01:30.000000Z");
    assert_eq!(
        now(&test.admin("PUT", "/clock", "{\"now\":\"2027-01-01T00:00:00.000001Z\"}").await),
        "2027-01-01T00:00:00.000001Z"
    );
    assert_eq!(test.json("/v1/health").await["timestamp"], "2027-01-01T00:00:00.000Z");
    for bad in [
        "",
        "{}",
        "{\"now\":\"soon\"}",
        "{\"now\":\"2027-01-01\",\"advance_seconds\":1}",
        "{\"advance\":1}",
        "{\"advance_seconds\":\"1\"}",
    ] {
        assert_eq!(test.admin("PUT", "/clock", bad).await.code(), "INVALID_BODY", "{bad}");
    }
    assert_eq!(test.admin("POST", "/clock", "{}").await.header("allow"), Some("GET, HEAD, PUT"));
    assert_eq!(now(&test.admin("GET", "/clock", "").await), "2027-01-01T00:00:00.000001Z");
}

#[tokio::test]
async fn without_a_test_clock_there_is_no_clock_route() {
    let test = TestApp::with(crate::support::testapp::TestOptions { real_clock: true, ..Default::default() }).await;
    for method in ["GET", "PUT", "POST"] {
        assert_eq!(test.admin(method, "/clock", "{\"advance_seconds\":1}").await.code(), "NOT_FOUND", "{method}");
    }
}

#[tokio::test]
async fn a_scrape_tells_what_was_answered() {
    let test = TestApp::with_market().await;
    test.get("/v1/vaults").await;
    test.get("/v1/vaults?page=0").await;
    test.get("/v1/nothing").await;
    test.ask(bare("GET", "/v1/vaults")).await;
    let scrape = test.admin("GET", "/metrics", "").await;
    assert_eq!(scrape.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = scrape.text();
    for line in [
        "rds_requests_total{route=\"VaultList\",status=\"200\"} 1",
        "rds_requests_total{route=\"VaultList\",status=\"400\"} 1",
        "rds_requests_total{route=\"Unmatched\",status=\"404\"} 1",
        "rds_requests_total{route=\"Unmatched\",status=\"401\"} 1",
        "rds_requests_total{route=\"Admin\",status=\"200\"} 1",
        "rds_request_seconds_count{route=\"VaultList\"} 2",
        "rds_assertions_refused_total 1",
        "rds_ingest_batches_total 1",
        "rds_catalog_version 1",
        "rds_catalog_rows 12",
        "rds_draining 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}
