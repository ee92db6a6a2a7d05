//! Published scores are computed again from their published inputs.

use proptest::prelude::*;
use rds_shared::rules::tiers::Tier;
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::provenance::{Observations, RiskVectors, ScoreProvenance};
use rds_shared::scoring::vault::{
    AssetMode, Exit, Exposure, ExposuresStatus, Incident, IncidentClass, Oracle, Signers, Source, Strategy as Use,
    Timelock, VaultInput, WorstDependency, evaluate,
};
use rds_verifier::read_again::Session;
use rds_verifier::report::{Step, StepOutcome};
use serde_json::{Value, json};

/// A vault's detail with the score of this input, as the service publishes it.
fn published(input: &VaultInput) -> Value {
    let outcome = evaluate(input);
    let provenance = ScoreProvenance::new("run", input, &outcome, None, &Observations::new());
    json!({
        "total_score": outcome.score, "risk_tier": outcome.tier.map(Tier::as_str),
        "risk_vectors": RiskVectors::from(outcome.vectors), "score_provenance": provenance,
    })
}

fn step(vault: &Value) -> Step {
    Session::new(&vault.to_string(), vec!["node".to_owned()]).unwrap().report().score.unwrap()
}

fn exposure(id: &str, share_ppm: u32) -> Exposure {
    Exposure {
        id: id.to_owned(),
        share_ppm,
        score: MilliPoints::new(7_125),
        hard_fail_cap: None,
        oracle: Oracle::PushFeed,
        lltv_bp: Some(8_650),
        same_peg: true,
    }
}

fn lending() -> VaultInput {
    let mut input = VaultInput::new(AssetMode::Lending);
    input.deposit_score = MilliPoints::new(8_250);
    input.exposures = vec![exposure("weth", 600_000), exposure("wbtc", 400_000)];
    input.platform.version_age_days = Some(500);
    input.platform.audits = Some(3);
    input.platform.newest_audit_days = Some(90);
    input.platform.bounty_usd = Some(1_500_000);
    input.platform.strategy = Some(Use::CuratedLending);
    input.platform.protocol_tvl_usd = Some(5_000_000_000);
    input.platform.worst_dependency = WorstDependency::None;
    input.control.timelock = Timelock::Seconds(172_800);
    input.control.signers = Signers::Multisig { threshold: 3, owners: 5 };
    input.control.exit = Exit::Instant;
    input.control.source = Source::Verified;
    input.history.vault_age_days = Some(400);
    input.history.incidents = vec![Incident { class: IncidentClass::Minor, age_days: 200, resolved: true }];
    input.history.drawdown_bp = Some(12);
    input.tvl_usd = Some(25_000_000);
    input.utilization_ppm = Some(912_345);
    input.base_apr_ppm = Some(-1_250);
    input
}

#[test]
fn a_published_score_follows_from_its_inputs() {
    let report = step(&published(&lending()));
    assert_eq!(report.outcome, StepOutcome::Ok, "{}", report.said);
    assert!(report.said.contains("Core") || report.said.contains("Prime"), "{}", report.said);
}

#[test]
fn every_changed_result_fails_and_is_named() {
    let vault = published(&lending());
    for (pointer, value, name) in [
        ("/score_provenance/raw_score", json!(9.99), "raw_score"),
        ("/score_provenance/raw_score", json!(null), "raw_score"),
        ("/score_provenance/weighted_sum", json!(7.123_456_7), "weighted_sum"),
        ("/score_provenance/caps", json!([]), "caps"),
        ("/score_provenance/caps/0/value", json!(1), "caps"),
        ("/risk_vectors/asset/score", json!(1), "risk_vectors.asset"),
        ("/risk_vectors/history", json!({}), "risk_vectors.history"),
        ("/risk_tier", json!("Edge"), "risk_tier"),
        ("/total_score", json!(0.5), "risk_tier"),
    ] {
        let mut changed = vault.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        let step = step(&changed);
        assert_eq!(step.outcome, StepOutcome::Failed, "{pointer}");
        assert!(step.said.contains(name), "{pointer}: {}", step.said);
    }
}

#[test]
fn a_changed_input_fails() {
    let vault = published(&lending());
    for (pointer, value) in [
        ("/control/timelock_seconds/value", json!(0)),
        ("/control/signers/value", json!("eoa")),
        ("/platform/audits/value", json!(0)),
        ("/asset/exposures/0/score", json!(2)),
        ("/asset/deposit_score/value", json!(4)),
        ("/history/vault_age_days/value", json!(3)),
        ("/caps/tvl_usd/value", json!(1_000)),
        ("/caps/utilization/value", json!(1.2)),
    ] {
        let mut changed = vault.clone();
        *changed["score_provenance"]["inputs"].pointer_mut(pointer).unwrap() = value;
        assert_eq!(step(&changed).outcome, StepOutcome::Failed, "{pointer}");
    }
}

#[test]
fn what_cannot_be_computed_is_not_called_right() {
    let vault = published(&lending());
    for (pointer, value, word) in [
        ("/score_provenance/methodology_version", json!("rds-9.0.0"), "rds-9.0.0"),
        ("/score_provenance/methodology_version", json!(null), "does not state"),
        ("/score_provenance/inputs/control", json!(null), "`control`"),
        ("/score_provenance/inputs/control/exit/value", json!("by_door"), "control.exit"),
        ("/score_provenance/inputs/asset/exposures/1/share", json!(0.123_456_7), "asset.exposures[1]"),
        ("/score_provenance/inputs/platform/audits", json!(3), "platform.audits"),
    ] {
        let mut changed = vault.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        let step = step(&changed);
        assert_eq!(step.outcome, StepOutcome::Unchecked, "{pointer}");
        assert!(step.said.contains(word), "{pointer}: {}", step.said);
    }
}

fn inputs() -> impl Strategy<Value = VaultInput> {
    let timelock =
        prop_oneof![Just(Timelock::Unknown), Just(Timelock::Immutable), (0_u64..2_000_000).prop_map(Timelock::Seconds)];
    let signers = prop_oneof![
        Just(Signers::Unknown),
        Just(Signers::Immutable),
        Just(Signers::Dao),
        Just(Signers::Eoa),
        (1_u32..9, 1_u32..12).prop_map(|(threshold, owners)| Signers::Multisig { threshold, owners }),
    ];
    let dependency = prop_oneof![
        Just(WorstDependency::None),
        Just(WorstDependency::Unknown),
        Just(WorstDependency::Known(Tier::Core)),
    ];
    let numbers =
        (proptest::option::of(0_u32..900), proptest::option::of(0_u32..9_999), proptest::option::of(0_i64..1_500_000));
    let status = proptest::sample::select(ExposuresStatus::ALL);
    (timelock, signers, dependency, numbers, status, any::<bool>(), 0_i32..10_000, 1_u32..1_000_000).prop_map(
        |(timelock, signers, dependency, (age, drawdown, utilization), status, is_lending, score, share)| {
            let mut input = lending();
            if !is_lending {
                input.asset_mode = AssetMode::Holdings;
                input.deposit_score = None;
                for exposure in &mut input.exposures {
                    (exposure.oracle, exposure.lltv_bp, exposure.same_peg) = (Oracle::None, None, false);
                }
            }
            input.exposures_status = status;
            input.exposures[0].score = MilliPoints::new(score / 10 * 10);
            input.exposures[0].share_ppm = share;
            input.control.timelock = timelock;
            input.control.signers = signers;
            input.platform.worst_dependency = dependency;
            input.platform.version_age_days = age;
            input.history.vault_age_days = age;
            input.history.drawdown_bp = drawdown;
            input.utilization_ppm = utilization;
            input
        },
    )
}

proptest! {
    #[test]
    fn whatever_the_inputs_the_published_score_follows_from_them(input in inputs()) {
        let step = step(&published(&input));
        prop_assert_eq!(step.outcome, StepOutcome::Ok, "{}", step.said);
    }
}
