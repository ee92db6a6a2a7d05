//! Events that the service derives: one for each change, however often its observations are repeated.

use crate::ingest::market::{VAULT, clock, ingest, market, observed, state};
use crate::support::db::TestDb;
use rds_engine::scoring_run;
use serde_json::{Value, json};

/// Type and title of every event, oldest first.
async fn told(test: &TestDb) -> Vec<String> {
    sqlx::query_scalar("SELECT event_type || ': ' || title FROM event ORDER BY occurred_at, event_type, title")
        .fetch_all(&test.db.pool)
        .await
        .unwrap()
}

async fn of_type(test: &TestDb, event_type: &str) -> Vec<String> {
    let prefix = format!("{event_type}: ");
    told(test).await.iter().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).collect()
}

async fn with_market() -> TestDb {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    test
}

/// Ingests an observation twice; the repetition must not make another event.
async fn read(test: &TestDb, hours: i64, fields: Value) {
    for _ in 0..2 {
        ingest(test, &clock(hours), &[state(hours, fields.clone())]).await;
    }
}

const CLOSED: &str = "Harbor USDX no longer accepts deposits";
const OPEN: &str = "Harbor USDX accepts deposits again";

#[tokio::test]
async fn a_gate_moves_between_confirmed_states_only() {
    let test = with_market().await;
    for (hours, status) in
        ["unknown", "open", "unknown", "open", "unknown", "closed", "closed", "unknown", "open"].into_iter().enumerate()
    {
        read(&test, 1 + hours as i64, json!({"deposit_status": status})).await;
    }
    assert_eq!(of_type(&test, "DepositabilityChange").await, [CLOSED, OPEN]);
    let data: Value = sqlx::query_scalar("SELECT data FROM event WHERE title = $1")
        .bind(CLOSED)
        .fetch_one(&test.db.pool)
        .await
        .unwrap();
    assert_eq!(data, json!({"prev_deposit_status": "open", "new_deposit_status": "closed"}));
    let captured: i64 = sqlx::query_scalar("SELECT count(*) FROM push_operation WHERE family = 'event.published'")
        .fetch_one(&test.db.pool)
        .await
        .unwrap();
    assert_eq!(captured, 2);
}

#[tokio::test]
async fn changes_in_one_batch_make_events_in_order_and_late_observations_make_none() {
    let test = with_market().await;
    let gates = |all: &[(i64, &str)]| -> Vec<Value> {
        all.iter().map(|(hours, status)| state(*hours, json!({"deposit_status": status}))).collect()
    };
    ingest(&test, &clock(5), &gates(&[(4, "open"), (2, "closed"), (1, "open"), (3, "closed")])).await;
    assert_eq!(of_type(&test, "DepositabilityChange").await, [CLOSED, OPEN]);
    ingest(&test, &clock(6), &gates(&[(3, "open")])).await;
    assert_eq!(of_type(&test, "DepositabilityChange").await.len(), 2);
}

#[tokio::test]
async fn a_rating_change_is_its_own_family_and_source() {
    let test = with_market().await;
    assert_eq!(told(&test).await, [""; 0], "the first rating is no change");
    read(&test, 1, json!({"tvl_usd": 50_000})).await;
    assert_eq!(of_type(&test, "RatingChange").await, ["Harbor USDX is rated 8.00 (Prime), previously 8.60 (Prime)"]);
    scoring_run::run_all(&test.db, &clock(2)).await.unwrap();
    scoring_run::run_all(&test.db, &clock(25)).await.unwrap();
    let titles = of_type(&test, "RatingChange").await;
    assert_eq!((titles.len(), titles[1].as_str()), (2, "Harbor USDX is rated 7.40 (Core), previously 8.00 (Prime)"));
    let captured: Vec<(String, String, Vec<u8>)> =
        sqlx::query_as("SELECT family, stream_op, body FROM push_operation ORDER BY id")
            .fetch_all(&test.db.pool)
            .await
            .unwrap();
    assert_eq!(captured.len(), 2);
    for (family, op, body) in captured {
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            (family.as_str(), op.as_str(), &body["source"]),
            ("rating.changed", "published", &json!("rating-change"))
        );
        assert_eq!(body["affected_vaults"][0]["vault_id"], VAULT);
    }
}

#[tokio::test]
async fn an_allocation_change_of_a_tenth_makes_an_event() {
    let test = with_market().await;
    let parts = |hours: i64, usdx: f64| {
        let part =
            |asset: &str, share: f64| json!({"asset_id": asset, "share": share, "oracle": "push_feed", "lltv": 0.8});
        let parts = json!([part("usdx", usdx), part("usdy", 1.0 - usdx)]);
        observed("exposure", hours, json!({"vault_id": VAULT, "status": "observed", "parts": parts}))
    };
    // The share rises slowly from zero, by less than 10 % at a time. It is reported at 10 % and at 20 %.
    for (hours, usdx) in [(1, 0.05), (2, 0.10), (3, 0.15), (4, 0.20), (5, 0.29)] {
        for _ in 0..2 {
            ingest(&test, &clock(hours), &[parts(hours, usdx)]).await;
        }
    }
    assert_eq!(
        of_type(&test, "AllocationChange").await,
        ["Harbor USDX moved 10 % of its allocation", "Harbor USDX moved 10 % of its allocation"]
    );
    let unread = observed("exposure", 6, json!({"vault_id": VAULT, "status": "unavailable"}));
    ingest(&test, &clock(6), &[unread]).await;
    assert_eq!(of_type(&test, "AllocationChange").await.len(), 2, "what was not read has not moved");
    let strategy = |hours: i64, id: &str, share: f64| {
        observed("strategy", hours, json!({"vault_id": VAULT, "strategy_id": id, "name": id, "share": share}))
    };
    ingest(&test, &clock(7), &[strategy(7, "a", 0.5), strategy(7, "b", 0.5)]).await;
    for _ in 0..2 {
        ingest(&test, &clock(8), &[strategy(8, "a", 0.75), strategy(8, "b", 0.25)]).await;
    }
    assert_eq!(of_type(&test, "AllocationChange").await[2], "Harbor USDX moved 25 % of its allocation");
    assert_eq!(of_type(&test, "AllocationChange").await.len(), 3);
}

#[tokio::test]
async fn one_change_observed_by_two_sources_makes_one_event() {
    let test = with_market().await;
    let read = |hours: i64, share: f64| {
        let part = |asset: &str, share: f64| json!({"asset_id": asset, "share": share, "oracle": "push_feed"});
        let strategy = |id: &str, share: f64| {
            observed("strategy", hours, json!({"vault_id": VAULT, "strategy_id": id, "name": id, "share": share}))
        };
        let parts = json!([part("usdx", share), part("usdy", 1.0 - share)]);
        vec![
            observed("exposure", hours, json!({"vault_id": VAULT, "status": "observed", "parts": parts})),
            strategy("a", share),
            strategy("b", 1.0 - share),
        ]
    };
    ingest(&test, &clock(1), &read(1, 0.9)).await;
    ingest(&test, &clock(2), &read(2, 0.5)).await;
    assert_eq!(of_type(&test, "AllocationChange").await, ["Harbor USDX moved 40 % of its allocation"]);
    let captured: i64 = sqlx::query_scalar("SELECT count(*) FROM push_operation WHERE family = 'event.published'")
        .fetch_one(&test.db.pool)
        .await
        .unwrap();
    assert_eq!(captured, 1);
}

#[tokio::test]
async fn strategies_that_arrive_one_by_one_are_one_reading() {
    let test = with_market().await;
    let strategy = |hours: i64, id: &str, share: f64| {
        observed("strategy", hours, json!({"vault_id": VAULT, "strategy_id": id, "name": id, "share": share}))
    };
    for (hours, id, share) in [(1, "a", 0.6), (1, "b", 0.4), (2, "a", 0.4), (2, "b", 0.6)] {
        ingest(&test, &clock(hours), &[strategy(hours, id, share)]).await;
    }
    assert_eq!(of_type(&test, "AllocationChange").await, ["Harbor USDX moved 20 % of its allocation"]);
    let given_up = |id: &str| {
        observed("strategy", 3, json!({"vault_id": VAULT, "strategy_id": id, "name": id, "is_active": false}))
    };
    ingest(&test, &clock(3), &[given_up("a"), given_up("b")]).await;
    assert_eq!(of_type(&test, "AllocationChange").await[1], "Harbor USDX moved 100 % of its allocation");
}

#[tokio::test]
async fn of_two_states_of_one_instant_the_served_one_makes_the_event() {
    let test = with_market().await;
    read(&test, 1, json!({"deposit_status": "open"})).await;
    // The digest decides which of the two observations is kept; both cases occur among these pairs.
    for hours in 2..10 {
        let states = ["open", "closed"]
            .map(|status| state(hours, json!({"deposit_status": status, "tvl_usd": 1e6 + hours as f64})));
        ingest(&test, &clock(hours), &states).await;
        let served: String =
            sqlx::query_scalar("SELECT deposit_status FROM vault_state").fetch_one(&test.db.pool).await.unwrap();
        let told: String = sqlx::query_scalar("SELECT value #>> '{}' FROM told WHERE topic = 'deposit_status'")
            .fetch_one(&test.db.pool)
            .await
            .unwrap();
        assert_eq!(told, served, "after {hours} hours");
    }
    let moves: Vec<(String, i64)> = sqlx::query_as(
        "SELECT data->>'new_deposit_status', count(*) OVER (PARTITION BY occurred_at) FROM event \
         WHERE event_type = 'DepositabilityChange' ORDER BY occurred_at",
    )
    .fetch_all(&test.db.pool)
    .await
    .unwrap();
    assert!(moves.iter().all(|(_, at_once)| *at_once == 1), "{moves:?}");
}

#[tokio::test]
async fn new_bad_debt_makes_an_event() {
    let test = with_market().await;
    for (hours, bad_debt) in [
        (1, json!(0)),
        (2, json!(80_000)),
        (3, Value::Null),
        (4, json!(81_000)),
        (5, json!(10_000)),
        (6, json!(20_000)),
    ] {
        read(&test, hours, json!({"bad_debt_usd": bad_debt})).await;
    }
    assert_eq!(
        of_type(&test, "BadDebt").await,
        ["Harbor USDX has 80.0k USD of bad debt", "Harbor USDX has 20.0k USD of bad debt"]
    );
    let told: Vec<(String, f64)> =
        sqlx::query_as("SELECT severity, loss_usd FROM event WHERE event_type = 'BadDebt' ORDER BY occurred_at")
            .fetch_all(&test.db.pool)
            .await
            .unwrap();
    assert_eq!(told, [("Critical".to_owned(), 80_000.0), ("Warning".to_owned(), 10_000.0)]);
}

#[tokio::test]
async fn a_pairs_bad_debt_is_the_markets() {
    let test = with_market().await;
    let address = "0x00000000000000000000000000000000000000e1";
    let pair = observed(
        "market",
        1,
        json!({"protocol_id": "harbor", "protocol_version": "v3", "chain_id": 31337, "address": address, "name": "USDX / WETH",
               "shape": "pair", "discovered_by": "protocol_api", "loan_asset_symbol": "USDX", "collateral_asset_symbol": "WETH"}),
    );
    let state = |hours: i64, bad_debt: f64| {
        observed(
            "market_state",
            hours,
            json!({"chain_id": 31337, "address": address, "total_supplied_usd": 1e6, "bad_debt_usd": bad_debt}),
        )
    };
    ingest(&test, &clock(1), &[pair, state(1, 0.0)]).await;
    for _ in 0..2 {
        ingest(&test, &clock(2), &[state(2, 5_000.0)]).await;
    }
    let told: Vec<(String, String, String)> =
        sqlx::query_as("SELECT title, scope, market FROM event WHERE event_type = 'BadDebt'")
            .fetch_all(&test.db.pool)
            .await
            .unwrap();
    let expected =
        ("USDX / WETH has 5.0k USD of bad debt".to_owned(), "protocol".to_owned(), format!("31337:{address}"));
    assert_eq!(told, [expected]);
}

#[tokio::test]
async fn a_spoke_reserves_gates_override_the_vaults_own_deposit_status() {
    let test = with_market().await;
    let spoke = "0x00000000000000000000000000000000000000e2";
    let market = observed(
        "market",
        1,
        json!({"protocol_id": "harbor", "protocol_version": "v4", "chain_id": 31337, "address": spoke, "name": "Spoke", "shape": "spoke",
               "discovered_by": "onchain_rpc"}),
    );
    let reserve = |hours: i64, halted: bool| {
        let gates = json!({"spoke": {"paused": false, "frozen": false, "borrowable": true},
                           "hub": {"active": true, "halted": halted, "draw_cap": null, "owed": 0.0, "add_cap": null, "added": 0.0}});
        observed(
            "market_reserve",
            hours,
            json!({"reserve": "usdx", "chain_id": 31337, "market_address": spoke, "asset_symbol": "USDX", "gates": gates,
                   "asset_address": "0x00000000000000000000000000000000000000c1",
                   "token_address": "0x00000000000000000000000000000000000000a1"}),
        )
    };
    ingest(&test, &clock(1), &[market, reserve(1, false)]).await;
    read(&test, 2, json!({"deposit_status": "closed"})).await;
    assert_eq!(of_type(&test, "DepositabilityChange").await, [""; 0], "the vault's own reading is not what is served");
    for _ in 0..2 {
        ingest(&test, &clock(3), &[reserve(3, true)]).await;
    }
    assert_eq!(of_type(&test, "DepositabilityChange").await, [CLOSED]);
}
