//! Positions of an address, and `/v1/royco`, which lists the vaults of one protocol.

use crate::support::market::{BASE58, VAULTS, address, line};
use crate::support::testapp::TestApp;
use axum::http::StatusCode;
use serde_json::{Value, json};

const HOLDER: u32 = 0xabc;
const SEEN: &str = "2026-11-20T12:00:00Z";

fn position(vault: usize, balance: &str, share: Option<f64>) -> String {
    let fields = json!({"holder": address(HOLDER).to_uppercase().replace("0X", "0x"), "vault_id": VAULTS[vault].id(), "balance_raw": balance, "share": share});
    line("position", SEEN, fields)
}

#[tokio::test]
async fn positions_are_worth_their_share_of_the_vault_and_weigh_by_it() {
    let test = TestApp::with_market().await;
    let lines = [
        position(0, "100000000000000000000000000000000000000", Some(0.01)),
        position(2, "5", Some(0.5)),
        // In this order: a position in an unscored vault, one in a vault without a TVL, one without a share, and a closed one.
        position(8, "7", Some(0.1)),
        position(7, "7", Some(0.1)),
        position(9, "7", None),
        position(3, "0", Some(0.0)),
    ];
    test.ingest(&lines.concat()).await;
    let held = test.json(&format!("/v1/portfolio/{}", address(HOLDER))).await["data"].clone();
    let positions = held["positions"].as_array().unwrap();
    assert_eq!((&held["address"], positions.len()), (&json!(address(HOLDER)), 5));
    let values: Vec<&Value> = positions.iter().map(|position| &position["value_usd"]).collect();
    assert_eq!(
        values,
        [&json!(1e6), &json!(6e5), &json!(5e4), &Value::Null, &Value::Null],
        "largest first, the unpriced last"
    );
    assert_eq!((&held["total_value_usd"], &held["unpriced_count"]), (&json!(1.65e6), &json!(2)));
    assert_eq!(positions[2]["balance_raw"], "100000000000000000000000000000000000000");
    assert_eq!(positions[2]["vault_name"], "Harbor Dollar");

    let scored: Vec<(f64, f64)> = positions
        .iter()
        .filter_map(|position| Some((position["value_usd"].as_f64()?, position["total_score"].as_f64()?)))
        .collect();
    assert!(!scored.is_empty());
    let weight: f64 = scored.iter().map(|(value, _)| value).sum();
    let mean = scored.iter().map(|(value, score)| value * score).sum::<f64>() / weight;
    assert!((held["weighted_risk_score"].as_f64().unwrap() - mean).abs() <= 0.005 + 1e-9);
    assert_eq!(held["scored_value_usd"], json!(weight));
    assert_eq!(
        test.json(&format!("/v1/vaults/{}", VAULTS[0].id())).await["data"]["vault"]["total_score"],
        positions[2]["total_score"]
    );
}

/// A snapshot of a vault's holders: number and balance of each.
fn look(vault: usize, at: &str, backfill_complete: bool, holders: &[(u32, u64)]) -> String {
    let holders: Vec<Value> = holders
        .iter()
        .map(|(number, balance)| json!({"address": address(*number), "balance_raw": balance.to_string()}))
        .collect();
    let fields = json!({"vault_id": VAULTS[vault].id(), "backfill_complete": backfill_complete, "holders": holders});
    line("holder_snapshot", at, fields)
}

/// The positions of an address: (vault's id, balance, share).
async fn held(test: &TestApp, holder: u32) -> Vec<(String, String, Option<f64>)> {
    let positions = test.json(&format!("/v1/portfolio/{}", address(holder))).await["data"]["positions"].clone();
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let of = |it: &Value| (text(&it["vault_id"]), text(&it["balance_raw"]), it["share"].as_f64());
    positions.as_array().unwrap().iter().map(of).collect()
}

#[tokio::test]
async fn a_holder_of_a_vault_has_a_position_until_a_complete_snapshot_lacks_it() {
    let test = TestApp::with_market().await;
    let is = |vault: usize, balance: &str, share: Option<f64>| vec![(VAULTS[vault].id(), balance.to_owned(), share)];
    test.ingest(&look(0, "2026-11-20T10:00:00Z", true, &[(HOLDER, 30), (7, 10)])).await;
    assert_eq!((held(&test, HOLDER).await, held(&test, 7).await), (is(0, "30", Some(0.75)), is(0, "10", Some(0.25))));
    let top =
        test.json(&format!("/v1/vault/1/{}/holders", VAULTS[0].address())).await["data"]["top_holders"][0].clone();
    assert_eq!((&top["address"], &top["balance_raw"]), (&json!(address(HOLDER)), &json!("30")));

    // The snapshot is incomplete, so a missing holder may still have a position. Shares are unknown without the supply.
    test.ingest(&look(0, "2026-11-20T11:00:00Z", false, &[(7, 20)])).await;
    assert_eq!((held(&test, HOLDER).await, held(&test, 7).await), (is(0, "30", Some(0.75)), is(0, "20", None)));
    // The snapshot is complete, so a missing holder has no position. An older balance that arrives late changes nothing.
    test.ingest(&look(0, "2026-11-20T13:00:00Z", true, &[(7, 40)])).await;
    assert_eq!((held(&test, HOLDER).await, held(&test, 7).await), (vec![], is(0, "40", Some(1.0))));
    test.ingest(&position(0, "5", Some(0.5))).await;
    test.ingest(&look(0, "2026-11-20T12:30:00Z", true, &[(HOLDER, 1), (7, 1)])).await;
    assert_eq!((held(&test, HOLDER).await, held(&test, 7).await), (vec![], is(0, "40", Some(1.0))));
    // The holder has a position again.
    test.ingest(&look(0, "2026-11-20T14:00:00Z", true, &[(HOLDER, 60), (7, 40)])).await;
    assert_eq!(held(&test, HOLDER).await, is(0, "60", Some(0.6)));
}

#[tokio::test]
async fn of_very_many_positions_the_most_valuable_are_listed_and_all_are_added_up() {
    let test = TestApp::with_market().await;
    let lines = (0..1_100).map(|number: u32| {
        let contract = address(0x9_0000 + number);
        let id = format!("harbor-1-{contract}");
        let vault = json!({"protocol_id": "harbor", "chain_id": 1, "address": contract, "name": "One of many", "asset_mode": "holdings"});
        let held = json!({"holder": address(HOLDER), "vault_id": id, "balance_raw": "1", "share": 0.5});
        // Values grow with the ids.
        [line("vault", SEEN, vault), line("vault_state", SEEN, json!({"vault_id": id, "tvl_usd": 2 * (number + 1)})), line("position", SEEN, held)].concat()
    });
    test.ingest(&lines.collect::<String>()).await;
    let data = test.json(&format!("/v1/portfolio/{}", address(HOLDER))).await["data"].clone();
    assert_eq!((&data["position_count"], data["positions"].as_array().unwrap().len()), (&json!(1_100), 1_000));
    assert_eq!(
        (&data["positions"][0]["value_usd"], &data["positions"][999]["value_usd"]),
        (&json!(1_100.0), &json!(101.0))
    );
    assert_eq!(data["total_value_usd"], json!(f64::from(1_100 * 1_101 / 2)));
}

#[tokio::test]
async fn nothing_known_is_an_empty_portfolio_and_nothing_priced_has_no_total() {
    let test = TestApp::with_market().await;
    let empty = test.json(&format!("/v1/portfolio/{BASE58}")).await["data"].clone();
    assert_eq!(
        (&empty["positions"], &empty["total_value_usd"], &empty["weighted_risk_score"]),
        (&json!([]), &json!(0.0), &Value::Null)
    );
    test.ingest(&position(7, "7", Some(0.1))).await;
    let unpriced = test.json(&format!("/v1/portfolio/{}", address(HOLDER))).await["data"].clone();
    assert_eq!((&unpriced["total_value_usd"], &unpriced["unpriced_count"]), (&Value::Null, &json!(1)));
    assert_eq!(test.get("/v1/portfolio/nobody").await.code(), "INVALID_ADDRESS");
    for (field, bad) in [
        ("balance_raw", json!({"balance_raw": "-1"})),
        ("balance_raw", json!({"balance_raw": "1.5"})),
        ("share", json!({"share": 1.5})),
        ("vault_id", json!({"vault_id": format!("nobody-1-{}", address(1))})),
        ("holder", json!({"holder": "me"})),
    ] {
        let mut fields =
            json!({"holder": address(HOLDER), "vault_id": VAULTS[0].id(), "balance_raw": "1", "share": 0.5});
        fields.as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
        let reply = test.admin("POST", "/ingest", &line("position", SEEN, fields)).await;
        assert_eq!(reply.json()["error"]["details"][0]["name"], format!("line 1, {field}"), "{}", reply.text());
    }
}

#[tokio::test]
async fn royco_lists_its_vaults_with_their_rewards_and_is_empty_where_it_is_not_tracked() {
    let test = TestApp::with_market().await;
    let meta = json!({"page": 1, "limit": 20, "total": 0, "totalPages": 0});
    assert_eq!(test.json("/v1/royco").await, json!({"data": [], "meta": meta}));

    let id = format!("royco-1-{}", address(0x40));
    let vault = json!({"protocol_id": "royco", "chain_id": 1, "address": address(0x40), "name": "Royco Dollar", "asset_mode": "holdings"});
    let reward = json!({"vault_id": id, "campaign_id": "c", "side": "supply", "reward_type": "points", "apr": 0.0});
    let lines = [
        line("protocol", SEEN, json!({"id": "royco", "name": "Royco"})),
        line("vault", SEEN, vault),
        line("vault_state", SEEN, json!({"vault_id": id, "tvl_usd": 10.0, "base_apr": 0.02, "incentives": "checked"})),
        line("reward", SEEN, reward),
    ];
    test.ingest(&lines.concat()).await;
    let list = test.json("/v1/royco").await;
    let row = &list["data"][0];
    assert_eq!(
        (&list["meta"]["total"], &row["id"], &row["freshness_seconds"]),
        (&json!(1), &json!(id), &json!(43_200))
    );
    assert_eq!((&row["rewards"][0]["reward_type"], &row["rewards"][0]["apr"]), (&json!("points"), &json!(0.0)));
    let listed = test.json("/v1/vaults?protocol=royco").await["data"][0].clone();
    for (field, value) in listed.as_object().unwrap() {
        assert_eq!(&row[field], value, "{field}");
    }
    assert_eq!(test.get("/v1/royco?page=11").await.status, StatusCode::FORBIDDEN);
}
