//! Headers about parameters without effect, and `limit` on lists that are otherwise returned whole.

use crate::support::testapp::{PEER, TestApp};
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use rds_origin::listener::Listener;
use serde_json::Value;

const IGNORED: &str = "x-service-ignored-parameters";
const UNKNOWN: &str = "x-service-unknown-values";

#[tokio::test]
async fn unknown_names_in_filters_are_reported_in_a_header_also_from_the_response_cache() {
    let test = TestApp::with_market().await;
    for (target, told) in [
        ("/v1/vaults?chain=mars,base", Some("chain=mars")),
        ("/v1/vaults?chain=8453&protocol=Harbor", None),
        ("/v1/vaults?protocol=harbour&curator=nobody%20else", Some("protocol=harbour, curator=nobody%20else")),
        ("/v1/markets?chain=mars&protocol=x", Some("protocol=x, chain=mars")),
        ("/v1/events?chainId=mars&protocolId=x&curatorId=y", Some("protocolId=x, curatorId=y, chainId=mars")),
        ("/v1/security-events?chainId=mars,0,unmapped,ethereum", Some("chainId=mars")),
        ("/v1/oracle?chain=mars", Some("chain=mars")),
        ("/v1/assets/enriched?chain=mars", Some("chain=mars")),
    ] {
        for time in 1..=3 {
            let reply = test.get(target).await;
            assert_eq!((reply.status, reply.header(UNKNOWN)), (StatusCode::OK, told), "{target}, time {time}");
        }
    }
    // Neither list has a row. Only the header differs, and the ETag covers it.
    let etag = |reply: &crate::support::testapp::Reply| reply.header("etag").map(str::to_owned);
    let (one, other) = (test.get("/v1/vaults?chain=mars").await, test.get("/v1/vaults?chain=devnet").await);
    assert_eq!((one.header(UNKNOWN), other.header(UNKNOWN)), (Some("chain=mars"), None));
    assert_ne!(etag(&one), etag(&other));
}

#[tokio::test]
async fn the_relay_reports_ignored_parameters_and_strict_rejects_them() {
    let test = TestApp::new().await;
    let get = async |target: &str| {
        let request = Request::builder().uri(target).body(Body::empty()).unwrap();
        test.from(PEER, Listener::Relay, request).await
    };
    let told = get("/v1/health?foo=1&bar=2").await;
    assert_eq!((told.status, told.header(IGNORED)), (StatusCode::OK, Some("foo, bar")));
    let refused = get("/v1/health?foo=1&strict=true").await;
    assert_eq!((refused.status, refused.code().as_str()), (StatusCode::BAD_REQUEST, "INVALID_PARAMETER"));
    assert_eq!(get("/v1/health?strict=true").await.status, StatusCode::OK);
}

#[tokio::test]
async fn limit_and_page_cut_lists_that_are_answered_whole_without_them() {
    let test = TestApp::with_market().await;
    for path in ["/v1/protocols", "/v1/chains", "/v1/assets"] {
        let rows = async |query: &str| -> Vec<Value> {
            test.json(&format!("{path}{query}")).await["data"].as_array().unwrap().clone()
        };
        let all = rows("").await;
        assert!(all.len() > 2, "{path}");
        assert_eq!(rows("?limit=2").await, all[..2], "{path}");
        assert_eq!(rows("?limit=2&page=2").await, all[2..all.len().min(4)], "{path}");
        assert_eq!(rows("?limit=100000").await, all, "{path}");
        assert!(rows("?limit=2&page=99").await.is_empty() && rows("?page=2").await.is_empty(), "{path}");
        assert_eq!(test.get(&format!("{path}?limit=0")).await.code(), "INVALID_PARAMETER", "{path}");
    }
}
