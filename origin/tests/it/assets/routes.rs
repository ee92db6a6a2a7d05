//! Enriched assets: the public fields, the fields that need a key, and signed reviews.

use crate::ingest::real_data::imported;
use crate::support::market::{DOLLAR, line, registries};
use crate::support::testapp::{Reply, TestApp, TestOptions, holder, signed_as};
use axum::http::StatusCode;
use rds_engine::attestation::ReviewerSecret;
use rds_shared::access::{Plan, Principal};
use rds_shared::rules::attestation::Statement;
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::asset::{Dimensions, ReviewStatus};
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};

const REVIEWED: &str = "2026-11-20T00:00:00Z";
const SIGNED: &str = "2026-11-20T06:00:00Z";

pub fn data_holder() -> Principal {
    holder(Plan::Data)
}

pub async fn keyed(test: &TestApp, target: &str) -> Reply {
    test.ask(signed_as(&data_holder().to_json(), "GET", target, "")).await
}

fn secret() -> ReviewerSecret {
    ReviewerSecret::from_seed([9; 32])
}

fn reviewer(keys: Value) -> String {
    line("reviewer", "2026-11-01T00:00:00Z", json!({ "id": "lamp", "name": "Lamp", "keys": keys }))
}

fn key() -> Value {
    json!([{ "key_id": "k1", "public_key": secret().public_key(), "valid_from": "2026-01-01T00:00:00Z" }])
}

/// The dimensions of the asset `dollar` in the review that [`registries`] contains. The signature must cover the same values.
fn dimensions() -> Dimensions {
    let at = |name: &str, milli: i64| (name.parse().unwrap(), MilliPoints::saturating(milli));
    [
        at("peg_stability", 9_500),
        at("issuer_custody", 9_000),
        at("redeemability", 9_500),
        at("reserve_transparency", 9_000),
        at("governance_controls", 9_000),
        at("protocol_security", 9_000),
        at("liquidity", 9_500),
    ]
    .into_iter()
    .collect()
}

fn attestation(signed_at: &str, product_id: Option<&str>) -> Value {
    let instant = |text: &str| Timestamp::parse(text).unwrap();
    let statement = Statement {
        asset: "dollar",
        chain_id: 1,
        address: Some(DOLLAR),
        recorded_at: instant(REVIEWED),
        review_status: ReviewStatus::Reviewed,
        dimensions: &dimensions(),
        product_id,
        reviewer_id: "lamp",
        signed_at: instant(signed_at),
    };
    json!({
        "asset_id": "dollar", "reviewed_at": REVIEWED, "reviewer_id": "lamp", "key_id": "k1", "product_id": product_id,
        "signed_at": signed_at, "signature": secret().sign(&statement.message()),
    })
}

async fn attested() -> TestApp {
    let test = TestApp::new().await;
    let signature = line("attestation", SIGNED, attestation(SIGNED, None));
    test.ingest(&[registries(), reviewer(key()), signature].concat()).await;
    test
}

fn detail() -> String {
    format!("/v1/assets/1/{DOLLAR}")
}

#[tokio::test]
async fn without_a_key_the_score_is_shown_and_the_evidence_is_not() {
    let test = attested().await;
    let open = &test.json(&detail()).await["data"];
    assert_eq!((&open["risk_score"], &open["risk_tier"]), (&json!(9.22), &json!("Prime")));
    assert_eq!(open["restricted_fields"], json!(["dimensions", "attestation_history", "risk_score_breakdown"]));
    assert_eq!((&open["risk_score_breakdown"], &open["attestation_history"]), (&Value::Null, &json!([])));
    let withheld = open["dimensions"].as_object().unwrap();
    assert!(withheld.len() == 16 && withheld.values().all(Value::is_null));

    let told = &keyed(&test, &detail()).await.json()["data"];
    assert_eq!(told["restricted_fields"], json!([]));
    assert_eq!((&told["dimensions"]["liquidity"], &told["dimensions"]["volatility"]), (&json!(9.5), &Value::Null));
    assert_eq!(told["risk_score_breakdown"]["score"], told["risk_score"]);
    assert_eq!(told["attestation_history"].as_array().unwrap().len(), 1);
    assert_eq!(told["version_history"][0]["risk_score"], told["risk_score"]);
    assert_eq!(told["discovery"]["source_slug"], "fixture");
    assert_eq!(told["recorded_at"], "2026-11-20T00:00:00.000000Z");
    assert_eq!((&told["freshness"]["age_hours"], &told["freshness"]["status"]), (&json!(24), &json!("fresh")));
}

#[tokio::test]
async fn a_tag_earned_with_a_key_confirms_nothing_without_one() {
    let test = attested().await;
    for target in [detail(), "/v1/assets/enriched".to_owned()] {
        let (open, told) = (test.get(&target).await, keyed(&test, &target).await);
        assert_ne!(open.header("etag"), told.header("etag"), "{target}");
        let again = |tag: &str, principal: &Principal| {
            let mut request = signed_as(&principal.to_json(), "GET", &target, "");
            request.headers_mut().insert("if-none-match", tag.parse().unwrap());
            request
        };
        let tag = told.header("etag").unwrap().to_owned();
        assert_eq!(test.ask(again(&tag, &Principal::Anonymous)).await.status, StatusCode::OK, "{target}");
        assert_eq!(test.ask(again(&tag, &data_holder())).await.status, StatusCode::NOT_MODIFIED, "{target}");
    }
}

#[tokio::test]
async fn lists_withhold_dimensions_as_details_do() {
    let test = attested().await;
    let open = &test.json("/v1/assets/enriched").await["data"][0];
    assert_eq!((&open["restricted_fields"], &open["risk_score"]), (&json!(["dimensions"]), &json!(9.22)));
    assert!(open["dimensions"].as_object().unwrap().values().all(Value::is_null));
    let told = &keyed(&test, "/v1/assets/enriched?include_quality=true").await.json()["data"][0];
    assert_eq!((&told["dimensions"]["liquidity"], &told["quality"]["evidence_coverage"]), (&json!(9.5), &json!(1)));
    assert_eq!(open["quality"], Value::Null);
    assert_eq!(test.get("/v1/assets/enriched?page=11").await.status, StatusCode::FORBIDDEN);
    assert_eq!(keyed(&test, "/v1/assets/enriched?page=11").await.status, StatusCode::OK);
    assert_eq!(test.get("/v1/assets/enriched?kyc_gate=nobody").await.code(), "INVALID_PARAMETER");
}

#[tokio::test]
async fn an_attestation_is_served_with_what_anybody_needs_to_check_it() {
    let test = attested().await;
    let told = keyed(&test, &detail()).await.json();
    let entry = &told["data"]["attestation_history"][0];
    let text = |field: &str| entry[field].as_str().unwrap();
    assert!(rds_engine::attestation::verifies(text("public_key"), text("message"), text("signature")));
    assert_eq!((&entry["signature_valid"], text("algorithm")), (&json!(true), "Ed25519"));
    assert_eq!(entry["asset_version_id"], told["data"]["asset_version_id"]);
    let signed: Value = serde_json::from_str(text("message")).unwrap();
    for (name, points) in told["data"]["dimensions"].as_object().unwrap() {
        let milli = points.as_f64().map(|points| (points * 1000.0).round());
        assert_eq!(signed["dimensions"][name].as_f64(), milli, "{name} is signed as it is published");
    }
    let reviewers = test.json("/v1/reviewers").await;
    assert_eq!(reviewers["data"][0]["keys"][0]["public_key"], entry["public_key"]);
    assert_eq!(
        (&reviewers["data"][0]["attestation_count"], &reviewers["data"][0]["is_active"]),
        (&json!(1), &json!(true))
    );
}

#[tokio::test]
async fn content_altered_after_signing_is_not_served() {
    for sql in [
        "UPDATE asset_version SET dimensions = jsonb_set(dimensions, '{liquidity}', '9990')",
        "UPDATE asset_version SET review_status = 'provisional'",
        "UPDATE attestation SET product_id = 'other'",
        "UPDATE attestation SET signed_at = signed_at + interval '1 microsecond'",
        "UPDATE reviewer SET keys = jsonb_set(keys, '{0,valid_from}', '\"2026-11-20T06:00:01Z\"')",
        "UPDATE reviewer SET keys = '[]'",
    ] {
        let test = attested().await;
        assert_eq!(keyed(&test, &detail()).await.json()["data"]["attestation_history"].as_array().unwrap().len(), 1);
        sqlx::query(sql).execute(&test.facts.db.pool).await.unwrap();
        assert_eq!(keyed(&test, &detail()).await.json()["data"]["attestation_history"], json!([]), "{sql}");
    }
}

#[tokio::test]
async fn a_wrong_signature_is_refused_by_line_and_field_and_nothing_is_kept() {
    let test = TestApp::new().await;
    test.ingest(&[registries(), reviewer(key())].concat()).await;
    let with = |field: &str, value: Value| {
        let mut signed = attestation(SIGNED, None);
        signed[field] = value;
        line("attestation", "2026-11-20T07:00:00Z", signed)
    };
    let other = ReviewerSecret::from_seed([1; 32]).sign("something else");
    for (lines, field) in [
        (with("signature", json!(other)), "signature"),
        (with("signature", json!("ab")), "signature"),
        (with("product_id", json!("claimed-later")), "signature"),
        (with("signed_at", json!("2026-11-20T06:00:01Z")), "signature"),
        (with("signed_at", json!("2026-11-19T00:00:00Z")), "signed_at"),
        (with("reviewed_at", json!("2026-11-19T00:00:00Z")), "reviewed_at"),
        (with("reviewer_id", json!("nobody")), "reviewer_id"),
        (with("key_id", json!("k9")), "key_id"),
        (
            reviewer(json!([{ "key_id": "k1", "public_key": "00".repeat(32), "valid_from": SIGNED }])),
            "keys[0].public_key",
        ),
    ] {
        let batch = [line("curator", SIGNED, json!({ "id": "kept", "name": "Kept" })), lines].concat();
        let reply = test.admin("POST", "/ingest", &batch).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{field}");
        let detail = &reply.json()["error"]["details"][0];
        assert!(reply.text().contains(field) && reply.text().contains('2'), "{field}: {detail}");
    }
    assert_eq!(test.get("/v1/curators/kept").await.code(), "NOT_FOUND", "nothing of a bad batch is kept");
    let expired = json!([{ "key_id": "k1", "public_key": secret().public_key(), "valid_from": "2026-01-01T00:00:00Z",
        "valid_until": "2026-11-20T06:00:00Z" }]);
    let lines = [reviewer(expired), line("attestation", SIGNED, attestation(SIGNED, None))].concat();
    assert_eq!(test.admin("POST", "/ingest", &lines).await.status, StatusCode::BAD_REQUEST, "the key ended just then");
}

#[tokio::test]
async fn every_version_keeps_the_score_that_was_published_under_it() {
    let test = attested().await;
    test.app.clock.advance(86_400);
    for (day, points) in [("21", 9.0), ("22", 2.0)] {
        let names = [
            "peg_stability",
            "issuer_custody",
            "redeemability",
            "reserve_transparency",
            "governance_controls",
            "protocol_security",
            "liquidity",
        ];
        let dimensions: serde_json::Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), json!(points))).collect();
        let fields = json!({ "asset_id": "dollar", "review_status": "provisional", "dimensions": dimensions,
            "institutional": { "aum_usd": 1e9, "yield_pct": 4.5 } });
        test.ingest(&line("asset_review", &format!("2026-11-{day}T00:00:00Z"), fields)).await;
    }
    let history = test.json(&detail()).await["data"]["version_history"].clone();
    let column = |field: &str| history.as_array().unwrap().iter().map(|it| it[field].clone()).collect::<Vec<_>>();
    assert_eq!(column("risk_score"), [json!(2), json!(7.9), json!(9.22)]);
    assert_eq!(column("risk_tier"), [json!("Edge"), json!("Core"), json!("Prime")]);
    assert_eq!(column("review_status"), [json!("provisional"), json!("provisional"), json!("reviewed")]);
    assert_eq!(column("aum_usd"), [json!(1e9), json!(1e9), Value::Null]);
    assert_eq!(test.json("/v1/assets/enriched").await["data"][0]["risk_score"], json!(2), "the list follows at once");
}

#[tokio::test]
async fn dimensions_outside_the_category_are_null_even_if_the_category_changed_after_the_review() {
    let test = attested().await;
    let review = json!({ "asset_id": "dollar", "review_status": "reviewed", "dimensions": { "peg_stability": 9.5, "liquidity": 9,
        "governance_controls": 9, "protocol_security": 9, "issuer_custody": 1 },
        "backing_profile": { "offchain_pct": 100, "crypto_exogenous_pct": 0, "crypto_endogenous_pct": 0, "delta_hedge_pct": 0 } });
    test.ingest(&line("asset_review", "2026-11-20T12:00:00Z", review)).await;
    let answered = |row: &Value| {
        let dimensions = row["dimensions"].as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
        dimensions.map(|(name, _)| name.clone()).collect::<Vec<_>>().join(" ")
    };
    let told = keyed(&test, &detail()).await.json()["data"].clone();
    assert_eq!(answered(&told), "governance_controls issuer_custody liquidity peg_stability protocol_security");
    assert_eq!(told["backing_profile"]["offchain_pct"], 100.0);

    let asset =
        json!({ "id": "dollar", "chain_id": 1, "address": DOLLAR, "symbol": "USDX", "category": "governance_token" });
    test.ingest(&line("asset", "2026-11-20T13:00:00Z", asset)).await;
    for row in [
        keyed(&test, &detail()).await.json()["data"].clone(),
        keyed(&test, "/v1/assets/enriched").await.json()["data"][0].clone(),
    ] {
        assert_eq!(answered(&row), "governance_controls liquidity protocol_security");
        assert_eq!(row["backing_profile"], Value::Null);
    }
    // The new category lacks some dimensions of the last review. The next review must not include them, however low
    // they were.
    let next = |dimensions: Value| {
        line(
            "asset_review",
            "2026-11-20T14:00:00Z",
            json!({ "asset_id": "dollar", "review_status": "reviewed", "dimensions": dimensions }),
        )
    };
    let refused = test.admin("POST", "/ingest", &next(json!({ "issuer_custody": 1 }))).await;
    assert_eq!(refused.json()["error"]["details"][0]["name"], "line 1, dimensions.issuer_custody");
    test.ingest(&next(json!({ "volatility": 5, "liquidity": 9 }))).await;
}

#[tokio::test]
async fn an_asset_is_found_by_chain_and_address_in_any_spelling() {
    let test = attested().await;
    let upper = format!("/v1/assets/ethereum/0x{}", DOLLAR[2..].to_uppercase());
    assert_eq!(test.json(&upper).await["data"]["slug"], "dollar");
    for (target, code) in [
        (format!("/v1/assets/8453/{DOLLAR}"), "NOT_FOUND"),
        (format!("/v1/assets/999/{DOLLAR}"), "NOT_FOUND"),
        ("/v1/assets/1/0x12".to_owned(), "INVALID_ADDRESS"),
        ("/v1/assets/1/11111111111111111111111111111111".to_owned(), "ADDRESS_NAMESPACE_MISMATCH"),
        (format!("/v1/assets/900/{DOLLAR}"), "ADDRESS_NAMESPACE_MISMATCH"),
    ] {
        assert_eq!(test.get(&target).await.code(), code, "{target}");
    }
}

#[tokio::test]
async fn a_chains_own_coin_has_a_detail_without_an_address() {
    let test = attested().await;
    assert_eq!(test.get("/v1/assets/ethereum/native").await.code(), "NOT_FOUND");
    let coin = json!({ "id": "ether", "chain_id": 1, "symbol": "ETH", "category": "native" });
    test.ingest(&line("asset", SIGNED, coin)).await;
    for network in ["ethereum", "1"] {
        let found = test.json(&format!("/v1/assets/{network}/native")).await["data"].clone();
        assert_eq!((&found["slug"], &found["address"]), (&json!("ether"), &Value::Null), "{network}");
    }
    assert_eq!(test.get("/v1/assets/base/native").await.code(), "NOT_FOUND");
    assert_eq!(test.get("/v1/assets/ethereum/coin").await.code(), "INVALID_ADDRESS");
}

#[tokio::test]
async fn facets_count_all_assets_regardless_of_filters() {
    let test = attested().await;
    let plain = line("asset", SIGNED, json!({ "id": "plain", "chain_id": 8453, "address": DOLLAR, "symbol": "PLN" }));
    test.ingest(&plain).await;
    let facets = &test.json("/v1/assets/enriched/facets?category=native").await["data"];
    assert_eq!(
        facets["risk_tiers"],
        json!([{ "risk_tier": "Prime", "count": 1 }, { "risk_tier": "unknown", "count": 1 }])
    );
    assert_eq!(facets["chains"], json!([{ "chain_id": 1, "count": 1 }, { "chain_id": 8453, "count": 1 }]));
    assert_eq!(facets["auditors"], json!([{ "auditor": "(unknown)", "count": 2 }]));
    let rows = test.json("/v1/assets/enriched").await;
    assert_eq!(
        (&rows["data"][1]["slug"], &rows["data"][1]["risk_score"]),
        (&json!("plain"), &Value::Null),
        "unscored last"
    );
    assert_eq!(test.json("/v1/assets/enriched?risk_tier=unknown&search=pl").await["meta"]["total"], 1);
}

#[tokio::test]
async fn a_real_asset_is_served_with_nothing_invented() {
    let Some((facts, _)) = imported().await else { return };
    let test = TestApp::over(facts, TestOptions::default()).await;
    let list =
        keyed(&test, "/v1/assets/enriched?limit=100&search=0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48").await.json();
    let row = &list["data"][0];
    assert_eq!((&list["meta"]["total"], &row["symbol"], &row["chain_id"]), (&json!(1), &json!("USDC"), &json!(1)));
    assert_eq!((&row["category"], &row["review_status"]), (&json!("fiat_backed_stablecoin"), &json!("provisional")));
    assert_eq!((&row["score_basis"], row["risk_score"].is_number()), (&json!("answers"), true));
    for field in ["backing_profile", "issuer", "reviewer", "reviewed_by", "underlying_asset"] {
        assert_eq!(row[field], Value::Null, "{field}: no data set holds it");
    }
    assert!(row["institutional"].as_object().unwrap().values().all(Value::is_null));

    let detail = &keyed(&test, "/v1/assets/1/0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48").await.json()["data"];
    assert_eq!(detail["discovery"]["source_slug"], "web3-ethereum-defi");
    let answers = detail["answers"]["answers"].as_array().unwrap();
    for (dimension, value) in row["dimensions"].as_object().unwrap() {
        let is_answered = answers.iter().any(|one| one["dimension"] == *dimension && one["counts"] == true);
        assert!(value.is_null() || is_answered, "{dimension}");
    }
    for answer in answers {
        assert!(answer["source_url"].as_str().unwrap().starts_with("https://"), "{answer}");
    }
    let public = test.json("/v1/assets/1/0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48").await;
    assert_eq!(public["data"]["answers"], detail["answers"], "answers and their sources need no key");
}
