//! The component `chains` of the status feed: halted and late chains are named, and the others go on.

use crate::service::status::component;
use crate::support::market::{line, lines};
use crate::support::testapp::{TestApp, TestOptions};
use rds_shared::wire::Timestamp;
use rds_store::{At, chains};
use serde_json::{Value, json};

/// A service that is configured to read Ethereum every ten minutes. Nothing reads it in this test.
async fn reader() -> TestApp {
    let file = std::env::temp_dir().join(format!(
        "rds-chains-{}.json",
        rds_engine::entropy::random_bytes::<8>().map(|byte| format!("{byte:02x}")).concat()
    ));
    let providers = json!([{"url": "http://127.0.0.1:1/a-private-path", "operator": "Example Ltd"}]);
    let ethereum = json!({"chain_id": 1, "quorum": 1, "trust_one_operator": true, "providers": providers, "read": {"every_seconds": 600}});
    std::fs::write(&file, json!({"chains": [ethereum]}).to_string()).unwrap();
    let path: &'static str = file.to_str().unwrap().to_owned().leak();
    let test = TestApp::with(TestOptions { env: vec![("RDS_CHAIN_PROVIDERS", path)], ..TestOptions::default() }).await;
    std::fs::remove_file(&file).unwrap();
    test.ingest(&lines()).await;
    test
}

fn sync(chain: u64, at: &str, halted: Value) -> String {
    let hash = format!("0x{:064x}", 7);
    line("chain_sync", at, json!({"chain_id": chain, "block_number": 7, "block_hash": hash, "halted": halted}))
}

/// Status and detail of the component.
async fn seen(test: &TestApp) -> (String, String) {
    let (status, detail) = component(test, "chains").await;
    (status, detail.unwrap_or_default())
}

fn says(status: &str, detail: &str) -> (String, String) {
    (status.to_owned(), detail.to_owned())
}

#[tokio::test]
async fn a_service_that_reads_no_chain_says_so() {
    let test = TestApp::with_market().await;
    assert_eq!(seen(&test).await, says("operational", "no chain is read by this service itself"));
    assert_eq!(test.json("/v1/status").await["rollup"], "operational");
}

#[tokio::test]
async fn a_chain_that_is_read_late_degrades_and_is_named() {
    let test = reader().await;
    assert_eq!(seen(&test).await, says("degraded", "ethereum has not been read yet"));
    test.ingest(&sync(1, "2026-11-20T23:50:00Z", Value::Null)).await;
    assert_eq!(seen(&test).await, says("operational", ""));
    // It is read every ten minutes, and a block is final within an hour.
    test.app.clock.advance(3_600);
    assert_eq!(seen(&test).await.0, "operational");
    test.app.clock.advance(1);
    let late = "the newest block of ethereum that was read is 70 minutes old";
    assert_eq!(seen(&test).await, says("degraded", late));
    let feed = test.json("/v1/status").await;
    assert_eq!((&feed["status"], &feed["rollup"]), (&json!("operational"), &json!("degraded")));
    assert!(!feed.to_string().contains("private-path"), "{feed}");
}

#[tokio::test]
async fn a_chain_that_another_process_reads_is_late_after_a_day_and_an_hour() {
    let test = TestApp::with_market().await;
    test.ingest(&sync(8453, "2026-11-20T23:50:00Z", Value::Null)).await;
    test.app.clock.advance(25 * 3_600 - 600);
    assert_eq!(seen(&test).await, says("operational", ""));
    test.app.clock.advance(1);
    assert_eq!(seen(&test).await.0, "degraded");
}

#[tokio::test]
async fn a_halted_chain_is_down_and_resumes_while_the_others_go_on() {
    let test = reader().await;
    let reason = "block 5 was 0xaa when it was read, and is 0xbb now";
    test.ingest(&sync(1, "2026-11-20T23:50:00Z", json!(reason))).await;
    let halted = format!("ethereum is withheld and not read: {reason}");
    assert_eq!(seen(&test).await, says("down", &halted));
    let feed = test.json("/v1/status").await;
    assert_eq!((&feed["status"], &feed["rollup"]), (&json!("operational"), &json!("down")));
    test.ingest(&sync(8453, "2026-11-20T23:50:00Z", Value::Null)).await;
    assert_eq!(seen(&test).await, says("degraded", &halted));
    test.ingest(&sync(1, "2026-11-20T23:51:00Z", Value::Null)).await;
    assert_eq!(seen(&test).await, says("operational", ""));
}

#[tokio::test]
async fn a_chain_that_is_withheld_anyway_is_not_named() {
    let test = reader().await;
    let withheld = json!({"chain_id": 1, "slug": "ethereum", "name": "Ethereum", "namespace": "evm", "is_settlement": true, "is_served": false});
    test.ingest(&line("chain", "2026-11-20T23:40:00Z", withheld)).await;
    for halted in [Value::Null, json!("a fork")] {
        test.ingest(&sync(1, "2026-11-20T20:00:00Z", halted)).await;
        assert_eq!(seen(&test).await, says("operational", "no chain is read by this service itself"));
    }
}

#[tokio::test]
async fn an_operator_whose_answers_differ_is_named_to_every_process() {
    let test = reader().await;
    test.ingest(&sync(1, "2026-11-20T23:50:00Z", Value::Null)).await;
    let at = At(Timestamp::parse("2026-11-20T23:50:00Z").unwrap());
    chains::note_dissent(&test.app.db, 1, &["Example Ltd".to_owned()], at).await.unwrap();
    let text = "of ethereum, some answers of Example Ltd differ from those of the other operators";
    assert_eq!(seen(&test).await, says("operational", text));
    // Once its answers are like the others' again, it is not named any more.
    test.app.clock.advance(3_000);
    test.ingest(&sync(1, "2026-11-21T00:45:00Z", Value::Null)).await;
    test.app.clock.advance(601);
    assert_eq!(seen(&test).await, says("operational", ""));
}
