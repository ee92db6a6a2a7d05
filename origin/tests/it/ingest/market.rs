//! A small market for tests of ingest: one chain, two protocols, three assets, one lending vault with a score.

use crate::support::db::TestDb;
use rds_engine::clock::Clock;
use rds_engine::ingest::{self, Fault, IngestError, IngestReport};
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};
use sqlx::Row;

pub const VAULT: &str = "harbor-31337-0x00000000000000000000000000000000000000a1";

/// Observation time of the market.
pub fn start() -> Timestamp {
    Timestamp::parse("2026-06-01T00:00:00Z").unwrap()
}

/// An observation of `kind` at `hours` after the start, with `fields` in addition to the header.
pub fn observed(kind: &str, hours: i64, fields: Value) -> Value {
    let mut line = json!({"kind": kind, "observed_at": start().plus_seconds(hours * 3_600), "source": "fixture"});
    line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    line
}

pub fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Every dimension of a fiat-backed stablecoin with the same value.
pub fn evenly(points: f64) -> Value {
    let names = [
        "issuer_custody",
        "reserve_transparency",
        "redeemability",
        "peg_stability",
        "liquidity",
        "governance_controls",
        "protocol_security",
    ];
    names.into_iter().map(|name| (name.to_owned(), json!(points))).collect::<serde_json::Map<_, _>>().into()
}

/// All facts that the market's vault depends on.
pub fn registry() -> Vec<Value> {
    let dimensions = json!({
        "issuer_custody": 9, "reserve_transparency": 9, "redeemability": 9, "peg_stability": 9, "liquidity": 10,
        "governance_controls": 7, "protocol_security": 9
    });
    let review = |asset: &str, dimensions: &Value| json!({"asset_id": asset, "review_status": "reviewed", "dimensions": dimensions});
    let asset = |id: &str, last: &str| {
        json!({"id": id, "chain_id": 31337, "address": format!("0x00000000000000000000000000000000000000{last}"),
               "symbol": id.to_uppercase(), "category": "fiat_backed_stablecoin"})
    };
    vec![
        observed(
            "chain",
            0,
            json!({"chain_id": 31337, "slug": "devnet", "name": "Devnet", "namespace": "evm", "is_settlement": true}),
        ),
        observed("curator", 0, json!({"id": "keel", "name": "Keel Capital"})),
        observed(
            "protocol",
            0,
            json!({"id": "harbor", "name": "Harbor", "version": "v3", "version_deployed_at": "2022-06-01T00:00:00Z", "audits": 5,
                   "newest_audit_at": "2026-01-01T00:00:00Z", "bounty_usd": 1000000, "tvl_usd": 2000000000,
                   "strategy": "lending_pool", "dependencies": [], "money_market": true}),
        ),
        observed("asset", 0, asset("usdx", "c1")),
        observed("asset", 0, asset("usdy", "c2")),
        observed("asset_review", 0, review("usdx", &dimensions)),
        observed("asset_review", 0, review("usdy", &evenly(7.6))),
    ]
}

pub fn vault() -> Value {
    observed(
        "vault",
        0,
        json!({"protocol_id": "harbor", "chain_id": 31337, "address": "0x00000000000000000000000000000000000000A1",
               "name": "Harbor USDX", "asset_symbol": "USDX", "asset_address": "0x00000000000000000000000000000000000000c1",
               "curator_id": "keel", "asset_mode": "lending", "deployed_at": "2024-01-01T00:00:00Z", "timelock_seconds": 604800,
               "signers": {"threshold": 5, "owners": 9}, "exit": "instant", "source_code": "verified"}),
    )
}

pub fn exposure(hours: i64, asset: &str) -> Value {
    let part = json!({"asset_id": asset, "share": 1, "oracle": "push_feed", "lltv": 0.8});
    observed("exposure", hours, json!({"vault_id": VAULT, "status": "observed", "parts": [part]}))
}

pub fn state(hours: i64, fields: Value) -> Value {
    let mut line =
        observed("vault_state", hours, json!({"vault_id": VAULT, "tvl_usd": 5000000, "price_per_share": 1.5}));
    line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    line
}

/// The whole market. The collateral scores 7.60, so the vault scores 8.60: Prime, and bounded by its collateral.
pub fn market() -> Vec<Value> {
    let mut lines = registry();
    lines.extend([
        vault(),
        exposure(0, "usdy"),
        state(0, json!({"base_apr": 0.04, "utilization": 0.8, "borrow_apr": 0.05})),
    ]);
    lines
}

/// A clock at `hours` after the start.
pub fn clock(hours: i64) -> Clock {
    Clock::held(start().plus_seconds(hours * 3_600))
}

pub async fn ingest(test: &TestDb, clock: &Clock, lines: &[Value]) -> IngestReport {
    ingest::from_reader(&test.db, clock, text(lines).as_bytes()).await.unwrap()
}

pub async fn faults(test: &TestDb, clock: &Clock, text: &str) -> Vec<Fault> {
    match ingest::from_reader(&test.db, clock, text.as_bytes()).await {
        Err(IngestError::Faults(faults)) => faults.into_listed(),
        other => panic!("expected faults, got {other:?}"),
    }
}

/// Tables of observed facts and of rows derived from them.
pub const FACTS: [&str; 30] = [
    "chain",
    "protocol",
    "curator",
    "asset",
    "asset_version",
    "asset_answer",
    "vault",
    "vault_state",
    "vault_snapshot",
    "reward",
    "exposure",
    "holder_snapshot",
    "vault_strategy",
    "event",
    "event_link",
    "asset_score",
    "reviewer",
    "attestation",
    "rwa_source",
    "rwa_observation",
    "rwa_candidate",
    "market",
    "market_key",
    "market_state",
    "market_reserve",
    "market_emode",
    "hub_asset",
    "oracle_feed",
    "vault_position",
    "mapping",
];
pub const PUBLISHED: [&str; 8] = [
    "vault_score",
    "score_history",
    "score_run",
    "ingest_batch",
    "data_version",
    "asset_version_score",
    "asset_registry",
    "rwa_aum_snapshot",
];

/// Every row of `tables` as text, sorted.
pub async fn dump(test: &TestDb, tables: &[&str]) -> Vec<String> {
    let mut dump = Vec::new();
    for table in tables {
        let rows: Vec<String> =
            sqlx::query_scalar(&format!("SELECT '{table} ' || t::text FROM {table} AS t ORDER BY 1"))
                .fetch_all(&test.db.pool)
                .await
                .unwrap();
        dump.extend(rows);
    }
    dump
}

/// A vault's published score and tier, and its raw score.
pub async fn published(test: &TestDb, vault: &str) -> (Option<i32>, Option<String>, Option<i32>) {
    let row = sqlx::query("SELECT score, tier, raw FROM vault_score WHERE vault_id = $1")
        .bind(vault)
        .fetch_one(&test.db.pool)
        .await
        .unwrap();
    (row.get(0), row.get(1), row.get(2))
}
