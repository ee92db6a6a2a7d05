//! What third parties need to verify decisions: the record under an id, and the registry of signers.

use crate::graph::decisions_world::{OTHER_SIGNER, SIGNER, World, activate};
use crate::support::testapp::{TestApp, signed};
use axum::http::StatusCode;
use rds_origin::decisions::signer_registry;
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_decision_id_gives_anyone_the_full_record() {
    let world = World::new().await;
    let issued = world.issued("book").await;
    let id = text(&issued["decisionId"]);
    let reply = world.test.get(&format!("/v1/graph/decision/{}", id.to_uppercase())).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let expected = json!({ "decisionId": id, "signature": issued["signature"], "envelope": issued["envelope"] });
    assert_eq!(reply.json(), json!({ "data": expected }));
    let mut again = signed("GET", &format!("/v1/graph/decision/{id}"), "");
    again.headers_mut().insert("if-none-match", reply.header("etag").unwrap().parse().unwrap());
    assert_eq!(world.test.ask(again).await.status, StatusCode::NOT_MODIFIED);

    let unknown = world.test.get(&format!("/v1/graph/decision/{}", "0".repeat(64))).await;
    assert_eq!((unknown.status, unknown.header("cache-control")), (StatusCode::NOT_FOUND, Some("no-store")));
    let bad = world.test.get("/v1/graph/decision/12").await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);
    assert_eq!(bad.json()["error"]["details"][0]["name"], "id");
}

#[tokio::test]
async fn the_registry_is_public_with_everybody_who_ever_signed() {
    let world = World::new().await;
    let first = world.test.get("/v1/graph/signers").await;
    let row = |address: &str, key: &str, retired: Value| json!({ "address": address, "keyId": key, "activatedAt": "1970-01-01T00:00:00.000Z", "retiredAt": retired });
    assert_eq!(first.json(), json!({ "data": [row(SIGNER, "first", Value::Null)] }));

    activate(&world.test, "second", OTHER_SIGNER).await;
    let at = Timestamp::parse("2026-11-20T00:00:00Z").unwrap();
    signer_registry::retire(&world.test.app.db, "first", signer_registry::Retirement::At(at)).await.unwrap();
    let second = world.test.get("/v1/graph/signers").await;
    let retired = row(SIGNER, "first", json!("2026-11-20T00:00:00.000Z"));
    assert_eq!(second.json(), json!({ "data": [retired, row(OTHER_SIGNER, "second", Value::Null)] }));
    assert_ne!(first.header("etag"), second.header("etag"));
}

#[tokio::test]
async fn without_the_graph_neither_route_exists() {
    let test = TestApp::new().await;
    for path in ["/v1/graph/signers".to_owned(), format!("/v1/graph/decision/{}", "0".repeat(64))] {
        assert_eq!(test.get(&path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
}
