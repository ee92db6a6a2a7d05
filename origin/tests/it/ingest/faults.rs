//! Invalid batches: every invalid line is reported with its field and a reason, and nothing is stored.

use crate::ingest::market::{
    FACTS, PUBLISHED, VAULT, clock, dump, exposure, faults, ingest, market, observed, registry, state, text, vault,
};
use crate::support::db::TestDb;
use serde_json::{Value, json};

fn with(mut line: Value, field: &str, value: Value) -> Value {
    line[field] = value;
    line
}

#[tokio::test]
async fn every_bad_line_is_named_and_nothing_of_the_batch_is_kept() {
    let test = TestDb::new().await;
    let before = dump(&test, &[&FACTS[..], &PUBLISHED[..]].concat()).await;
    let mut lines = text(&market());
    lines.push_str("not json\n\n{\"kind\":\"weather\"}\n");
    lines.push_str(&text(&[state(1, json!({"colour": "red"})), state(1, json!({"tvl_usd": -1}))]));
    let found = faults(&test, &clock(2), &lines).await;
    let named: Vec<(u64, Option<&str>)> = found.iter().map(|fault| (fault.line, fault.field.as_deref())).collect();
    assert_eq!(named, [(11, None), (13, Some("kind")), (14, Some("colour")), (15, Some("tvl_usd"))]);
    assert!(found.iter().all(|fault| !fault.reason.is_empty()));
    assert_eq!(dump(&test, &[&FACTS[..], &PUBLISHED[..]].concat()).await, before);
}

#[tokio::test]
async fn a_reference_to_something_unknown_names_the_field() {
    let test = TestDb::new().await;
    let nowhere = "harbor-31337-0x00000000000000000000000000000000000000ff";
    ingest(&test, &clock(1), &registry()).await;
    let cases = [
        (with(vault(), "protocol_id", json!("atlantis")), "protocol_id"),
        (with(vault(), "chain_id", json!(77)), "chain_id"),
        (with(vault(), "curator_id", json!("nobody")), "curator_id"),
        (state(1, json!({"vault_id": nowhere})), "vault_id"),
        (exposure(1, "usdy"), "vault_id"),
        (
            observed("asset_review", 1, json!({"asset_id": "gold", "review_status": "reviewed", "dimensions": {}})),
            "asset_id",
        ),
        (observed("protocol", 1, json!({"id": "quay", "name": "Quay", "dependencies": ["atlantis"]})), "dependencies"),
        (
            observed("asset", 1, json!({"id": "susdx", "chain_id": 31337, "symbol": "sUSDX", "underlying": "usdz"})),
            "underlying",
        ),
        (
            observed(
                "incident_link",
                1,
                json!({"event_key": "e", "protocol_id": "atlantis", "severity": "Info", "title": "t",
                                                "occurred_at": "2026-01-01T00:00:00Z"}),
            ),
            "protocol_id",
        ),
    ];
    for (line, field) in cases {
        let found = faults(&test, &clock(1), &text(std::slice::from_ref(&line))).await;
        assert_eq!(found.iter().map(|fault| fault.field.as_deref()).collect::<Vec<_>>(), [Some(field)], "{line}");
    }
}

#[tokio::test]
async fn an_address_must_be_one_of_its_chain() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    let solana = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
    let of = |line: Value| async { faults(&test, &clock(1), &text(&[line])).await.remove(0) };
    assert!(of(with(vault(), "address", json!(solana))).await.reason.contains("svm"));
    assert!(of(with(vault(), "address", json!("0x12"))).await.reason.contains("must be an address"));
    let mut rival = with(vault(), "protocol_id", json!("quay"));
    rival["name"] = json!("Impostor");
    let quay = observed("protocol", 0, json!({"id": "quay", "name": "Quay"}));
    let found = faults(&test, &clock(1), &text(&[quay, rival])).await;
    assert_eq!((found[0].line, found[0].field.as_deref()), (2, Some("address")));
    assert!(found[0].reason.contains(VAULT));
}

#[tokio::test]
async fn values_out_of_range_are_refused_by_field() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    let review = |dimensions: Value| {
        observed("asset_review", 2, json!({"asset_id": "usdx", "review_status": "reviewed", "dimensions": dimensions}))
    };
    let part = |share: f64, asset: &str| json!({"asset_id": asset, "share": share});
    let holding =
        |parts: Value| observed("exposure", 2, json!({"vault_id": VAULT, "status": "observed", "parts": parts}));
    let cases = [
        (review(json!({"liquidity": 10.01})), "dimensions.liquidity"),
        (review(json!({"liquidity": 7.123})), "dimensions.liquidity"),
        (review(json!({"charm": 5})), "dimensions.charm"),
        (review(json!({"operator_quality": 5})), "dimensions.operator_quality"),
        (holding(json!([part(1.5, "usdx")])), "parts[0].share"),
        (holding(json!([part(0.6, "usdx"), part(0.6, "usdy")])), "parts"),
        (state(2, json!({"utilization": -0.1})), "utilization"),
        (state(2, json!({"deposit_status": "ajar"})), "deposit_status"),
        (state(2, json!({"vault_id": "Harbor"})), "vault_id"),
        (with(vault(), "signers", json!({"threshold": 3, "owners": 2})), "signers"),
        (with(vault(), "evidence", json!({"mood": "good"})), "evidence.mood"),
        (with(vault(), "protocol_id", json!("Harbor Inc")), "protocol_id"),
        (
            observed(
                "reward",
                2,
                json!({"vault_id": VAULT, "campaign_id": "p", "side": "supply", "reward_type": "points", "apr": 0.1}),
            ),
            "apr",
        ),
        (
            observed("chain", 2, json!({"chain_id": 31338, "slug": "devnet", "name": "Twin", "namespace": "evm"})),
            "slug",
        ),
    ];
    for (line, field) in cases {
        let found = faults(&test, &clock(2), &text(std::slice::from_ref(&line))).await;
        assert!(found.iter().any(|fault| fault.field.as_deref() == Some(field)), "{line}: {found:?}");
    }
}

#[tokio::test]
async fn a_bad_dimension_cannot_be_withdrawn_whichever_review_comes_first() {
    let review = |hours: i64, dimensions: Value| {
        observed(
            "asset_review",
            hours,
            json!({"asset_id": "usdx", "review_status": "reviewed", "dimensions": dimensions}),
        )
    };
    let (bad, withdrawn) = (review(5, json!({"liquidity": 1})), review(6, json!({"liquidity": null})));
    for [first, second] in [[&bad, &withdrawn], [&withdrawn, &bad]] {
        let test = TestDb::new().await;
        ingest(&test, &clock(1), &registry()).await;
        ingest(&test, &clock(7), std::slice::from_ref(first)).await;
        let found = faults(&test, &clock(7), &text(std::slice::from_ref(second))).await;
        assert_eq!(found[0].field.as_deref(), Some("dimensions.liquidity"));
    }
}

#[tokio::test]
async fn the_methodologys_rules_for_backing_hold() {
    let test = TestDb::new().await;
    let mut lines = registry();
    lines.push(observed(
        "asset",
        0,
        json!({"id": "synth", "chain_id": 31337, "symbol": "SYN", "category": "synthetic_stablecoin"}),
    ));
    ingest(&test, &clock(1), &lines).await;
    let review = |backing: [f64; 4], depth: f64| {
        let [offchain, exogenous, endogenous, hedge] = backing;
        observed(
            "asset_review",
            2,
            json!({"asset_id": "synth", "review_status": "reviewed", "dimensions": {"dependency_depth": depth},
            "backing_profile": {"offchain_pct": offchain, "crypto_exogenous_pct": exogenous, "crypto_endogenous_pct": endogenous,
                                "delta_hedge_pct": hedge}}),
        )
    };
    let short = faults(&test, &clock(2), &text(&[review([50.0, 40.0, 0.0, 9.0], 5.0)])).await;
    assert_eq!(short[0].field.as_deref(), Some("backing_profile"));
    let hedged = faults(&test, &clock(2), &text(&[review([40.0, 0.0, 0.0, 60.0], 6.5)])).await;
    assert_eq!(hedged[0].field.as_deref(), Some("dimensions.dependency_depth"));
    ingest(&test, &clock(2), &[review([40.0, 0.0, 0.0, 60.0], 6.0)]).await;
}
