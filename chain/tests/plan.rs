//! Plans against a provider that fails in every way.

use proptest::prelude::*;
use rds_chain::abi::{Function, Word};
use rds_chain::failure::Failure;
use rds_chain::plan::{Batch, Limits, Plan, Reading, Rung};
use rds_chain::reader::{Answer, Field, NumberSource, Outcome, Request, Status};
use rds_chain::{Address, Block, BlockHash, BlockId};

const BLOCK: Block = Block { id: BlockId { number: 9, hash: BlockHash([1; 32]) }, parent: BlockHash([2; 32]), time: 5 };

/// What the provider does with the next request.
#[derive(Debug, Clone, Copy)]
enum Mood {
    Answers,
    /// Answers at most this many calls.
    IsShort(usize),
    Fails(u8),
}

fn mood() -> impl Strategy<Value = Mood> {
    prop_oneof![3 => Just(Mood::Answers), 2 => (0..30_usize).prop_map(Mood::IsShort), 2 => (0..7_u8).prop_map(Mood::Fails)]
}

fn failure(kind: u8) -> Failure {
    match kind {
        0 => Failure::Transport,
        1 => Failure::RateLimited { retry_after: Some(1) },
        2 => Failure::Gas,
        3 => Failure::Size,
        4 => Failure::UnknownBlock,
        5 => Failure::Unsupported,
        _ => Failure::RangeTooLarge,
    }
}

/// The true outcome of a call: most return, some contracts refuse, and some fail without data.
fn truth(contract: Address, field: usize) -> Outcome {
    let word = Word::from_u128(u128::from(contract.0[19]) * 10 + field as u128);
    match contract.0[19] % 7 {
        5 => Outcome::failed(&word.0),
        6 => Outcome::failed(&[]),
        _ => Outcome::succeeded(&word.0),
    }
}

fn outcomes(batch: &Batch, fields: &[Field]) -> Vec<Outcome> {
    let position = |field: &Field| fields.iter().position(|it| it == field).unwrap();
    let of = |contract: Address| batch.fields.iter().map(move |field| truth(contract, position(field)));
    batch.contracts.iter().flat_map(|contract| of(*contract)).collect()
}

fn answer(batch: &Batch, outcomes: &[Outcome]) -> Answer {
    let request: Request = batch.request(NumberSource::Opcodes).unwrap();
    let words = [9, 0, 5, 1, 20_000_000, 19_000_000].map(Word::from_u128);
    let mut data: Vec<u8> = words.iter().flat_map(|word| word.0).collect();
    data[32..64].copy_from_slice(&BLOCK.parent.0);
    for outcome in outcomes {
        data.push(outcome.status as u8);
        data.extend(outcome.word.0);
    }
    Answer::decode(&request, &BLOCK, 1, &data).unwrap()
}

proptest! {
    /// Whatever the provider does, the plan ends, and every reading that it has is the truth.
    #[test]
    fn a_plan_ends_and_reads_nothing_but_the_truth(
        contracts in 1..60_u8,
        field_count in 1..7_u8,
        max_contracts in 1..40_usize,
        rung in prop::sample::select(&Rung::ALL[..]),
        moods in proptest::collection::vec(mood(), 1..60),
        in_flight in 1..4_usize,
    ) {
        let fields: Vec<Field> = (0..field_count).map(|field| Field::with(Function::BalanceOf, Word::from_u128(field.into()))).collect();
        let list: Vec<Address> = (0..contracts).map(|number| {
            let mut address = Address::ZERO;
            address.0[19] = number;
            address
        }).collect();
        let limits = Limits { max_contracts, ..Limits::default() };
        let mut plan = Plan::new(list.clone(), fields.clone(), limits, rung);
        let (mut open, mut requests) = (Vec::new(), 0_usize);
        while !plan.finished() {
            while open.len() < in_flight && let Some(batch) = plan.next_batch() {
                open.push(batch);
            }
            prop_assert!(!open.is_empty(), "nothing to ask and not finished");
            let batch = open.remove(requests % open.len());
            // After its moods the provider answers everything.
            let mood = moods.get(requests).copied().unwrap_or(Mood::Answers);
            requests += 1;
            prop_assert!(requests < 20_000, "the plan does not end");
            prop_assert!(batch.contracts.len() <= max_contracts && !batch.contracts.is_empty() && !batch.fields.is_empty());
            prop_assert!(batch.calls().len() <= batch.rung.max_calls(limits.max_answer_bytes));
            let outcomes = outcomes(&batch, &fields);
            let recorded = match mood {
                Mood::Fails(kind) => plan.record_failure(batch.id, failure(kind)),
                Mood::IsShort(calls) if batch.rung.is_reader() => {
                    plan.record_answer(batch.id, &answer(&batch, &outcomes[..calls.min(outcomes.len())]))
                }
                _ if batch.rung.is_reader() => plan.record_answer(batch.id, &answer(&batch, &outcomes)),
                _ => plan.record_outcomes(batch.id, &outcomes),
            };
            prop_assert_eq!(recorded, Ok(()));
        }
        for ((contract, readings), asked) in plan.readings().zip(&list) {
            prop_assert_eq!((contract, readings.len()), (*asked, fields.len()));
            for (field, reading) in readings.iter().enumerate() {
                match reading {
                    Some(Reading::Read(outcome)) => prop_assert_eq!(*outcome, truth(contract, field)),
                    Some(Reading::Unread(failure)) => prop_assert!(!failure.is_of_the_contract()),
                    None => prop_assert!(false, "a call was forgotten"),
                }
            }
        }
    }

    /// A provider that works is asked twice about doubtful failures only, and everything is read.
    #[test]
    fn a_working_provider_leaves_nothing_unread(contracts in 1..200_u8, rung in prop::sample::select(&Rung::ALL[..])) {
        let fields = vec![Field::new(Function::Asset), Field::new(Function::Decimals)];
        let list: Vec<Address> = (0..contracts).map(|number| Address([number; 20])).collect();
        let mut plan = Plan::new(list, fields.clone(), Limits::default(), rung);
        let mut calls = 0;
        while let Some(batch) = plan.next_batch() {
            let outcomes = outcomes(&batch, &fields);
            calls += outcomes.len();
            plan.record_outcomes(batch.id, &outcomes).unwrap();
        }
        let asked_twice = plan.readings().flat_map(|(_, readings)| readings).filter(|reading| {
            let Some(Reading::Read(outcome)) = reading else { return false };
            outcome.status == Status::FailedEmpty || outcome.status == Status::Reverted && rung == Rung::Multicall3
        });
        prop_assert_eq!(calls, usize::from(contracts) * 2 + asked_twice.count());
    }
}
