//! `/v1/methodology` and a vault's detail suffice for a third party to recompute the scores. The third party here is
//! written in another language and shares no code with the service.

use crate::ingest::real_data::imported;
use crate::ingest::sets::clock;
use crate::support::db::TestDb;
use crate::support::testapp::{NOW, TestApp, TestOptions, holder};
use axum::http::StatusCode;
use rds_engine::clock::Clock;
use rds_shared::access::Plan;
use rds_shared::wire::Timestamp;
use rds_simulate::{self as simulate, Options};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Recomputes in Node, from the published responses, the scores of the vaults that the query `ids` selects and of all assets.
async fn recomputed(test: &TestApp, ids: &str, run_at: Timestamp) -> Value {
    let mut lines = test.get("/v1/methodology").await.text();
    let ids: Vec<String> = sqlx::query_scalar(ids).fetch_all(&test.facts.db.pool).await.unwrap();
    assert!(!ids.is_empty());
    for id in ids {
        let detail = test.get(&format!("/v1/vaults/{id}?points=1")).await;
        assert_eq!(detail.status, StatusCode::OK, "{id}: {}", detail.text());
        lines = format!("{lines}\n{}", detail.text());
    }
    let assets: Vec<(i64, String)> = sqlx::query_as(
        "SELECT DISTINCT a.chain_id, coalesce(a.address, 'native') FROM asset a JOIN chain c USING (chain_id) WHERE c.is_served ORDER BY 1, 2",
    )
    .fetch_all(&test.facts.db.pool)
    .await
    .unwrap();
    for (chain, address) in assets {
        let detail = test.get_as(&holder(Plan::Data), &format!("/v1/assets/{chain}/{address}")).await;
        assert_eq!(detail.status, StatusCode::OK, "{chain} {address}: {}", detail.text());
        lines = format!("{lines}\n{}", detail.text());
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../e2e/recompute-published.mjs");
    let mut node = Command::new("node")
        .arg(script)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/scoring"))
        .arg(run_at.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Node 20 or newer, which the README asks for, is in the path");
    node.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let said = node.wait_with_output().unwrap();
    assert!(said.status.success());
    let found: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(found["assets"]["differences"], json!([]));
    // Golden vectors of an independent evaluator, for vaults and for assets. They cover more cases than the facts of this test.
    for kind in found["golden"].as_array().unwrap() {
        assert_eq!(kind["differences"], json!([]));
        assert!(kind["checked"].as_u64().unwrap() > 100);
    }
    assert_eq!(found["golden"].as_array().unwrap().len(), 2);
    found
}

#[tokio::test]
async fn a_third_party_recomputes_every_score_of_the_demo() {
    let facts = TestDb::new().await;
    let clock = Clock::held(Timestamp::parse(NOW).unwrap());
    simulate::run(&facts.db, &clock, Options { seed: 7, vaults: 60, hours: 12 }, None, &mut |_: &str| ())
        .await
        .unwrap();
    let test = TestApp::over(facts, TestOptions::default()).await;
    let found = recomputed(&test, "SELECT vault_id FROM vault_score ORDER BY 1", Timestamp::parse(NOW).unwrap()).await;
    assert_eq!(found["differences"], json!([]));
    assert!(found["scored"].as_u64().unwrap() >= 50 && found["unscored"].as_u64().unwrap() > 0, "{found}");
    assert!(found["assets"]["scored"].as_u64().unwrap() > 10, "{}", found["assets"]);
}

#[tokio::test]
async fn a_third_party_recomputes_every_score_of_the_real_vaults() {
    let Some((facts, _)) = imported().await else { return };
    let test = TestApp::over(facts, TestOptions::default()).await;
    let scored = "SELECT s.vault_id FROM vault_score s JOIN vault v ON v.id = s.vault_id WHERE s.score IS NOT NULL AND v.is_active ORDER BY 1";
    let found = recomputed(&test, scored, clock().now()).await;
    assert_eq!((&found["differences"], &found["scored"]), (&json!([]), &json!(3_312)));
}

#[tokio::test]
async fn the_document_is_served_before_there_are_facts_and_answers_304_to_its_own_etag() {
    let test = TestApp::new().await;
    let document = test.json("/v1/methodology").await;
    assert_eq!(document["data"]["methodology_version"], "rds-1.1.0");
    let first = test.get("/v1/methodology").await;
    let etag = first.header("etag").unwrap().to_owned();
    let mut again = crate::support::testapp::signed("GET", "/v1/methodology", "");
    again.headers_mut().insert("if-none-match", etag.parse().unwrap());
    assert_eq!(test.ask(again).await.status, StatusCode::NOT_MODIFIED);
    assert_eq!(test.get("/v1/methodology?anything=1").await.json(), document);
    assert_eq!(test.post("/v1/methodology", "{}").await.status, StatusCode::METHOD_NOT_ALLOWED);
}
