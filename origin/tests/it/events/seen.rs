//! Events as the routes of their subjects show them: vaults with critical incidents, a market, a vault, a curator and a protocol.

use crate::events::feed::{event, retract, titles, with_events};
use crate::support::market::{VAULTS, address, line};
use crate::support::testapp::{NOW, TestApp, holder};
use rds_facts::event_id;
use rds_shared::access::Plan;
use serde_json::{Value, json};

#[tokio::test]
async fn critical_incidents_reach_their_vaults() {
    let test = TestApp::with_market().await;
    let major = |more: Value| {
        let mut fields = json!({"severity": "Warning", "incident_severity": "major"});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fields
    };
    let events = [
        event("own-new", 10, json!({"severity": "Critical", "vault_ids": [VAULTS[0].id()]})),
        event("own-old", 20, major(json!({"vault_ids": [VAULTS[0].id()], "affects_protocol_score": true}))),
        event("whole", 30, major(json!({"protocol_id": "lantern", "affects_protocol_score": true}))),
        event("unflagged", 5, major(json!({"protocol_id": "driftwood"}))),
        event("minor", 5, json!({"incident_severity": "minor", "vault_ids": [VAULTS[2].id()]})),
        event("too-old", 366, major(json!({"vault_ids": [VAULTS[2].id()]}))),
        event("draft", 5, major(json!({"vault_ids": [VAULTS[2].id()], "publication": "draft"}))),
        event("gone", 5, major(json!({"vault_ids": [VAULTS[11].id()]}))),
        event("debt", 5, json!({"event_type": "BadDebt", "severity": "Critical", "vault_ids": [VAULTS[2].id()]})),
    ];
    test.ingest(&events.concat()).await;
    let named = |answer: &Value| -> Vec<String> {
        let row = |row: &Value| {
            format!("{}: {}", row["vault_name"].as_str().unwrap(), row["incident_title"].as_str().unwrap())
        };
        answer["data"].as_array().unwrap().iter().map(row).collect()
    };
    let answer = test.json("/v1/vaults/with-critical-incidents").await;
    let all = named(&answer);
    assert_eq!(all[..2], ["Harbor Dollar: own-new", "Lantern Staked Ether: whole"]);
    assert!(all[1..].iter().all(|row| row.ends_with(": whole")), "{all:?}");
    assert!(all.last().unwrap().starts_with("Never Read"), "without a value last: {all:?}");
    let first = &answer["data"][0];
    assert_eq!(
        (&first["days_since_incident"], &first["event_severity"], &first["incident_severity"], &first["curator_name"]),
        (&json!(10), &json!("Critical"), &Value::Null, &json!("North Star"))
    );
    let flagged = test.json("/v1/vaults/with-critical-incidents?affectsProtocolScore=true").await;
    assert_eq!(named(&flagged)[0], "Harbor Dollar: own-old");
    retract(&test, "own-new").await;
    retract(&test, "own-old").await;
    assert!(!named(&test.json("/v1/vaults/with-critical-incidents").await).iter().any(|row| row.starts_with("Harbor")));
    assert_eq!(test.get("/v1/vaults/with-critical-incidents?limit=0").await.code(), "INVALID_PARAMETER");
    assert_eq!(test.json("/v1/vaults/with-critical-incidents?limit=1").await["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn without_a_key_the_first_fifty_critical_vaults_are_shown() {
    let test = TestApp::with_market().await;
    let vaults: String = (100..160)
        .map(|number| {
            line(
                "vault",
                "2026-11-01T00:00:00Z",
                json!({"protocol_id": "lantern", "chain_id": 1, "address": address(number),
                "name": format!("Vault {number}"), "asset_mode": "holdings"}),
            )
        })
        .collect();
    let incident =
        event("whole", 3, json!({"severity": "Critical", "protocol_id": "lantern", "affects_protocol_score": true}));
    test.ingest(&[vaults, incident].concat()).await;
    let rows = |reply: &Value| reply["data"].as_array().unwrap().len();
    assert_eq!(rows(&test.json("/v1/vaults/with-critical-incidents?limit=500").await), 50);
    let keyed = test.get_as(&holder(Plan::Data), "/v1/vaults/with-critical-incidents?limit=500").await.json();
    assert!(rows(&keyed) > 60);
}

#[tokio::test]
async fn a_markets_events_are_its_own_and_bad_debt_of_its_vaults() {
    let test = TestApp::with_market().await;
    let pool = address(0xb1);
    let market = [
        line(
            "market",
            NOW,
            json!({"protocol_id": "harbor", "protocol_version": "v3", "chain_id": 1, "address": pool, "name": "Core",
            "shape": "pool", "discovered_by": "protocol_api"}),
        ),
        line(
            "market_reserve",
            NOW,
            json!({"reserve": "usdx", "chain_id": 1, "market_address": pool, "asset_symbol": "USDX",
            "asset_address": address(0xd0), "token_address": VAULTS[0].address()}),
        ),
    ];
    let of_market = json!({"chain_id": 1, "market_address": pool});
    let with = |more: Value| {
        let mut fields = of_market.clone();
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fields
    };
    let events = [
        event(
            "cascade",
            1,
            with(json!({"event_type": "LiquidationCascade", "severity": "Warning", "data": {"liquidations": 41}})),
        ),
        event("reading", 0, with(json!({"event_type": "RateUpdated", "is_telemetry": true}))),
        event("debt", 2, json!({"event_type": "BadDebt", "vault_ids": [VAULTS[0].id()], "loss_usd": 12000.0})),
        event("other-debt", 2, json!({"event_type": "BadDebt", "vault_ids": [VAULTS[4].id()]})),
        event("vault-incident", 2, json!({"vault_ids": [VAULTS[0].id()]})),
        event("draft", 1, with(json!({"publication": "draft"}))),
    ];
    test.ingest(&[market.concat(), events.concat()].concat()).await;
    let answer = test.json("/v1/markets/HARBOR-v3-ethereum-core/events").await;
    assert_eq!(titles(&answer), ["cascade", "debt"]);
    let (own, debt) = (&answer["data"][0], &answer["data"][1]);
    assert_eq!(
        (&own["scope"], &own["vault_id"], &own["data"]),
        (&json!("protocol"), &Value::Null, &json!({"liquidations": 41}))
    );
    assert_eq!((&debt["scope"], &debt["vault_id"]), (&json!("vault"), &json!(VAULTS[0].id())));
    assert_eq!((&own["market_id"], &debt["loss_amount_usd"]), (&json!("harbor-v3-ethereum-core"), &json!(12000.0)));
    assert_eq!(titles(&test.json("/v1/markets/harbor-v3-ethereum-core/events?limit=1").await), ["cascade"]);
    let detail = test.json(&format!("/v1/events/{}", event_id("cascade"))).await["data"].clone();
    assert_eq!((&detail["market_id"], &detail["chain_name"]), (&json!("harbor-v3-ethereum-core"), &json!("Ethereum")));
}

#[tokio::test]
async fn a_vault_and_its_curator_and_protocol_show_only_what_is_public() {
    let test = with_events().await;
    let vault = format!("/v1/vault/ethereum/{}/events", VAULTS[0].address());
    assert!(titles(&test.json(&vault).await).contains(&"Harbor was drained"));
    retract(&test, "drain").await;
    assert!(!titles(&test.json(&vault).await).contains(&"Harbor was drained"));
    let curator = test.json("/v1/curators/north/events?limit=50").await;
    assert!(!curator["data"]["events"].as_array().unwrap().iter().any(|row| row["title"] == "Harbor was drained"));
    let protocol = test.json("/v1/protocols/harbor").await;
    assert!(!protocol["data"]["incidents"].as_array().unwrap().iter().any(|row| row["title"] == "Harbor was drained"));
}
