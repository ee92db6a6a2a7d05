//! Tests of the answers that a reading of a token's powers gives.

use super::*;
use proptest::prelude::*;
use rds_chain::Address;
use rds_chain::adapt::governance::{Doubt, Edge, Kind, Link, Node};
use rds_shared::scoring::rubric::Hundredths;

fn powers(is_upgradeable: Option<bool>, timelock: Delay, signers: Signers) -> Powers {
    let controlled = Controlled { timelock, signers, path: Vec::new(), doubt: None };
    Powers { is_upgradeable, is_controlled: true, controlled, can_freeze: false, can_pause: false, key_mints: false }
}

fn keys(delay: u64, needed: u32, of: u32) -> Powers {
    powers(Some(true), Delay::Seconds(delay), Signers::Threshold { needed, of })
}

/// The answers that the powers give beside these of reviewers.
fn beside(powers: &Powers, standing: &[(Topic, &str)]) -> Vec<(&'static str, &'static str)> {
    let answer = |topic: Topic| {
        let question = topic.question().unwrap();
        let standing = standing.iter().find(|(of, _)| *of == topic).map(|(_, id)| question.answer(id).unwrap());
        Some((topic.id(), given(question, shown(powers, topic), standing)?))
    };
    Topic::ALL.into_iter().filter_map(answer).collect()
}

fn alone(powers: &Powers) -> Vec<(&'static str, &'static str)> {
    beside(powers, &[])
}

#[test]
fn a_key_a_safe_and_a_safe_behind_a_timelock_have_these_answers() {
    let rewrite = ("holder_power", "rewrite");
    for (powers, upgrade, delay, holders) in [
        (keys(0, 1, 1), "eoa", "none", "one"),
        // Each owner alone is enough.
        (keys(0, 1, 3), "eoa", "none", "one"),
        (keys(0, 2, 3), "multisig_now", "none", "ge_2"),
        (keys(3_600, 1, 1), "eoa", "lt_1d", "one"),
        (keys(DAY, 3, 5), "multisig_delayed", "ge_1d", "ge_3"),
        (keys(2 * DAY, 4, 7), "multisig_delayed", "ge_2d", "ge_4"),
        (keys(3 * DAY, 5, 7), "multisig_delayed", "ge_3d", "ge_4"),
        (keys(7 * DAY, 5, 8), "multisig_delayed", "ge_7d", "ge_5_of_8"),
    ] {
        let expected = [("upgrade", upgrade), ("delay", delay), ("holders", holders), rewrite];
        assert_eq!(alone(&powers), expected);
    }
}

#[test]
fn what_is_not_understood_leaves_its_questions_open() {
    let of = |timelock, signers| alone(&powers(Some(true), timelock, signers));
    let rewrite = ("holder_power", "rewrite");
    assert_eq!(of(Delay::Unknown, Signers::Unknown), [rewrite]);
    // A timelock lies before the contract that is not understood.
    assert_eq!(of(Delay::Seconds(2 * DAY), Signers::Unknown), [("delay", "ge_2d"), rewrite]);
    let mut nobody = powers(Some(true), Delay::Unknown, Signers::Unknown);
    nobody.is_controlled = false;
    assert_eq!(alone(&nobody), [], "a proxy whose administrator is not shown may have none");
}

#[test]
fn nothing_follows_from_what_was_not_found() {
    for is_upgradeable in [None, Some(false)] {
        assert_eq!(alone(&powers(is_upgradeable, Delay::Immutable, Signers::Immutable)), []);
        let owned = powers(is_upgradeable, Delay::Seconds(0), Signers::Threshold { needed: 1, of: 1 });
        assert_eq!(alone(&owned), [], "what the owner of unchangeable code may do is not known");
    }
}

#[test]
fn a_power_that_was_found_replaces_only_better_answers() {
    let mut found = powers(Some(false), Delay::Immutable, Signers::Immutable);
    found.can_pause = true;
    let with = |powers: &Powers, standing| beside(powers, &[(Topic::HolderPower, standing)]);
    assert_eq!(alone(&found), []);
    assert_eq!(with(&found, "nothing"), [("holder_power", "pause_only")]);
    assert_eq!(with(&found, "pause_only"), []);
    found.can_freeze = true;
    assert_eq!(alone(&found), [], "the token may also be able to seize");
    for (standing, given) in [
        ("nothing", Some("freeze")),
        ("pause_only", Some("freeze")),
        ("freeze", None),
        ("seize", None),
        ("rewrite", None),
    ] {
        assert_eq!(with(&found, standing), given.map(|it| ("holder_power", it)).into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_key_of_a_supervised_issuer_stays_one() {
    let issuer = [(Topic::Upgrade, "regulated_issuer"), (Topic::Holders, "undisclosed")];
    assert_eq!(beside(&keys(0, 1, 1), &issuer), [("delay", "none"), ("holder_power", "rewrite")]);
    let vote = [(Topic::Upgrade, "dao_delayed"), (Topic::Delay, "ge_7d"), (Topic::Holders, "none_or_vote")];
    assert_eq!(beside(&keys(0, 1, 1), &vote), alone(&keys(0, 1, 1)), "the chain disproves a vote");
    let mut minted = keys(0, 1, 1);
    minted.key_mints = true;
    assert!(alone(&minted).contains(&("mint_control", "one_key")));
    assert!(!beside(&minted, &[(Topic::MintControl, "issuer_one")]).contains(&("mint_control", "one_key")));
    assert!(beside(&minted, &[(Topic::MintControl, "native")]).contains(&("mint_control", "one_key")));
}

#[test]
fn every_answer_is_permitted_by_its_question_and_may_be_read_on_a_chain() {
    use rds_shared::scoring::rubric::SourceKind;
    let mut found = vec![powers(Some(false), Delay::Immutable, Signers::Immutable); 2];
    (found[0].can_pause, found[1].can_freeze) = (true, true);
    for days in 0..9 {
        found.extend((0..9).map(|needed| keys(days * DAY, needed, 9)));
    }
    found.extend([keys(1, 1, 1), Powers { key_mints: true, ..keys(0, 1, 1) }]);
    for topic in Topic::ALL {
        let question = topic.question().unwrap();
        assert!(question.evidence.contains(&SourceKind::Chain), "{}", topic.id());
        let mut shown_once = false;
        for shown in found.iter().filter_map(|powers| shown(powers, topic)) {
            shown_once = true;
            let (answer, also) = match shown {
                Shown::Exactly { answer, also } => (answer, also),
                Shown::AtMost(answer) => (answer, &[][..]),
            };
            for id in also.iter().chain([&answer]) {
                let option = question.answer(id).unwrap();
                assert!(!option.needs_search, "{id}");
            }
        }
        assert!(shown_once, "{}", topic.id());
    }
}

#[test]
fn a_contract_that_answers_anything_shows_no_power_of_a_token() {
    let node = |is_upgradeable, edges| Node {
        address: Address([1; 20]),
        kind: Kind::Target { is_upgradeable },
        edges,
        doubts: vec![(Doubt::UpgradeAuthority, 0)],
    };
    let mut token = Token {
        decimals: Ok(18),
        total_supply: Err(Unknown::NoAnswer),
        paused: Ok(false),
        owner: Err(Unknown::NoAnswer),
        minting: Ok(Vec::new()),
        freezing: Ok(vec![rds_chain::abi::Function::IsFrozen]),
    };
    let graph = Graph { nodes: vec![node(true, Vec::new())] };
    let read = Powers::new(&graph, &token, true);
    assert_eq!((read.can_freeze, read.can_pause, read.key_mints, read.is_controlled), (true, true, true, false));
    token.freezing = Err(Unknown::Implausible);
    let read = Powers::new(&graph, &token, true);
    assert_eq!((read.can_freeze, read.can_pause, read.key_mints), (false, false, false));
    let edge = Edge { link: Link::Owner, to: None, delay: 0 };
    assert!(Powers::new(&Graph { nodes: vec![node(true, vec![edge])] }, &token, false).is_controlled);
}

/// What the question counts with the reviewers' answer `standing` and these powers.
fn counted(powers: &Powers, topic: Topic, standing: Option<&'static AnswerOption>) -> Hundredths {
    let question = topic.question().unwrap();
    let given = given(question, shown(powers, topic), standing).map(|id| question.answer(id).unwrap());
    given.or(standing).map_or(tables::rubric::UNKNOWN_POINTS, |it| it.points)
}

fn topic_with_answer() -> impl Strategy<Value = (Topic, Option<&'static AnswerOption>)> {
    (0..Topic::ALL.len(), 0..12_usize)
        .prop_map(|(topic, answer)| (Topic::ALL[topic], Topic::ALL[topic].question().unwrap().answers.get(answer)))
}

proptest! {
    /// Fewer keys, a shorter delay or more powers never count more, whatever reviewers answered.
    #[test]
    fn a_weaker_way_never_counts_more(
        (topic, standing) in topic_with_answer(),
        delays in (0..10 * DAY, 0..10 * DAY),
        needed in (1..12_u32, 1..12_u32),
        more in (0..12_u32, 0..12_u32),
        found in any::<[bool; 3]>(),
    ) {
        let strong = keys(delays.0.max(delays.1), needed.0.max(needed.1), needed.0.max(needed.1) + more.0.max(more.1));
        let mut weak = keys(delays.0.min(delays.1), needed.0.min(needed.1), needed.0.min(needed.1) + more.0.min(more.1));
        [weak.can_freeze, weak.can_pause, weak.key_mints] = found;
        prop_assert!(counted(&weak, topic, standing) <= counted(&strong, topic, standing));
    }

    /// A function that was found never raises a value, and neither does a way that is not understood.
    #[test]
    fn a_power_never_counts_more_than_what_reviewers_answered(
        (topic, standing) in topic_with_answer(),
        found in any::<[bool; 3]>(),
        is_upgradeable in any::<Option<bool>>(),
        is_controlled in any::<bool>(),
    ) {
        let mut powers = powers(is_upgradeable, Delay::Unknown, Signers::Unknown);
        [powers.can_freeze, powers.can_pause, powers.key_mints] = found;
        powers.is_controlled = is_controlled;
        let stands = standing.map_or(tables::rubric::UNKNOWN_POINTS, |it| it.points);
        if shown(&powers, topic) != Some(Shown::Exactly { answer: "rewrite", also: &[] }) {
            prop_assert!(counted(&powers, topic, standing) <= stands);
        }
    }
}
