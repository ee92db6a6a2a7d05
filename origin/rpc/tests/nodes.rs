//! Readings from nodes that are served over HTTP and answer well or badly.

#![expect(clippy::disallowed_methods, reason = "the tests measure how long a reading takes")]

mod fake_node;

use fake_node::{Fault, Gas, Node, Serves};
use rds_chain::abi::{Function, Word};
use rds_chain::adapt::deposit_gate::Trial;
use rds_chain::adapt::governance::{Answer, Question};
use rds_chain::failure::Failure;
use rds_chain::plan::{Limits, Rung};
use rds_chain::quorum::Verdict;
use rds_chain::reader::{Field, Outcome, Status};
use rds_chain::{Address, BlockId};
use rds_rpc::agree::{NoTarget, Reader, Verdicts};
use rds_rpc::file::Providers;
use rds_rpc::meters::Kind;
use rds_rpc::served::{GasLimit, StateSince};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

const CONTRACTS: [Address; 2] = [Address([0xa1; 20]), Address([0xa2; 20])];

fn fields() -> Vec<Field> {
    vec![Field::new(Function::TotalAssets), Field::new(Function::TotalSupply)]
}

/// A reader of chain 31337 over these nodes, each of its own operator, of which `quorum` must agree.
fn reader(nodes: &[Node], quorum: usize) -> Reader {
    let nodes: Vec<(&Node, usize)> = nodes.iter().zip(0..).collect();
    reader_of(&nodes, quorum)
}

/// A reader over these nodes, each with the number of its operator.
fn reader_of(nodes: &[(&Node, usize)], quorum: usize) -> Reader {
    let providers: Vec<String> = nodes
        .iter()
        .map(|(node, n)| {
            format!(r#"{{"url": "{}", "operator": "operator-{n}", "requests_per_second": 10000}}"#, node.url())
        })
        .collect();
    let file =
        format!(r#"{{"chains": [{{"chain_id": 31337, "quorum": {quorum}, "providers": [{}]}}]}}"#, providers.join(","));
    Reader::new(&Providers::parse(&file, &BTreeMap::new()).unwrap().chains[0]).unwrap()
}

/// The agreed words of every field of every contract at the target; `None` where nothing is agreed.
async fn agreed(reader: &mut Reader) -> Vec<Option<Word>> {
    let target = reader.target().await.unwrap();
    words(&reader.fields(&target.block, &CONTRACTS, &fields(), Limits::default()).await)
}

fn words(verdicts: &Verdicts) -> Vec<Option<Word>> {
    let word = |verdict: &Verdict<String, Outcome>| match verdict {
        Verdict::Agreed { value, .. } => value.returned(),
        Verdict::Disputed { .. } | Verdict::Missing { .. } => None,
    };
    verdicts.iter().map(word).collect()
}

/// What every honest node answers.
fn truth() -> Vec<Option<Word>> {
    let of = |contract: Address| {
        fields().into_iter().map(move |field| Some(fake_node::word_of(contract, &field.calldata())))
    };
    CONTRACTS.into_iter().flat_map(of).collect()
}

#[tokio::test]
async fn fields_that_two_of_three_operators_read_alike_are_agreed() {
    let nodes = [Node::honest(100).await, Node::honest(100).await, Node::honest(98).await];
    let mut reader = reader(&nodes, 2);
    assert_eq!(reader.of_other_chains().await, []);
    let target = reader.target().await.unwrap();
    assert_eq!(
        (target.block.id.number, target.operators),
        (100, vec!["operator-0".to_owned(), "operator-1".to_owned()])
    );
    assert_eq!(agreed(&mut reader).await, truth());
}

#[tokio::test]
async fn with_a_quorum_of_all_the_block_of_the_last_one_is_read() {
    let nodes = [Node::honest(100).await, Node::honest(99).await, Node::honest(98).await];
    let mut reader = reader(&nodes, 3);
    assert_eq!(reader.target().await.unwrap().block.id.number, 98);
    assert_eq!(agreed(&mut reader).await, truth());
}

#[tokio::test]
async fn no_failure_of_one_node_becomes_a_value_or_hides_one() {
    for fault in Fault::ALL {
        let nodes = [Node::honest(100).await, Node::honest(100).await, Node::faulty(100, *fault).await];
        assert_eq!(agreed(&mut reader(&nodes, 2)).await, truth(), "{fault:?}");
        assert!(nodes[2].faults() > 0, "{fault:?} did not happen");
    }
}

#[tokio::test]
async fn without_a_second_honest_node_nothing_is_agreed() {
    for fault in Fault::ALL {
        let nodes = [Node::honest(100).await, Node::faulty(100, *fault).await];
        let mut reader = reader(&nodes, 2);
        let found = match reader.target().await {
            Ok(target) => words(&reader.fields(&target.block, &CONTRACTS, &fields(), Limits::default()).await),
            Err(_) => vec![None; 4],
        };
        for (found, truth) in found.iter().zip(truth()) {
            assert!(found.is_none() || *found == truth, "{fault:?}: {found:?}");
        }
        let is_a_lie = matches!(fault, Fault::FlippedWord | Fault::OtherBlock);
        assert!(!is_a_lie || found.contains(&None), "{fault:?}");
    }
}

#[tokio::test]
async fn a_liar_is_named_and_a_contract_that_reverts_is_a_value() {
    let nodes = [Node::honest(100).await, Node::honest(100).await, Node::faulty(100, Fault::FlippedWord).await];
    let mut reader = reader(&nodes, 2);
    let target = reader.target().await.unwrap();
    let refusing = [fake_node::REFUSES];
    let verdicts = reader.fields(&target.block, &refusing, &fields(), Limits::default()).await;
    assert!(verdicts.iter().all(|it| matches!(it, Verdict::Agreed { value, .. } if value.status == Status::Reverted)));
    let verdicts = reader.fields(&target.block, &CONTRACTS, &fields(), Limits::default()).await;
    let dissenters = verdicts.iter().filter_map(|it| match it {
        Verdict::Agreed { dissenters, .. } => Some(dissenters.clone()),
        Verdict::Disputed { .. } | Verdict::Missing { .. } => None,
    });
    assert_eq!(dissenters.collect::<Vec<_>>(), vec![vec!["operator-2".to_owned()]; 4]);
}

#[tokio::test]
async fn a_liar_that_is_a_little_late_is_still_named() {
    let nodes = [Node::honest(100).await, Node::honest(100).await, Node::faulty(100, Fault::LateLie).await];
    let mut reader = reader(&nodes, 2);
    assert_eq!(agreed(&mut reader).await, truth());
    assert_eq!(reader.meters().of("operator-2").unwrap().dissent.load(Relaxed), 4);
}

/// Ten readings, each of which the slow provider would delay by 30 seconds.
#[tokio::test]
async fn a_slow_provider_costs_a_cycle_little_and_what_was_given_up_counts() {
    let nodes = [Node::honest(100).await, Node::honest(100).await, Node::faulty(100, Fault::Slow).await];
    let mut reader = reader(&nodes, 2);
    let started = Instant::now();
    for _ in 0..10 {
        assert_eq!(agreed(&mut reader).await, truth());
    }
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let meter = reader.meters().of("operator-2").unwrap();
    assert!(meter.failures(Kind::Slow) >= 1, "{meter:?}");
    assert_eq!(meter.requests.load(Relaxed), u64::from(nodes[2].requests()));
}

#[tokio::test]
async fn a_second_provider_stands_in_for_a_slow_one_of_the_same_operator() {
    let nodes = [Node::honest(100).await, Node::honest(100).await, Node::faulty(100, Fault::Slow).await];
    let mut reader = reader_of(&[(&nodes[0], 0), (&nodes[2], 0), (&nodes[1], 1)], 2);
    let started = Instant::now();
    assert_eq!(agreed(&mut reader).await, truth());
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[tokio::test]
async fn another_header_of_the_same_hash_does_not_stop_the_reading() {
    let nodes = [Node::honest(100).await, Node::honest(100).await, Node::faulty(100, Fault::OtherHeader).await];
    let reader = reader(&nodes, 2);
    let target = reader.target().await.unwrap();
    assert_eq!((target.block.id.number, target.operators.len()), (100, 2));
    assert_eq!(reader.meters().of("operator-2").unwrap().failures(Kind::OtherBlock), 1);
}

#[tokio::test]
async fn too_few_operators_and_forks_give_no_block() {
    let away = [Node::honest(100).await, Node::faulty(100, Fault::ServerError).await];
    assert_eq!(reader(&away, 2).target().await, Err(NoTarget::TooFewAnswers { answered: 1, needed: 2 }));
    let forked = [Node::honest(100).await, Node::faulty(100, Fault::Fork).await];
    assert_eq!(reader(&forked, 2).target().await, Err(NoTarget::NoAgreement));
}

#[tokio::test]
async fn a_node_of_another_chain_is_named() {
    let nodes = [Node::honest(100).await, Node::faulty(100, Fault::OtherChain).await];
    assert_eq!(reader(&nodes, 2).of_other_chains().await, [("operator-1".to_owned(), Ok(1))]);
}

#[tokio::test]
async fn a_rate_limited_node_is_left_alone_for_the_time_that_it_asks_for() {
    let nodes = [Node::honest(100).await, Node::honest(100).await, Node::faulty(100, Fault::RateLimit).await];
    let mut reader = reader(&nodes, 2);
    assert_eq!(agreed(&mut reader).await, truth());
    let asked = nodes[2].requests();
    assert_eq!(agreed(&mut reader).await, truth());
    assert_eq!(nodes[2].requests(), asked, "asked during the pause of 60 s");
}

#[tokio::test]
async fn a_check_says_what_each_provider_serves() {
    let nodes =
        [Node::honest(100).await, Node::faulty(100, Fault::OtherChain).await, Node::faulty(100, Fault::Html).await];
    let checks = reader(&nodes, 2).check().await;
    let [honest, other, html] = checks.as_slice() else { panic!("{checks:?}") };
    assert_eq!((honest.chain_id.clone(), honest.rung.clone()), (Ok(31_337), Ok(Rung::Single)));
    assert_eq!(honest.final_block.as_ref().map(|block| block.id.number), Ok(100));
    assert_eq!(other.chain_id, Ok(1));
    assert_eq!(
        (html.chain_id.clone(), html.final_block.is_err(), html.rung.is_err()),
        (Err(Failure::Transport), true, true)
    );
}

#[tokio::test]
async fn the_age_of_the_state_that_enough_operators_have_is_found() {
    const HEAD: u64 = 250_000;
    let kept = |kept| Node::limited(HEAD, Serves { kept, reader: None });
    let nodes = [kept(None).await, kept(Some(20_000)).await, kept(Some(128)).await];
    let reader = reader(&nodes, 2);
    let served = reader.served(&[]).await;
    let since: Vec<StateSince> = served.iter().map(|it| it.state_since.clone().unwrap()).collect();
    let expected = [(1, HEAD - 1), (HEAD - 10_000, 10_000), (HEAD - 100, 100)];
    assert_eq!(since, expected.map(|(block, depth)| StateSince { block, depth }));
    assert_eq!(since.iter().map(|it| it.is_archive()).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(reader.agreed_state_since().await, Some(HEAD - 10_000));
    let away = [kept(None).await, Node::faulty(HEAD, Fault::ServerError).await];
    assert_eq!(self::reader(&away, 2).agreed_state_since().await, None, "one operator is not enough");
}

#[tokio::test]
async fn the_gas_of_a_call_is_what_the_evm_reports_or_what_is_not_refused() {
    let with = |gas| Node::limited(300, Serves { kept: None, reader: Some(gas) });
    let nodes =
        [with(Gas::Caps(70_000_000)).await, with(Gas::Refuses(60_000_000)).await, with(Gas::Refuses(u64::MAX)).await];
    let plain = Node::honest(300).await;
    let nodes = nodes.into_iter().chain([plain]).collect::<Vec<_>>();
    let reader = reader(&nodes, 3);
    let rungs: Vec<_> = reader.check().await.into_iter().map(|check| check.rung).collect();
    assert_eq!(rungs, [Ok(Rung::Override), Ok(Rung::Override), Ok(Rung::Override), Ok(Rung::Single)]);
    let gas: Vec<_> = reader.served(&rungs).await.into_iter().map(|it| it.gas).collect();
    let expected = [
        Ok(GasLimit::Capped(69_940_000)),
        Ok(GasLimit::Refused { served: 50_000_000, refused: 100_000_000 }),
        Ok(GasLimit::AtLeast(1_000_000_000)),
        Err(Failure::Unsupported),
    ];
    assert_eq!(gas, expected);
}

#[test]
fn blocks_of_one_number_on_two_forks_have_different_ids() {
    let id = |fork| BlockId { number: 7, hash: fake_node::hash(7, fork) };
    assert_ne!(id(false), id(true));
}

#[tokio::test]
async fn a_history_that_is_too_long_to_be_read_is_not_begun() {
    let nodes = [Node::honest(300).await, Node::honest(300).await];
    let reader = reader(&nodes, 2);
    let mut block = reader.target().await.unwrap().block;
    let requests = || reader.meters().of("operator-0").unwrap().requests.load(Relaxed);
    let before = requests();
    block.id.number = 25_000_000;
    assert_eq!(reader.transfers(&block, 0, &CONTRACTS).await, None);
    assert_eq!(requests(), before);
    // One block less is tried, and this node knows nothing of such blocks.
    block.id.number = 24_999_999;
    let _ = reader.transfers(&block, 0, &CONTRACTS).await;
    assert!(requests() > before);
}

#[tokio::test]
async fn a_node_without_overrides_neither_joins_in_a_simulation_nor_contradicts_it() {
    let gas = Serves { reader: Some(Gas::Caps(30_000_000)), ..Serves::default() };
    let trial =
        Trial { vault: CONTRACTS[0], asset: CONTRACTS[1], balance_slot: Word::ZERO, amount: 1, call_gas: 3_000_000 };
    let question = [Question::Simulation(trial.simulation())];
    for serving in 0..=3 {
        let mut nodes = Vec::new();
        for place in 0..3 {
            nodes.push(if place < serving { Node::limited(100, gas).await } else { Node::honest(100).await });
        }
        let reader = reader(&nodes, 2);
        let block = reader.target().await.unwrap().block;
        let answers = reader.answers(&block, &question).await;
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0].agreed >= 2, serving >= 2, "{serving} of 3 serve overrides: {answers:?}");
        assert_eq!(matches!(answers[0].answer, Answer::Call(Ok(_))), serving >= 2);
        assert!(answers[0].dissenters.is_empty(), "{answers:?}");
    }
}
