//! Indices as holders of index tokens read them: levels computed from stored versions and readings, and their gaps.

use crate::support::market::{SYNCED, VAULTS, Vault, line, lines};
use crate::support::testapp::{Reply, TestApp, signed_as};
use axum::http::HeaderValue;
use rds_origin::catalog::refresh;
use rds_shared::access::Principal;
use rds_shared::model::basket::BasketVersionRow;
use rds_shared::rules::baskets::rebalance_triggers::Trigger;
use rds_shared::rules::baskets::weights::Constituent;
use rds_shared::scoring::{MilliPoints, Ppm};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Micros;
use rds_store::baskets::versions;
use serde_json::{Value, json};

const BASKET: &str = "sample";
const A: &Vault = &VAULTS[0];
const B: &Vault = &VAULTS[2];
/// On another chain than `A` and `B`.
const C: &Vault = &VAULTS[3];

/// A service with the market and a basket of its vaults that has no version yet.
async fn with_basket() -> TestApp {
    let test = TestApp::new().await;
    let basket = json!({"id": BASKET, "name": "Sample", "constituent_type": "vault"});
    let rules = json!({"basket_id": BASKET, "version": "m1", "summary": "Invented.", "eligibility_rule": {}, "pivot": 5,
        "min_constituents": 1, "single_name_pct": 100, "issuer_pct": 100, "floor_pct": 0});
    let defined = "2026-01-01T00:00:00Z";
    test.ingest(&[lines(), line("basket", defined, basket), line("basket_methodology", defined, rules)].concat()).await;
    test
}

/// Stores a version with these constituents and weights, in effect from `effective_from`.
async fn version(test: &TestApp, number: i32, effective_from: &str, of: &[(&Vault, i64)]) {
    let effective_from = Timestamp::parse(effective_from).unwrap();
    let constituent = |(vault, weight): &(&Vault, i64)| Constituent {
        id: vault.id(),
        issuer: vault.protocol.to_owned(),
        score: MilliPoints::saturating(8_000),
        weight: Ppm(*weight),
    };
    let mut constituents: Vec<Constituent> = of.iter().map(constituent).collect();
    constituents.sort_by(|a, b| a.id.cmp(&b.id));
    let mut row = BasketVersionRow {
        version_id: format!("{BASKET}-v{number}"),
        basket_id: BASKET.to_owned(),
        effective_from: Micros(effective_from),
        trigger_reason: if number == 1 { Trigger::Inception } else { Trigger::Calendar },
        prior_version_id: (number > 1).then(|| format!("{BASKET}-v{}", number - 1)),
        methodology_version: "m1".to_owned(),
        content_hash: rds_shared::model::content_hash::ContentHash::from_bytes([0; 32]),
        signed: Default::default(),
        created_at: effective_from,
    };
    row.content_hash = row.content(constituents.clone()).content_hash();
    test.app
        .db
        .run_tx("a version", |tx| {
            let (row, constituents) = (row.clone(), constituents.clone());
            Box::pin(async move { versions::insert(tx, ("The dollars", number), &row, &constituents).await })
        })
        .await
        .unwrap();
    refresh::refresh(&test.app).await.unwrap();
}

fn read(vault: &Vault, at: &str, price: Option<f64>) -> String {
    vault.state(at, json!({ "price_per_share": price }))
}

async fn ask(test: &TestApp, target: &str) -> Reply {
    test.get_as(&Principal::IndexToken { id: 1 }, target).await
}

async fn data(test: &TestApp, target: &str) -> Value {
    let reply = ask(test, target).await;
    assert_eq!(reply.status, 200, "{target}: {}", reply.text());
    reply.json()["data"].clone()
}

/// A basket with two versions, and a day on which one of its vaults was not read.
async fn with_two_versions() -> TestApp {
    let test = with_basket().await;
    version(&test, 1, "2026-11-10T16:00:00Z", &[(A, 600_000), (B, 400_000)]).await;
    version(&test, 2, "2026-11-13T16:00:00Z", &[(C, 1_000_000)]).await;
    let prices = [
        // Readings before the first version, and two on one day, of which the later counts.
        read(A, "2026-11-09T10:00:00Z", Some(7.0)),
        read(A, "2026-11-10T09:00:00Z", Some(7.0)),
        read(A, "2026-11-10T23:00:00Z", Some(1.0)),
        read(B, "2026-11-10T01:00:00Z", Some(2.0)),
        read(A, "2026-11-11T12:00:00Z", Some(1.1)),
        read(B, "2026-11-11T12:00:00Z", Some(2.0)),
        // A reading without a price does not remove an earlier price.
        read(B, "2026-11-11T13:00:00Z", None),
        read(A, "2026-11-12T12:00:00Z", Some(1.15)),
        read(B, "2026-11-12T12:00:00Z", None),
        read(A, "2026-11-13T23:59:59Z", Some(1.2)),
        read(B, "2026-11-13T00:00:00Z", Some(2.0)),
        read(C, "2026-11-13T12:00:00Z", Some(5.0)),
        read(C, "2026-11-14T12:00:00Z", Some(5.5)),
    ];
    test.ingest(&prices.concat()).await;
    test
}

#[tokio::test]
async fn an_index_is_chained_across_versions_and_shows_missing_days_as_gaps() {
    let test = with_two_versions().await;
    let days = data(&test, "/v1/indices/sample/levels").await;
    let days = days.as_array().unwrap();
    assert_eq!(days.len(), 12, "every day from the first version's to today");
    let gap = |date: &str, held: &str, is_final: bool| json!({"date": date, "level": null, "version_id": held, "gap": "unread", "is_final": is_final});
    let level = |date: &str, held: &str, level: Value| json!({"date": date, "level": level, "version_id": held, "gap": null, "is_final": true});
    assert_eq!(
        days[..5],
        [
            level("2026-11-10", "sample-v1", json!(1000)),
            level("2026-11-11", "sample-v1", json!(1060)),
            gap("2026-11-12", "sample-v1", true),
            level("2026-11-13", "sample-v2", json!(1120)),
            level("2026-11-14", "sample-v2", json!(1232)),
        ]
    );
    // The market's own readings on the 20th have the price 1.01. On the first day of version 2 the level was 1120 and the price of `C` was
    // 5. So the level is 1120 · 1.01 / 5 = 226.24.
    assert_eq!(SYNCED, "2026-11-20T23:50:00Z");
    assert_eq!(days[10], level("2026-11-20", "sample-v2", json!(226.24)));
    assert_eq!(days[11], gap("2026-11-21", "sample-v2", false));

    let expected = json!({"id": BASKET, "name": "Sample", "methodology_version": "index-1.0.0", "version_id": "sample-v2",
        "base_date": "2026-11-10", "base_level": 1000,
        "latest": {"date": "2026-11-20", "level": 226.24, "is_final": true}});
    assert_eq!(data(&test, "/v1/indices").await, json!([expected]));
    let detail = data(&test, "/v1/indices/sample").await;
    for (name, field) in expected.as_object().unwrap() {
        assert_eq!(&detail[name], field, "{name}");
    }
    assert_eq!(
        detail["links"],
        json!([
            {"version_id": "sample-v1", "effective_from": "2026-11-10T16:00:00.000000Z", "linked_on": "2026-11-10", "level": 1000},
            {"version_id": "sample-v2", "effective_from": "2026-11-13T16:00:00.000000Z", "linked_on": "2026-11-13", "level": 1120},
        ])
    );
    assert_eq!((&detail["method"]["level_decimals"], &detail["method"]["rounding"]), (&json!(6), &json!("half_even")));
}

#[tokio::test]
async fn a_day_that_has_not_ended_is_not_final_and_readings_from_the_future_do_not_count() {
    let test = with_basket().await;
    version(&test, 1, "2026-11-20T16:00:00Z", &[(A, 1_000_000)]).await;
    test.app.clock.advance(3_600);
    test.ingest(&[read(A, "2026-11-21T00:30:00Z", Some(2.02)), read(A, "2026-11-21T01:02:00Z", Some(9.0))].concat())
        .await;
    let open = json!({"date": "2026-11-21", "level": 2000, "version_id": "sample-v1", "gap": null, "is_final": false});
    assert_eq!(data(&test, "/v1/indices/sample/levels?days=1").await, json!([open]));
    test.app.clock.advance(86_400);
    let days = data(&test, "/v1/indices/sample/levels?days=2").await;
    assert_eq!((&days[0]["is_final"], &days[1]["gap"]), (&json!(true), &json!("unread")));
    assert_eq!(days[0]["level"], json!(8910.891089));
}

#[tokio::test]
async fn a_basket_without_a_version_and_a_basket_of_assets_have_no_index() {
    let test = with_basket().await;
    let assets = json!({"id": "assets", "name": "Assets", "constituent_type": "asset"});
    test.ingest(&line("basket", "2026-01-01T00:00:00Z", assets)).await;
    assert_eq!(data(&test, "/v1/indices").await, json!([]));
    for id in ["sample", "assets", "nobody"] {
        for rest in ["", "/levels"] {
            let reply = ask(&test, &format!("/v1/indices/{id}{rest}")).await;
            assert_eq!((reply.status.as_u16(), reply.message().as_str()), (404, "no such index"), "{id}{rest}");
        }
    }
    test.app.clock.advance(86_400);
    version(&test, 1, "2026-11-21T16:00:00Z", &[(A, 1_000_000)]).await;
    let listed = data(&test, "/v1/indices").await[0].clone();
    assert_eq!((&listed["base_date"], &listed["latest"]), (&Value::Null, &Value::Null), "no vault was read since");
    for wrong in ["days=0", "days=x", "days=-1"] {
        assert_eq!(
            ask(&test, &format!("/v1/indices/sample/levels?{wrong}")).await.code(),
            "INVALID_PARAMETER",
            "{wrong}"
        );
    }
    assert_eq!(
        ask(&test, "/v1/indices/sample/levels?days=99999").await.status,
        200,
        "a larger number of days returns all days"
    );
}

#[tokio::test]
async fn levels_that_depend_on_a_withheld_chain_are_gaps_until_it_is_served() {
    let test = with_two_versions().await;
    let whole = data(&test, "/v1/indices/sample/levels").await;
    let base = |is_served: bool, at: &str| {
        let fields = json!({"chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true,
            "is_served": is_served});
        line("chain", at, fields)
    };
    test.ingest(&base(false, "2026-11-20T00:00:00Z")).await;
    let hidden = data(&test, "/v1/indices/sample/levels").await;
    for (day, before) in hidden.as_array().unwrap().iter().zip(whole.as_array().unwrap()) {
        match day["date"].as_str().unwrap() < "2026-11-13" {
            true => assert_eq!(day, before),
            // The earlier version stays in effect, because without the chain's prices the first day of the next one cannot be determined.
            false => {
                let named = day["level"].is_null() && day["version_id"] == "sample-v1";
                assert!(named && ["withheld", "unread"].contains(&day["gap"].as_str().unwrap()), "{day}");
            }
        }
    }
    assert_eq!(hidden[3]["gap"], "withheld");
    test.ingest(&base(true, "2026-11-20T01:00:00Z")).await;
    assert_eq!(data(&test, "/v1/indices/sample/levels").await, whole);
}

#[tokio::test]
async fn a_response_is_cached_for_holders_and_changes_with_the_facts() {
    let test = with_two_versions().await;
    let token = Principal::IndexToken { id: 1 }.to_json();
    let reply = ask(&test, "/v1/indices/sample/levels").await;
    let etag = reply.header("etag").unwrap().to_owned();
    let tags = reply.header("x-service-tags").unwrap().to_owned();
    assert!(tags.contains("baskets=") && tags.contains("vaults="), "{tags}");
    let again = || {
        let mut request = signed_as(&token, "GET", "/v1/indices/sample/levels", "");
        request.headers_mut().insert("if-none-match", HeaderValue::try_from(&etag).unwrap());
        test.ask(request)
    };
    assert_eq!(again().await.status, 304);
    test.ingest(&read(C, "2026-11-20T23:57:00Z", Some(5.0))).await;
    assert_eq!(again().await.status, 200);
}
