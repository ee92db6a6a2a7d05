//! Mappings and hubs: what ingest accepts and rejects, and what a market's detail shows.

use crate::support::market::{VAULTS, address, line};
use crate::support::testapp::TestApp;
use axum::http::StatusCode;
use serde_json::{Value, json};

const SEEN: &str = "2026-11-20T12:00:00Z";
const LATER: &str = "2026-11-20T13:00:00Z";
const MARKET: &str = "/v1/markets/harbor-v4-ethereum-prime";

fn with(mut base: Value, changed: Value) -> Value {
    base.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
    base
}

fn contract(number: u32) -> String {
    format!("1:{}", address(number))
}

/// A spoke with two hubs, one of which is known, and a feed.
fn spoke() -> String {
    let market = json!({"protocol_id": "harbor", "protocol_version": "v4", "chain_id": 1, "address": address(0xc0), "name": "Prime",
        "shape": "spoke", "discovered_by": "onchain_rpc"});
    let reserve = |name: &str, hub: u32| {
        let fields = json!({"chain_id": 1, "market_address": address(0xc0), "reserve": name, "asset_symbol": name,
            "asset_address": address(0xd0), "hub_address": address(hub)});
        line("market_reserve", SEEN, fields)
    };
    let feed = json!({"chain_id": 1, "address": address(0xfe), "feed_kind": "price"});
    [line("market", SEEN, market), reserve("A", 0xc1), reserve("B", 0xc2), line("oracle_feed", SEEN, feed)].concat()
}

fn hub_asset(changed: Value) -> String {
    let base = json!({"protocol_id": "harbor", "protocol_version": "v4", "chain_id": 1, "hub_address": address(0xc1), "hub_name": "Core",
        "asset_symbol": "A", "asset_address": address(0xd0)});
    line("hub_asset", SEEN, with(base, changed))
}

fn mapping(at: &str, mapping_type: &str, id: &str, changed: Value) -> String {
    let base = json!({"mapping_type": mapping_type, "mapping_id": id, "verified": true, "confidence": 0.9});
    line("mapping", at, with(base, changed))
}

fn signers(changed: Value) -> Value {
    let base = json!({"form": "multisig", "chain_id": 1, "address": address(0x51), "threshold": 2, "owners": [address(1), address(2), address(3)],
        "roles": ["Prime/onlyOwner"]});
    json!({"signers": with(base, changed)})
}

fn to(mut mapping: Value, subjects: Value) -> Value {
    mapping["applies_to"] = subjects;
    mapping
}

async fn detail(test: &TestApp) -> Value {
    test.json(MARKET).await["data"].clone()
}

#[tokio::test]
async fn a_market_shows_its_hubs_and_who_administers_it() {
    let test = TestApp::with_market().await;
    let market = json!([{"type": "market", "id": contract(0xc0).to_uppercase().replace("1:0X", "1:0x"), "confidence": 0.75, "reason": "by name"}]);
    let delay = json!({"form": "timelock", "threshold": null, "owners": null, "address": address(0x52), "roles": []});
    let lines = [
        spoke(),
        hub_asset(json!({"interest_rate_strategy": address(0x77), "wrapper_address": address(0x78)})),
        hub_asset(json!({"asset_symbol": "B", "asset_address": address(0xd1)})),
        hub_asset(json!({"hub_address": address(0xc9), "hub_name": "Elsewhere"})),
        mapping(SEEN, "signer_set", "council", to(signers(json!({})), market.clone())),
        mapping(
            SEEN,
            "signer_set",
            "delay",
            with(to(signers(delay), market), json!({"verified": false, "name": "Delay"})),
        ),
        mapping(SEEN, "signer_set", "elsewhere", signers(json!({}))),
    ];
    let report = test.ingest(&lines.concat()).await.json();
    assert_eq!(
        (&report["data"]["changed"]["mapping"], &report["data"]["changed"]["hub_asset"]),
        (&json!(3), &json!(3))
    );
    let page = detail(&test).await;
    let wrapped = json!({"asset_symbol": "A", "asset_address": address(0xd0), "interest_rate_strategy": address(0x77), "wrapper_address": address(0x78)});
    let bare = json!({"asset_symbol": "B", "asset_address": address(0xd1), "interest_rate_strategy": null, "wrapper_address": null});
    assert_eq!(page["hubs"], json!([{"address": address(0xc1), "name": "Core", "assets": [wrapped, bare]}]));
    let council = json!({"id": "council", "name": null, "form": "multisig", "chain_id": 1, "address": address(0x51), "threshold": 2, "owner_count": 3,
        "delay_seconds": null, "roles": ["Prime/onlyOwner"], "verified": true, "confidence": 0.75, "reason": "by name", "source": "fixture"});
    assert_eq!(page["signer_sets"][0], council);
    let delay = &page["signer_sets"][1];
    assert_eq!(
        (&delay["name"], &delay["threshold"], &delay["owner_count"], &delay["verified"]),
        (&json!("Delay"), &Value::Null, &Value::Null, &json!(false))
    );
    assert_eq!(page["signer_sets"].as_array().unwrap().len(), 2);

    // A later observation replaces a mapping and all its subjects. `council` loses its subjects and `delay` becomes inactive, so neither is
    // shown.
    test.ingest(&mapping(LATER, "signer_set", "council", signers(json!({})))).await;
    test.ingest(&mapping(LATER, "signer_set", "delay", with(signers(json!({})), json!({"is_active": false})))).await;
    assert_eq!(detail(&test).await["signer_sets"], json!([]));
}

#[tokio::test]
async fn everything_that_can_be_mapped_is_taken_once() {
    let test = TestApp::with_market().await;
    let subjects = json!([
        {"type": "vault", "id": VAULTS[0].id()}, {"type": "protocol", "id": "harbor"}, {"type": "asset", "id": "dollar"},
        {"type": "market", "id": contract(0xc0)}, {"type": "feed", "id": contract(0xfe), "verified": false, "confidence": 0.123456},
    ]);
    let end = |chain: &str, chain_id: Option<u32>| json!({"chain": chain, "chain_id": chain_id, "address": "resource_rdx1abc"});
    let bridge = json!({"bridge": {"system": "ferry", "ends": [end("radix", None), end("ethereum", Some(1))]}});
    let lines = [
        spoke(),
        mapping(SEEN, "bridge", "ferry/A/x-y", to(bridge, Value::Array(subjects.as_array().unwrap()[..4].to_vec()))),
        mapping(SEEN, "operator_cluster", "nodes", to(json!({"operators": ["North", "South"]}), subjects)),
        mapping(SEEN, "oracle_vendor", "lamp", json!({"applies_to": [{"type": "feed", "id": contract(0xfe)}]})),
    ]
    .concat();
    let report = test.ingest(&lines).await.json();
    assert_eq!(report["data"]["changed"]["mapping"], 3);
    let again = test.ingest(&lines).await.json();
    assert_eq!(again["data"]["changed"], json!({}));
}

#[tokio::test]
async fn a_mapping_that_makes_no_sense_is_refused_by_field() {
    let test = TestApp::with_market().await;
    let on = |subjects: Value| to(signers(json!({})), subjects);
    let cases = [
        (mapping(SEEN, "signer_set", "a b", signers(json!({}))), vec!["mapping_id"]),
        (mapping(SEEN, "bridge", "a", signers(json!({}))), vec!["signers"]),
        (mapping(SEEN, "signer_set", "a", signers(json!({"threshold": 4}))), vec!["signers.threshold"]),
        (mapping(SEEN, "signer_set", "a", signers(json!({"threshold": 0}))), vec!["signers.threshold"]),
        (mapping(SEEN, "signer_set", "a", signers(json!({"form": "timelock"}))), vec!["signers.form"]),
        (
            mapping(SEEN, "signer_set", "a", signers(json!({"owners": [address(1), address(1)]}))),
            vec!["signers.owners[1]"],
        ),
        (mapping(SEEN, "signer_set", "a", signers(json!({"delay_seconds": -1}))), vec!["signers.delay_seconds"]),
        (mapping(SEEN, "signer_set", "a", signers(json!({"chain_id": 77}))), vec!["chain_id"]),
        (mapping(SEEN, "signer_set", "a", json!({"confidence": 1.5})), vec!["confidence"]),
        (mapping(SEEN, "vendor", "a", json!({})), vec!["mapping_type"]),
        (mapping(SEEN, "bridge", "a", json!({"bridge": {"system": "ferry", "ends": []}})), vec!["bridge.ends"]),
        (
            mapping(SEEN, "oracle_vendor", "a", json!({"applies_to": [{"type": "protocol", "id": "harbor"}]})),
            vec!["applies_to[0].type"],
        ),
        (
            mapping(SEEN, "bridge", "a", json!({"applies_to": [{"type": "feed", "id": contract(0xfe)}]})),
            vec!["applies_to[0].type"],
        ),
        (mapping(SEEN, "signer_set", "a", on(json!([{"type": "market", "id": "0x12"}]))), vec!["applies_to[0].id"]),
        (
            mapping(
                SEEN,
                "signer_set",
                "a",
                on(json!([{"type": "market", "id": contract(0xee)}, {"type": "vault", "id": "harbor-1-0x12"}])),
            ),
            vec!["applies_to[1].id"],
        ),
        (
            mapping(
                SEEN,
                "signer_set",
                "a",
                on(json!([{"type": "market", "id": contract(0xee)}, {"type": "feed", "id": contract(0xee)},
                    {"type": "asset", "id": "nothing"}, {"type": "protocol", "id": "nobody"}])),
            ),
            vec!["applies_to[0].id", "applies_to[1].id", "applies_to[2].id", "applies_to[3].id"],
        ),
        (
            mapping(
                SEEN,
                "signer_set",
                "a",
                on(json!([{"type": "protocol", "id": "harbor"}, {"type": "protocol", "id": "harbor"}])),
            ),
            vec!["applies_to[1].id"],
        ),
        (mapping(SEEN, "signer_set", "a", json!({"aplies_to": []})), vec!["aplies_to"]),
        (hub_asset(json!({"hub_address": "0x12", "chain_id": 77, "protocol_id": "nobody"})), vec!["hub_address"]),
    ];
    for (line, fields) in cases {
        let reply = test.admin("POST", "/ingest", &line).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{line}: {}", reply.text());
        for field in fields {
            assert!(reply.text().contains(&format!("line 1, {field}\"")), "{field}: {line}: {}", reply.text());
        }
    }
    let kept: i64 = sqlx::query_scalar("SELECT (SELECT count(*) FROM mapping) + (SELECT count(*) FROM hub_asset)")
        .fetch_one(&test.facts.db.pool)
        .await
        .unwrap();
    assert_eq!(kept, 0);
}
