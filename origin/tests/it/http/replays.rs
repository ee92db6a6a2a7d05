//! Replays of a captured request: at another process, after a restart, and while the database is unavailable.

use crate::graph::decisions_world;
use crate::support::chaos::ChaosProxy;
use crate::support::db::TestDb;
use crate::support::receiver::authority_file;
use crate::support::testapp::{TestApp, TestOptions, holder, signed, signed_as};
use crate::webhooks::world::{MASTER_KEY, World};
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use rds_shared::access::Plan;
use rds_store::keys::spent_assertions;

const BODY: &str = r#"{"url":"https://127.0.0.1:4443/hook","families":["event.published"]}"#;

/// The request, and a copy for the attacker.
async fn captured(request: Request) -> (Request, Request) {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let copy = Request::from_parts(head.clone(), Body::from(body.clone()));
    (Request::from_parts(head, Body::from(body)), copy)
}

/// Another process with the same database, or the same one after a restart; it does not share memory with the first.
async fn another(test: &TestApp) -> TestApp {
    let env = vec![
        ("RDS_MASTER_KEY", MASTER_KEY),
        ("RDS_WEBHOOK_ALLOW", "127.0.0.0/8"),
        ("RDS_WEBHOOK_CA", authority_file()),
    ];
    TestApp::over(TestDb::guest(&test.facts).await, TestOptions { env, ..TestOptions::default() }).await
}

#[tokio::test]
async fn a_captured_write_is_refused_by_every_other_process() {
    let world = World::new().await;
    let other = another(&world.test).await;
    let key = world.key.to_json();
    let (create, copy) = captured(signed_as(&key, "POST", "/v1/webhooks", BODY)).await;
    let created = world.test.ask(create).await;
    assert_eq!(created.status, StatusCode::OK, "{}", created.text());
    let replayed = other.ask(copy).await;
    assert_eq!(
        (replayed.status, replayed.message().as_str()),
        (StatusCode::UNAUTHORIZED, "only the edge may call this listener")
    );
    assert_eq!(world.count("select count(*) from webhook_subscription").await, 1);

    let target = format!("/v1/webhooks/{}", created.json()["data"]["id"]);
    for (method, target) in [("POST", format!("{target}/enable")), ("DELETE", target)] {
        let (request, copy) = captured(signed_as(&key, method, &target, "")).await;
        let first = other.ask(request).await.status;
        assert_ne!(first, StatusCode::UNAUTHORIZED, "{method} {target}");
        assert_eq!(world.test.ask(copy).await.status, StatusCode::UNAUTHORIZED, "{method} {target}");
    }
}

#[tokio::test]
async fn a_captured_opening_of_a_stream_is_refused_by_every_other_process() {
    let world = World::new().await;
    let other = another(&world.test).await;
    // A HEAD request of the stream ends immediately.
    let request = || signed_as(&world.key.to_json(), "HEAD", "/v1/events/stream", "");
    let (open, copy) = captured(request()).await;
    assert_eq!(world.test.ask(open).await.status, StatusCode::OK);
    assert_eq!(other.ask(copy).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_captured_order_for_a_decision_is_refused_and_a_check_is_not() {
    let world = decisions_world::World::new().await;
    let other = world.another_process(decisions_world::signing_with(decisions_world::SECRET)).await;
    for (issue, expected) in [(true, StatusCode::UNAUTHORIZED), (false, StatusCode::OK)] {
        let body = decisions_world::portfolio("book", issue);
        let request = signed_as(&world.key.to_json(), "POST", "/v1/graph/check", &body.to_string());
        let (check, copy) = captured(request).await;
        let checked = world.test.ask(check).await;
        assert_eq!(checked.status, StatusCode::OK, "{}", checked.text());
        assert_eq!(other.test.ask(copy).await.status, expected, "issue: {issue}");
    }
}

/// Another process answers a replayed read, because the attacker has already seen that answer; see
/// `http/listeners/replays.rs`.
#[tokio::test]
async fn a_captured_read_is_refused_by_the_process_that_answered_it_and_needs_no_database() {
    let facts = TestDb::new().await;
    let wire = ChaosProxy::before(&facts.url).await;
    let test = TestApp::over(facts, TestOptions { database: Some(wire.url()), ..TestOptions::default() }).await;
    test.ingest(&crate::support::market::lines()).await;
    let other = another(&test).await;
    wire.cut();
    for (method, target, body) in [("GET", "/v1/vaults", ""), ("POST", "/v1/vaults/batch", r#"{"ids":[]}"#)] {
        let (read, copy) = captured(signed(method, target, body)).await;
        let (again, elsewhere) = captured(copy).await;
        let first = test.ask(read).await;
        assert!(first.status != StatusCode::UNAUTHORIZED && !first.status.is_server_error(), "{}", first.text());
        assert_eq!(test.ask(again).await.status, StatusCode::UNAUTHORIZED, "{target}");
        assert_eq!(other.ask(elsewhere).await.status, first.status, "{target}");
    }
}

#[tokio::test]
async fn a_write_whose_nonce_cannot_be_spent_is_not_done() {
    let facts = TestDb::new().await;
    let wire = ChaosProxy::before(&facts.url).await;
    let env = vec![("RDS_MASTER_KEY", MASTER_KEY)];
    let test = TestApp::over(facts, TestOptions { database: Some(wire.url()), env, ..TestOptions::default() }).await;
    wire.cut();
    let key = holder(Plan::Decisioning).to_json();
    let reply = test.ask(signed_as(&key, "POST", "/v1/webhooks", BODY)).await;
    assert_eq!((reply.status, reply.code().as_str()), (StatusCode::SERVICE_UNAVAILABLE, "SERVICE_UNAVAILABLE"));
    assert!(reply.header("retry-after").is_some());
}

#[tokio::test]
async fn spent_nonces_are_forgotten_when_no_clock_can_take_them_for_alive() {
    let test = TestApp::new().await;
    let db = &test.app.db;
    for (number, minutes) in [(1, 0), (2, 59), (3, 61), (4, 90)] {
        assert!(spent_assertions::spend(db, [number; 16]).await.unwrap());
        let sql = "update spent_assertion set spent_at = spent_at - make_interval(mins => $1) where nonce = $2";
        sqlx::query(sql).bind(minutes).bind([number; 16].as_slice()).execute(&db.pool).await.unwrap();
    }
    assert!(!spent_assertions::spend(db, [4; 16]).await.unwrap(), "as long as it is there");
    assert_eq!(spent_assertions::forget(db, 3_600.0, 1).await.unwrap(), 1);
    assert_eq!(spent_assertions::forget(db, 3_600.0, 10).await.unwrap(), 1);
    for (number, is_new) in [(1, false), (2, false), (3, true), (4, true)] {
        assert_eq!(spent_assertions::spend(db, [number; 16]).await.unwrap(), is_new, "{number}");
    }
}
