//! Hostile contracts among good ones, on a real node.

use crate::node::{Contracts, Node, UNFINAL, World, of};
use crate::reading::{block, direct};
use rds_chain::abi::{Call, Function, Word};
use rds_chain::adapt::governance::{Answer, Question};
use rds_chain::plan::Limits;
use rds_chain::quorum::Verdict;
use rds_chain::reader::{Field, Outcome, Status};
use rds_chain::{Address, Block, body};
use rds_rpc::agree::Reader;
use rds_rpc::file::Providers;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Longest time of a reading of every contract four times over, among which some use up all the gas that they get.
const LONGEST: Duration = Duration::from_secs(60);

/// Contracts whose answers depend neither on the caller nor on the gas, so that everybody gets the same.
const STEADY: [&str; 9] = ["Burner", "Flood", "Endless", "Boaster", "Glutton", "Liar", "Gone", "Endlessly", "Mirror"];

struct Scene {
    node: Node,
    reader: Reader,
    block: Block,
    good: [Address; 2],
    steady: Vec<Address>,
    choosy: Address,
    fickle: Address,
}

async fn scene() -> Scene {
    let node = Node::start().await;
    let world = World::create(&node).await;
    let contracts = Contracts::of("hostile.json");
    let from = &world.accounts[4];
    let deploy = async |name: &str| contracts.deploy(&node, from, name, Call::tuple().word(of(world.token))).await;
    let mut steady = Vec::new();
    for name in STEADY {
        steady.push(deploy(name).await);
    }
    let (choosy, fickle) = (deploy("Choosy").await, deploy("Fickle").await);
    node.mine(UNFINAL + 5).await;
    let providers =
        [0, 1, 2].map(|n| format!(r#"{{"url": "{}", "operator": "{n}", "requests_per_second": 10000}}"#, node.url));
    let file = format!(r#"{{"chains": [{{"chain_id": 31337, "quorum": 2, "providers": [{}]}}]}}"#, providers.join(","));
    let reader = Reader::new(&Providers::parse(&file, &BTreeMap::new()).unwrap().chains[0]).unwrap();
    let block = block(&node, json!("finalized")).await;
    Scene { block, reader, good: [world.vault, world.token], steady, choosy, fickle, node }
}

fn fields() -> Vec<Field> {
    vec![
        Field::new(Function::Asset),
        Field::new(Function::Decimals),
        Field::new(Function::TotalAssets),
        Field::new(Function::TotalSupply),
        Field::new(Function::Owner),
        Field::with(Function::MaxDeposit, Word::from_address(body::READER)),
        Field::with(Function::ConvertToAssets, Word::from_u128(1_000_000_000_000_000_000)),
    ]
}

fn agreed(verdict: &Verdict<String, Outcome>) -> Option<Outcome> {
    match verdict {
        Verdict::Agreed { value, .. } => Some(*value),
        Verdict::Disputed { .. } | Verdict::Missing { .. } => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_contracts_neither_keep_others_out_nor_make_a_reading_long() {
    let Scene { node, mut reader, block, good, steady, choosy, fickle } = scene().await;
    let mut contracts = Vec::new();
    for _ in 0..4 {
        for hostile in steady.iter().chain([&choosy, &fickle]) {
            contracts.extend([good[0], *hostile, good[1]]);
        }
    }
    let started = Instant::now();
    let verdicts = reader.fields(&block, &contracts, &fields(), Limits::default()).await;
    let took = started.elapsed();
    assert!(took < LONGEST, "{took:?}");
    for (contract, verdicts) in contracts.iter().zip(verdicts.chunks(fields().len())) {
        for (field, verdict) in fields().iter().zip(verdicts) {
            let outcome = agreed(verdict).unwrap_or_else(|| panic!("{contract} keeps out {field:?}: {verdict:?}"));
            if [choosy, fickle].contains(contract) {
                continue;
            }
            let truth = direct(&node, &block, *contract, &field.calldata()).await;
            let truth = truth.map_or_else(|data| Outcome::failed(&data), |data| Outcome::succeeded(&data));
            assert_eq!(outcome, truth, "{contract}: {field:?}");
        }
    }
    println!("{} contracts in {took:?}", contracts.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_answers_and_burnt_gas_keep_no_other_question_out() {
    let Scene { node, reader, block, good, steady, choosy, fickle } = scene().await;
    let call = |contract: Address, function: Function| Question::Call {
        contract,
        data: Call::new(function.selector()).encode(),
    };
    let mut questions = Vec::new();
    for hostile in steady.iter().chain([&choosy, &fickle]) {
        questions.extend([
            call(*hostile, Function::Name),
            call(good[0], Function::Name),
            call(*hostile, Function::Owner),
        ]);
        questions.extend([call(*hostile, Function::Symbol), call(good[1], Function::Symbol), Question::Code(*hostile)]);
    }
    let started = Instant::now();
    let answers = reader.answers(&block, &questions).await;
    let took = started.elapsed();
    assert!(took < LONGEST, "{took:?}");
    for (question, answer) in questions.iter().zip(&answers) {
        let Question::Call { contract, data } = question else { continue };
        if good.contains(contract) {
            let truth = direct(&node, &block, *contract, data).await.unwrap();
            assert_eq!(answer.answer, Answer::Call(Ok(truth)));
            // The third operator is not waited for.
            assert!((2..=3).contains(&answer.agreed), "{}", answer.agreed);
        }
    }
    let requests = reader.meters().of("0").map_or(0, |meter| meter.requests.load(std::sync::atomic::Ordering::Relaxed));
    println!("{} questions in {took:?} and {requests} requests to each operator", questions.len());
    assert!(requests < 40, "{requests} requests");
}

/// A contract sees the reader at the address of Multicall3, so it cannot answer this service alone otherwise.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contract_that_looks_at_its_caller_takes_the_reader_for_multicall3() {
    let Scene { node: _node, mut reader, block, choosy, .. } = scene().await;
    let verdicts = reader.fields(&block, &[choosy], &fields(), Limits::default()).await;
    let of = |function: Function| {
        let place = fields().iter().position(|field| *field == Field::new(function)).unwrap();
        agreed(&verdicts[place]).unwrap_or_else(|| panic!("{function:?}: {:?}", verdicts[place]))
    };
    assert_eq!(of(Function::Owner).returned(), Some(Word::from_address(choosy)));
    // As every contract that reads it: "not you".
    assert_eq!(of(Function::TotalAssets).status, Status::Reverted);
}
