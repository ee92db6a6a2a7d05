//! What was read on a chain, over what sources stated: field by field, the newest counts.

use crate::ingest::market::{
    VAULT, clock, dump, exposure, faults, ingest, market, observed, start, state, text, vault,
};
use crate::support::db::TestDb;
use rds_shared::route::Tag;
use serde_json::{Value, json};

/// A reading of a field at `hours` after the start, in block number `hours`.
fn reading(hours: i64, field: &str, value: Value) -> Value {
    let call =
        json!({"method": "eth_call", "contract": format!("0x{:040x}", 0xa1), "data": "0x01e1d114", "answer": "0x00"});
    observed(
        "chain_reading",
        hours,
        json!({"vault_id": VAULT, "field": field, "value": value, "chain_id": 31337, "block_number": hours,
               "block_hash": format!("0x{hours:064x}"), "calls": [call], "agreed": 2, "asked": 3}),
    )
}

fn sync(hours: i64) -> Value {
    let fields = json!({"chain_id": 31337, "block_number": hours, "block_hash": format!("0x{hours:064x}")});
    observed("chain_sync", hours, fields)
}

async fn column<T>(test: &TestDb, sql: &str) -> T
where
    T: Send + Unpin + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    sqlx::query_scalar(sql).fetch_one(&test.db.pool).await.unwrap()
}

const TVL: &str = "SELECT tvl_usd FROM vault_state";
const TIMELOCK: &str = "SELECT coalesce(timelock_seconds, -1) FROM vault";

/// An input of the vault's published provenance.
async fn input(test: &TestDb, group: &str, name: &str) -> Value {
    let provenance: Value = column(test, "SELECT provenance::jsonb FROM vault_score").await;
    provenance["inputs"][group][name].clone()
}

#[tokio::test]
async fn of_each_field_the_newest_of_statement_and_reading_counts() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    ingest(&test, &clock(9), &[reading(5, "tvl_usd", json!(7.0)), reading(5, "timelock_seconds", json!(60))]).await;
    assert_eq!((column::<f64>(&test, TVL).await, column::<i64>(&test, TIMELOCK).await), (7.0, 60));
    // The other columns stay as they were stated.
    assert_eq!(column::<f64>(&test, "SELECT base_apr FROM vault_state").await, 0.04);

    // An older reading changes nothing, and a newer statement of another field keeps the reading.
    ingest(&test, &clock(9), &[reading(3, "tvl_usd", json!(3.0)), state(4, json!({"base_apr": 0.06}))]).await;
    assert_eq!(column::<f64>(&test, TVL).await, 7.0);
    assert_eq!(column::<f64>(&test, "SELECT base_apr FROM vault_state").await, 0.06);

    ingest(&test, &clock(9), &[state(6, json!({"tvl_usd": 8.0, "price_per_share": null}))]).await;
    assert_eq!(column::<f64>(&test, TVL).await, 8.0);
    // A field that the source does not know shows the reading, however old.
    ingest(&test, &clock(9), &[reading(2, "price_per_share", json!(1.25))]).await;
    assert_eq!(column::<f64>(&test, "SELECT price_per_share FROM vault_state").await, 1.25);
}

#[tokio::test]
async fn the_order_of_batches_does_not_matter() {
    let lines = [
        vec![reading(5, "tvl_usd", json!(7.0))],
        vec![state(4, json!({"tvl_usd": 4.0, "base_apr": 0.07}))],
        vec![reading(6, "tvl_usd", Value::Null), reading(6, "timelock_seconds", json!(0))],
        vec![{
            let mut later = vault();
            later["observed_at"] = json!(start().plus_seconds(7 * 3_600));
            later
        }],
    ];
    let tables = ["vault", "vault_state", "vault_snapshot", "chain_reading"];
    let mut seen = Vec::new();
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        let test = TestDb::new().await;
        ingest(&test, &clock(1), &market()).await;
        for place in order {
            ingest(&test, &clock(9), &lines[place]).await;
        }
        seen.push(dump(&test, &tables).await);
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
}

#[tokio::test]
async fn a_score_cites_the_block_and_the_calls_of_what_was_read() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    assert_eq!(input(&test, "caps", "tvl_usd").await["evidence"], Value::Null);
    let lines = [reading(5, "tvl_usd", json!(6_000_000.0)), reading(5, "signers", json!("eoa")), sync(5)];
    ingest(&test, &clock(9), &lines).await;
    let tvl = input(&test, "caps", "tvl_usd").await;
    assert_eq!((&tvl["value"], &tvl["source"]), (&json!(6_000_000), &json!("fixture")));
    let evidence = &tvl["evidence"];
    assert_eq!((&evidence["block_number"], &evidence["agreed"], &evidence["asked"]), (&json!(5), &json!(2), &json!(3)));
    assert_eq!(evidence["calls"][0]["data"], json!("0x01e1d114"));
    assert_eq!(input(&test, "control", "signers").await["value"], json!("eoa"));
    // What a source states later has no evidence.
    ingest(&test, &clock(9), &[state(7, json!({"tvl_usd": 9_000_000.0}))]).await;
    assert_eq!(input(&test, "caps", "tvl_usd").await["evidence"], Value::Null);
}

#[tokio::test]
async fn exposures_that_were_read_cite_their_calls() {
    let test = TestDb::new().await;
    let mut read = exposure(2, "usdy");
    let reading = reading(2, "tvl_usd", json!(1));
    read["evidence"] = json!({"chain_id": 31337, "block_number": 2, "block_hash": reading["block_hash"], "calls": reading["calls"],
                              "agreed": 2, "asked": 2});
    ingest(&test, &clock(3), &[market(), vec![read]].concat()).await;
    assert_eq!(input(&test, "asset", "exposures_status").await["evidence"]["block_number"], json!(2));
}

#[tokio::test]
async fn a_vault_that_is_only_read_has_a_state_without_a_statement() {
    let test = TestDb::new().await;
    let registry: Vec<Value> = market().into_iter().filter(|line| line["kind"] != "vault_state").collect();
    ingest(&test, &clock(1), &registry).await;
    ingest(&test, &clock(9), &[reading(5, "tvl_usd", json!(7.0))]).await;
    assert_eq!(column::<f64>(&test, TVL).await, 7.0);
    assert_eq!(input(&test, "caps", "utilization").await["observed_at"], Value::Null);
    // Whatever a source states is newer than nothing.
    ingest(&test, &clock(9), &[state(1, json!({"utilization": 0.5}))]).await;
    assert_eq!(column::<f64>(&test, "SELECT utilization FROM vault_state").await, 0.5);
    assert_eq!(column::<f64>(&test, TVL).await, 7.0);
}

#[tokio::test]
async fn readings_make_history_and_a_repeated_batch_changes_nothing() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    let lines = [reading(5, "price_per_share", json!(1.0)), reading(5, "tvl_usd", json!(7.0)), sync(5)];
    let report = ingest(&test, &clock(9), &lines).await;
    assert_eq!(report.changed["chain_reading"], 2);
    let prices = "SELECT array_agg(price_per_share ORDER BY observed_at) FROM vault_snapshot";
    assert_eq!(column::<Vec<f64>>(&test, prices).await, [1.5, 1.0]);
    let before = dump(&test, &["vault", "vault_state", "vault_snapshot", "vault_score"]).await;
    let again = ingest(&test, &clock(9), &lines).await;
    assert!(again.changed.is_empty(), "{again:?}");
    // A block at which nothing changed, within six hours, moves only the cursor.
    let mut soon = sync(6);
    soon["observed_at"] = json!(start().plus_seconds(11 * 3_600 - 1));
    let later = ingest(&test, &clock(12), &[soon]).await;
    assert!(later.changed.is_empty() && later.data_version == again.data_version, "{later:?}");
    assert_eq!(column::<i64>(&test, "SELECT block_number FROM chain_sync").await, 6);
    assert_eq!(dump(&test, &["vault", "vault_state", "vault_snapshot", "vault_score"]).await, before);
    // A later block confirms what was read, and adds nothing to it.
    let before = dump(&test, &["vault", "vault_snapshot", "chain_reading"]).await;
    let confirmed = ingest(&test, &clock(12), &[sync(11)]).await;
    assert_eq!(confirmed.changed, [("chain_sync", 1)].into());
    assert_eq!((confirmed.vaults_scored, &confirmed.tags[..]), (0, &[Tag::Vaults][..]));
    assert_eq!(dump(&test, &["vault", "vault_snapshot", "chain_reading"]).await, before);
    // What a source states of an earlier time does not take that back.
    ingest(&test, &clock(12), &[state(4, json!({"base_apr": 0.06}))]).await;
    let synced = "SELECT greatest(observed_at, read_at) = '2026-06-01T11:00:00Z' FROM vault_state";
    assert!(column::<bool>(&test, synced).await);
}

#[tokio::test]
async fn what_is_read_of_the_past_makes_history_and_scores_but_no_present() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    let unknown = state(1, json!({"tvl_usd": null, "price_per_share": null}));
    let now = [reading(100, "price_per_share", json!(0.9)), reading(100, "tvl_usd", json!(900.0)), sync(100)];
    ingest(&test, &clock(101), &[vec![unknown], now.to_vec()].concat()).await;
    let past = [
        reading(48, "price_per_share", json!(1.0)),
        reading(48, "tvl_usd", json!(1000.0)),
        reading(72, "price_per_share", json!(1.2)),
        reading(72, "tvl_usd", json!(1200.0)),
    ];
    let report = ingest(&test, &clock(101), &past).await;
    assert_eq!((report.changed["chain_reading"], report.vaults_scored), (4, 1));
    assert_eq!(column::<f64>(&test, TVL).await, 900.0);
    assert_eq!(column::<f64>(&test, "SELECT price_per_share FROM vault_state").await, 0.9);
    let prices =
        "SELECT array_agg(price_per_share ORDER BY observed_at) FROM vault_snapshot WHERE price_per_share IS NOT NULL";
    assert_eq!(column::<Vec<f64>>(&test, prices).await, [1.5, 1.0, 1.2, 0.9]);
    // From 1.5 to 0.9.
    assert_eq!(input(&test, "history", "drawdown").await["value"], json!(0.4));
    assert_eq!(column::<i64>(&test, "SELECT block_number FROM chain_sync").await, 100);
}

#[tokio::test]
async fn a_deployment_that_was_read_is_the_age_with_its_evidence_and_is_no_control() {
    let test = TestDb::new().await;
    let registry: Vec<Value> = market()
        .into_iter()
        .map(|mut line| {
            if line["kind"] == "vault" {
                line["deployed_at"] = Value::Null;
            }
            line
        })
        .collect();
    ingest(&test, &clock(1), &registry).await;
    assert_eq!(input(&test, "history", "vault_age_days").await["value"], Value::Null);
    let mut deployed = reading(0, "deployed_at", json!(start()));
    deployed["block_number"] = json!(3);
    deployed["calls"] = json!([{"method": "eth_getCode", "contract": format!("0x{:040x}", 0xa1), "data": null, "answer": format!("0x{:064x}", 7)}]);
    let report = ingest(&test, &clock(100), std::slice::from_ref(&deployed)).await;
    assert_eq!(report.events_published, 0);
    let age = input(&test, "history", "vault_age_days").await;
    assert_eq!((&age["value"], &age["evidence"]["block_number"]), (&json!(4), &json!(3)));
    assert_eq!(age["evidence"]["calls"][0]["method"], json!("eth_getCode"));
    // It ends with its block.
    ingest(&test, &clock(101), &retraction(100, 3)).await;
    assert_eq!(column::<i64>(&test, "SELECT count(deployed_at) FROM vault").await, 0);

    deployed["value"] = json!(start().plus_seconds(60));
    let found = faults(&test, &clock(101), &text(std::slice::from_ref(&deployed))).await;
    assert_eq!(found[0].reason, "must be the time of the block, as observed_at");
}

#[tokio::test]
async fn a_control_that_was_read_and_changed_is_an_event() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    let control = |hours, seconds: Value, signers| {
        [
            reading(hours, "timelock_seconds", seconds),
            reading(hours, "signers", signers),
            reading(hours, "is_immutable", json!(false)),
        ]
    };
    let safe = json!({"threshold": 3, "owners": 5});
    ingest(&test, &clock(9), &control(2, json!(172_800), safe.clone())).await;
    ingest(&test, &clock(9), &control(3, json!(172_800), safe.clone())).await;
    ingest(&test, &clock(9), &control(4, json!(0), json!("eoa"))).await;
    ingest(&test, &clock(9), &control(5, json!(172_800), safe)).await;
    let events: Vec<(String, String, Option<i64>)> = sqlx::query_as(
        "SELECT severity || ': ' || title, description, block_number FROM event WHERE event_type = 'ControlChange' ORDER BY occurred_at",
    )
    .fetch_all(&test.db.pool)
    .await
    .unwrap();
    let [weaker, stronger] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(weaker.0, "Warning: Control of Harbor USDX became weaker");
    assert_eq!(weaker.1, "It was 3 of 5 keys after 172800 seconds, and is one key without a timelock.");
    assert_eq!((weaker.2, stronger.0.as_str()), (Some(4), "Info: Control of Harbor USDX changed"));
}

#[tokio::test]
async fn a_bad_reading_names_its_field() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    let with = |field: &str, value: Value| {
        let mut line = reading(2, "tvl_usd", json!(1.0));
        line[field] = value;
        line
    };
    let call = |field: &str, value: Value| {
        let mut line = reading(2, "tvl_usd", json!(1.0));
        line["calls"][0][field] = value;
        line
    };
    let nowhere = "harbor-31337-0x00000000000000000000000000000000000000ff";
    for (line, field) in [
        (with("value", json!("much")), "value"),
        (with("value", json!(-1)), "value"),
        (with("field", json!("mood")), "field"),
        (reading(2, "deposit_status", Value::Null), "value"),
        (reading(2, "signers", json!({"threshold": 3, "owners": 2})), "value"),
        (with("chain_id", json!(1)), "chain_id"),
        (with("block_number", json!(-1)), "block_number"),
        (with("block_hash", json!("0x12")), "block_hash"),
        (with("calls", json!([])), "calls"),
        (call("contract", json!("0x1")), "calls[0].contract"),
        (call("data", json!("hello")), "calls[0].data"),
        (call("data", Value::Null), "calls[0].data"),
        (with("agreed", json!(4)), "agreed"),
        (with("vault_id", json!(nowhere)), "vault_id"),
        (
            observed(
                "chain_sync",
                1,
                json!({"chain_id": 77, "block_number": 1, "block_hash": format!("0x{:064x}", 1)}),
            ),
            "chain_id",
        ),
    ] {
        let found = faults(&test, &clock(9), &text(std::slice::from_ref(&line))).await;
        assert_eq!(found.iter().map(|fault| fault.field.as_deref()).collect::<Vec<_>>(), [Some(field)], "{line}");
    }
}

fn retraction(hours: i64, from_block: i64) -> [Value; 2] {
    let hash = format!("0x{from_block:064x}");
    let fields = json!({"chain_id": 31337, "from_block": from_block, "block_hash": hash, "reason": "a fork"});
    let halted = json!({"chain_id": 31337, "block_number": from_block - 1, "block_hash": hash, "halted": "a fork"});
    [observed("chain_retraction", hours, fields), observed("chain_sync", hours, halted)]
}

#[tokio::test]
async fn a_replaced_block_takes_back_what_was_read_from_it_on_and_withholds_the_chain() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    ingest(&test, &clock(9), &[reading(2, "tvl_usd", json!(2.0)), reading(2, "timelock_seconds", json!(60)), sync(2)])
        .await;
    let before = dump(&test, &["vault", "vault_state", "vault_snapshot", "chain_reading"]).await;
    let mut read = exposure(4, "usdx");
    let later = reading(4, "tvl_usd", json!(4.0));
    read["evidence"] = json!({"chain_id": 31337, "block_number": 4, "block_hash": later["block_hash"], "calls": later["calls"],
                              "agreed": 2, "asked": 2});
    let lines = [later, reading(4, "timelock_seconds", json!(0)), reading(4, "signers", json!("eoa")), read, sync(4)];
    ingest(&test, &clock(9), &lines).await;
    assert_eq!((column::<f64>(&test, TVL).await, column::<i64>(&test, TIMELOCK).await), (4.0, 0));

    let report = ingest(&test, &clock(9), &retraction(5, 3)).await;
    assert_eq!((report.changed["chain_retraction"], report.changed["chain"]), (1, 1));
    assert_eq!(dump(&test, &["vault", "vault_state", "vault_snapshot", "chain_reading"]).await, before);
    assert_eq!(
        column::<i64>(&test, "SELECT count(*) FROM exposure").await,
        0,
        "exposures that were read are unknown now"
    );
    const SERVED: &str = "SELECT is_served FROM chain";
    assert!(!column::<bool>(&test, SERVED).await);

    // A source that states the chain again does not end the halt, and the same retraction takes nothing back that was read later.
    let mut chain = market().remove(0);
    chain["observed_at"] = json!(start().plus_seconds(6 * 3_600));
    ingest(&test, &clock(9), &[chain]).await;
    assert!(!column::<bool>(&test, SERVED).await);
    ingest(&test, &clock(9), &[reading(7, "tvl_usd", json!(7.0))]).await;
    ingest(&test, &clock(9), &retraction(5, 3)).await;
    assert_eq!(column::<f64>(&test, TVL).await, 7.0);

    ingest(&test, &clock(9), &[sync(8)]).await;
    assert!(column::<bool>(&test, SERVED).await, "an operator resumed the chain");
}

#[tokio::test]
async fn a_replaced_block_takes_back_holders_and_the_answers_of_feeds() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    let of_chain = |kind: &str, hours: i64, fields: Value| {
        let mut line = observed(kind, hours, fields);
        line["source"] = json!("chain:31337");
        line
    };
    let holders = |hours: i64| {
        let holder = json!({"address": format!("0x{:040x}", 0xb2), "balance_raw": "5"});
        let fields = json!({"vault_id": VAULT, "indexed_to_block": hours, "backfill_complete": true, "total_supply_raw": "5",
                            "holders": [holder]});
        of_chain("holder_snapshot", hours, fields)
    };
    let feed = |hours: i64, answer: &str| {
        let fields = json!({"chain_id": 31337, "address": format!("0x{:040x}", 0xfe), "feed_kind": "price", "last_answer": answer,
                            "last_update_at": start()});
        of_chain("oracle_feed", hours, fields)
    };
    ingest(&test, &clock(9), &[holders(2), feed(2, "2"), sync(2)]).await;
    ingest(&test, &clock(9), &[holders(4), feed(4, "4"), sync(4)]).await;
    ingest(&test, &clock(9), &retraction(5, 3)).await;
    assert_eq!(column::<i64>(&test, "SELECT max(indexed_to_block) FROM holder_snapshot").await, 2);
    assert!(column::<bool>(&test, "SELECT last_answer IS NULL FROM oracle_feed").await);
    // The other fork may be behind in time.
    ingest(&test, &clock(9), &[feed(3, "3")]).await;
    assert_eq!(column::<String>(&test, "SELECT last_answer FROM oracle_feed").await, "3");
}

#[tokio::test]
async fn a_vault_that_was_found_on_replaced_blocks_is_inactive_until_it_is_found_again() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    let found = |hours: i64, number: u32, block: i64| {
        let address = format!("0x{number:040x}");
        let fields = json!({"protocol_id": "harbor", "chain_id": 31337, "address": address, "name": "Found",
                            "asset_mode": "holdings"});
        let mut line = observed("vault", hours, fields);
        line["source"] = json!("chain:31337");
        let asset = format!("0x{:040x}", 0xa5);
        let fields = json!({"chain_id": 31337, "address": address, "asset_address": asset, "asset_decimals": 6, "block_number": block});
        [line, observed("chain_candidate", hours, fields)]
    };
    ingest(&test, &clock(9), &[found(2, 0xf2, 2).to_vec(), found(4, 0xf4, 4).to_vec(), vec![sync(4)]].concat()).await;
    const ACTIVE: &str =
        "SELECT array_agg(right(address, 2) ORDER BY address) FROM vault WHERE is_active AND name = 'Found'";
    assert_eq!(column::<Vec<String>>(&test, ACTIVE).await, ["f2", "f4"]);
    ingest(&test, &clock(9), &retraction(5, 3)).await;
    assert_eq!(column::<Vec<String>>(&test, ACTIVE).await, ["f2"]);
    assert_eq!(column::<i64>(&test, "SELECT count(*) FROM chain_candidate").await, 1);
    let known = rds_store::chains::known(&test.db, 31_337).await.unwrap();
    let is_known = [0xf2_u32, 0xf4].map(|number| known.vaults.contains(&format!("0x{number:040x}")));
    assert_eq!(is_known, [true, false], "it is looked for again");
    // The other fork may be behind in time.
    ingest(&test, &clock(9), &found(3, 0xf4, 3)).await;
    assert_eq!(column::<Vec<String>>(&test, ACTIVE).await, ["f2", "f4"]);
}
