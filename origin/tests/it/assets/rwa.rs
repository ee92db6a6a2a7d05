//! Real-world assets: identities need a signed review, totals never count a missing value as zero, and sources have a state.

use crate::assets::routes::{data_holder, keyed};
use crate::support::db::TestDb;
use crate::support::market::line;
use crate::support::testapp::{NOW, TestApp, TestOptions, signed_as};
use axum::http::StatusCode;
use rds_engine::clock::Clock;
use rds_origin::catalog::refresh;
use rds_shared::access::Principal;
use rds_shared::wire::Timestamp;
use rds_simulate::{self as simulate, Options};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A service with a simulated market of 30 hours, which ends at the tests' present time.
pub async fn demo() -> TestApp {
    let facts = TestDb::new().await;
    let clock = Clock::held(Timestamp::parse(NOW).unwrap());
    simulate::run(&facts.db, &clock, Options { seed: 1, vaults: 3, hours: 30 }, None, &mut |_: &str| ()).await.unwrap();
    TestApp::over(facts, TestOptions::default()).await
}

fn words<'a>(rows: &'a [Value], field: &str) -> BTreeSet<&'a str> {
    rows.iter().filter_map(|row| row[field].as_str()).collect()
}

async fn rows(test: &TestApp) -> Vec<Value> {
    test.json("/v1/rwa?limit=100").await["data"].as_array().unwrap().clone()
}

fn row<'a>(rows: &'a [Value], slug: &str) -> &'a Value {
    rows.iter().find(|row| row["slug"] == slug).unwrap()
}

#[tokio::test]
async fn included_rows_add_up_to_the_total_and_the_others_say_why_they_are_excluded() {
    let test = demo().await;
    let rows = rows(&test).await;
    let (mut sum, mut included) = (0.0, 0);
    for row in &rows {
        let aum = &row["canonical_aum"];
        let is_in = aum["included"].as_bool().unwrap();
        assert_eq!((aum["value_usd"].is_null(), aum["exclusion_reason"].is_null()), (!is_in, is_in), "{row}");
        assert_ne!(aum["value_usd"], json!(0));
        sum += aum["value_usd"].as_f64().unwrap_or(0.0);
        included += u64::from(is_in);
        let verified = row["identity_status"] == "verified";
        assert_eq!(row["product_id"].is_string(), verified, "a product requires a signed review: {row}");
    }
    let history = keyed(&test, "/v1/rwa/stats/history").await.json();
    let last = history["data"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["snapshot_date"], &last["included_products"]), (&json!("2026-11-21"), &json!(included)));
    assert!((last["value_usd"].as_f64().unwrap() - sum).abs() < 0.01);
    let reasons: BTreeSet<&str> =
        rows.iter().filter_map(|row| row["canonical_aum"]["exclusion_reason"].as_str()).collect();
    let every = ["counted_once", "identity_disputed", "identity_unverified", "never_observed", "observation_expired"];
    assert_eq!(reasons, BTreeSet::from(every));
    let caveats: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| row["canonical_aum"]["caveats"].as_array().unwrap())
        .map(|caveat| caveat.as_str().unwrap())
        .collect();
    let every = ["carried_forward", "circulating_exceeds_total", "issued_value_stands_in", "sources_disagree"];
    assert_eq!(caveats, BTreeSet::from(every));
}

#[tokio::test]
async fn the_demo_shows_every_status_of_real_world_assets() {
    let test = demo().await;
    let rows = rows(&test).await;
    assert_eq!(words(&rows, "score_status"), BTreeSet::from(["derived", "scored", "unscored"]));
    assert_eq!(words(&rows, "identity_status"), BTreeSet::from(["candidate", "disputed", "unmapped", "verified"]));
    assert_eq!(words(&rows, "review_status"), BTreeSet::from(["provisional", "reviewed", "unreviewed"]));
    let gates: BTreeSet<&str> = rows.iter().filter_map(|row| row["institutional"]["kyc_gate"].as_str()).collect();
    assert_eq!(gates.len(), 6, "{gates:?}");
    let coverage = &test.json("/v1/rwa/coverage").await["data"];
    let states = words(coverage["sources"].as_array().unwrap(), "state");
    assert_eq!(states, BTreeSet::from(["active", "disabled", "failing", "registered", "stale", "unseen"]));
    let findings = coverage["findings"].as_array().unwrap();
    assert_eq!(words(findings, "severity"), BTreeSet::from(["P0", "P1", "P2"]));
    assert!(findings.is_sorted_by_key(|finding| finding["severity"].as_str().unwrap().to_owned()));
    let queue = words(coverage["discovery"]["candidates"].as_array().unwrap(), "symbol");
    assert_eq!(
        queue,
        BTreeSet::from(["BRCH", "MLDW", "THSL"]),
        "neither decided candidates nor those of a disabled source"
    );
    assert_eq!(coverage["market_catalog"]["matched"]["present"], 2);
    assert_eq!(row(&rows, "dtb")["canonical_aum"]["source_id"], "ledgerlight");
}

#[tokio::test]
async fn a_derived_score_appears_only_in_the_list() {
    let test = demo().await;
    let rows = rows(&test).await;
    let derived = row(&rows, "nimbus");
    assert_eq!(
        (&derived["risk_score"], &derived["risk_tier"], &derived["dimensions_only"], &derived["score_status"]),
        (&json!(6.4), &Value::Null, &json!(true), &json!("derived"))
    );
    let target = format!("/v1/rwa/{}", derived["asset_id"].as_str().unwrap());
    for detail in [test.json(&target).await, keyed(&test, &target).await.json()] {
        assert_eq!((&detail["data"]["risk_score"], &detail["data"]["risk_tier"]), (&Value::Null, &Value::Null));
        assert_eq!(detail["data"]["risk_score_breakdown"], Value::Null);
    }
    assert!(rows.iter().all(|row| (row["score_status"] == "derived") == row["dimensions_only"].as_bool().unwrap()));
    let scores: Vec<f64> = rows.iter().map(|row| row["risk_score"].as_f64().unwrap_or(-1.0)).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "best first, unscored last: {scores:?}");
}

#[tokio::test]
async fn a_real_world_asset_has_the_same_restricted_fields_as_any_other() {
    let test = demo().await;
    let listed = rows(&test).await;
    let treasury = row(&listed, "dtb");
    assert_eq!(treasury["restricted_fields"], json!(["dimensions"]));
    let target = format!("/v1/rwa/{}", treasury["asset_id"].as_str().unwrap());
    let told = &keyed(&test, &target).await.json()["data"];
    let open = &test.json(&target).await["data"];
    assert_eq!(open["restricted_fields"].as_array().unwrap().len(), 3);
    assert_eq!((&open["attestation_history"], &open["risk_score_breakdown"]), (&json!([]), &Value::Null));
    let attestations = told["attestation_history"].as_array().unwrap();
    assert_eq!(attestations.len(), 2, "one per review");
    assert!(attestations.iter().all(|it| it["product_id"] == "devnet-treasury-fund" && it["signature_valid"] == true));
    assert_eq!(told["discovery"]["source_slug"], "almanac");
    assert_eq!((&told["product_id"], &told["canonical_aum"]), (&open["product_id"], &open["canonical_aum"]));
    for id in ["0", "999999", "dtb", "-1"] {
        assert_eq!(test.get(&format!("/v1/rwa/{id}")).await.code(), "NOT_FOUND", "{id}");
    }
    let all = test.json("/v1/assets/enriched?category=native").await;
    let native = all["data"][0]["asset_id"].as_str().unwrap();
    assert_eq!(test.get(&format!("/v1/rwa/{native}")).await.code(), "NOT_FOUND", "not a real-world asset");
    assert_eq!(test.get("/v1/rwa?category=native").await.code(), "INVALID_PARAMETER");
}

#[tokio::test]
async fn a_market_catalog_is_as_fresh_as_its_newest_candidate() {
    let test = TestApp::with_market().await;
    let source = json!({ "id": "bazaar", "name": "Bazaar", "source_type": "market_catalog", "priority": 90, "max_age_seconds": 3_600 });
    test.ingest(&line("rwa_source", "2026-11-20T20:00:00Z", source)).await;
    let state = async || {
        let sources = test.json("/v1/rwa/coverage").await["data"]["sources"].clone();
        (sources[0]["state"].clone(), sources[0]["publications"].clone(), sources[0]["published_at"].clone())
    };
    assert_eq!(state().await, (json!("unseen"), json!(0), Value::Null));
    let surfaced = |at: &str, number: u32| {
        let fields = json!({ "source_id": "bazaar", "chain_id": 1, "address": crate::support::market::address(number), "state": "discovered" });
        line("rwa_candidate", at, fields)
    };
    let lines =
        [surfaced("2026-11-20T22:00:00Z", 1), surfaced("2026-11-20T23:30:00Z", 2), surfaced("2026-11-20T23:30:00Z", 3)];
    test.ingest(&lines.concat()).await;
    assert_eq!(state().await, (json!("active"), json!(2), json!("2026-11-20T23:30:00.000000Z")));
    assert!(test.app.clock.advance(1_801));
    assert_eq!(state().await.0, "stale");
}

#[tokio::test]
async fn a_detail_of_which_only_the_age_changes_keeps_its_etag() {
    let test = demo().await;
    let target = format!("/v1/rwa/{}", row(&rows(&test).await, "dtb")["asset_id"].as_str().unwrap());
    let first = test.get(&target).await;
    assert!(first.json()["data"]["canonical_aum"]["age_hours"].is_number());
    assert!(test.app.clock.advance(60));
    let again = test.get(&target).await;
    assert_eq!(first.header("etag"), again.header("etag"));
    assert_ne!(first.json()["data"]["canonical_aum"], again.json()["data"]["canonical_aum"], "the shown age changes");
}

#[tokio::test]
async fn sources_go_stale_with_time_and_a_figure_is_carried_forward_only_so_long() {
    let test = demo().await;
    let state = |coverage: &Value, id: &str| {
        let sources = coverage["data"]["sources"].as_array().unwrap();
        sources.iter().find(|source| source["source_id"] == id).unwrap()["state"].clone()
    };
    assert_eq!(state(&test.json("/v1/rwa/coverage").await, "ledgerlight"), "active");
    assert!(test.app.clock.advance(9 * 86_400));
    let coverage = test.json("/v1/rwa/coverage").await;
    assert_eq!(state(&coverage, "ledgerlight"), "stale");
    let findings = words(coverage["data"]["findings"].as_array().unwrap(), "code");
    assert!(findings.contains("no_active_source") && findings.contains("source_stale"), "{findings:?}");

    rds_engine::scoring_run::run_all(&test.facts.db, &test.app.clock).await.unwrap();
    refresh::refresh(&test.app).await.unwrap();
    let days = keyed(&test, "/v1/rwa/stats/history?range=30d").await.json();
    let last = days["data"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["snapshot_date"], &last["value_usd"]), (&json!("2026-11-30"), &Value::Null), "missing, not zero");
    assert_eq!(last["included_products"], 0);
    assert!(last["caveats"].as_array().unwrap().is_empty() && last["chain_coverage"].is_null());
    assert!(rows(&test).await.iter().all(|row| row["canonical_aum"]["included"] == false));
}

#[tokio::test]
async fn a_mapping_with_a_broken_signature_gives_no_product() {
    let test = demo().await;
    sqlx::query("UPDATE attestation SET signature = repeat('0', 128) WHERE asset_id = 'dtb'")
        .execute(&test.facts.db.pool)
        .await
        .unwrap();
    test.ingest(&line("rwa_source", NOW, json!({ "id": "another", "name": "Another", "source_type": "aggregator", "priority": 50, "max_age_seconds": 60 }))).await;
    let rows = rows(&test).await;
    let treasury = row(&rows, "dtb");
    assert_eq!((&treasury["product_id"], &treasury["identity_status"]), (&Value::Null, &json!("candidate")));
    assert_eq!(treasury["canonical_aum"]["exclusion_reason"], "identity_unverified");
    assert_eq!(
        row(&rows, "dtb-vale")["canonical_aum"]["included"],
        false,
        "the other deployment has no figure of the fund"
    );
}

#[tokio::test]
async fn faulty_lines_of_sources_are_refused_by_line_and_field() {
    let test = demo().await;
    let stated = |field: &str, value: Value| {
        let mut fields = json!({ "source_id": "ledgerlight", "publication_id": "x", "asset_id": "dtb", "published_at": "2026-11-20T00:00:00Z",
            "effective_at": "2026-11-20T00:00:00Z" });
        fields[field] = value;
        line("rwa_observation", NOW, fields)
    };
    for (lines, field) in [
        (stated("source_id", json!("nobody")), "source_id"),
        (stated("asset_id", json!("nobody")), "asset_id"),
        (stated("asset_id", json!("deth")), "asset_id"),
        (stated("fund_aum_usd", json!(-1)), "fund_aum_usd"),
        (stated("effective_at", json!("2026-11-20T00:00:01Z")), "effective_at"),
        (stated("published_at", json!("2026-12-01T00:00:00Z")), "published_at"),
        (
            line(
                "rwa_source",
                NOW,
                json!({ "id": "s", "name": "S", "source_type": "aggregator", "priority": 1, "max_age_seconds": 0 }),
            ),
            "max_age_seconds",
        ),
        (
            line(
                "rwa_candidate",
                NOW,
                json!({ "source_id": "almanac", "chain_id": 5, "address": format!("0x{:040x}", 1), "state": "discovered" }),
            ),
            "chain_id",
        ),
        (
            line(
                "rwa_candidate",
                NOW,
                json!({ "source_id": "almanac", "chain_id": 31337, "address": "0x1", "state": "discovered" }),
            ),
            "address",
        ),
    ] {
        let reply = test.admin("POST", "/ingest", &lines).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{lines}");
        assert!(reply.text().contains(&format!("line 1, {field}\"")), "{field}: {}", reply.text());
    }
}

#[tokio::test]
async fn an_empty_history_is_served_and_responses_differ_by_caller() {
    let test = TestApp::new().await;
    let empty = keyed(&test, "/v1/rwa/stats/history").await.json();
    assert_eq!(empty, json!({ "data": [], "meta": { "range": "30d", "breakdown": "chain", "points": 0 } }));
    let coverage = &test.json("/v1/rwa/coverage").await["data"];
    assert_eq!((&coverage["snapshot_date"], &coverage["universe"]["deployments"]), (&Value::Null, &json!(0)));
    assert_eq!(test.json("/v1/rwa").await["meta"]["total"], 0);
    let first_party = Principal::FirstParty { origin: "https://app.example".into() };
    let open = test.ask(signed_as(&first_party.to_json(), "GET", "/v1/rwa", "")).await;
    let told = test.ask(signed_as(&data_holder().to_json(), "GET", "/v1/rwa", "")).await;
    assert_ne!(open.header("etag"), told.header("etag"));
}
