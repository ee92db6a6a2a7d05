//! An answer that the edge gave without the origin counts once in the status feed, although the edge reports totals, late and repeatedly.

use crate::service::status::component;
use crate::support::testapp::TestApp;
use axum::http::StatusCode;
use rds_shared::access::link::{AnsweredMinute, EDGE_ANSWERS, EdgeAnswers};

/// Reports an edge's answers in the minute that is `ago` minutes before this one.
async fn report_from_edge(test: &TestApp, source: i64, ago: i64, (good, refused, failed): (u64, u64, u64)) {
    let minute = test.app.clock.wall().as_seconds() / 60 - ago;
    let answers = EdgeAnswers { source, minutes: vec![AnsweredMinute { minute, good, refused, failed }] };
    assert_eq!(test.message(EDGE_ANSWERS, &answers).await.status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn answers_of_the_edge_itself_count_once_beside_those_of_the_origin() {
    let test = TestApp::with_market().await;
    let counted = async || {
        let signals = test.json("/v1/status").await["signals"].clone();
        (signals["requests_15m"].as_u64().unwrap(), signals["error_rate_15m"].as_f64().unwrap_or(0.0))
    };
    let (own, _) = counted().await;
    report_from_edge(&test, 7, 3, (150, 60, 0)).await;
    assert_eq!(counted().await, (own + 210, 0.0));
    for counts in [(150, 60, 174), (150, 60, 174), (150, 60, 0), (149, 60, 12)] {
        report_from_edge(&test, 7, 3, counts).await;
    }
    let (requests, rate) = counted().await;
    assert_eq!(requests, own + 384, "repeated and late reports only ever raise a minute's total");
    let page = test.admin("GET", "/metrics", "").await.text();
    for line in ["by=\"edge\",outcome=\"served\"} 210", "by=\"edge\",outcome=\"failed\"} 174"] {
        assert!(
            page.contains(&format!("rds_answers_total{{{line}\n")),
            "counted once for the availability objective: {line}"
        );
    }
    assert!((rate - 174.0 / requests as f64).abs() < 1e-9);
    let (status, detail) = component(&test, "errors").await;
    assert_eq!((status.as_str(), detail.unwrap().starts_with("174 of ")), ("degraded", true));
    report_from_edge(&test, 8, 1, (16, 0, 0)).await;
    assert_eq!(counted().await.0, own + 400, "another edge");
}

#[tokio::test]
async fn late_minutes_from_the_edge_count_in_their_own_minute_and_impossible_ones_are_ignored() {
    let test = TestApp::with_market().await;
    let requests = async || test.json("/v1/status").await["signals"]["requests_15m"].as_u64().unwrap();
    let own = requests().await;
    for ago in [20, 59, 61, 100_000, -5, -100_000] {
        report_from_edge(&test, 7, ago, (0, 0, 1_000)).await;
    }
    assert_eq!(requests().await, own, "none of these minutes is in the last quarter of an hour");
    report_from_edge(&test, 7, 10, (0, 0, 5)).await;
    assert_eq!(requests().await, own + 5);
    let full: Vec<_> = (0..5_000).map(|_| AnsweredMinute { minute: i64::MAX, ..AnsweredMinute::default() }).collect();
    let reply = test.message(EDGE_ANSWERS, &EdgeAnswers { source: i64::MIN, minutes: full[..500].to_vec() }).await;
    assert_eq!(reply.status, StatusCode::NO_CONTENT);
    let minute = test.app.clock.wall().as_seconds() / 60;
    let most = AnsweredMinute { minute, good: u64::MAX, refused: u64::MAX, failed: u64::MAX };
    let reply = test.message(EDGE_ANSWERS, &EdgeAnswers { source: 9, minutes: vec![most] }).await;
    assert_eq!(reply.status, StatusCode::NO_CONTENT);
    assert_eq!(test.get("/v1/status").await.status, StatusCode::OK);
}

#[tokio::test]
async fn no_caller_can_report_answers_of_the_edge() {
    let test = TestApp::new().await;
    let body = serde_json::to_string(&EdgeAnswers { source: 7, minutes: Vec::new() }).unwrap();
    assert_eq!(test.post(EDGE_ANSWERS, &body).await.status, StatusCode::NOT_FOUND);
}
