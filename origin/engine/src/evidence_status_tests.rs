//! Which questions are open, and in which order their subjects are listed.

use super::*;
use rds_facts::At;
use rds_facts::fact::Kind;
use rds_shared::scoring::rubric::SourceKind;
use rds_shared::scoring::tables::rubric::RUBRIC_VERSION;
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::from_seconds(1_795_500_000);
const DAY: i64 = 86_400;

fn at(days_ago: i64) -> At {
    At(NOW.plus_seconds(-days_ago * DAY))
}

fn asset_answer(dimension: Dimension, question: &str, answer: &str, days_ago: i64) -> AssetAnswer {
    AssetAnswer {
        kind: Kind,
        observed_at: at(days_ago),
        source: "t".to_owned(),
        asset_id: "usdx".to_owned(),
        dimension,
        question: question.to_owned(),
        answer: answer.to_owned(),
        as_of: at(days_ago),
        source_title: "Terms".to_owned(),
        source_url: "https://issuer.example/terms".to_owned(),
        source_kind: SourceKind::Document,
        note: None,
        withdrawn: false,
        rubric_version: RUBRIC_VERSION.to_owned(),
        evidence: None,
    }
}

fn protocol_answer(input: ProtocolInput, value: Value, days_ago: i64) -> ProtocolAnswer {
    ProtocolAnswer {
        kind: Kind,
        observed_at: at(days_ago),
        source: "t".to_owned(),
        subject: "harbor".to_owned(),
        input,
        value,
        as_of: at(days_ago),
        source_title: "Documentation".to_owned(),
        source_url: "https://protocol.example/docs".to_owned(),
        source_kind: SourceKind::Document,
        note: None,
        withdrawn: false,
        rubric_version: RUBRIC_VERSION.to_owned(),
    }
}

fn withdrawn(one: ProtocolAnswer) -> ProtocolAnswer {
    ProtocolAnswer { withdrawn: true, observed_at: at(0), ..one }
}

fn of_value(id: &str, unlockable_tvl_usd: f64, tvl_usd: f64, vaults: i64) -> OpenSubject {
    let value = DependentValue { id: id.to_owned(), tvl_usd, unlockable_tvl_usd, vaults, unscored: 0 };
    subject("asset", value, false, Vec::new())
}

#[test]
fn what_unlocks_the_most_comes_first_and_what_unlocks_nothing_last() {
    let mut subjects = vec![
        of_value("d", 0.0, 9e9, 90),
        of_value("c", 5.0, 6.0, 1),
        of_value("b", 5.0, 7.0, 1),
        of_value("f", 0.0, 1.0, 1),
        of_value("e", 0.0, 1.0, 1),
        of_value("g", 0.0, 1.0, 2),
        of_value("a", 6.0, 6.0, 1),
    ];
    sort(&mut subjects);
    assert_eq!(subjects.iter().map(|it| it.id.as_str()).collect::<String>(), "abcdgef");
}

#[test]
fn an_asset_is_also_asked_who_can_raise_its_supply() {
    let none = EnteredNumbers::default();
    let supply = |category, given: &[AssetAnswer]| -> Vec<(String, PartState, u32, Option<i32>)> {
        let open = open_of_asset(category, &none, given, NOW).into_iter();
        let about = open.filter(|it| it.question.starts_with("bridge_mechanism.") && it.limits_score_to.is_some());
        about.map(|it| (it.question, it.state, it.weight, it.limits_score_to.map(MilliPoints::get))).collect()
    };
    let asked = |question: &str, state, weight| (format!("bridge_mechanism.{question}"), state, weight, Some(7_900));
    let unknown = PartState::Unknown;
    // The category does not weigh the dimension.
    let stablecoin = AssetCategory::FiatBackedStablecoin;
    assert_eq!(supply(stablecoin, &[]), [asked("mint_control", unknown, 0), asked("verifier", unknown, 0)]);
    let message = asset_answer(Dimension::BridgeMechanism, "verifier", "no_message", 1);
    assert_eq!(supply(stablecoin, &[message]), [asked("mint_control", unknown, 0)]);
    let old = asset_answer(Dimension::BridgeMechanism, "verifier", "no_message", 3_000);
    assert_eq!(supply(stablecoin, &[old])[1], asked("verifier", PartState::Aged, 0));
    // Nobody can raise the supply.
    assert_eq!(supply(AssetCategory::Native, &[]), []);
    // A category that weighs the dimension lists each question once.
    let wrapped = open_of_asset(AssetCategory::WrappedBtc, &none, &[], NOW);
    let mint: Vec<_> = wrapped.iter().filter(|it| it.question == "bridge_mechanism.mint_control").collect();
    assert!(mint.len() == 1 && mint[0].weight > 0 && mint[0].limits_score_to.is_some(), "{mint:?}");
}

#[test]
fn a_number_of_a_signed_review_leaves_no_question_open() {
    let dimensions = Dimension::ALL.iter().map(|dimension| (*dimension, MilliPoints::saturating(8_000))).collect();
    let signed = EnteredNumbers { dimensions, is_signed: true };
    assert_eq!(open_of_asset(AssetCategory::FiatBackedStablecoin, &signed, &[], NOW), []);
    let unsigned = EnteredNumbers { is_signed: false, ..signed };
    assert!(!open_of_asset(AssetCategory::FiatBackedStablecoin, &unsigned, &[], NOW).is_empty());
}

#[test]
fn a_withdrawn_answer_is_called_withdrawn_and_an_old_one_aged() {
    use ProtocolInput::{Audit, BountyUsd, Exit, Signers, Timelock};
    let unstated = BTreeSet::from([Audit, BountyUsd, Timelock, Signers, Exit]);
    let report = json!({"firm": "Hull", "date": "2026-02-01", "scope": "v3"});
    let given = [
        withdrawn(protocol_answer(Audit, report, 1)),
        withdrawn(protocol_answer(BountyUsd, json!(1_000_000), 1)),
        // The aged value stays in force, because it counts less than an unknown timelock.
        protocol_answer(Timelock, json!(0), 3_000),
        protocol_answer(Signers, json!({"threshold": 3, "owners": 5}), 3_000),
        withdrawn(protocol_answer(Signers, json!("dao"), 30)),
        protocol_answer(Exit, json!("queue_7d"), 1),
    ];
    let open = open_of_protocol(&unstated, &given, NOW);
    let states: Vec<_> = open.iter().map(|it| (it.question.as_str(), it.state)).collect();
    let expected = [
        ("audit", PartState::Withdrawn),
        ("bounty_usd", PartState::Withdrawn),
        ("timelock", PartState::Aged),
        ("signers", PartState::Withdrawn),
    ];
    assert_eq!(states, expected);
}

#[test]
fn an_input_that_the_registry_states_is_not_open() {
    let unstated = BTreeSet::from([ProtocolInput::Exit]);
    let open = open_of_protocol(&unstated, &[], NOW);
    assert_eq!(
        open.iter().map(|it| (it.question.as_str(), it.state)).collect::<Vec<_>>(),
        [("exit", PartState::Unknown)]
    );
}
