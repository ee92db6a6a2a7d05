//! A market with facts for every dimension, and a service with the graph.

use crate::support::market::{DOLLAR, VAULTS, address, line, lines};
use crate::support::testapp::{Reply, TestApp, TestOptions, holder};
use rds_origin::graph::build::{self, Built};
use rds_origin::graph::follow;
use rds_shared::access::Plan;
use serde_json::{Value, json};

/// Observation time of facts that only the graph reads.
pub const SEEN: &str = "2026-11-20T23:55:00Z";

/// The key of the market's vault number `place`.
pub fn key(place: usize) -> String {
    format!("{}:{}", VAULTS[place].chain, VAULTS[place].address())
}

/// Options for a service with the graph.
pub fn offered() -> TestOptions {
    TestOptions { env: vec![("RDS_GRAPH", "1")], ..TestOptions::default() }
}

/// A vault's exposures: `asset:id` or `vault:place`, with shares.
pub fn exposure(place: usize, observed_at: &str, parts: &[(&str, f64)]) -> String {
    let part = |(what, share): &(&str, f64)| match what.split_once(':').unwrap() {
        ("vault", inner) => json!({"vault_id": VAULTS[inner.parse::<usize>().unwrap()].id(), "share": share}),
        (_, id) => json!({"asset_id": id, "share": share}),
    };
    let parts: Vec<Value> = parts.iter().map(part).collect();
    line("exposure", observed_at, json!({"vault_id": VAULTS[place].id(), "status": "observed", "parts": parts}))
}

/// A mapping of subjects, given as `type:id`.
pub fn mapping(mapping_type: &str, id: &str, (verified, confidence): (bool, f64), subjects: &[String]) -> String {
    let subject = |text: &String| {
        let (subject_type, id) = text.split_once(':').unwrap();
        json!({"type": subject_type, "id": id})
    };
    let applies_to: Vec<Value> = subjects.iter().map(subject).collect();
    let fields = json!({"mapping_type": mapping_type, "mapping_id": id, "verified": verified, "confidence": confidence, "applies_to": applies_to});
    line("mapping", SEEN, fields)
}

/// One batch per kind of facts. The first vault belongs to a market that prices its dollar, and holds a bridged coin. The second vault
/// holds the first and the third; the third holds the second and the coin.
pub fn batches() -> Vec<String> {
    let contract = |number: u32| format!("1:{}", address(number));
    let coin = json!({"id": "coin", "chain_id": 1, "address": address(0xd1), "symbol": "COIN", "name": "Coin"});
    let market = json!({"protocol_id": "harbor", "protocol_version": "v4", "chain_id": 1, "address": address(0xc0), "name": "Prime Pool",
        "shape": "spoke", "discovered_by": "onchain_rpc"});
    let reserve = json!({"chain_id": 1, "market_address": address(0xc0), "reserve": "USDX", "asset_symbol": "USDXe", "asset_address": DOLLAR,
        "hub_address": address(0xc1), "token_address": VAULTS[0].address()});
    let hub = json!({"protocol_id": "harbor", "protocol_version": "v4", "chain_id": 1, "hub_address": address(0xc1), "hub_name": "Core",
        "asset_symbol": "USDX", "asset_address": DOLLAR, "wrapper_address": address(0xaa)});
    let feed = |number: u32, symbols: Value| {
        let fields = json!({"chain_id": 1, "address": address(number), "feed_kind": "price", "vendor": "said", "used_by": ["Prime:Pool"],
            "reserve_symbols": symbols});
        line("oracle_feed", SEEN, fields)
    };
    let sure = (true, 0.9);
    vec![
        lines(),
        line("asset", SEEN, coin),
        [line("market", SEEN, market), line("market_reserve", SEEN, reserve), line("hub_asset", SEEN, hub)].concat(),
        [feed(0xfe, json!(["USDXe"])), feed(0xfd, json!(["COIN"]))].concat(),
        [
            exposure(0, SEEN, &[("asset:dollar", 0.6), ("asset:coin", 0.3)]),
            exposure(1, SEEN, &[("vault:0", 0.5), ("vault:2", 0.25)]),
            exposure(2, SEEN, &[("vault:1", 0.5), ("asset:coin", 0.5)]),
        ]
        .concat(),
        [
            mapping("bridge", "ferry/coin", (false, 0.5), &["asset:coin".to_owned()]),
            mapping("bridge", "ferry/dollar", sure, &[format!("vault:{}", VAULTS[1].id())]),
            mapping("signer_set", "council", sure, &[format!("market:{}", contract(0xc0))]),
            mapping("signer_set", "keeper", (false, 0.9), &["protocol:harbor".to_owned()]),
            mapping("oracle_vendor", "lamp", sure, &[format!("feed:{}", contract(0xfe))]),
            mapping("operator_cluster", "gate-nodes", sure, &[format!("vault:{}", VAULTS[1].id())]),
            mapping("operator_cluster", "rumoured", (false, 0.9), &["protocol:harbor".to_owned()]),
        ]
        .concat(),
    ]
}

/// A service with the market of [`batches`]; its snapshot is built and loaded.
pub async fn built() -> TestApp {
    let test = TestApp::with(offered()).await;
    for batch in batches() {
        test.ingest(&batch).await;
    }
    build(&test).await;
    test
}

/// Builds a snapshot and loads it.
pub async fn build(test: &TestApp) -> Built {
    let built = build::build(&test.app.db, test.app.clock.now()).await.unwrap().expect("there are vaults");
    follow::refresh(&test.app).await.unwrap();
    built
}

/// A GET request with a Decisioning key.
pub async fn get(test: &TestApp, target: &str) -> Reply {
    test.get_as(&holder(Plan::Decisioning), target).await
}

/// The look-through of one vault.
pub async fn opened(test: &TestApp, key: &str) -> Value {
    let reply = get(test, &format!("/v1/graph/look-through?vaults={key}")).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["data"]["results"][key].clone()
}
