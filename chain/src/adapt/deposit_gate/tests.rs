//! Tests of the simulated deposit and redemption.

use super::*;
use crate::block::{BlockHash, BlockId};
use crate::{body, hex};
use serde_json::Value;
use std::vec;

const TRIAL: Trial = Trial {
    vault: Address([1; 20]),
    asset: Address([2; 20]),
    balance_slot: Word([3; 32]),
    amount: 1_000_000,
    call_gas: 3_000_000,
};

const BLOCK: Block =
    Block { id: BlockId { number: 5, hash: BlockHash([9; 32]) }, parent: BlockHash([8; 32]), time: 1_700_000_000 };
const CHAIN: u64 = 1;

fn result(data: &[u8]) -> RoundTrip {
    RoundTrip::from_result(&TRIAL, &BLOCK, CHAIN, Ok(data))
}

fn answer(step: u128, is_ok: bool, returned: u128, reason: &[u8]) -> Vec<u8> {
    let size = reason.len() as u128;
    let words = [step, is_ok.into(), 55, returned, size, BLOCK.time.into(), CHAIN.into()].map(Word::from_u128);
    let kept = &reason[..reason.len().min(MAX_REASON_BYTES)];
    [words.map(|word| word.0).as_flattened(), kept].concat()
}

fn read(step: u128, is_ok: bool, returned: u128, reason: &[u8]) -> RoundTrip {
    result(&answer(step, is_ok, returned, reason))
}

#[test]
fn a_round_trip_loses_what_the_balance_lacks() {
    for (returned, loss_ppm) in [(1_000_000, 0), (1_000_001, 0), (999_999, 1), (0, 1_000_000)] {
        let expected = RoundTrip::Completed { shares: Word::from_u128(55), returned, loss_ppm };
        assert_eq!(read(6, true, returned, &[0; 32]), expected);
    }
}

#[test]
fn a_refusal_needs_a_reason_and_keeps_a_bounded_part_of_it() {
    assert_eq!(read(3, false, 0, &[1, 2]), RoundTrip::Refused { step: Step::Deposit, reason: vec![1, 2] });
    let long = read(4, false, 0, &[7; 1_000]);
    assert_eq!(long, RoundTrip::Refused { step: Step::Redeem, reason: vec![7; MAX_REASON_BYTES] });
    assert_eq!(read(3, false, 0, &[]), RoundTrip::NotSimulated(Obstacle::NoAnswer(Step::Deposit)));
    assert_eq!(read(3, true, 0, &[9]), RoundTrip::NotSimulated(Obstacle::NoAnswer(Step::Deposit)));
}

#[test]
fn an_answer_that_the_program_does_not_write_is_damaged() {
    let damaged = RoundTrip::NotSimulated(Obstacle::Damaged);
    assert_eq!(read(7, true, 0, &[]), damaged);
    assert_eq!(read(6, false, 0, &[]), damaged);
    let mut data = answer(3, false, 0, &[1, 2]);
    data.pop();
    assert_eq!(result(&data), damaged);
    for length in 0..data.len() {
        assert_eq!(result(&data[..length]), damaged, "{length}");
    }
}

#[test]
fn an_answer_of_another_block_or_chain_does_not_count() {
    let data = answer(3, false, 0, &[1, 2]);
    let later = Block { time: BLOCK.time + 1, ..BLOCK };
    for (block, chain) in [(later, CHAIN), (BLOCK, CHAIN + 1)] {
        let outcome = RoundTrip::from_result(&TRIAL, &block, chain, Ok(&data));
        assert_eq!(outcome, RoundTrip::NotSimulated(Obstacle::WrongBlock));
    }
}

#[test]
fn obstacles_are_no_facts_about_the_vault() {
    assert_eq!(read(0, false, 0, &[]), RoundTrip::NotSimulated(Obstacle::TooLittleGas));
    assert_eq!(read(1, true, 0, &[0; 32]), RoundTrip::NotSimulated(Obstacle::NoBalance));
    let failure = RoundTrip::from_result(&TRIAL, &BLOCK, CHAIN, Err(Failure::Unsupported));
    assert_eq!(failure, RoundTrip::NotSimulated(Obstacle::Failed(Failure::Unsupported)));
}

#[test]
fn the_bodies_override_only_the_gate_and_one_word_of_the_asset() {
    let block = BlockHash([9; 32]);
    let body: Value = serde_json::from_str(&body::simulation(4, &TRIAL.simulation(), block)).unwrap();
    let (gate, asset) = (hex::encode(&GATE.0), hex::encode(&TRIAL.asset.0));
    assert_eq!((&body["id"], &body["params"][0]["to"]), (&4.into(), &gate.as_str().into()));
    let overrides = body["params"][2].as_object().unwrap();
    assert_eq!(overrides.len(), 2);
    assert_eq!(overrides[&gate]["code"], hex::encode(&PROGRAM));
    let slots = overrides[&asset]["stateDiff"].as_object().unwrap();
    assert_eq!(slots[&hex::encode(&[3; 32])], hex::encode(&Word::from_u128(1_000_000).0));
    assert_eq!(slots.len(), 1);
    let balance = balance_simulation(TRIAL.asset, Word([3; 32]), 5);
    let body: Value = serde_json::from_str(&body::simulation(4, &balance, block)).unwrap();
    assert_eq!(body["params"][2].as_object().unwrap().len(), 1);
    assert_eq!(body["params"][1]["blockHash"], hex::encode(&[9; 32]));
}

#[test]
fn a_provider_that_ignores_overrides_or_gives_little_gas_is_told_from_a_vault_that_refuses() {
    let (gate, balance) = (TRIAL.simulation(), balance_simulation(TRIAL.asset, Word([3; 32]), 5));
    assert_eq!(failure_of(&gate, &[]), Some(Failure::Unsupported));
    assert_eq!(failure_of(&gate, &answer(0, false, 0, &[])), Some(Failure::Gas));
    for step in 1..=6 {
        assert_eq!(failure_of(&gate, &answer(step, true, 0, &[])), None);
    }
    // A token may answer with nothing, and may have no balance.
    assert_eq!(failure_of(&balance, &[]), None);
    assert_eq!(failure_of(&balance, &[0; 32]), None);
}
