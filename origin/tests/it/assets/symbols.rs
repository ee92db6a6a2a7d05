//! Symbols of deposit assets, their daily histories, and the platform's totals (`/v1/stats`).

use crate::http::tags::{newest, raised};
use crate::support::market::{VAULTS, Vault};
use crate::support::testapp::{NOW, TestApp};
use rds_engine::symbol_days;
use rds_origin::catalog::refresh;
use rds_shared::route::Tag;
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};

fn at(test: &TestApp, text: &str) -> Timestamp {
    let instant = Timestamp::parse(text).unwrap();
    assert!(test.app.clock.set(instant));
    instant
}

fn close(vault: &Vault, observed_at: &str, changed: Value) -> String {
    vault.state(observed_at, changed)
}

async fn days(test: &TestApp, target: &str) -> Vec<(String, String, f64, Option<f64>)> {
    let rows = test.json(&format!("/v1/assets/{target}")).await["data"].clone();
    let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
    let day = |row: &Value| {
        (text(row, "date"), text(row, "source"), row["tvl_usd"].as_f64().unwrap(), row["apr_net"].as_f64())
    };
    rows.as_array().unwrap().iter().map(day).collect()
}

#[tokio::test]
async fn symbols_count_the_vaults_that_the_list_finds_by_them() {
    let test = TestApp::with_market().await;
    let rows = test.json("/v1/assets").await["data"].clone();
    assert_eq!(rows[0], json!({"asset_symbol": "USDX", "vault_count": 7}));
    for row in rows.as_array().unwrap() {
        let symbol = row["asset_symbol"].as_str().unwrap();
        let encoded: String = symbol.bytes().map(|byte| format!("%{byte:02X}")).collect();
        assert_eq!(
            test.json(&format!("/v1/vaults?asset={encoded}")).await["meta"]["total"],
            row["vault_count"],
            "{symbol}"
        );
    }
}

#[tokio::test]
async fn a_day_is_the_last_reading_of_every_eligible_vault_and_a_missing_day_is_missing() {
    let test = TestApp::with_market().await;
    // Two vaults take xETH: one is open, the other closed to deposits and so not investable.
    let [open, closed] = [&VAULTS[4], &VAULTS[5]];
    let lines = [
        close(open, "2026-11-17T03:00:00Z", json!({"tvl_usd": 1.0})),
        close(open, "2026-11-17T23:59:59Z", json!({"tvl_usd": 100.0, "base_apr": 0.05})),
        close(closed, "2026-11-17T12:00:00Z", json!({"tvl_usd": 7.0})),
        close(open, "2026-11-19T00:00:00Z", json!({"tvl_usd": 300.0, "base_apr": null})),
        // This observation has no TVL, so the day's last observed TVL counts.
        close(open, "2026-11-19T10:00:00Z", json!({"tvl_usd": null})),
    ];
    test.ingest(&lines.concat()).await;
    let derived = |date: &str, tvl: f64, apr: Option<f64>| (date.to_owned(), "derived".to_owned(), tvl, apr);
    let expected = [
        derived("2026-11-17", 100.0, Some(0.05)),
        derived("2026-11-19", 300.0, None),
        derived("2026-11-20", 7.5e5, Some(0.02)),
    ];
    for target in ["xETH/history", "xeth/history?range=7d", "XETH/history?range=1y"] {
        assert_eq!(days(&test, target).await, expected, "{target}");
    }
    let meta = test.json("/v1/assets/xeth/history?range=90d").await["meta"].clone();
    assert_eq!(meta, json!({"symbol": "XETH", "range": "90d", "points": 3}));

    // The second vault opens again. Its value counts on past days too, because derived days use today's eligibility.
    test.ingest(&close(closed, "2026-11-20T23:55:00Z", json!({"deposit_status": "open"}))).await;
    assert_eq!(days(&test, "xETH/history").await[0].2, 107.0);
}

#[tokio::test]
async fn rates_are_weighted_by_value_and_count_rewards_as_they_ran_then() {
    let test = TestApp::with_market().await;
    let lines = [
        close(&VAULTS[0], "2026-11-18T12:00:00Z", json!({"tvl_usd": 300.0, "base_apr": 0.02})),
        close(&VAULTS[2], "2026-11-18T12:00:00Z", json!({"tvl_usd": 100.0, "base_apr": 0.06})),
        close(&VAULTS[3], "2026-11-18T12:00:00Z", json!({"tvl_usd": 600.0, "base_apr": null})),
    ];
    test.ingest(&lines.concat()).await;
    let all = days(&test, "USDX/history").await;
    let (_, _, tvl, apr) = &all[0];
    assert_eq!(*tvl, 1_000.0);
    // The first vault's campaign began two days later, so its reward does not count on this day.
    assert!((apr.unwrap() - 0.03).abs() < 1e-12, "{apr:?}");
    let rows = test.json("/v1/vaults?asset=usdx&depositable=true").await["data"].clone();
    let weighed: Vec<(f64, f64)> = rows
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| Some((row["tvl_usd"].as_f64()?, row["apr_net"].as_f64()?)))
        .collect();
    let weight: f64 = weighed.iter().map(|(tvl, _)| tvl).sum();
    let mean = weighed.iter().map(|(tvl, apr)| tvl * apr).sum::<f64>() / weight;
    assert!((all[1].3.unwrap() - mean).abs() < 1e-12, "today as the list has it, rewards included");
}

#[tokio::test]
async fn a_stored_day_does_not_change_with_later_eligibility() {
    let test = TestApp::with_market().await;
    let now = at(&test, "2026-11-21T00:30:00Z");
    assert_eq!(days(&test, "xETH/history").await[0].1, "derived");
    let derived = newest(&test).await;
    assert!(symbol_days::keep_due(&test.app.db, now).await.unwrap());
    let observed = newest(&test).await;
    assert_eq!(raised(&derived, &observed), [Tag::Vaults], "the answer says so, and copies are too old");
    assert!(!symbol_days::keep_due(&test.app.db, now).await.unwrap(), "once");
    assert_eq!(newest(&test).await, observed);
    let before = days(&test, "xETH/history").await;
    assert_eq!(before, [("2026-11-20".to_owned(), "observed".to_owned(), 7.5e5, Some(0.02))]);

    // The vault is shut down, and a late observation of the day arrives: neither changes the day.
    let identity = VAULTS[4]
        .identity()
        .replace("2026-11-01T00:00:00Z", "2026-11-21T00:10:00Z")
        .replace("\"is_shutdown\":false", "\"is_shutdown\":true");
    let late = close(&VAULTS[4], "2026-11-20T23:59:00Z", json!({"tvl_usd": 1.0}));
    test.ingest(&[identity, late].concat()).await;
    assert_eq!(days(&test, "xETH/history").await, before);
    // Later days have no stored sums and no eligible vault to derive them from, so they have no row.
    at(&test, "2026-11-23T12:00:00Z");
    assert_eq!(days(&test, "xETH/history").await, before);
}

#[tokio::test]
async fn a_day_on_which_a_vault_was_not_read_does_not_collapse() {
    let test = TestApp::with_market().await;
    let [one, other] = [&VAULTS[4], &VAULTS[5]];
    let reading = |vault: &Vault, day: u32, tvl: f64, apr: f64| {
        close(vault, &format!("2026-11-{day}T12:00:00Z"), json!({"tvl_usd": tvl, "base_apr": apr}))
    };
    let lines = [
        reading(one, 10, 100.0, 0.02),
        reading(other, 10, 900.0, 0.05),
        reading(one, 12, 110.0, 0.03),
        reading(one, 17, 120.0, 0.03),
        reading(one, 18, 130.0, 0.03),
        // Both accept deposits, so both are in the sum.
        close(other, "2026-11-20T23:55:00Z", json!({"deposit_status": "open"})),
    ];
    test.ingest(&lines.concat()).await;
    let told: Vec<_> = days(&test, "xETH/history").await.into_iter().take(4).collect();
    let derived = |date: &str, tvl: f64, apr: f64| (date.to_owned(), "derived".to_owned(), tvl, Some(apr));
    let expected = [
        derived("2026-11-10", 1_000.0, 0.047),
        // The other vault's value is from two days before; its rate was not reported.
        derived("2026-11-12", 1_010.0, 0.03),
        derived("2026-11-17", 1_020.0, 0.03),
        // A value is carried forward for a week only.
        derived("2026-11-18", 130.0, 0.03),
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_partly_read_day_is_not_kept_as_observed_and_a_late_reading_mends_it() {
    let test = TestApp::with_market().await;
    let [one, other] = [&VAULTS[4], &VAULTS[5]];
    let open = |tvl: f64| json!({"tvl_usd": tvl, "deposit_status": "open"});
    test.ingest(
        &[close(one, "2026-11-20T23:55:00Z", open(100.0)), close(other, "2026-11-20T23:55:00Z", open(900.0))].concat(),
    )
    .await;
    assert!(symbol_days::keep_due(&test.app.db, at(&test, "2026-11-21T00:30:00Z")).await.unwrap());
    // Only one vault is read on the next day. The sum of an unfinished day includes the other vault's last value.
    at(&test, "2026-11-21T12:05:00Z");
    test.ingest(&close(one, "2026-11-21T12:00:00Z", open(110.0))).await;
    let told =
        async || days(&test, "xETH/history").await.into_iter().map(|day| (day.0, day.1, day.2)).collect::<Vec<_>>();
    let day = |date: &str, source: &str, tvl: f64| (format!("2026-11-{date}"), source.to_owned(), tvl);
    let expected = [day("20", "observed", 1_000.0), day("21", "derived", 1_010.0)];
    assert_eq!(told().await, expected);
    assert!(symbol_days::keep_due(&test.app.db, at(&test, "2026-11-22T00:30:00Z")).await.unwrap());
    assert_eq!(told().await, expected, "not observed");
    test.ingest(&close(other, "2026-11-21T23:00:00Z", open(880.0))).await;
    assert_eq!(told().await, [day("20", "observed", 1_000.0), day("21", "derived", 990.0)]);
    // A day on which every vault was read is stored as `observed`.
    at(&test, "2026-11-22T13:00:00Z");
    test.ingest(
        &[close(one, "2026-11-22T12:00:00Z", open(1.0)), close(other, "2026-11-22T12:00:00Z", open(2.0))].concat(),
    )
    .await;
    assert!(symbol_days::keep_due(&test.app.db, at(&test, "2026-11-23T00:30:00Z")).await.unwrap());
    assert_eq!(told().await.last(), Some(&day("22", "observed", 3.0)));
}

#[tokio::test]
async fn two_processes_keep_a_day_once() {
    let test = TestApp::with_market().await;
    let now = at(&test, "2026-11-21T01:00:00Z");
    let (one, other) = tokio::join!(symbol_days::keep_due(&test.app.db, now), symbol_days::keep_due(&test.app.db, now));
    assert_eq!(u32::from(one.unwrap()) + u32::from(other.unwrap()), 1);
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM symbol_day WHERE symbol = 'USDX'")
        .fetch_one(&test.app.db.pool)
        .await
        .unwrap();
    assert_eq!(kept, 1);
}

#[tokio::test]
async fn a_symbol_with_a_slash_has_a_history_like_any_other() {
    let test = TestApp::with_market().await;
    let identity =
        VAULTS[4].identity().replace("2026-11-01T00:00:00Z", "2026-11-20T23:59:00Z").replace("xETH", "s/xETH");
    test.ingest(&identity).await;
    let meta = test.json("/v1/assets/s%2Fxeth/history").await["meta"].clone();
    assert_eq!(meta, json!({"symbol": "S/XETH", "range": "30d", "points": 1}));
    assert_eq!(test.get("/v1/assets/s/xETH/history").await.code(), "NOT_FOUND");
}

#[tokio::test]
async fn stored_days_are_shown_as_stored_and_days_between_them_are_derived() {
    let test = TestApp::with_market().await;
    let reading = |day: u32, tvl: f64| close(&VAULTS[4], &format!("2026-11-{day}T12:00:00Z"), json!({"tvl_usd": tvl}));
    test.ingest(&[reading(16, 16.0), reading(17, 17.0), reading(18, 18.0)].concat()).await;
    let now = at(&test, "2026-11-18T01:00:00Z");
    assert!(symbol_days::keep_due(&test.app.db, now).await.unwrap());
    at(&test, NOW);
    // Late observations change the derived days around the stored day, but not the stored day.
    let late = |day: u32| close(&VAULTS[4], &format!("2026-11-{day}T23:00:00Z"), json!({"tvl_usd": 1.0}));
    test.ingest(&[late(16), late(17), late(18)].concat()).await;
    let told: Vec<_> =
        days(&test, "xETH/history?range=7d").await.into_iter().map(|day| (day.0, day.1, day.2)).collect();
    let day = |date: &str, source: &str, tvl: f64| (format!("2026-11-{date}"), source.to_owned(), tvl);
    let expected = [
        day("16", "derived", 1.0),
        day("17", "observed", 17.0),
        day("18", "derived", 1.0),
        day("20", "derived", 7.5e5),
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn an_unknown_symbol_or_range_is_an_error() {
    let test = TestApp::with_market().await;
    assert_eq!(test.get("/v1/assets/USD/history").await.code(), "NOT_FOUND", "no variants");
    assert_eq!(test.get("/v1/assets/USDX/history?range=2d").await.code(), "INVALID_PARAMETER");
}

#[tokio::test]
async fn the_platforms_figures_are_those_of_its_list_and_their_parts_make_the_whole() {
    let test = TestApp::with_market().await;
    let stats = test.json("/v1/stats").await["data"].clone();
    let rows = test.json("/v1/vaults?limit=100").await["data"].clone();
    let rows = rows.as_array().unwrap();
    let tvl = |rows: &[&Value]| rows.iter().map(|row| row["tvl_usd"].as_f64().unwrap()).sum::<f64>();
    let scored: Vec<&Value> = rows.iter().filter(|row| !row["total_score"].is_null()).collect();
    assert_eq!((&stats["vault_count"], &stats["scored_vault_count"]), (&json!(rows.len()), &json!(scored.len())));
    assert_eq!(
        (&stats["tvl_usd"], &stats["scored_tvl_usd"]),
        (&json!(tvl(&rows.iter().collect::<Vec<_>>())), &json!(tvl(&scored)))
    );
    assert_eq!(
        (&stats["priced_vault_count"], &stats["chain_count"], &stats["curator_count"]),
        (&json!(11), &json!(3), &json!(2))
    );
    for part in ["by_tier", "by_chain", "by_protocol", "by_curator", "by_category", "by_strategy"] {
        let parts: Vec<&Value> = stats[part].as_array().unwrap().iter().collect();
        let count: u64 = parts.iter().map(|part| part["vault_count"].as_u64().unwrap()).sum();
        assert_eq!(count, rows.len() as u64, "{part}");
        assert!((tvl(&parts) - stats["tvl_usd"].as_f64().unwrap()).abs() < 1e-3, "{part}");
    }
    let tiers: Vec<&Value> = stats["by_tier"].as_array().unwrap().iter().map(|part| &part["risk_tier"]).collect();
    assert_eq!(tiers, [&json!("Prime"), &json!("Core"), &json!("Edge"), &Value::Null]);
    let category = |name: &str| {
        stats["by_category"].as_array().unwrap().iter().find(|part| part["category"] == name).cloned().unwrap()
    };
    assert_eq!(
        category("fiat_backed_stablecoin")["vault_count"],
        5,
        "the vaults whose deposit contract the registry knows"
    );
    assert!(stats["avg_apr"].is_number());

    let etag = test.get("/v1/stats").await.header("etag").unwrap().to_owned();
    assert!(test.app.clock.set(Timestamp::parse(NOW).unwrap().plus_seconds(3_600)));
    refresh::refresh(&test.app).await.unwrap();
    assert_eq!(test.get("/v1/stats").await.header("etag"), Some(etag.as_str()), "time alone changes nothing");
}
