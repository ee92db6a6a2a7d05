//! The response cache of one second. A cached response has the same bytes as the original, and is not served for other facts, other callers
//! or another fail-safe mode.

use crate::support::market::VAULTS;
use crate::support::testapp::{TestApp, holder, signed};
use crate::vaults::lists::with_header;
use axum::http::StatusCode;
use rds_origin::http::exchange::response_cache::{CacheKey, Page};
use rds_shared::access::Plan;
use rds_shared::model::health::FailSafeMode;
use serde_json::{Value, json};

const LIST: &str = "/v1/vaults?limit=5";

/// The cache key of the list, now.
fn question(test: &TestApp) -> CacheKey<'static> {
    let (generation, now) = (test.app.catalog.generation(), test.app.clock.now());
    CacheKey { target: LIST, class: "public", generation, now }
}

/// Requests the page until it is cached, and returns it.
async fn kept(test: &TestApp) -> String {
    for _ in 0..2 {
        test.json(LIST).await;
    }
    let page = test.server.pages.get(&question(test)).expect("it was asked for twice");
    String::from_utf8(page.body.bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn a_cached_page_is_served_for_one_second() {
    let test = TestApp::with_market().await;
    kept(&test).await;
    let other = Page {
        etag: "W/\"other\"".to_owned(),
        version: 1,
        unknown_values: None,
        body: b"{\"data\":[]}".as_slice().into(),
    };
    test.server.pages.offer(&question(&test), || Some(other));
    let given = test.get(LIST).await;
    assert_eq!((given.text(), given.header("etag")), ("{\"data\":[]}".to_owned(), Some("W/\"other\"")));
    test.app.clock.advance(1);
    assert_ne!(test.get(LIST).await.header("etag"), Some("W/\"other\""), "and for a second only");
}

#[tokio::test]
async fn a_page_that_is_kept_is_answered_as_one_that_is_made() {
    let test = TestApp::with_market().await;
    let made = test.get(LIST).await;
    let body = kept(&test).await;
    let again = test.get(LIST).await;
    assert_eq!((again.status, again.text()), (StatusCode::OK, body));
    assert_eq!(made.body, again.body);
    for name in ["content-type", "content-length", "etag", "x-data-version", "cdn-cache-control", "x-service-tags"] {
        assert_eq!(made.header(name), again.header(name), "{name}");
    }
    let etag = made.header("etag").unwrap();
    let held = test.ask(with_header(signed("GET", LIST, ""), "if-none-match", etag)).await;
    assert_eq!((held.status, held.body.len(), held.header("etag")), (StatusCode::NOT_MODIFIED, 0, Some(etag)));
    let head = test.ask(signed("HEAD", LIST, "")).await;
    assert_eq!((head.body.len(), head.header("content-length")), (0, made.header("content-length")));
}

#[tokio::test]
async fn other_facts_and_another_second_make_another_page() {
    let test = TestApp::with_market().await;
    let before = kept(&test).await;
    test.app.clock.advance(60);
    let later = test.get(LIST).await;
    assert_ne!(later.text(), before, "it is a minute older");
    kept(&test).await;
    test.ingest(&VAULTS[0].state("2026-11-21T00:00:30Z", json!({ "tvl_usd": 5_100_000 }))).await;
    let values: Vec<Value> =
        test.json(LIST).await["data"].as_array().unwrap().iter().map(|row| row["tvl_usd"].clone()).collect();
    assert!(values.contains(&json!(5_100_000.0)), "{values:?}");
}

#[tokio::test]
async fn a_page_that_is_kept_is_not_given_while_scores_are_closed_nor_to_whom_it_is_not_open() {
    let test = TestApp::with_market().await;
    let assets = "/v1/assets/enriched?limit=3";
    for _ in 0..3 {
        assert_eq!(test.get_as(&holder(Plan::Data), assets).await.status, StatusCode::OK);
    }
    let (theirs, open) = (test.get_as(&holder(Plan::Data), assets).await, test.get(assets).await);
    assert_ne!(theirs.header("etag"), open.header("etag"));
    kept(&test).await;
    crate::service::fail_safe::set_mode(&test, FailSafeMode::FailClosed).await;
    assert_eq!(test.get(LIST).await.status, StatusCode::SERVICE_UNAVAILABLE);
}
