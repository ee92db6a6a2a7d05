//! Answers about assets that were read on a chain: their evidence, their place beside the answers of reviewers, and what a replaced block
//! and time make of them.

use crate::ingest::market::{clock, faults, ingest, observed, registry, start, text};
use crate::scoring::answers::{answers, unreviewed};
use crate::support::db::TestDb;
use crate::support::testapp::{TestApp, TestOptions};
use rds_engine::attestation::ReviewerSecret;
use rds_shared::rules::attestation::AnswersStatement;
use rds_shared::wire::Timestamp;
use rds_store::registry::catalog::evidence_counts;
use serde_json::{Value, json};

const TOKEN: &str = "0x00000000000000000000000000000000000000c3";
const PATH: &str = "/v1/assets/31337/0x00000000000000000000000000000000000000c3";

/// What was read about `usdz` at `hours` after the start, in block number `hours`.
fn read(hours: i64, question: &str, answer: &str) -> Value {
    let as_of = start().plus_seconds(hours * 3_600);
    observed(
        "asset_answer",
        hours,
        json!({"asset_id": "usdz", "dimension": "governance_controls", "question": question, "answer": answer, "as_of": as_of,
               "source_title": format!("Contract {TOKEN} on chain 31337, block {hours}"), "source_url": format!("eip155:31337:{TOKEN}"),
               "source_kind": "chain", "note": "the weakest way", "evidence": evidence(hours)}),
    )
}

fn evidence(block: i64) -> Value {
    let call =
        json!({"method": "eth_call", "contract": TOKEN, "data": "0x8da5cb5b", "answer": format!("0x{:064x}", 7)});
    json!({"chain_id": 31337, "block_number": block, "block_hash": format!("0x{block:064x}"), "calls": [call], "agreed": 2, "asked": 3})
}

/// A registry with `usdz`, and everything that reviewers answered about it.
async fn world() -> TestDb {
    let test = TestDb::new().await;
    let mut lines = registry();
    lines.push(unreviewed("usdz", "c3"));
    lines.extend(answers("usdz"));
    ingest(&test, &clock(0), &lines).await;
    test
}

/// Answer, block, and whether it is withdrawn, of what was read about a question, oldest first.
async fn stored(test: &TestDb, question: &str) -> Vec<(String, i64, bool)> {
    let sql = "SELECT answer, (evidence->>'block_number')::bigint, withdrawn FROM asset_answer \
               WHERE question = $1 AND evidence IS NOT NULL ORDER BY as_of";
    sqlx::query_as(sql).bind(question).fetch_all(&test.db.pool).await.unwrap()
}

#[tokio::test]
async fn evidence_must_be_repeatable_and_the_source_one_of_its_contracts() {
    let test = world().await;
    let with = |changes: Value| {
        let mut line = read(1, "delay", "none");
        line.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        line
    };
    let other = |name: &str, value: Value| {
        let mut evidence = evidence(1);
        evidence[name] = value;
        json!({ "evidence": evidence })
    };
    for (changes, field) in [
        (json!({"source_kind": "document"}), "source_kind"),
        (json!({"source_url": "https://issuer.example/terms"}), "source_url"),
        (json!({"source_url": format!("eip155:1:{TOKEN}")}), "source_url"),
        (json!({ "evidence": null }), "source_url"),
        (other("agreed", json!(4)), "evidence.agreed"),
        (other("block_hash", json!("0x01")), "evidence.block_hash"),
    ] {
        let line = with(changes);
        let found = faults(&test, &clock(1), &text(std::slice::from_ref(&line))).await;
        let named: Vec<_> = found.iter().map(|fault| fault.field.as_deref()).collect();
        assert_eq!(named, [Some(field)], "{line}: {found:?}");
    }
    let no_calls = faults(&test, &clock(1), &text(&[with(other("calls", json!([])))])).await;
    assert_eq!(no_calls[0].field.as_deref(), Some("evidence.calls"));
    assert_eq!(stored(&test, "delay").await, []);
}

#[tokio::test]
async fn an_answer_that_was_read_is_served_with_its_calls_and_is_nobodys_to_sign() {
    let test = world().await;
    let secret = ReviewerSecret::from_seed([9; 32]);
    let key = json!({"key_id": "k1", "public_key": secret.public_key(), "valid_from": "2026-01-01T00:00:00Z"});
    ingest(&test, &clock(0), &[observed("reviewer", 0, json!({"id": "second", "name": "Second", "keys": [key]}))])
        .await;
    let app = TestApp::over(test, TestOptions::default()).await;
    let shown = app.json(PATH).await["data"]["answers"].clone();
    let given = shown["answers"].as_array().unwrap();
    assert!(given.iter().all(|one| one.get("evidence").is_none()), "answers of reviewers are as before");
    let hash = shown["answers_hash"].as_str().unwrap().to_owned();
    let signed_at = Timestamp::parse("2026-06-01T01:00:00Z").unwrap();
    let statement = AnswersStatement { asset: "usdz", answers_hash: &hash, reviewer_id: "second", signed_at };
    let signature = secret.sign(&statement.message());
    let signed = json!({"asset_id": "usdz", "reviewer_id": "second", "key_id": "k1", "answers_hash": hash, "signed_at": signed_at,
                        "signature": signature});
    let four = [("upgrade", "eoa"), ("delay", "none"), ("holders", "one"), ("holder_power", "rewrite")];
    let lines: Vec<Value> = four.iter().map(|(question, answer)| read(2, question, answer)).collect();
    ingest(&app.facts, &clock(2), &[lines, vec![observed("answer_attestation", 1, signed)]].concat()).await;
    rds_origin::catalog::refresh::refresh(&app.app).await.unwrap();

    let detail = app.json(PATH).await["data"].clone();
    assert_eq!(detail["review_status"], "reviewed", "an answer that was read ends no signature");
    let shown = &detail["answers"];
    assert_eq!((&shown["answers_hash"], &shown["attested_by"]), (&json!(hash), &json!(["second"])));
    let delay = shown["answers"].as_array().unwrap().iter().find(|one| one["question"] == "delay").unwrap();
    assert_eq!(
        (&delay["answer"], &delay["counts"], &delay["source_kind"]),
        (&json!("none"), &json!(true), &json!("chain"))
    );
    assert_eq!(delay["given_by"], "fixture");
    assert_eq!(delay["source_url"], format!("eip155:31337:{TOKEN}"));
    assert_eq!(delay["evidence"], evidence(2));
    ingest(&app.facts, &clock(30), &[read(30, "delay", "none")]).await;
    let counts = evidence_counts(&app.facts.db.pool).await.unwrap();
    assert_eq!(counts.asset_answers, 18, "an answer that is read again counts once");
    rds_origin::catalog::refresh::refresh(&app.app).await.unwrap();
    let again = app.json(PATH).await["data"]["answers"]["answers"].clone();
    let again: Vec<&Value> = again.as_array().unwrap().iter().filter(|one| one["question"] == "delay").collect();
    assert_eq!((again.len(), &again[0]["counts"]), (1, &json!(true)), "the newest reading shows as much as all");
    assert_eq!(again[0]["evidence"]["block_number"], json!(30));
}

#[tokio::test]
async fn an_asset_without_answers_of_reviewers_keeps_the_status_of_its_review() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &registry()).await;
    let status = async || -> Vec<(String, String)> {
        let sql = "SELECT asset_id, review_status FROM asset_score ORDER BY asset_id";
        sqlx::query_as(sql).fetch_all(&test.db.pool).await.unwrap()
    };
    let before = status().await;
    let mut about = read(2, "delay", "none");
    about["asset_id"] = json!("usdy");
    ingest(&test, &clock(2), &[about]).await;
    assert_eq!(status().await, before);
}

#[tokio::test]
async fn a_replaced_block_withdraws_what_was_read_from_it_on() {
    let test = world().await;
    let lines = [read(2, "delay", "none"), read(4, "delay", "none"), read(4, "holders", "one")];
    ingest(&test, &clock(4), &lines).await;
    let hash = format!("0x{:064x}", 3);
    let retraction = [
        observed(
            "chain_retraction",
            5,
            json!({"chain_id": 31337, "from_block": 3, "block_hash": hash, "reason": "a fork"}),
        ),
        observed(
            "chain_sync",
            5,
            json!({"chain_id": 31337, "block_number": 2, "block_hash": hash, "halted": "a fork"}),
        ),
    ];
    let report = ingest(&test, &clock(5), &retraction).await;
    assert_eq!(report.changed["asset_answer"], 2);
    assert_eq!(stored(&test, "delay").await, [("none".to_owned(), 2, false), ("none".to_owned(), 4, true)]);
    assert_eq!(stored(&test, "holders").await, [("one".to_owned(), 4, true)]);
    let given: i64 = sqlx::query_scalar("SELECT count(*) FROM asset_answer WHERE evidence IS NULL AND NOT withdrawn")
        .fetch_one(&test.db.pool)
        .await
        .unwrap();
    assert_eq!(given, 14, "answers of reviewers stay");

    // The same retraction takes back nothing that is read later.
    ingest(&test, &clock(7), &[read(7, "delay", "lt_1d")]).await;
    assert!(ingest(&test, &clock(7), &retraction).await.changed.is_empty());
    assert_eq!(stored(&test, "delay").await.last(), Some(&("lt_1d".to_owned(), 7, false)));
}

#[tokio::test]
async fn of_an_answer_that_is_read_every_day_one_a_month_stays() {
    let test = world().await;
    for day in 0..75 {
        ingest(&test, &clock(day * 24), &[read(day * 24, "delay", "none")]).await;
    }
    let days: Vec<i64> = stored(&test, "delay").await.iter().map(|(_, block, _)| block / 24).collect();
    assert_eq!(days, [0, 29, 58, 67, 68, 69, 70, 71, 72, 73, 74]);
    let given: i64 = sqlx::query_scalar("SELECT count(*) FROM asset_answer WHERE evidence IS NULL")
        .fetch_one(&test.db.pool)
        .await
        .unwrap();
    assert_eq!(given, 14);
}
