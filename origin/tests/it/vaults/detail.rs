//! One vault: its detail, snapshots, score history and events.

use crate::support::market::{BASE58, VAULTS, address, line};
use crate::support::streaming::eventually;
use crate::support::testapp::{TestApp, signed};
use crate::vaults::lists::with_header;
use axum::http::StatusCode;
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};
use sqlx::Connection;

fn path(number: usize) -> String {
    let vault = &VAULTS[number];
    let network = match vault.chain {
        1 => "ethereum",
        8453 => "base",
        _ => "solana",
    };
    format!("/v1/vault/{network}/{}", vault.address())
}

#[tokio::test]
async fn a_vault_is_found_by_chain_and_address_and_by_id_with_the_same_answer() {
    let test = TestApp::with_market().await;
    let page = test.json(&path(0)).await;
    for same in [
        format!("/v1/vault/1/{}", address(1)),
        format!("/v1/vault/Ethereum/{}", address(1).to_uppercase().replace("0X", "0x")),
        format!("/v1/vaults/{}", VAULTS[0].id()),
    ] {
        assert_eq!(test.json(&same).await, page, "{same}");
    }
    let data = page["data"].as_object().unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["events", "rewards", "snapshots", "vault"]);
    let vault = &page["data"]["vault"];
    let row = &test.json(&format!("/v1/vaults?search={}", address(1))).await["data"];
    assert_eq!(row, &json!([]), "addresses are not searched");
    let list = test.json("/v1/vaults?limit=100").await;
    let row = list["data"].as_array().unwrap().iter().find(|row| row["id"] == vault["id"]).unwrap();
    for (field, value) in row.as_object().unwrap() {
        assert_eq!(&vault[field], value, "{field}");
    }
    let weights: f64 = ["asset", "platform", "control", "history"]
        .iter()
        .map(|key| vault["risk_vectors"][key]["weight"].as_f64().unwrap())
        .sum();
    assert!((weights - 1.0).abs() < 1e-9);
    assert_eq!((&vault["audit_status"], &vault["auditors"]), (&json!("audited"), &json!(["Northwind Audits"])));
    assert_eq!(vault["score_provenance"]["score_run_id"], "run-1");
    assert_eq!(vault["borrow_rewards"][0]["campaign_id"], "borrow-1");
    assert_eq!(page["data"]["rewards"][0]["campaign_id"], "supply-1");
    assert_eq!(test.json(&path(12)).await["data"]["vault"]["address"], BASE58);
    assert_eq!(test.json(&path(8)).await["data"]["vault"]["audit_status"], "unknown");
    assert_eq!(test.json(&path(11)).await["data"]["vault"]["is_active"], false, "a vault that is gone is still found");
}

#[tokio::test]
async fn an_unscored_vault_says_what_is_missing() {
    let test = TestApp::with_market().await;
    let vault = &test.json(&path(8)).await["data"]["vault"];
    assert_eq!(
        (&vault["total_score"], &vault["risk_tier"], &vault["score_status"]),
        (&Value::Null, &Value::Null, &json!("unscored"))
    );
    assert!(!vault["score_provenance"]["missing"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn a_malformed_address_is_400_and_an_unknown_one_404() {
    let test = TestApp::with_market().await;
    for tail in ["", "/snapshots", "/score-history", "/events"] {
        for (network, text, status, code) in [
            ("ethereum", "0x12", 400, "INVALID_ADDRESS"),
            ("ethereum", "hello", 400, "INVALID_ADDRESS"),
            ("ethereum", BASE58, 400, "ADDRESS_NAMESPACE_MISMATCH"),
            ("solana", address(1).as_str(), 400, "ADDRESS_NAMESPACE_MISMATCH"),
            ("ethereum", address(99).as_str(), 404, "NOT_FOUND"),
            ("base", address(1).as_str(), 404, "NOT_FOUND"),
            ("devnet", address(1).as_str(), 404, "NOT_FOUND"),
            ("nowhere", address(1).as_str(), 404, "NOT_FOUND"),
            ("nowhere", "0x12", 404, "NOT_FOUND"),
        ] {
            let refused = test.get(&format!("/v1/vault/{network}/{text}{tail}")).await;
            assert_eq!((refused.status.as_u16(), refused.code().as_str()), (status, code), "{network}/{text}{tail}");
        }
    }
    for id in ["nothing", "harbor-1-0x12", &format!("harbor-8453-{}", address(1))] {
        assert_eq!(test.get(&format!("/v1/vaults/{id}")).await.code(), "NOT_FOUND", "{id}");
    }
}

/// Hourly observations of the first vault. The price falls to 0.4 in one of them.
async fn with_history(test: &TestApp, hours: i64) {
    let start = Timestamp::parse("2026-11-10T00:00:00Z").unwrap();
    let lines: String = (0..hours)
        .map(|hour| {
            let price = if hour == 17 { 0.4 } else { 1.0 + hour as f64 / 1e4 };
            VAULTS[0].state(
                &start.plus_seconds(hour * 3_600).to_string(),
                json!({ "tvl_usd": 5e6 + hour as f64, "price_per_share": price }),
            )
        })
        .collect();
    test.ingest(&lines).await;
}

#[tokio::test]
async fn snapshots_are_thinned_without_losing_the_ends_or_the_crash() {
    let test = TestApp::with_market().await;
    with_history(&test, 200).await;
    let whole = test.json(&format!("{}/snapshots?points=2160", path(0))).await["data"].as_array().unwrap().clone();
    assert_eq!(whole.len(), 201);
    for (query, most) in [("points=20", 20), ("resolution=20", 20), ("points=3", 3), ("points=1", 1)] {
        let thinned = test.json(&format!("{}/snapshots?{query}", path(0))).await["data"].as_array().unwrap().clone();
        assert_eq!(thinned.len(), most, "{query}");
        assert!(thinned.iter().all(|point| whole.contains(point)), "no point is invented");
        assert_eq!(thinned.last(), whole.last());
        if most > 3 {
            assert_eq!(thinned.first(), whole.first());
            assert!(thinned.iter().any(|point| point["price_per_share"] == 0.4));
        }
    }
    let fields = "recorded_at tvl_usd apr_net borrow_apr borrow_reward_apr borrow_apr_net borrow_incentive_status price_per_share";
    for field in fields.split_whitespace() {
        assert!(whole[0].as_object().unwrap().contains_key(field), "{field}");
    }
    // Campaigns that began later do not change earlier points.
    assert_eq!((&whole[0]["apr_net"], &whole[0]["borrow_reward_apr"]), (&json!(0.04), &json!(0.0)));
    assert_eq!(test.json(&format!("{}?points=20", path(0))).await["data"]["snapshots"].as_array().unwrap().len(), 20);
    assert_eq!(
        test.json(&format!("{}/snapshots?days=3", path(0))).await["data"].as_array().unwrap().len(),
        9,
        "days counts back from now"
    );
    assert_eq!(
        test.json(&format!("{}/snapshots?days=9999&points=9999", path(0))).await["data"].as_array().unwrap().len(),
        201
    );
    for bad in ["points=0", "days=0", "points=x", "points=1&resolution=2"] {
        assert_eq!(test.get(&format!("{}/snapshots?{bad}", path(0))).await.code(), "INVALID_PARAMETER", "{bad}");
    }
}

#[tokio::test]
async fn score_history_is_oldest_first_between_two_inclusive_instants() {
    let test = TestApp::with_market().await;
    test.app.clock.advance(3_600);
    // The vault's exposures become unknown, so its score falls immediately.
    let lost = json!({ "vault_id": VAULTS[0].id(), "status": "unavailable" });
    test.ingest(&line("exposure", "2026-11-21T01:00:00Z", lost)).await;
    test.app.clock.advance(25 * 3_600);
    rds_engine::scoring_run::run_all(&test.app.db, &test.app.clock).await.unwrap();
    let history = format!("{}/score-history", path(0));
    let all = test.json(&history).await["data"].as_array().unwrap().clone();
    assert!(all.len() >= 2, "{all:?}");
    assert_eq!(
        (&all[0]["change_type"], &all[0]["prev_score"], &all[0]["prev_tier"]),
        (&json!("initial"), &Value::Null, &Value::Null)
    );
    assert_eq!((&all[0]["new_tier"], &all[0]["methodology_version"]), (&json!("Prime"), &json!("rds-1.1.0")));
    let instants: Vec<&str> = all.iter().map(|point| point["observed_at"].as_str().unwrap()).collect();
    assert!(instants.is_sorted());
    let first = instants[0];
    assert_eq!(test.json(&format!("{history}?from={first}&to={first}")).await["data"], json!([all[0]]));
    assert_eq!(test.json(&format!("{history}?from=2026-11-21T00:00:00.001Z")).await["data"], json!(all[1..]));
    assert_eq!(
        test.json(&format!("{history}?limit=1")).await["data"],
        json!(all[all.len() - 1..]),
        "the newest that fit"
    );
    let refused = test.get(&format!("{history}?from=2026-11-22&to=2026-11-21")).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::BAD_REQUEST, "INVALID_PARAMETER".to_owned()));
    assert!(refused.message().contains("from") && refused.message().contains("to "), "{}", refused.message());
    for bad in ["from=yesterday", "to=2026-13-01", "limit=0"] {
        assert_eq!(test.get(&format!("{history}?{bad}")).await.code(), "INVALID_PARAMETER", "{bad}");
    }
}

#[tokio::test]
async fn a_history_that_was_read_before_grows_with_every_reading_and_every_campaign_however_late() {
    let test = TestApp::with_market().await;
    with_history(&test, 20).await;
    let history = async || test.json(&format!("{}/snapshots", path(0))).await["data"].as_array().unwrap().clone();
    let before = history().await;
    assert_eq!(history().await, before);
    test.ingest(&VAULTS[0].state("2026-11-20T23:59:59Z", json!({ "price_per_share": 3.5 }))).await;
    let newest = history().await;
    assert_eq!((newest.len(), &newest[before.len()]["price_per_share"]), (before.len() + 1, &json!(3.5)));
    test.ingest(&VAULTS[0].state("2026-11-18T03:01:00Z", json!({ "price_per_share": 2.25 }))).await;
    let late = history().await;
    assert_eq!(late.len(), before.len() + 2);
    assert!(late.is_sorted_by_key(|point| point["recorded_at"].as_str().unwrap()));
    let campaign = json!({"vault_id": VAULTS[0].id(), "campaign_id": "late", "side": "supply", "reward_type": "token_incentive", "apr": 0.5});
    test.ingest(&line("reward", "2026-11-01T00:00:00Z", campaign)).await;
    let rewarded = history().await;
    assert_eq!(rewarded.len(), late.len());
    assert_ne!(rewarded[0]["apr_net"], late[0]["apr_net"], "the rates of that time count the campaign of that time");
}

#[tokio::test]
async fn events_of_a_vault_are_its_own_and_those_that_count_against_its_whole_protocol() {
    let test = TestApp::with_market().await;
    let own = test.json(&format!("{}/events", path(1))).await;
    assert_eq!(own["data"].as_array().unwrap().len(), 1);
    let event = &own["data"][0];
    for (field, value) in [
        ("event_type", json!("Incident")),
        ("severity", json!("Critical")),
        ("title", json!("Incident deficit")),
        ("tx_hash", Value::Null),
        ("occurred_at", json!("2024-03-01T00:00:00.000Z")),
    ] {
        assert_eq!(event[field], value, "{field}");
    }
    assert!(event["id"].is_i64() && event.as_object().unwrap().contains_key("block_number"));
    assert_eq!(test.json(&format!("{}/events", path(4))).await["data"][0]["title"], "Incident lantern-oracle");
    assert_eq!(test.json(&format!("{}/events", path(0))).await["data"], json!([]));
    assert_eq!(test.json(&path(1)).await["data"]["events"], own["data"]);
}

#[tokio::test]
async fn a_page_keeps_its_etag_until_something_in_it_changes() {
    let test = TestApp::with_market().await;
    for tail in ["", "/snapshots", "/score-history", "/events"] {
        let target = format!("{}{tail}", path(0));
        let first = test.get(&target).await;
        let etag = first.header("etag").unwrap().to_owned();
        test.app.clock.advance(30);
        let again = test.ask(with_header(signed("GET", &target, ""), "if-none-match", &etag)).await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED, "{target}");
        assert_eq!(first.header("cdn-cache-control").map(|value| value.contains("stale-if-error=86400")), Some(true));
    }
    let etag = test.get(&path(0)).await.header("etag").unwrap().to_owned();
    test.ingest(&VAULTS[0].state("2026-11-20T23:55:00Z", json!({ "tvl_usd": 1 }))).await;
    let changed = test.ask(with_header(signed("GET", &path(0), ""), "if-none-match", &etag)).await;
    assert_eq!(changed.json()["data"]["vault"]["tvl_usd"], 1.0);
}

/// A response is built from several statements. A commit between two of them is visible in the whole response or not at all.
#[tokio::test]
async fn a_response_shows_one_instant_despite_concurrent_commits() {
    let test = TestApp::with_market().await;
    let told = |page: &Value| (page["vault"]["name"].clone(), page["vault"]["is_immutable"].clone());
    let before = told(&test.json(&path(0)).await["data"]);
    let mut other = sqlx::PgConnection::connect(&test.facts.url).await.unwrap();
    let mut tx = other.begin().await.unwrap();
    // The lock stops the response's second statement.
    sqlx::query("LOCK TABLE reward").execute(&mut *tx).await.unwrap();
    let target = path(0);
    let (page, ()) = tokio::join!(test.json(&target), async {
        eventually("a page is being read", async || {
            let sql = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')";
            sqlx::query_scalar::<_, bool>(sql).fetch_one(&mut *tx).await.unwrap()
        })
        .await;
        let sql = "UPDATE vault SET name = 'Renamed', is_immutable = is_immutable IS NOT TRUE WHERE id = $1";
        sqlx::query(sql).bind(VAULTS[0].id()).execute(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
    });
    assert_eq!(told(&page["data"]), before);
    let (name, is_immutable) = told(&test.json(&path(0)).await["data"]);
    assert_eq!(name, "Renamed");
    assert_ne!(is_immutable, before.1);
}

#[tokio::test]
async fn a_reward_whose_token_is_no_address_is_told_to_us_and_not_served_without_it() {
    let test = TestApp::with_market().await;
    let sql = "UPDATE reward SET token_address = 'nonsense' WHERE vault_id = $1";
    sqlx::query(sql).bind(VAULTS[0].id()).execute(&test.app.db.pool).await.unwrap();
    assert_eq!(test.get(&path(0)).await.code(), "INTERNAL_ERROR");
}
