//! Readings by calls with overrides: their bounds, and that what is stored is what was observed.

use crate::ingest::market::{VAULT, clock, faults, ingest, market, observed, text};
use crate::support::db::TestDb;
use serde_json::{Map, Value, json};

const GATE: &str = "0x00000000000000000000000000000000000000de";

/// A reading by one call with these members more.
fn reading(field: &str, more: Value) -> Value {
    let mut call = json!({"method": "eth_call", "contract": GATE, "data": "0x", "answer": "0x00"});
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    observed(
        "chain_reading",
        2,
        json!({"vault_id": VAULT, "field": field, "value": "closed", "chain_id": 31337, "block_number": 2,
               "block_hash": format!("0x{:064x}", 2), "calls": [call], "agreed": 2, "asked": 3}),
    )
}

fn word(number: usize) -> String {
    format!("0x{number:064x}")
}

fn words(many: usize) -> Map<String, Value> {
    (0..many).map(|slot| (word(slot), json!(word(1)))).collect()
}

fn code(bytes: usize) -> String {
    format!("0x{}", "60".repeat(bytes))
}

#[tokio::test]
async fn a_bad_override_names_its_field() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    let account = |value: Value| json!({"overrides": {GATE: value}});
    let accounts: Map<String, Value> = (0..9).map(|number| (format!("0x{number:040x}"), json!({}))).collect();
    let of_code = |more: Value| {
        let mut more = more;
        more["method"] = json!("eth_getCode");
        more["data"] = Value::Null;
        more
    };
    let of_account = |member: &str| format!("calls[0].overrides.{GATE}.{member}");
    for (more, field) in [
        (json!({"gas": 0}), "calls[0].gas".to_owned()),
        (json!({"gas": 50_000_001}), "calls[0].gas".to_owned()),
        (of_code(json!({"gas": 1})), "calls[0].gas".to_owned()),
        (of_code(account(json!({}))), "calls[0].overrides".to_owned()),
        (json!({"overrides": {"0x1": {}}}), "calls[0].overrides".to_owned()),
        (json!({"overrides": accounts}), "calls[0].overrides".to_owned()),
        (account(json!({"code": "60"})), of_account("code")),
        (account(json!({"code": "0x6"})), of_account("code")),
        (account(json!({"code": code(24_577)})), of_account("code")),
        (account(json!({"stateDiff": {"0x1": word(1)}})), of_account("stateDiff")),
        (account(json!({"stateDiff": {word(1): "0x1"}})), of_account("stateDiff")),
        (account(json!({"stateDiff": words(33)})), of_account("stateDiff")),
    ] {
        let line = reading("deposit_status", more);
        let found = faults(&test, &clock(9), &text(std::slice::from_ref(&line))).await;
        let fields: Vec<_> = found.iter().map(|fault| fault.field.as_deref()).collect();
        assert_eq!(fields, [Some(field.as_str())], "{line}");
    }
    // A node takes more than this, but not every node.
    let line = reading("deposit_status", account(json!({"balance": "0x1"})));
    let found = faults(&test, &clock(9), &text(std::slice::from_ref(&line))).await;
    assert!(found[0].field.as_ref().is_some_and(|field| field.contains("overrides")), "{found:?}");
}

#[tokio::test]
async fn what_is_stored_is_what_was_observed() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    let overrides = json!({GATE: {"code": code(24_576), "stateDiff": words(32)}});
    let with = reading("deposit_status", json!({"overrides": overrides, "gas": 50_000_000}));
    let without = reading("withdraw_status", json!({}));
    ingest(&test, &clock(9), &[with, without]).await;
    let call = async |field: &str| -> Value {
        let sql = "SELECT calls->0 FROM chain_reading WHERE field = $1";
        sqlx::query_scalar(sql).bind(field).fetch_one(&test.db.pool).await.unwrap()
    };
    let stored = call("deposit_status").await;
    assert_eq!((&stored["overrides"], &stored["gas"]), (&overrides, &json!(50_000_000)));
    let plain = call("withdraw_status").await;
    assert_eq!(plain.as_object().unwrap().len(), 4, "a call without overrides is stored as ever: {plain}");
}
