//! `GET /v1/vaults`: filters, order, pages, conditional requests and bad parameters.

use crate::support::market::{VAULTS, address};
use crate::support::testapp::{TestApp, signed};
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The rows of a list.
async fn rows(test: &TestApp, query: &str) -> Vec<Value> {
    test.json(&format!("/v1/vaults?limit=100&{query}")).await["data"].as_array().unwrap().clone()
}

/// The ids of a list, in order.
async fn ids(test: &TestApp, query: &str) -> Vec<String> {
    ids_of(&rows(test, query).await)
}

fn ids_of(rows: &[Value]) -> Vec<String> {
    rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

fn set(ids: &[String]) -> BTreeSet<&str> {
    ids.iter().map(String::as_str).collect()
}

#[tokio::test]
async fn every_field_is_written_even_when_nothing_is_known() {
    let test = TestApp::with_market().await;
    let all = rows(&test, "").await;
    let fields = "id name address protocol_id protocol_name chain_id chain_name asset_symbol tvl_usd apr_net base_apr utilization borrow_apr \
         borrow_reward_apr borrow_apr_net borrow_incentive_status has_borrow_rewards borrow_status gross_interest_apy active_loans_usd \
         available_liquidity_usd liquidity_deficit_usd liquidity_status total_score risk_tier strategy_type curator_name is_audited \
         deposit_status withdraw_status is_depositable deposit_capacity_usd freshness_seconds last_synced_at score_status \
         score_updated_at tvl_status";
    for row in &all {
        for field in fields.split_whitespace() {
            assert!(row.as_object().unwrap().contains_key(field), "{field} of {}", row["id"]);
        }
    }
    let unread = all.iter().find(|row| row["id"] == VAULTS[7].id()).unwrap();
    assert_eq!((&unread["tvl_usd"], &unread["tvl_status"]), (&json!(0.0), &json!("unavailable")));
    assert_eq!((&unread["apr_net"], &unread["is_depositable"]), (&Value::Null, &Value::Null));
    assert_eq!(unread["freshness_seconds"], 600);
}

#[tokio::test]
async fn derived_fields_follow_the_rules() {
    let test = TestApp::with_market().await;
    let all = rows(&test, "").await;
    let row = |number: usize| all.iter().find(|row| row["id"] == VAULTS[number].id()).unwrap();
    let close = |found: &Value, wanted: f64| {
        assert!((found.as_f64().unwrap() - wanted).abs() < 1e-6, "{found} is not {wanted}")
    };
    // 5 000 000 at a utilization of 0.8: a fifth is available.
    close(&row(0)["available_liquidity_usd"], 1e6);
    assert_eq!((&row(0)["liquidity_deficit_usd"], &row(0)["liquidity_status"]), (&json!(0.0), &json!("available")));
    // Utilization is not clamped; above 1 the status is a deficit.
    assert_eq!((&row(1)["utilization"], &row(1)["liquidity_status"]), (&json!(1.25), &json!("deficit")));
    close(&row(1)["liquidity_deficit_usd"], 1.25e6);
    assert_eq!(row(2)["liquidity_status"], "exhausted");
    assert_eq!((&row(4)["liquidity_status"], &row(4)["available_liquidity_usd"]), (&json!("unknown"), &Value::Null));
    // Priced incentives lower the net borrow rate, even below zero. Points do not. If the source of incentives was not read, the net
    // rate is unknown.
    close(&row(0)["borrow_apr_net"], -0.02);
    assert_eq!((&row(0)["borrow_incentive_status"], &row(0)["has_borrow_rewards"]), (&json!("observed"), &json!(true)));
    assert_eq!((&row(1)["borrow_apr_net"], &row(1)["has_borrow_rewards"]), (&json!(0.2), &json!(true)));
    assert_eq!((&row(2)["borrow_incentive_status"], &row(2)["borrow_apr_net"]), (&json!("unavailable"), &Value::Null));
    assert_eq!(row(3)["borrow_incentive_status"], "not_applicable");
    // Only supported money markets have a gross interest.
    close(&row(0)["gross_interest_apy"], 0.048);
    assert_eq!(row(8)["gross_interest_apy"], Value::Null);
    close(&row(0)["apr_net"], 0.05);
    assert_eq!((&row(1)["is_depositable"], &row(1)["deposit_status"]), (&json!(false), &json!("closed")));
}

#[tokio::test]
async fn a_filter_keeps_exactly_the_rows_it_names() {
    let test = TestApp::with_market().await;
    let all = rows(&test, "").await;
    let traits = |row: &Value, trait_: char| VAULTS.iter().any(|vault| row["id"] == vault.id() && vault.has(trait_));
    type Keeps<'a> = Box<dyn Fn(&Value) -> bool + 'a>;
    let cases: Vec<(&str, Keeps<'_>)> = vec![
        ("chain=ethereum", Box::new(|row| row["chain_id"] == 1)),
        ("chain=BASE,900", Box::new(|row| row["chain_id"] == 8453 || row["chain_id"] == 900)),
        ("chain=nowhere", Box::new(|_| false)),
        ("protocol=Harbor,driftwood", Box::new(|row| row["protocol_id"] != "lantern")),
        ("curator=north,tide", Box::new(|row| row["curator_name"] != Value::Null)),
        ("asset=usdx,xeth", Box::new(|row| row["asset_symbol"] == "USDX" || row["asset_symbol"] == "xETH")),
        ("asset=gr%C3%B6%C3%9Fe", Box::new(|row| row["asset_symbol"] == "Größe")),
        ("riskTier=prime", Box::new(|row| row["risk_tier"] == "Prime")),
        ("riskTier=EDGE,core", Box::new(|row| row["risk_tier"] == "Edge" || row["risk_tier"] == "Core")),
        ("minTvl=750000", Box::new(|row| row["tvl_usd"].as_f64() >= Some(750_000.0))),
        ("minTvl=0", Box::new(|_| true)),
        ("stablecoin=true", Box::new(|row| traits(row, 's'))),
        ("stablecoin=FALSE", Box::new(|row| !traits(row, 's'))),
        ("lsd=true", Box::new(|row| traits(row, 'l'))),
        ("singleExposure=true", Box::new(|row| traits(row, '1'))),
        ("noIL=true", Box::new(|row| traits(row, 'n'))),
        ("audited=true", Box::new(|row| row["is_audited"] == true)),
        ("audited=false", Box::new(|row| row["is_audited"] == false)),
        ("depositable=true", Box::new(|row| row["deposit_status"] != "closed")),
        ("depositable=false", Box::new(|row| row["deposit_status"] == "closed")),
        (
            "highConfidence=true",
            Box::new(|row| {
                row["total_score"].as_f64() >= Some(7.5)
                    && (0.03..=0.1).contains(&row["apr_net"].as_f64().unwrap_or(9.0))
            }),
        ),
        ("search=DOLLAR", Box::new(|row| row["name"].as_str().unwrap().to_lowercase().contains("dollar"))),
        ("search=tidewater", Box::new(|row| row["curator_name"] == "Tidewater")),
        ("search=lantern+v", Box::new(|row| row["protocol_name"] == "Lantern Vaults")),
        ("search=v13", Box::new(|row| row["chain_id"] == 900)),
        ("search=%C3%A4%C3%B6%C3%BC", Box::new(|row| row["name"].as_str().unwrap().starts_with("ÄÖÜ"))),
        (
            "chain=1&protocol=harbor&depositable=true",
            Box::new(|row| row["chain_id"] == 1 && row["protocol_id"] == "harbor" && row["deposit_status"] != "closed"),
        ),
    ];
    assert!(
        all.iter().any(|row| row["deposit_status"] == "unknown") && all.iter().any(|row| row["risk_tier"] == "Prime")
    );
    for (query, keeps) in cases {
        let expected = ids_of(&all.iter().filter(|row| keeps(row)).cloned().collect::<Vec<_>>());
        assert_eq!(ids(&test, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn score_bounds_are_inclusive_and_drop_unscored_vaults() {
    let test = TestApp::with_market().await;
    let scored: Vec<Value> = rows(&test, "").await.into_iter().filter(|row| !row["total_score"].is_null()).collect();
    assert!(scored.len() >= 3 && scored.len() < VAULTS.len());
    let score = scored[0]["total_score"].to_string();
    for alias in ["minRiskScore", "minScore", "min_score"] {
        let found = ids(&test, &format!("{alias}={score}&maxRiskScore={score}")).await;
        assert!(found.contains(&scored[0]["id"].as_str().unwrap().to_owned()), "{alias}");
    }
    assert_eq!(set(&ids(&test, "minRiskScore=0").await), set(&ids_of(&scored)));
    assert_eq!(set(&ids(&test, "maxRiskScore=10").await), set(&ids_of(&scored)));
    assert_eq!(test.get("/v1/vaults?minScore=1&min_score=2").await.code(), "INVALID_PARAMETER");
}

#[tokio::test]
async fn rows_without_a_value_come_last_in_both_directions_and_ties_stand_by_id() {
    let test = TestApp::with_market().await;
    let fields = "tvl_usd available_liquidity_usd liquidity_deficit_usd apr_net borrow_apr_net borrow_reward_apr utilization real_yield_share \
         total_score last_synced_at";
    for field in fields.split_whitespace() {
        for (order, sign) in [("asc", 1.0), ("desc", -1.0)] {
            let found = rows(&test, &format!("sortBy={field}&sortOrder={order}")).await;
            assert_eq!(found.len(), VAULTS.len() - 1);
            // Nulls come last in both directions, so they count as the greatest value.
            let key = |row: &Value| match &row[field] {
                Value::Null => f64::INFINITY,
                Value::String(instant) => sign * instant.len() as f64,
                number => sign * number.as_f64().unwrap(),
            };
            for pair in found.windows(2) {
                let (a, b) = ((key(&pair[0]), pair[0]["id"].as_str()), (key(&pair[1]), pair[1]["id"].as_str()));
                assert!(a < b, "{field} {order}: {a:?} before {b:?}");
            }
        }
    }
    let names: Vec<String> = rows(&test, "sortBy=name&sortOrder=asc")
        .await
        .iter()
        .map(|row| row["name"].as_str().unwrap().to_lowercase())
        .collect();
    assert!(names.is_sorted());
}

#[tokio::test]
async fn pages_together_are_the_whole_list_once() {
    let test = TestApp::with_market().await;
    let whole = ids(&test, "sortBy=tvl_usd").await;
    let mut seen = Vec::new();
    for page in 1..=5 {
        let answer = test.json(&format!("/v1/vaults?limit=3&page={page}")).await;
        assert_eq!(answer["meta"], json!({ "page": page, "limit": 3, "total": whole.len(), "totalPages": 4 }));
        seen.extend(ids_of(answer["data"].as_array().unwrap()));
    }
    assert_eq!(seen, whole);
    assert!(!seen.contains(&VAULTS[11].id()), "a vault that is gone is in no list");
}

#[tokio::test]
async fn without_a_key_only_the_first_two_hundred_rows_are_open() {
    let test = TestApp::with_market().await;
    assert_eq!(test.get("/v1/vaults?limit=1000").await.json()["meta"]["limit"], 100);
    assert_eq!(test.get("/v1/vaults?limit=100&page=2").await.status, StatusCode::OK);
    for query in ["limit=100&page=3", "limit=20&page=11", "page=99999999999999999999"] {
        let refused = test.get(&format!("/v1/vaults?{query}")).await;
        assert_eq!((refused.status, refused.code()), (StatusCode::FORBIDDEN, "FORBIDDEN".to_owned()), "{query}");
        assert!(refused.message().contains("key"));
    }
}

#[tokio::test]
async fn a_bad_parameter_is_named_with_its_bounds() {
    let test = TestApp::with_market().await;
    for (query, name) in [
        ("page=0", "page"),
        ("page=x", "page"),
        ("limit=-1", "limit"),
        ("limit=", "limit"),
        ("limit=2&limit=3", "limit"),
        ("minTvl=abc", "minTvl"),
        ("minTvl=NaN", "minTvl"),
        ("minRiskScore=10.1", "minRiskScore"),
        ("maxRiskScore=-1", "maxRiskScore"),
        ("riskTier=gold", "riskTier"),
        ("sortBy=id", "sortBy"),
        ("sortOrder=up", "sortOrder"),
        ("stablecoin=1", "stablecoin"),
        ("depositable=maybe", "depositable"),
        ("search=%ff", "search"),
    ] {
        let refused = test.get(&format!("/v1/vaults?{query}")).await;
        assert_eq!(
            (refused.status, refused.code()),
            (StatusCode::BAD_REQUEST, "INVALID_PARAMETER".to_owned()),
            "{query}"
        );
        assert!(refused.message().contains(name), "{query}: {}", refused.message());
        assert_eq!(refused.json()["error"]["details"][0]["name"], name);
    }
    let long = "a".repeat(201);
    assert_eq!(test.get(&format!("/v1/vaults?search={long}")).await.code(), "INVALID_PARAMETER");
    let both = test.get("/v1/vaults?page=0&sortBy=id").await;
    assert!(both.message().contains("page") && both.message().contains("sortBy"));
    assert_eq!(test.get("/v1/vaults?unknown=1&utm_source=x").await.status, StatusCode::OK);
    assert_eq!(test.get(&format!("/v1/vaults?x={}", "a".repeat(8_192))).await.code(), "URI_TOO_LONG");
}

#[tokio::test]
async fn freshness_moves_with_the_clock_and_the_etag_does_not() {
    let test = TestApp::with_market().await;
    let first = test.get("/v1/vaults").await;
    let etag = first.header("etag").unwrap().to_owned();
    assert!(etag.starts_with("W/\""));
    assert_eq!(first.header("cdn-cache-control"), Some("max-age=15, stale-if-error=86400"));
    assert_eq!(first.header("x-data-version"), Some("1"));
    test.app.clock.advance(60);
    let later = test.get("/v1/vaults").await;
    assert_eq!(later.header("etag"), Some(etag.as_str()));
    assert_eq!(later.json()["data"][0]["freshness_seconds"], 660);
    assert_ne!(test.get("/v1/vaults?page=2").await.header("etag"), Some(etag.as_str()));
    // An equivalent query has the same ETag.
    assert_eq!(test.get("/v1/vaults?sortOrder=desc&page=1&limit=20&x=y").await.header("etag"), Some(etag.as_str()));

    for held in [etag.clone(), etag.replace("W/", ""), format!("\"other\", {etag}"), "*".to_owned()] {
        let reply = test.ask(with_header(signed("GET", "/v1/vaults", ""), "if-none-match", &held)).await;
        assert_eq!(reply.status, StatusCode::NOT_MODIFIED, "{held}");
        assert_eq!(reply.header("etag"), Some(etag.as_str()));
    }
    let other = test.ask(with_header(signed("GET", "/v1/vaults", ""), "if-none-match", "\"other\"")).await;
    assert_eq!(other.status, StatusCode::OK);

    test.ingest(&VAULTS[0].state("2026-11-21T00:00:30Z", json!({ "tvl_usd": 5_100_000 }))).await;
    let changed = test.ask(with_header(signed("GET", "/v1/vaults", ""), "if-none-match", &etag)).await;
    assert_eq!(changed.status, StatusCode::OK);
    assert_eq!(changed.header("x-data-version"), Some("2"));
    assert_eq!(changed.json()["data"][2]["tvl_usd"], 5_100_000.0);
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let test = TestApp::with_market().await;
    let (get, head) = (test.get("/v1/vaults").await, test.ask(signed("HEAD", "/v1/vaults", "")).await);
    for name in ["content-type", "content-length", "etag", "cdn-cache-control", "x-data-version"] {
        assert_eq!(head.header(name), get.header(name), "{name}");
    }
    assert_eq!(test.ask(signed("HEAD", "/v1/vaults?page=0", "")).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn only_changed_rows_are_rebuilt() {
    let test = TestApp::with_market().await;
    let before = test.app.catalog.current().unwrap();
    test.ingest(&VAULTS[0].state("2026-11-20T23:59:00Z", json!({ "tvl_usd": 4_000_000 }))).await;
    let after = test.app.catalog.current().unwrap();
    let vault = |catalog: &rds_origin::catalog::Catalog, number: u32| {
        catalog.vaults_at(&rds_shared::model::ids::Address::parse_any(&address(number)).unwrap().1)[0].clone()
    };
    assert!(!std::sync::Arc::ptr_eq(&vault(&before, 1), &vault(&after, 1)));
    assert!(std::sync::Arc::ptr_eq(&vault(&before, 2), &vault(&after, 2)));
    assert_eq!((before.version, after.version), (1, 2));
    assert!(!rds_origin::catalog::refresh::refresh(&test.app).await.unwrap(), "nothing changed, nothing is built");
}

/// The request with one more header, which the assertion does not cover.
pub fn with_header(mut request: axum::extract::Request, name: &'static str, value: &str) -> axum::extract::Request {
    request.headers_mut().insert(name, value.parse().unwrap());
    request
}

#[tokio::test]
async fn a_compounder_has_no_borrower_side_whether_or_not_anybody_read_it() {
    let test = TestApp::with_market().await;
    let as_ = |number: u32, strategy: &str| {
        let mut vault: Value = serde_json::from_str(VAULTS[0].identity().trim()).unwrap();
        (vault["address"], vault["strategy"]) = (json!(address(number)), json!(strategy));
        format!("{vault}\n")
    };
    test.ingest(&(as_(0x99, "auto_compound") + &as_(0x9a, "lending_pool"))).await;
    let unread = json!({"borrow_status": "unknown", "borrow_apr": null, "incentives": "unavailable"});
    let read = VAULTS[0].state("2026-11-20T23:55:00Z", unread).replace(&VAULTS[0].address(), &address(0x9b));
    test.ingest(&(as_(0x9b, "auto_compound") + &read)).await;
    let said = async |number: u32| {
        let vault = test.json(&format!("/v1/vault/ethereum/{}", address(number))).await["data"]["vault"].clone();
        (vault["borrow_status"].clone(), vault["borrow_incentive_status"].clone())
    };
    let nobody = (json!("not_applicable"), json!("not_applicable"));
    assert_eq!((said(0x99).await, said(0x9b).await), (nobody.clone(), nobody));
    assert_eq!(said(0x9a).await, (json!("unknown"), json!("unavailable")), "of a pool it is not known");
}
