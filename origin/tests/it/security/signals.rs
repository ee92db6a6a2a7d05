//! Signals: which vaults they affect, the exposure of these vaults, and the list's filters.

use crate::support::market::{DOLLAR, VAULTS, line};
use crate::support::testapp::TestApp;
use axum::http::StatusCode;
use rds_facts::event_id;
use serde_json::{Value, json};

const SEEN: &str = "2026-11-20T23:55:00Z";

fn signal(key: &str, entities: &[(&str, &str)], changed: Value) -> String {
    let entities: Vec<Value> =
        entities.iter().map(|(kind, id)| json!({ "kind": kind, "id": id, "label": format!("The {kind}") })).collect();
    let mut fields = json!({
        "signal_key": key, "title": format!("Signal {key}"), "severity": "Watch", "significance": 0.5, "category": "audit",
        "entities": entities, "published_at": "2026-11-20T12:00:00Z",
    });
    fields.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
    line("signal", SEEN, fields)
}

fn id(key: &str) -> i64 {
    event_id(&format!("signal|{key}"))
}

async fn titles(test: &TestApp, query: &str) -> Vec<String> {
    let body = test.json(&format!("/v1/signals?{query}")).await;
    let name = |row: &Value| row["title"].as_str().unwrap().trim_start_matches("Signal ").to_owned();
    body["data"].as_array().unwrap().iter().map(name).collect()
}

async fn detail(test: &TestApp, key: &str) -> Value {
    test.json(&format!("/v1/signals/{}", id(key))).await["data"].clone()
}

#[tokio::test]
async fn a_signal_counts_each_affected_vault_once_and_sums_exposure_to_the_cent() {
    let test = TestApp::with_market().await;
    let vault = VAULTS[0].id();
    let key = format!("1:{}", VAULTS[0].address().to_uppercase().replace("0X", "0x"));
    let lines = [
        signal("curator", &[("curator", "north")], json!({})),
        signal("protocol", &[("protocol", "lantern")], json!({})),
        signal("chain", &[("chain", "8453")], json!({})),
        signal("asset", &[("asset", "dollar")], json!({})),
        signal("vault", &[("vault", &vault)], json!({})),
        signal("key", &[("vault", &key)], json!({})),
        signal("both", &[("curator", "north"), ("protocol", "harbor"), ("person", "somebody")], json!({})),
        signal("nobody", &[("issuer", "nobody")], json!({})),
    ];
    test.ingest(&lines.concat()).await;
    for (name, vaults, exposure) in [
        ("curator", 2, "10000000.00"),
        ("protocol", 4, "1250000.00"),
        ("chain", 3, "7300000.00"),
        ("asset", 5, "18000000.00"),
        ("vault", 1, "5000000.00"),
        ("key", 1, "5000000.00"),
        ("both", 4, "12900000.00"),
        ("nobody", 0, "0.00"),
    ] {
        let signal = detail(&test, name).await;
        assert_eq!(
            (&signal["affectedVaultCount"], &signal["exposureUsd"]),
            (&json!(vaults), &json!(exposure)),
            "{name}"
        );
        assert_eq!(signal["affectedVaults"].as_array().unwrap().len(), vaults, "{name}");
    }
    let both = detail(&test, "both").await;
    assert_eq!(both["affectedVaults"][0]["via"], json!(["curator:north", "protocol:harbor"]));
    assert_eq!(both["affectedVaults"][0]["vaultKey"], format!("1:{}", VAULTS[0].address()));
    let impact = |place: usize| {
        (both["entitiesFull"][place]["affectedVaultCount"].clone(), both["entitiesFull"][place]["exposureUsd"].clone())
    };
    assert_eq!(
        [impact(0), impact(1), impact(2)],
        [(json!(2), json!("10000000.00")), (json!(4), json!("12900000.00")), (json!(0), json!("0.00"))]
    );
    assert_eq!((&both["graphSnapshotId"], &both["breachCount"]), (&Value::Null, &json!(0)));
    let never_read = detail(&test, "protocol").await["affectedVaults"][3].clone();
    assert_eq!((&never_read["vaultName"], &never_read["exposureUsd"]), (&json!("Never Read"), &Value::Null));
}

#[tokio::test]
async fn an_asset_that_is_only_part_of_a_vault_exposes_that_part() {
    let test = TestApp::with_market().await;
    let parts = json!([{ "asset_id": "dollar", "share": 0.3 }, { "asset_id": "dollar", "share": 0.033333 }]);
    let exposure = line("exposure", SEEN, json!({ "vault_id": VAULTS[4].id(), "status": "observed", "parts": parts }));
    test.ingest(&(exposure + &signal("asset", &[("asset", "dollar")], json!({})))).await;
    let signal = detail(&test, "asset").await;
    let held = signal["affectedVaults"]
        .as_array()
        .unwrap()
        .iter()
        .find(|vault| vault["vaultName"] == "Lantern Staked Ether")
        .unwrap();
    assert_eq!((&held["exposureShare"], &held["exposureUsd"]), (&json!(0.333333), &json!("249999.75")));
    assert_eq!((&signal["affectedVaultCount"], &signal["exposureUsd"]), (&json!(6), &json!("18249999.75")));
}

#[tokio::test]
async fn markets_and_feeds_lead_to_the_vaults_of_their_reserves() {
    let test = TestApp::with_market().await;
    let (pool, feed) = (crate::support::market::address(0xa0), crate::support::market::address(0xf0));
    let lines = [
        line(
            "market",
            SEEN,
            json!({ "protocol_id": "harbor", "protocol_version": "v3", "chain_id": 1, "address": pool, "name": "HarborMain",
            "shape": "pool", "discovered_by": "onchain_rpc" }),
        ),
        line(
            "market_reserve",
            SEEN,
            json!({ "reserve": "usdx", "chain_id": 1, "market_address": pool, "asset_symbol": "USDX",
            "asset_address": DOLLAR, "token_address": VAULTS[2].address() }),
        ),
        line(
            "oracle_feed",
            SEEN,
            json!({ "chain_id": 1, "address": feed, "feed_kind": "price", "used_by": ["HarborMain"], "reserve_symbols": ["USDX"] }),
        ),
        signal("market", &[("market", &format!("1:{pool}"))], json!({})),
        signal("feed", &[("oracle", &format!("1:{feed}"))], json!({})),
    ];
    test.ingest(&lines.concat()).await;
    for key in ["market", "feed"] {
        let signal = detail(&test, key).await;
        assert_eq!(
            (&signal["affectedVaults"][0]["vaultId"], &signal["exposureUsd"]),
            (&json!(VAULTS[2].id()), &json!("2000000.00")),
            "{key}"
        );
    }
}

#[tokio::test]
async fn values_computed_by_the_source_itself_are_kept() {
    let test = TestApp::with_market().await;
    let given = json!([
        { "vault_id": VAULTS[0].id(), "exposure_usd": 12.345, "share": 0.5 },
        { "vault_id": VAULTS[3].id() },
    ]);
    let own = signal("own", &[("curator", "north")], json!({ "given_vaults": given, "breach_count": 3 }));
    let sum = signal("sum", &[("curator", "north")], json!({ "given_vaults": [], "given_exposure_usd": 7.5 }));
    test.ingest(&(own + &sum)).await;
    let own = detail(&test, "own").await;
    assert_eq!(
        (&own["exposureUsd"], &own["affectedVaultCount"], &own["breachCount"]),
        (&json!("900012.34"), &json!(2), &json!(3))
    );
    assert_eq!(
        (&own["affectedVaults"][1]["exposureShare"], &own["affectedVaults"][1]["via"]),
        (&json!(0.5), &json!([]))
    );
    let sum = detail(&test, "sum").await;
    assert_eq!((&sum["exposureUsd"], &sum["affectedVaultCount"]), (&json!("7.50"), &json!(0)));
    // A newer observation replaces the earlier one.
    let newer = signal("own", &[("curator", "north")], json!({})).replace(SEEN, "2026-11-20T23:56:00Z");
    test.ingest(&newer).await;
    assert_eq!(detail(&test, "own").await["exposureUsd"], "10000000.00");
}

#[tokio::test]
async fn the_list_looks_back_thirty_days_and_takes_every_filter() {
    let test = TestApp::with_market().await;
    let at = |instant: &str| json!({ "published_at": instant });
    let lines = [
        signal("edge", &[("curator", "north")], at("2026-10-22T00:00:00Z")),
        signal("old", &[("curator", "north")], at("2026-10-21T23:59:59Z")),
        signal("same-a", &[("protocol", "Harbor")], at("2026-11-19T00:00:00Z")),
        signal("same-b", &[("vault", &VAULTS[3].id())], at("2026-11-19T00:00:00Z")),
        signal("breach", &[("chain", "900")], json!({ "severity": "PolicyBreach", "category": "limits" })),
    ];
    test.ingest(&lines.concat()).await;
    assert_eq!(titles(&test, "").await.first().unwrap(), "breach");
    for (query, count) in [
        ("", 4),
        ("since=2026-10-01", 5),
        ("since=2026-11-19T00:00:00Z", 3),
        ("since=2026-11-19T00:00:00.000001Z", 1),
        ("severity=PolicyBreach", 1),
        ("severity=watch,policybreach", 4),
        ("severity=Info", 0),
        ("category=limits", 1),
        ("category=LIMITS,audit", 4),
        ("entity=north", 1),
        ("entity=curator:NORTH", 1),
        ("entity=protocol:north", 0),
        ("entity=harbor", 1),
        ("entity=%25", 0),
        ("entity=north%27%20OR%20true", 0),
        (&format!("vault=8453:{}", VAULTS[3].address().to_uppercase().replace("0X", "0x")), 1),
        (&format!("vault=1:{}", VAULTS[0].address()), 1),
        (&format!("vault=900:{}", VAULTS[12].address()), 1),
        (&format!("vault=1:{}", VAULTS[3].address()), 0),
    ] {
        assert_eq!(titles(&test, query).await.len(), count, "{query}");
    }
    let page = test.json("/v1/signals?limit=2").await;
    assert_eq!(page["meta"], json!({ "page": 1, "limit": 2, "total": 4, "hasMore": true }));
    let mut seen = titles(&test, "limit=1&page=2").await;
    seen.extend(titles(&test, "limit=1&page=3").await);
    seen.sort();
    assert_eq!(seen, ["same-a", "same-b"], "pages of rows with equal times neither overlap nor skip");
    for bad in ["severity=high", "vault=nothing", "vault=1:0x12", "since=yesterday", "limit=0", "entity=%00"] {
        assert_eq!(test.get(&format!("/v1/signals?{bad}")).await.code(), "INVALID_PARAMETER", "{bad}");
    }
    assert_eq!(test.get("/v1/signals?limit=100&page=3").await.status, StatusCode::FORBIDDEN);
    for unknown in ["1", "x", "-5", "99999999999999999999"] {
        assert_eq!(test.get(&format!("/v1/signals/{unknown}")).await.code(), "NOT_FOUND", "{unknown}");
    }
}

#[tokio::test]
async fn a_withheld_chain_hides_its_signals_and_its_vaults() {
    let test = TestApp::with_market().await;
    let lines = [
        signal("of-base", &[("chain", "8453")], json!({})),
        signal("of-vault", &[("vault", &VAULTS[3].id())], json!({})),
        signal("of-both", &[("protocol", "harbor")], json!({})),
    ];
    test.ingest(&lines.concat()).await;
    let chain = |served: bool, hour: u32| {
        line(
            "chain",
            &format!("2026-11-20T{hour}:00:00Z"),
            json!({ "chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true, "is_served": served }),
        )
    };
    test.ingest(&chain(false, 10)).await;
    assert_eq!(titles(&test, "").await, ["of-both"]);
    assert_eq!(test.get(&format!("/v1/signals/{}", id("of-base"))).await.status, StatusCode::NOT_FOUND);
    let both = detail(&test, "of-both").await;
    assert_eq!((&both["affectedVaultCount"], &both["exposureUsd"]), (&json!(3), &json!("12000000.00")));
    assert!(titles(&test, &format!("vault=8453:{}", VAULTS[3].address())).await.is_empty());
    test.ingest(&chain(true, 11)).await;
    assert_eq!(
        (titles(&test, "").await.len(), &detail(&test, "of-both").await["exposureUsd"]),
        (3, &json!("12900000.00"))
    );
}

#[tokio::test]
async fn signals_of_a_withheld_chain_are_hidden_however_they_name_it() {
    let test = TestApp::with_market().await;
    let asset = json!({ "id": "based", "chain_id": 8453, "address": crate::support::market::address(0xba), "symbol": "BASED",
                        "category": "fiat_backed_stablecoin" });
    let withheld = ["number", "slug", "shouted", "asset"];
    let lines = [
        line("asset", SEEN, asset),
        signal("number", &[("chain", "8453")], json!({})),
        signal("slug", &[("chain", "base")], json!({})),
        signal("shouted", &[("person", "somebody"), ("chain", "BASE")], json!({})),
        signal("asset", &[("asset", "based")], json!({})),
        signal("other-asset", &[("asset", "dollar")], json!({})),
        signal("namesake", &[("person", "base")], json!({})),
    ];
    test.ingest(&lines.concat()).await;
    assert_eq!(titles(&test, "").await.len(), 6);
    let chain = json!({ "chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true, "is_served": false });
    test.ingest(&line("chain", SEEN, chain)).await;
    let mut left = titles(&test, "").await;
    left.sort();
    assert_eq!(left, ["namesake", "other-asset"]);
    assert_eq!(titles(&test, "entity=base").await, ["namesake"]);
    for key in withheld {
        assert_eq!(test.get(&format!("/v1/signals/{}", id(key))).await.status, StatusCode::NOT_FOUND, "{key}");
    }
}

#[tokio::test]
async fn a_faulty_signal_is_named_by_line_and_field() {
    let test = TestApp::with_market().await;
    for (field, changed) in [
        ("signal_key", json!({ "signal_key": "Not A Slug" })),
        ("severity", json!({ "severity": "Critical" })),
        ("significance", json!({ "significance": 1.5 })),
        ("category", json!({ "category": "Two Words" })),
        ("published_at", json!({ "published_at": "2026-11-21T00:00:00Z" })),
        ("entities[0].kind", json!({ "entities": [{ "kind": "A B", "id": "x", "label": "x" }] })),
        (
            "given_vaults[0].vault_id",
            json!({ "given_vaults": [{ "vault_id": "harbor-1-0x00000000000000000000000000000000000000ff" }] }),
        ),
        ("given_exposure_usd", json!({ "given_exposure_usd": -1 })),
        ("article_urls[0]", json!({ "article_urls": ["nowhere"] })),
    ] {
        let reply = test.admin("POST", "/ingest", &signal("bad", &[], changed)).await;
        assert_eq!(reply.json()["error"]["details"][0]["name"], format!("line 1, {field}"), "{}", reply.text());
    }
}

#[tokio::test]
async fn a_signal_names_the_graph_that_was_current_when_its_impact_was_found() {
    let test = TestApp::with_market().await;
    test.ingest(&signal("early", &[("curator", "north")], json!({}))).await;
    let snapshot = "ab".repeat(32);
    for sql in [
        "insert into graph_snapshot (snapshot_id, built_at, manifest) values ($1, now(), '{}')",
        "update graph_current set snapshot_id = $1",
    ] {
        sqlx::query(sql).bind(&snapshot).execute(&test.facts.db.pool).await.unwrap();
    }
    let given = json!({ "given_vaults": [], "snapshot_id": "their-own" });
    test.ingest(
        &(signal("late", &[("curator", "north")], json!({})) + &signal("given", &[("curator", "north")], given)),
    )
    .await;
    let shown = async |key: &str| {
        let signal = detail(&test, key).await;
        (signal["graphSnapshotId"].clone(), signal["evidence"]["snapshotId"].clone())
    };
    assert_eq!(shown("late").await, (json!(snapshot), json!(snapshot)));
    assert_eq!(shown("early").await, (Value::Null, Value::Null), "no graph existed yet");
    assert_eq!(shown("given").await, (Value::Null, json!("their-own")), "the source supplied its own snapshot");
}
