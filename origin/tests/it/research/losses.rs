//! The loss board: which cases it lists, what filters match, and that its sums are exact.

use crate::security::world::{SEEN, edit, report};
use crate::support::market::line;
use crate::support::testapp::TestApp;
use axum::http::StatusCode;
use rds_shared::model::security::RegistryState::*;
use serde_json::{Value, json};

fn case(key: &str, changed: Value) -> String {
    let mut fields = json!({
        "case_id": key, "source_id": key, "title": format!("Case {key}"), "loss_usd": 100, "loss_basis": "stated", "chain_ids": [1],
        "attacked_at": "2026-11-10T00:00:00Z",
    });
    fields.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
    line("loss_case", SEEN, fields)
}

async fn board(test: &TestApp, query: &str) -> Value {
    test.json(&format!("/v1/security-events/losses?limit=100&{query}")).await
}

async fn ids(test: &TestApp, query: &str) -> Vec<String> {
    let board = board(test, query).await;
    board["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// A printed dollar amount in cents.
fn cents(amount: &Value) -> i64 {
    (amount.as_f64().unwrap() * 100.0).round() as i64
}

/// Cases of every kind: with a severity of their own in every loss band, with the severity of a registry row, and without a severity.
async fn with_cases() -> TestApp {
    let test = TestApp::with_market().await;
    let registry = |key: &str| json!({ "security_source": "fixture", "security_source_id": key });
    let with = |mut fields: Value, more: Value| {
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fields
    };
    let lines = [
        case("tiny", json!({ "loss_usd": 0.07, "severity": "low", "attacked_at": "2026-11-01T00:00:00Z" })),
        case("small", json!({ "loss_usd": 999_999.99, "severity": "Low", "attacked_at": "2026-11-02T00:00:00Z" })),
        case(
            "middle",
            json!({ "loss_usd": 1_000_000.1, "severity": "medium", "chain_ids": [8453, 1], "protocol_id": "harbor" }),
        ),
        case("large", json!({ "loss_usd": 10_000_000.2, "severity": "HIGH", "returned_usd": 400.5 })),
        case(
            "huge",
            json!({ "loss_usd": 50_000_000.3, "severity": "critical", "tx_hashes": ["0xaa"], "technique": "Keys \"lost\" 100%" }),
        ),
        case("borrows", with(json!({ "loss_usd": 20 }), registry("borrows")))
            + &report("borrows", json!({ "severity": "Warning" })),
        case("hidden", with(json!({ "loss_usd": 30 }), registry("hidden")))
            + &report("hidden", json!({ "severity": "Critical", "attackers": ["0xee"] })),
        case("hearsay", json!({ "loss_usd": 40, "chain_ids": [], "protocol_name": "Nightjar" })),
        case("doubtful", json!({ "loss_usd": null, "loss_basis": "doubtful", "loss_text": "900M" })),
        case("zero", json!({ "loss_usd": 0 })),
        case("gone", json!({ "is_active": false })),
        case("twice", json!({ "contamination": { "reason": "of its parent", "verified_by": "desk" } })),
        case("maybe", json!({ "loss_usd": 50, "contamination": { "reason": "of its parent", "verified_by": null } })),
    ];
    test.ingest(&lines.concat()).await;
    edit(&test, "hidden", Retracted).await;
    test
}

const LISTED: usize = 9;

#[tokio::test]
async fn the_board_lists_certain_losses_and_its_sums_equal_its_rows() {
    let test = with_cases().await;
    let all = board(&test, "").await;
    let rows = all["data"].as_array().unwrap();
    assert_eq!(rows.len(), LISTED);
    let sum: i64 = rows.iter().map(|row| cents(&row["lossAmountUsd"])).sum();
    let meta = &all["meta"];
    assert_eq!((cents(&meta["totalLossUsd"]), cents(&meta["coverageTotalLossUsd"])), (sum, sum));
    assert_eq!(meta["totalLossUsd"].to_string(), "62000140.66");
    assert_eq!(
        (&meta["total"], &meta["coverageTotal"], &meta["hasMore"]),
        (&json!(LISTED), &json!(LISTED), &json!(false))
    );
    assert_eq!(
        (
            &meta["coverageSource"],
            &meta["coverageRefreshedAt"],
            &meta["transactionCoveredIncidents"],
            &meta["evidenceCoveredIncidents"]
        ),
        (&json!("fixture"), &json!("2026-11-20T22:00:00.000Z"), &json!(1), &json!(2))
    );
    let small = board(&test, "severity=low").await;
    assert_eq!((cents(&small["meta"]["totalLossUsd"]), &small["meta"]["coverageTotal"]), (100_012_006, &json!(LISTED)));
}

#[tokio::test]
async fn a_row_shows_the_case_with_its_dossier_and_nothing_of_an_unpublished_registry_row() {
    let test = with_cases().await;
    let row = async |key: &str| board(&test, &format!("search=case%20{key}")).await["data"][0].clone();
    let middle = row("middle").await;
    assert_eq!(
        (&middle["chainId"], &middle["chainSlug"], &middle["chains"][1]["chainSlug"], &middle["protocol"]["name"]),
        (&json!(8453), &json!("base"), &json!("ethereum"), &json!("Harbor Lending"))
    );
    assert_eq!(
        (&middle["affectsTrackedUniverse"], &row("large").await["returnedFundsUsd"]),
        (&json!(true), &json!(400.5))
    );
    let hearsay = row("hearsay").await;
    assert_eq!(
        (&hearsay["chainId"], &hearsay["chainSlug"], &hearsay["severity"]),
        (&json!(0), &json!("unmapped"), &json!("low"))
    );
    assert_eq!(hearsay["protocol"], json!({ "id": null, "name": "Nightjar", "logoUrl": null, "websiteUrl": null }));
    assert_eq!(row("large").await["severity"], "HIGH", "the casebook's label is shown as written");

    let borrows = row("borrows").await;
    assert_eq!(
        (&borrows["severity"], &borrows["incidentDossier"]["coverage"]["hasRegistryRow"]),
        (&json!("Warning"), &json!(true))
    );
    assert_eq!(borrows["incidentDossier"]["evidence"]["victims"].as_array().unwrap().len(), 1);
    let hidden = row("hidden").await;
    assert_eq!((&hidden["severity"], &hidden["securityEventId"]), (&json!("low"), &Value::Null));
    assert_eq!(hidden["incidentDossier"]["evidence"]["attackers"], json!([]));
}

#[tokio::test]
async fn both_routes_answer_the_same_bytes() {
    let test = with_cases().await;
    for query in [
        "",
        "sort=loss",
        "severity=low&limit=1",
        "severity=none",
        "page=20000",
        "minLossUsd=1000",
        "search=case&chainId=1",
    ] {
        let one = test.get(&format!("/v1/security-events/losses?{query}")).await;
        let other = test.get(&format!("/v1/security-events?hasLoss=true&{query}")).await;
        assert_eq!((one.status, &one.body), (StatusCode::OK, &other.body), "{query}");
    }
}

#[tokio::test]
async fn filters_ignore_case_and_a_filter_without_matches_still_reports_the_coverage() {
    let test = with_cases().await;
    for (query, found) in [
        ("severity=low", vec!["hearsay", "hidden", "maybe", "small", "tiny"]),
        ("severity=LOW", vec!["hearsay", "hidden", "maybe", "small", "tiny"]),
        ("severity=info", vec![]),
        ("severity=high", vec!["large"]),
        ("severity=Critical", vec!["huge"]),
        ("severity=critical", vec!["huge"]),
        ("severity=Warning", vec!["borrows"]),
        ("chainId=base", vec!["middle"]),
        ("chainId=0", vec!["hearsay"]),
        ("chainId=unmapped", vec!["hearsay"]),
        ("minLossUsd=10000000.2&sort=loss", vec!["huge", "large"]),
        ("minLossUsd=10000000.21", vec!["huge"]),
        ("search=%22LOST%22%20100%25", vec!["huge"]),
        ("search=nightjar", vec!["hearsay"]),
        ("affectsTrackedUniverse=true", vec!["middle"]),
    ] {
        assert_eq!(ids(&test, query).await, found, "{query}");
    }
    let sorted = ids(&test, "sort=loss").await;
    assert_eq!((&sorted[0], &sorted[LISTED - 1]), (&"huge".to_owned(), &"tiny".to_owned()));
    assert_eq!(ids(&test, "sort=LOSS").await.last().unwrap(), "tiny", "an unknown sort means newest first");
    for query in [
        "minLossUsd=-1",
        "minLossUsd=many",
        "minLossUsd=",
        "minLossUsd=NaN",
        "affectsTrackedUniverse=false",
        "source=FIXTURE",
        "published_by=me",
    ] {
        assert_eq!(ids(&test, query).await.len(), LISTED, "{query}");
    }
    let long = |count: usize| "x".repeat(count);
    for query in [
        "severity=enormous",
        "affectsTrackedUniverse=maybe",
        "source=fixture,other",
        "source=other",
        &format!("source={}", long(65)),
        &format!("search={}", long(201)),
        "page=10001",
        "search=%00",
    ] {
        let empty = board(&test, query).await;
        assert_eq!((&empty["data"], &empty["meta"]["total"]), (&json!([]), &json!(0)), "{query}");
        assert_eq!(
            (&empty["meta"]["hasMore"], &empty["meta"]["totalLossUsd"]),
            (&json!(false), &json!(0.0)),
            "{query}"
        );
        assert_eq!(empty["meta"]["coverageTotal"], LISTED, "{query}");
    }
    assert_eq!(test.get("/v1/security-events/losses?limit=0").await.code(), "INVALID_PARAMETER");
    assert_eq!(test.get("/v1/security-events/losses?page=5").await.status, StatusCode::FORBIDDEN);
    let first = test.json("/v1/security-events/losses?limit=5&page=1").await;
    assert_eq!((&first["meta"]["hasMore"], &first["meta"]["limit"]), (&json!(true), &json!(5)));
}

#[tokio::test]
async fn pages_of_equal_times_neither_overlap_nor_skip() {
    let test = with_cases().await;
    for sort in ["", "sort=loss"] {
        let mut seen = Vec::new();
        for page in 1..=5 {
            let body = test.json(&format!("/v1/security-events/losses?limit=2&page={page}&{sort}")).await;
            seen.extend(body["data"].as_array().unwrap().iter().map(|row| row["id"].clone()));
            assert_eq!(body["meta"]["hasMore"], page < 5);
        }
        assert_eq!(seen.len(), LISTED);
        assert_eq!(
            seen,
            board(&test, sort).await["data"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row["id"].clone())
                .collect::<Vec<_>>()
        );
    }
}

#[tokio::test]
async fn a_case_of_a_withheld_chain_is_not_on_the_board() {
    let test = with_cases().await;
    let chain = json!({ "chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true, "is_served": false });
    test.ingest(&line("chain", SEEN, chain)).await;
    assert!(ids(&test, "chainId=base").await.is_empty());
    assert_eq!(board(&test, "").await["meta"]["coverageTotal"], LISTED - 1);
}

#[tokio::test]
async fn a_case_shows_nothing_of_a_registry_row_on_a_withheld_chain() {
    let test = TestApp::with_market().await;
    let on_base = json!({ "chain_id": 8453, "severity": "Critical", "attackers": ["0xee"], "victims": ["0xdd"], "protocol_id": "harbor" });
    let link = json!({ "chain_ids": [], "security_source": "fixture", "security_source_id": "one" });
    test.ingest(&(case("one", link) + &report("one", on_base))).await;
    let row = async || board(&test, "").await["data"][0].clone();
    let shown = row().await;
    assert!(shown["securityEventId"].is_number());
    assert_eq!((&shown["severity"], &shown["affectsTrackedUniverse"]), (&json!("Critical"), &json!(true)));
    let chain = json!({ "chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true, "is_served": false });
    test.ingest(&line("chain", SEEN, chain)).await;
    let kept = row().await;
    assert_eq!(
        (&kept["id"], &kept["securityEventId"], &kept["severity"]),
        (&json!("one"), &Value::Null, &json!("low")),
        "without a registry row the severity follows from the loss"
    );
    let evidence = &kept["incidentDossier"]["evidence"];
    assert_eq!(
        (&kept["affectsTrackedUniverse"], &evidence["attackers"], &evidence["victims"]),
        (&json!(false), &json!([]), &json!([]))
    );
}

#[tokio::test]
async fn a_faulty_case_is_named_by_line_and_field() {
    let test = TestApp::with_market().await;
    for (field, changed) in [
        ("case_id", json!({ "case_id": "Not A Slug" })),
        ("loss_usd", json!({ "loss_usd": 5, "loss_basis": "doubtful" })),
        ("loss_usd", json!({ "loss_usd": null })),
        ("loss_usd", json!({ "loss_usd": 1e13 })),
        ("chain_ids", json!({ "chain_ids": [1, 1] })),
        ("chain_ids", json!({ "chain_ids": [77] })),
        ("protocol_id", json!({ "protocol_id": "nobody" })),
        ("security_source_id", json!({ "security_source": "fixture" })),
        ("contamination.reason", json!({ "contamination": { "reason": "" } })),
    ] {
        let reply = test.admin("POST", "/ingest", &case("bad", changed)).await;
        assert_eq!(reply.json()["error"]["details"][0]["name"], format!("line 1, {field}"), "{}", reply.text());
    }
}
