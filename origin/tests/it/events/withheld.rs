//! A withheld chain: none of its events appears anywhere, even where their subjects are served.

use crate::events::feed::{event, titles};
use crate::support::market::{VAULTS, address, line};
use crate::support::testapp::{NOW, TestApp};
use rds_store::push::journal::read as journal;
use rds_store::push::journal::read::ReadLimits;
use serde_json::{Value, json};

/// Base, served or withheld from an instant on.
fn base(served: bool, at: &str) -> String {
    line(
        "chain",
        at,
        json!({"chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true, "is_served": served}),
    )
}

#[tokio::test]
async fn an_incident_on_a_withheld_chain_shows_at_none_of_the_vaults_it_counts_for() {
    let test = TestApp::with_market().await;
    let fields =
        json!({"severity": "Critical", "chain_id": 8453, "protocol_id": "harbor", "affects_protocol_score": true});
    test.ingest(&event("bridge-drained", 1, fields)).await;
    let vault = format!("/v1/vault/ethereum/{}", VAULTS[0].address());
    let routes = [
        format!("{vault}/events"),
        vault,
        format!("/v1/vaults/{}", VAULTS[0].id()),
        "/v1/vaults/with-critical-incidents".to_owned(),
        "/v1/protocols/harbor".to_owned(),
        "/v1/curators/north".to_owned(),
        "/v1/curators/north/events".to_owned(),
    ];
    for (at, served) in
        [("2026-11-20T00:00:00Z", true), ("2026-11-20T00:00:01Z", false), ("2026-11-20T00:00:02Z", true)]
    {
        test.ingest(&base(served, at)).await;
        for route in &routes {
            assert_eq!(test.get(route).await.text().contains("bridge-drained"), served, "{route}, served {served}");
        }
    }
}

#[tokio::test]
async fn a_markets_bad_debt_names_a_vault_of_it_that_is_served() {
    let test = TestApp::with_market().await;
    let pool = address(0xb1);
    let market = line(
        "market",
        NOW,
        json!({"protocol_id": "lantern", "protocol_version": "v1", "chain_id": 1, "address": pool, "name": "Core",
               "shape": "pool", "discovered_by": "protocol_api"}),
    );
    let reserve = line(
        "market_reserve",
        NOW,
        json!({"reserve": "eth", "chain_id": 1, "market_address": pool, "asset_symbol": "ETH", "asset_address": address(0xd0),
               "token_address": VAULTS[4].address()}),
    );
    // The other two vaults come first by id; neither belongs to the market, and one is on Base.
    let others = [VAULTS[0].id(), VAULTS[3].id(), VAULTS[4].id()];
    let debt = event("debt", 2, json!({"event_type": "BadDebt", "vault_ids": others}));
    let own =
        json!({"chain_id": 1, "market_address": pool, "vault_ids": [VAULTS[3].id(), VAULTS[8].id(), VAULTS[0].id()]});
    let foreign = event("foreign-debt", 2, json!({"event_type": "BadDebt", "vault_ids": [VAULTS[0].id()]}));
    test.ingest(&[market, reserve, debt, foreign, event("own", 1, own)].concat()).await;
    let named = async || -> Vec<Value> {
        let answer = test.json("/v1/markets/lantern-v1-ethereum-core/events").await;
        assert_eq!(titles(&answer), ["own", "debt"]);
        answer["data"].as_array().unwrap().iter().map(|row| row["vault_id"].clone()).collect()
    };
    assert_eq!(named().await, [json!(VAULTS[8].id()), json!(VAULTS[4].id())]);
    test.ingest(&base(false, "2026-11-20T00:00:00Z")).await;
    assert_eq!(named().await, [json!(VAULTS[8].id()), json!(VAULTS[4].id())]);
}

#[tokio::test]
async fn an_event_about_a_whole_protocol_disappears_once_one_of_its_vaults_is_withheld() {
    let test = TestApp::with_market().await;
    let mut one = test.app.db.pool.acquire().await.unwrap();
    let told = async |one: &mut sqlx::PgConnection| -> Vec<String> {
        rds_store::push::journal::tick(one, test.app.clock.now()).await.unwrap();
        let found = journal::after(one, 0, ReadLimits { rows: 1_000, bytes: 1 << 24 }, None).await.unwrap();
        let rows = found.entries.into_iter().filter_map(|entry| entry.told).map(|told| told.row);
        rows.filter(|row| row.contains("whole-")).collect()
    };
    let fields = json!({"severity": "Critical", "protocol_id": "harbor", "affects_protocol_score": true});
    test.ingest(&event("whole-before", 1, fields.clone())).await;
    let before = told(&mut one).await;
    assert!(before.len() == 1 && before[0].contains("\"chain_id\":8453"), "{before:?}");
    test.ingest(&base(false, "2026-11-20T00:00:00Z")).await;
    assert_eq!(told(&mut one).await, Vec::<String>::new());
    test.ingest(&event("whole-since", 1, fields)).await;
    let since = told(&mut one).await;
    assert!(since.len() == 1 && since[0].contains("whole-since") && !since[0].contains("8453"), "{since:?}");
    test.ingest(&base(true, "2026-11-20T00:00:01Z")).await;
    assert_eq!(told(&mut one).await.len(), 2);
}
