//! Lending markets: totals, reserves, gates, keys, filters, and rejected facts.

use crate::http::tags::{newest, raised};
use crate::service::fail_safe::set_mode;
use crate::support::market::{BASE58, VAULTS, address, line};
use crate::support::testapp::{Reply, TestApp};
use axum::http::StatusCode;
use rds_shared::model::health::FailSafeMode;
use rds_shared::route::Tag;
use serde_json::{Value, json};

const SEEN: &str = "2026-11-20T12:00:00Z";
const LATER: &str = "2026-11-20T13:00:00Z";
const LATEST: &str = "2026-11-20T14:00:00Z";
const POOL: u32 = 0xb1;
const SPOKE: u32 = 0xb2;
const PAIR: u32 = 0xb3;

fn with(mut base: Value, changed: Value) -> Value {
    base.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
    base
}

fn market(at: &str, number: u32, name: &str, changed: Value) -> String {
    let base = json!({
        "protocol_id": "harbor", "protocol_version": "v3", "chain_id": 1, "address": address(number), "name": name,
        "shape": "pool", "discovered_by": "onchain_rpc",
    });
    line("market", at, with(base, changed))
}

fn reserve(at: &str, number: u32, name: &str, token: Option<String>, changed: Value) -> String {
    let base = json!({
        "chain_id": 1, "market_address": address(number), "reserve": name, "asset_symbol": name, "asset_address": address(0xd0),
        "token_address": token,
    });
    line("market_reserve", at, with(base, changed))
}

fn pool() -> String {
    let members = [(0, "a"), (1, "b"), (2, "c"), (7, "unread"), (11, "gone")];
    let reserves =
        members.map(|(vault, name)| reserve(SEEN, POOL, name, Some(VAULTS[vault].address()), json!({"fee_rate": 0.1})));
    [market(SEEN, POOL, "Harbor Core", json!({"key_hint": "Core"})), reserves.concat()].concat()
}

fn gates(spoke: Value, hub: Value) -> Value {
    json!({"gates": {"spoke": spoke, "hub": hub, "price_usd": 2.0}})
}

fn open() -> (Value, Value) {
    let hub =
        json!({"active": true, "halted": false, "draw_cap": 100.0, "owed": 10.0, "add_cap": 1_000.0, "added": 400.0});
    (json!({"paused": false, "frozen": false, "borrowable": true}), hub)
}

async fn detail(test: &TestApp, id: &str) -> Value {
    test.json(&format!("/v1/markets/{id}")).await["data"].clone()
}

/// Each fault as `line 3, lltv`.
fn faults(reply: &Reply) -> Vec<String> {
    let details = reply.json()["error"]["details"].clone();
    details.as_array().unwrap().iter().map(|fault| fault["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_pool_sums_its_active_reserves_and_lists_those_that_were_shut_down() {
    let test = TestApp::with_market().await;
    test.ingest(&pool()).await;
    let page = detail(&test, "harbor-v3-ethereum-core").await;
    let market = &page["market"];
    // Vaults of 5, 5 and 2 million with utilizations of 0.8, 1.25 and 1; one that was not read, and one shut down.
    assert_eq!((&market["reserve_count"], &market["borrow_observed_count"]), (&json!(4), &json!(3)));
    assert_eq!((&market["total_supplied_usd"], &market["total_borrowed_usd"]), (&json!(12e6), &json!(12.25e6)));
    assert_eq!(market["utilization"], json!(1.020_833_333_333), "to twelve decimals");
    assert_eq!((&market["totals_source"], &market["market_key"]), (&json!("members"), &json!("core")));
    assert_eq!(market["last_synced_at"], "2026-11-20T23:50:00.000Z");
    for side in ["loan_asset_symbol", "collateral_asset_symbol", "lltv", "hub_address"] {
        assert_eq!(market[side], Value::Null, "{side}");
    }
    let reserves = page["reserves"].as_array().unwrap();
    let symbols: Vec<&str> = reserves.iter().map(|reserve| reserve["asset_symbol"].as_str().unwrap()).collect();
    assert_eq!(symbols, ["gone", "a", "b", "c", "unread"], "by supply, the unread last");
    assert_eq!((&reserves[0]["is_shutdown"], &reserves[1]["is_shutdown"]), (&json!(true), &json!(false)));
    assert_eq!((&reserves[4]["supplied_usd"], &reserves[4]["borrowed_usd"]), (&Value::Null, &Value::Null));
    let row = &test.json(&format!("/v1/vaults/{}", VAULTS[0].id())).await["data"]["vault"];
    assert_eq!(reserves[1]["vault_id"], row["id"]);
    for (of_reserve, of_vault) in [
        ("supply_apr", "apr_net"),
        ("borrow_apr", "borrow_apr"),
        ("borrow_apr_net", "borrow_apr_net"),
        ("utilization", "utilization"),
        ("borrow_status", "borrow_status"),
        ("is_depositable", "is_depositable"),
        ("total_score", "total_score"),
        ("risk_tier", "risk_tier"),
    ] {
        assert_eq!(reserves[1][of_reserve], row[of_vault], "{of_reserve}");
    }
    assert_eq!((&reserves[1]["borrowed_usd"], &reserves[1]["fee_rate"]), (&json!(4e6), &json!(0.1)));
}

#[tokio::test]
async fn totals_follow_their_members_at_once_and_the_unobserved_is_null() {
    let test = TestApp::with_market().await;
    test.ingest(
        &[market(SEEN, POOL, "Quiet", json!({})), reserve(SEEN, POOL, "a", Some(VAULTS[4].address()), json!({}))]
            .concat(),
    )
    .await;
    let row = detail(&test, "harbor-v3-ethereum-quiet").await["market"].clone();
    assert_eq!(
        (&row["total_supplied_usd"], &row["total_borrowed_usd"], &row["utilization"]),
        (&json!(7.5e5), &Value::Null, &Value::Null)
    );

    test.ingest(&VAULTS[4].state("2026-11-20T23:55:00Z", json!({"tvl_usd": 1e6, "utilization": 0.5}))).await;
    let row = detail(&test, "harbor-v3-ethereum-quiet").await["market"].clone();
    assert_eq!((&row["total_supplied_usd"], &row["total_borrowed_usd"]), (&json!(1e6), &json!(5e5)));

    test.ingest(&reserve(LATER, POOL, "a", Some(VAULTS[4].address()), json!({"is_active": false}))).await;
    let page = detail(&test, "harbor-v3-ethereum-quiet").await;
    assert_eq!((&page["market"]["reserve_count"], &page["reserves"]), (&json!(0), &json!([])));
}

#[tokio::test]
async fn both_gates_decide_about_a_spokes_reserve_and_its_vault_row_says_the_same() {
    let test = TestApp::with_market().await;
    let spoke =
        market(SEEN, SPOKE, "Spoke", json!({"shape": "spoke", "protocol_version": "v4", "hub_address": address(0xff)}));
    let of = |name: &str, at: &str, (spoke, hub): (Value, Value)| {
        let token = (name == "vaulted").then(|| VAULTS[1].address());
        reserve(at, SPOKE, name, token, with(gates(spoke, hub), json!({"hub_address": address(0xff)})))
    };
    let (flags, hub) = open();
    let paused = (with(flags.clone(), json!({"paused": true})), hub.clone());
    let full = (flags.clone(), with(hub.clone(), json!({"draw_cap": 10.0, "add_cap": 400.0})));
    let lines = [
        spoke,
        of("vaulted", SEEN, open()),
        of("paused", SEEN, paused),
        of("full", SEEN, full),
        of("unread", SEEN, (flags.clone(), Value::Null)),
        of("refused", SEEN, (flags, with(hub.clone(), json!({"active": false})))),
    ];
    test.ingest(&lines.concat()).await;
    let page = detail(&test, "harbor-v4-ethereum-spoke").await;
    assert_eq!(page["market"]["hub_address"], address(0xff));
    let said = |page: &Value, name: &str| {
        let found =
            page["reserves"].as_array().unwrap().iter().find(|reserve| reserve["asset_symbol"] == name).unwrap();
        (found["borrow_status"].clone(), found["is_depositable"].clone(), found["deposit_capacity_usd"].clone())
    };
    assert_eq!(said(&page, "vaulted"), (json!("open"), json!(true), json!(1_200.0)));
    assert_eq!(said(&page, "paused"), (json!("paused"), json!(false), json!(1_200.0)));
    assert_eq!(said(&page, "full"), (json!("capped"), json!(false), json!(0.0)));
    assert_eq!(said(&page, "unread"), (json!("unknown"), Value::Null, Value::Null));
    assert_eq!(said(&page, "refused").0, "disabled");

    // The vault's own observation says that deposits are closed; the gates take precedence, in list and detail.
    let row = async || test.json(&format!("/v1/vaults/{}", VAULTS[1].id())).await["data"]["vault"].clone();
    assert_eq!((&row().await["borrow_status"], &row().await["deposit_status"]), (&json!("open"), &json!("open")));
    let halted = (open().0, with(hub, json!({"halted": true})));
    test.ingest(&of("vaulted", LATER, halted)).await;
    assert_eq!((&row().await["borrow_status"], &row().await["deposit_status"]), (&json!("paused"), &json!("closed")));
    assert_eq!(said(&detail(&test, "harbor-v4-ethereum-spoke").await, "vaulted").0, "paused");
    assert_eq!(
        test.json("/v1/vaults?depositable=false&search=Harbor Deficit".replace(' ', "%20").as_str()).await["meta"]["total"],
        1
    );
}

#[tokio::test]
async fn a_spokes_reserve_is_open_only_by_its_gates_and_one_that_is_gone_has_none() {
    let test = TestApp::with_market().await;
    let spoke = market(SEEN, SPOKE, "Spoke", json!({"shape": "spoke", "protocol_version": "v4"}));
    let of = |at: &str, changed: Value| reserve(at, SPOKE, "a", Some(VAULTS[0].address()), changed);
    let row = async || {
        let row = test.json(&format!("/v1/vaults/{}", VAULTS[0].id())).await["data"]["vault"].clone();
        (row["borrow_status"].clone(), row["deposit_status"].clone(), row["deposit_capacity_usd"].clone())
    };
    let own = (json!("open"), json!("open"), Value::Null);
    assert_eq!(row().await, own);
    // The reserve's source states neither gate, so both are unknown, whatever the vault's own observation says.
    test.ingest(&[spoke, of(SEEN, json!({}))].concat()).await;
    assert_eq!(row().await, (json!("unknown"), json!("unknown"), Value::Null));
    let page = detail(&test, "harbor-v4-ethereum-spoke").await;
    assert_eq!(
        (&page["reserves"][0]["borrow_status"], &page["reserves"][0]["is_depositable"]),
        (&json!("unknown"), &Value::Null)
    );

    let halted = || gates(open().0, with(open().1, json!({"halted": true})));
    test.ingest(&of(LATER, halted())).await;
    assert_eq!(row().await, (json!("paused"), json!("closed"), json!(1_200.0)));
    test.ingest(&of(LATEST, with(halted(), json!({"is_active": false})))).await;
    assert_eq!(row().await, own, "the gates of a reserve that is gone are nobody's");
}

#[tokio::test]
async fn a_reserves_gates_make_copies_of_its_vault_too_old_though_no_score_is_published() {
    let test = TestApp::with_market().await;
    let spoke = market(SEEN, SPOKE, "Spoke", json!({"shape": "spoke", "protocol_version": "v4"}));
    let of = |at: &str, (spoke, hub)| reserve(at, SPOKE, "a", Some(VAULTS[0].address()), gates(spoke, hub));
    test.ingest(&[spoke, of(SEEN, open())].concat()).await;
    set_mode(&test, FailSafeMode::Degraded).await;
    let row = async || test.json(&format!("/v1/vaults/{}", VAULTS[0].id())).await["data"]["vault"].clone();
    let before = newest(&test).await;
    assert_eq!(row().await["deposit_status"], "open");
    test.ingest(&of(LATER, (open().0, with(open().1, json!({"halted": true}))))).await;
    assert_eq!(row().await["deposit_status"], "closed");
    assert_eq!(raised(&before, &newest(&test).await), [Tag::Vaults, Tag::Markets]);
}

fn pair(at: &str, number: u32, name: &str, listed: bool) -> String {
    let sides = json!({"shape": "pair", "protocol_id": "lantern", "protocol_version": "v1", "loan_asset_symbol": "USDX",
                       "collateral_asset_symbol": "xETH", "lltv": 0.86, "is_protocol_listed": listed, "discovered_by": "protocol_api"});
    market(at, number, name, sides)
}

#[tokio::test]
async fn a_pair_reports_its_own_totals_has_no_reserves_and_is_served_only_while_it_is_listed() {
    let test = TestApp::with_market().await;
    let state =
        |fields: Value| line("market_state", SEEN, with(json!({"chain_id": 1, "address": address(PAIR)}), fields));
    test.ingest(&[pair(SEEN, PAIR, "xETH / USDX", true), state(json!({"total_supplied_usd": 200.0}))].concat()).await;
    let id = "lantern-v1-ethereum-xeth-usdx";
    let page = detail(&test, id).await;
    let row = &page["market"];
    assert_eq!(
        (&row["totals_source"], &row["lltv"], &row["loan_asset_symbol"]),
        (&json!("protocol_api"), &json!(0.86), &json!("USDX"))
    );
    assert_eq!(
        (&row["total_supplied_usd"], &row["total_borrowed_usd"], &row["utilization"]),
        (&json!(200.0), &Value::Null, &Value::Null)
    );
    assert_eq!((&page["reserves"], &page["emodes"]), (&json!([]), &json!([])));

    test.ingest(&pair(LATER, PAIR, "xETH / USDX", false)).await;
    assert_eq!(test.get(&format!("/v1/markets/{id}")).await.code(), "NOT_FOUND");
    assert_eq!(test.json("/v1/markets").await["meta"]["total"], 0);
}

#[tokio::test]
async fn a_market_keeps_its_key_after_later_observations() {
    let test = TestApp::with_market().await;
    // One batch has two contracts of the same name, and the contract with the greater address comes first.
    test.ingest(&[market(SEEN, 0xc2, "Twin", json!({})), market(SEEN, 0xc1, "Twin", json!({}))].concat()).await;
    let address_of = async |id: &str| detail(&test, id).await["market"]["address"].clone();
    assert_eq!(address_of("harbor-v3-ethereum-twin").await, address(0xc1));
    assert_eq!(address_of("harbor-v3-ethereum-twin-2").await, address(0xc2));

    // The first market gets another name and protocol version, and a third market named Twin is added.
    let lines = [
        market(LATER, 0xc1, "Renamed", json!({"key_hint": "elsewhere", "protocol_version": "v4"})),
        market(LATER, 0xc3, "Twin", json!({})),
        market(SEEN, 0xc2, "Twin", json!({})),
    ];
    test.ingest(&lines.concat()).await;
    let page = detail(&test, "harbor-v3-ethereum-twin").await;
    assert_eq!((&page["market"]["name"], &page["market"]["protocol_version"]), (&json!("Renamed"), &json!("v4")));
    assert_eq!(page["market"]["market_key"], "twin");
    assert_eq!(address_of("harbor-v3-ethereum-twin-3").await, address(0xc3));
    assert_eq!(address_of("Harbor-V3-Ethereum-TWIN-2").await, address(0xc2), "an id has no case");
}

#[tokio::test]
async fn two_solana_contracts_that_differ_in_case_are_two_markets() {
    let test = TestApp::with_market().await;
    let other = "tokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
    let on_solana = |text: &str| market(SEEN, 0, "Main", json!({"chain_id": 900, "address": text}));
    test.ingest(&[on_solana(BASE58), on_solana(other)].concat()).await;
    let rows = test.json("/v1/markets?chain=solana&sortBy=name").await["data"].clone();
    let mut addresses: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["address"].as_str().unwrap()).collect();
    addresses.sort_unstable();
    assert_eq!(addresses, [BASE58, other]);
}

#[tokio::test]
async fn the_list_is_filtered_sorted_and_paged() {
    let test = TestApp::with_market().await;
    let base = market(SEEN, 0xb4, "Base pool", json!({"chain_id": 8453}));
    test.ingest(&[pool(), pair(SEEN, PAIR, "Pair", true), base].concat()).await;
    let names = async |query: &str| {
        let rows = test.json(&format!("/v1/markets?{query}")).await["data"].clone();
        rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("").await[0], "Harbor Core", "largest supply first");
    assert_eq!(names("sortBy=name&sortOrder=asc").await, ["Base pool", "Harbor Core", "Pair"]);
    assert_eq!(names("chain=8453").await, ["Base pool"]);
    assert_eq!(
        names("chain=BASE,ethereum&protocol=harbor&version=v3&sortBy=reserve_count").await,
        ["Harbor Core", "Base pool"]
    );
    assert_eq!(
        test.json("/v1/markets?limit=2&page=2").await["meta"],
        json!({"page": 2, "limit": 2, "total": 3, "totalPages": 2})
    );
    assert_eq!(test.json("/v1/markets?limit=1000").await["meta"]["limit"], 100);
    for bad in ["limit=0", "sortBy=utilization", "sortOrder=up", "page=x"] {
        assert_eq!(test.get(&format!("/v1/markets?{bad}")).await.code(), "INVALID_PARAMETER", "{bad}");
    }
    assert_eq!(test.get("/v1/markets?page=11").await.status, StatusCode::FORBIDDEN);
    assert_eq!(test.get("/v1/markets/nothing-v1-ethereum-here").await.code(), "NOT_FOUND");
}

#[tokio::test]
async fn efficiency_modes_stand_beside_the_reserves() {
    let test = TestApp::with_market().await;
    let emode = |id: u64, label: &str, active: bool| {
        line(
            "market_emode",
            SEEN,
            json!({"chain_id": 1, "market_address": address(POOL), "emode_id": id, "label": label, "ltv": 0.9,
            "liquidation_threshold": 0.93, "liquidation_bonus": 0.01, "collateral_assets": [address(0xd0)], "is_active": active}),
        )
    };
    test.ingest(&[pool(), emode(2, "Ether", true), emode(1, "Dollars", true), emode(3, "Gone", false)].concat()).await;
    let emodes = detail(&test, "harbor-v3-ethereum-core").await["emodes"].clone();
    assert_eq!(
        (&emodes[0]["label"], &emodes[1]["label"], &emodes[2]),
        (&json!("Dollars"), &json!("Ether"), &Value::Null)
    );
    assert_eq!((&emodes[0]["ltv"], &emodes[0]["collateral_assets"]), (&json!(0.9), &json!([address(0xd0)])));
}

#[tokio::test]
async fn a_wrong_line_is_named_with_its_field_and_nothing_is_kept() {
    let test = TestApp::with_market().await;
    let on_pair = reserve(SEEN, PAIR, "a", None, json!({}));
    let lines = [
        market(SEEN, POOL, "Pool", json!({"lltv": 0.5})),
        market(SEEN, SPOKE, "No chain", json!({"chain_id": 77})),
        market(SEEN, 0xb9, "Nobody", json!({"protocol_id": "nobody"})),
        market(SEEN, 0xba, "Half a pair", json!({"shape": "pair", "loan_asset_symbol": "USDX"})),
        market(SEEN, 0xbb, "Wrong words", json!({"address": BASE58})),
        pair(SEEN, PAIR, "Pair", true),
        on_pair,
        reserve(SEEN, 0xee, "a", None, json!({})),
        line("market_state", SEEN, json!({"chain_id": 1, "address": address(POOL), "total_supplied_usd": 1.0})),
        reserve(SEEN, POOL, "b", None, gates(open().0, open().1)),
        line(
            "market_emode",
            SEEN,
            json!({"chain_id": 1, "market_address": address(0xee), "emode_id": -1, "label": "", "ltv": 2.0,
            "liquidation_threshold": 0.5, "liquidation_bonus": 0.0}),
        ),
    ];
    let reply = test.admin("POST", "/ingest", &lines.concat()).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{}", reply.text());
    let text = reply.text();
    let found = faults(&reply);
    for (line, field) in [
        (1, "lltv"),
        (2, "chain_id"),
        (3, "protocol_id"),
        (4, "collateral_asset_symbol"),
        (5, "address"),
        (7, "market_address"),
        (8, "market_address"),
        (9, "address"),
        (10, "gates"),
        (11, "emode_id"),
        (11, "label"),
        (11, "ltv"),
        (11, "market_address"),
    ] {
        assert!(found.contains(&format!("line {line}, {field}")), "{line} {field}: {text}");
    }
    assert_eq!(test.json("/v1/markets").await["meta"]["total"], 0);
}

#[tokio::test]
async fn an_unchanged_market_is_not_sent_twice() {
    let test = TestApp::with_market().await;
    test.ingest(&pool()).await;
    for target in ["/v1/markets", "/v1/markets/harbor-v3-ethereum-core"] {
        let first = test.get(target).await;
        let mut again = crate::support::testapp::signed("GET", target, "");
        again.headers_mut().insert("if-none-match", first.header("etag").unwrap().parse().unwrap());
        assert_eq!(test.ask(again).await.status, StatusCode::NOT_MODIFIED, "{target}");
    }
}
