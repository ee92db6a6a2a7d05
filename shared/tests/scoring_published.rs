//! The published score can be recomputed from the published JSON alone.

mod scoring_support;

use proptest::prelude::*;
use rds_shared::rules::tiers::tier_of;
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::asset::{self, AssetCategory, AssetInput, Dimension, HardFailFlag, ReviewStatus, breakdown};
use rds_shared::scoring::provenance::{InputField, Observation, Observations, RiskVectors, ScoreProvenance};
use rds_shared::scoring::tables;
use rds_shared::scoring::vault::{self, AssetMode, Exposure, Oracle, VaultInput};
use rds_shared::wire::time::Timestamp;
use scoring_support::{asset, config, vault};
use serde_json::{Value, json};

/// A published number in millionths; published numbers have at most six decimals.
fn millionths(number: &Value) -> i64 {
    format!("{:.6}", number.as_f64().unwrap()).replace('.', "").parse().unwrap()
}

/// Millionths rounded half to even to hundredths: the only rounding of a published score.
fn rounded(millionths: i64) -> i64 {
    let (hundredths, rest) = (millionths / 10_000, millionths % 10_000);
    10_000 * (hundredths + i64::from(rest > 5_000 || (rest == 5_000 && hundredths % 2 == 1)))
}

fn published_asset(input: &AssetInput) -> Option<Value> {
    let outcome = asset::evaluate(input);
    let breakdown = breakdown(input, &outcome, outcome.score)?;
    Some(serde_json::from_str(&serde_json::to_string(&breakdown).unwrap()).unwrap())
}

fn published_vault(input: &VaultInput) -> Value {
    let outcome = vault::evaluate(input);
    let provenance = ScoreProvenance::new("run-1", input, &outcome, None, &Observations::new());
    let row = json!({ "risk_vectors": RiskVectors::from(outcome.vectors), "score_provenance": provenance });
    serde_json::from_str(&row.to_string()).unwrap()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_assets_score_follows_from_its_breakdown(input in asset()) {
        let Some(published) = published_asset(&input) else { return Ok(()) };
        let weights = published["weights"].as_object().unwrap();
        let weighted = weights.iter().map(|(dimension, weight)| {
            let value = &published["dimensions"][dimension];
            let counted = if value.is_null() { 2_500_000 } else { millionths(value) };
            millionths(weight) * counted / 1_000_000
        });
        let mut running = weighted.sum::<i64>();
        prop_assert_eq!(running, millionths(&published["weighted_sum"]));
        for overlay in published["overlays_applied"].as_array().unwrap() {
            prop_assert_eq!(running, millionths(&overlay["before"]));
            running = millionths(&overlay["after"]);
        }
        prop_assert_eq!(rounded(running), millionths(&published["score"]));
    }

    #[test]
    fn a_vaults_score_follows_from_its_vectors_and_caps(input in vault()) {
        let published = published_vault(&input);
        let provenance = &published["score_provenance"];
        let vectors = published["risk_vectors"].as_object().unwrap();
        if provenance["raw_score"].is_null() {
            prop_assert!(vectors.values().any(|vector| vector["score"].is_null()));
            return Ok(());
        }
        let weighted =
            vectors.values().map(|vector| millionths(&vector["weight"]) * millionths(&vector["score"]) / 1_000_000);
        let sum = weighted.sum::<i64>();
        prop_assert_eq!(sum, millionths(&provenance["weighted_sum"]));
        let caps = provenance["caps"].as_array().unwrap().iter().map(|cap| millionths(&cap["value"]));
        prop_assert_eq!(rounded(caps.fold(sum, Ord::min)), millionths(&provenance["raw_score"]));
    }

    #[test]
    fn an_asset_vector_follows_from_the_published_exposures(input in vault()) {
        prop_assume!(input.asset_mode == AssetMode::Holdings);
        let published = published_vault(&input);
        let asset = &published["score_provenance"]["inputs"]["asset"];
        prop_assume!(asset["exposures_status"]["value"] == "observed");
        // The mean of the merged exposures in milli-points, weighted by millionths of the vault.
        let mut merged = std::collections::BTreeMap::<String, (i128, i128)>::new();
        for exposure in asset["exposures"].as_array().unwrap() {
            let cap = if exposure["hard_fail_cap"].is_null() { 3_000_000 } else { millionths(&exposure["hard_fail_cap"]) };
            let score = if exposure["score"].is_null() { cap.min(3_000_000) } else { millionths(&exposure["score"]) };
            let share = i128::from(millionths(&exposure["share"]));
            let (sum, shares) = merged.entry(exposure["id"].to_string()).or_default();
            *sum += share * i128::from(score / 1_000);
            *shares += share;
        }
        let half_even = |n: i128, d: i128| n / d + i128::from(2 * (n % d) > d || (2 * (n % d) == d && (n / d) % 2 == 1));
        let held: Vec<_> = merged.into_values().filter(|(_, shares)| *shares > 0).collect();
        let total: i128 = held.iter().map(|(_, shares)| shares).sum();
        let vector = &published["risk_vectors"]["asset"]["score"];
        if total == 0 {
            prop_assert!(vector.is_null());
            return Ok(());
        }
        let sum: i128 = held.iter().map(|(sum, shares)| shares * half_even(*sum, *shares)).sum();
        prop_assert_eq!(10_000 * half_even(sum, 10 * total), i128::from(millionths(vector)));
    }
}

#[test]
fn the_breakdown_lists_every_overlay_in_the_published_form() {
    let nine = MilliPoints::saturating(9000);
    let category = AssetCategory::SyntheticStablecoin;
    let dimensions = tables::weights(category).iter().map(|(dimension, _)| (*dimension, nine)).collect();
    let eight = Some(MilliPoints::saturating(8000));
    let input = AssetInput {
        lockup_days: 30,
        underlying: Some(eight),
        dependencies: vec![("a".into(), Some(MilliPoints::saturating(6500)))],
        chain: Some([eight; 4]),
        age_seconds: 100,
        cadence_seconds: 80,
        review_status: ReviewStatus::Unreviewed,
        hard_fail_flags: [HardFailFlag::EoaMintAuthority].into_iter().collect(),
        ..AssetInput::new(category, dimensions)
    };
    let expected = json!({
        "category": "synthetic_stablecoin",
        "weights": {"peg_stability": 0.2, "issuer_custody": 0.2, "redeemability": 0.15, "dependency_depth": 0.15,
            "reserve_transparency": 0.1, "protocol_security": 0.1, "liquidity": 0.1},
        "dimensions": {"peg_stability": 9, "issuer_custody": 9, "redeemability": 9, "dependency_depth": 9,
            "reserve_transparency": 9, "protocol_security": 9, "liquidity": 9},
        "dimension_basis": {},
        "weighted_sum": 9,
        "overlays_applied": [
            {"id": "lockup", "kind": "subtract", "before": 9, "after": 8, "reason": "exit locked for 30 days"},
            {"id": "yield-bearing", "kind": "cap", "before": 8, "after": 7.75, "reason": "bounded by its underlying"},
            {"id": "dependency:a", "kind": "cap", "before": 7.75, "after": 7.5, "reason": "bounded by dependency a"},
            {"id": "chain", "kind": "multiply", "before": 7.5, "after": 7.275, "reason": "chain profile"},
            {"id": "staleness", "kind": "multiply", "before": 7.275, "after": 7.05675,
                "reason": "evidence older than its cadence"},
            {"id": "review:unreviewed", "kind": "cap", "before": 7.05675, "after": 4.9, "reason": "not reviewed"},
            {"id": "hard_fail:eoa_mint_authority", "kind": "cap", "before": 4.9, "after": 4,
                "reason": "one key can mint"}],
        "score": 4,
        "tier": "Edge",
        "methodology_version": "rds-1.1.0",
        "reconstructed": "full",
        "flags": [],
        "hard_fail_overrides": []
    });
    assert_eq!(published_asset(&input), Some(expected));
}

#[test]
fn a_breakdown_is_partial_when_evidence_is_missing_or_the_stored_score_differs() {
    let nine = MilliPoints::saturating(9000);
    let all = tables::weights(AssetCategory::Lst).iter().map(|(dimension, _)| (*dimension, nine));
    let complete = AssetInput::new(AssetCategory::Lst, all.clone().collect());
    let gap = AssetInput::new(AssetCategory::Lst, all.filter(|(key, _)| *key != Dimension::Liquidity).collect());
    let reconstructed = |input: &AssetInput, stored| {
        breakdown(input, &asset::evaluate(input), MilliPoints::new(stored)).unwrap().reconstructed.as_str()
    };
    assert_eq!(reconstructed(&complete, 9050), "full");
    assert_eq!(reconstructed(&complete, 9060), "partial");
    let score = asset::evaluate(&gap).score.unwrap();
    assert_eq!(reconstructed(&gap, score.get()), "partial");
    assert_eq!(tier_of(score).as_str(), "Prime");
}

#[test]
fn every_published_input_has_its_value_source_and_time() {
    let mut input = VaultInput::new(AssetMode::Lending);
    input.deposit_score = MilliPoints::new(9000);
    input.exposures.push(Exposure {
        id: "wsteth".into(),
        share_ppm: 450_000,
        score: MilliPoints::new(8650),
        hard_fail_cap: None,
        oracle: Oracle::ExchangeRate,
        lltv_bp: Some(8300),
        same_peg: false,
    });
    input.history.drawdown_bp = Some(25);
    input.utilization_ppm = Some(900_000);
    let observed_at = Timestamp::from_seconds(1_795_219_200);
    let observations = [(InputField::Drawdown, Observation::stated("share-price", observed_at))];
    let outcome = vault::evaluate(&input);
    let provenance = ScoreProvenance::new("run-1", &input, &outcome, None, &observations.into());
    let published = serde_json::to_value(&provenance).unwrap();
    let unknown = |value: Value| json!({"value": value, "source": null, "observed_at": null});
    assert_eq!(
        published["inputs"]["asset"],
        json!({
            "asset_mode": "lending",
            "deposit_score": unknown(json!(9)),
            "deposit_hard_fail": unknown(json!(false)),
            "exposures_status": unknown(json!("observed")),
            "exposures": [{"id": "wsteth", "share": 0.45, "score": 8.65, "hard_fail_cap": null,
                "oracle": "exchange_rate", "lltv": 0.83, "same_peg": false}],
        })
    );
    assert_eq!(
        published["inputs"]["history"]["drawdown"],
        json!({"value": 0.0025, "source": "share-price", "observed_at": "2026-11-21T00:00:00.000Z"})
    );
    assert_eq!(published["inputs"]["control"]["timelock_seconds"], unknown(Value::Null));
    assert_eq!(published["inputs"]["caps"]["utilization"], unknown(json!(0.9)));
    assert_eq!((&published["raw_score"], &published["weighted_sum"]), (&Value::Null, &Value::Null));
    let missing: Vec<_> = outcome.missing().iter().map(|input| input.as_str()).collect();
    assert_eq!(missing, ["version_age_days", "audits", "strategy"]);
}
