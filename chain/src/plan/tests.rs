//! Plans against a simulated provider.

use super::*;
use crate::abi::{Function, Word};
use crate::block::{Block, BlockHash, BlockId};
use std::vec;

const BLOCK: Block = Block { id: BlockId { number: 9, hash: BlockHash([1; 32]) }, parent: BlockHash([2; 32]), time: 5 };

fn contract(number: usize) -> Address {
    let mut address = Address::ZERO;
    address.0[12..].copy_from_slice(&(number as u64).to_be_bytes());
    address
}

fn plan(contracts: usize, limits: Limits) -> Plan {
    let fields = vec![Field::new(Function::Asset), Field::new(Function::TotalAssets), Field::new(Function::Decimals)];
    Plan::new((0..contracts).map(contract).collect(), fields, limits, Rung::Override)
}

/// The answer of a provider on which each call costs `gas`, with `limit` gas for a request. Calls in `burners` use up their cap.
fn answer(batch: &Batch, gas: u64, limit: u64, burners: &[Address]) -> Answer {
    let request = batch.request(NumberSource::Opcodes).unwrap();
    let start = limit.min(batch.request_gas);
    let (mut left, mut records) = (start, Vec::new());
    'calls: for contract in &batch.contracts {
        for _ in &batch.fields {
            if left < u64::from(request.needed_gas()) {
                break 'calls;
            }
            let burns = burners.contains(contract);
            left -= if burns { u64::from(batch.call_gas) } else { gas };
            records.push(if burns { 4 } else { 1 });
            records.extend([0; 32]);
        }
    }
    let words = [9, 0, 5, 1, u128::from(start), u128::from(left)].map(Word::from_u128);
    let mut data: Vec<u8> = words.iter().flat_map(|word| word.0).collect();
    data[32..64].copy_from_slice(&BLOCK.parent.0);
    data.extend(records);
    Answer::decode(&request, &BLOCK, 1, &data).unwrap()
}

/// Asks until the plan is finished; the number of requests.
fn run(plan: &mut Plan, gas: u64, limit: u64, burners: &[Address]) -> usize {
    let mut requests = 0;
    while let Some(batch) = plan.next_batch() {
        requests += 1;
        assert!(requests < 10_000, "the plan does not end");
        plan.record_answer(batch.id, &answer(&batch, gas, limit, burners)).unwrap();
    }
    assert!(plan.finished());
    requests
}

fn count(plan: &Plan, wanted: impl Fn(&Reading) -> bool) -> usize {
    plan.readings().flat_map(|(_, readings)| readings).filter(|reading| reading.as_ref().is_some_and(&wanted)).count()
}

fn returned(reading: &Reading) -> bool {
    matches!(reading, Reading::Read(Outcome { status: Status::Returned, .. }))
}

#[test]
fn a_thousand_contracts_take_a_handful_of_requests() {
    let mut plan = plan(1_000, Limits::default());
    let requests = run(&mut plan, 10_000, 25_000_000, &[]);
    assert_eq!(count(&plan, returned), 3_000);
    assert!(requests <= 6, "{requests}");
}

#[test]
fn a_provider_with_a_lower_gas_limit_than_asked_for_is_still_read_completely() {
    let mut plan = plan(200, Limits::default());
    let requests = run(&mut plan, 40_000, 3_000_000, &[]);
    assert_eq!(count(&plan, returned), 600);
    assert!(requests <= 16, "about 49 calls fit into one request: {requests}");
}

#[test]
fn a_contract_that_burns_its_gas_is_asked_again_and_costs_no_neighbour_its_reading() {
    let mut plan = plan(50, Limits::default());
    run(&mut plan, 10_000, 25_000_000, &[contract(7)]);
    assert_eq!(count(&plan, returned), 49 * 3);
    let failed = |reading: &Reading| matches!(reading, Reading::Read(Outcome { status: Status::FailedEmpty, .. }));
    assert_eq!(count(&plan, failed), 3);
}

#[test]
fn a_call_that_is_asked_again_has_more_gas_and_its_answer_replaces_the_failure() {
    let mut plan = plan(1, Limits::default());
    let batch = plan.next_batch().unwrap();
    assert_eq!((batch.fields.len(), batch.call_gas), (3, 1_000_000));
    plan.record_answer(batch.id, &answer(&batch, 0, 25_000_000, &[contract(0)])).unwrap();
    assert_eq!(plan.readings().next().unwrap().1, [None, None, None], "a failure without data is not believed at once");
    let second = plan.next_batch().unwrap();
    assert_eq!((second.contracts.len(), second.fields.len(), second.call_gas), (1, 1, 5_000_000));
    plan.record_answer(second.id, &answer(&second, 9, 25_000_000, &[])).unwrap();
    assert_eq!(count(&plan, returned), 1);
}

#[test]
fn many_contracts_without_a_function_cost_few_requests_more() {
    let mut plan = plan(400, Limits::default());
    let mut requests = 0;
    while let Some(batch) = plan.next_batch() {
        requests += 1;
        // A missing function fails without data and needs little gas.
        let outcomes = vec![Outcome::failed(&[]); batch.calls().len()];
        plan.record_outcomes(batch.id, &outcomes).unwrap();
    }
    assert_eq!(count(&plan, |reading| matches!(reading, Reading::Read(_))), 400 * 3);
    assert!(requests <= 10, "{requests}");
}

#[test]
fn with_multicall3_each_call_that_failed_is_asked_again_alone() {
    let fields = vec![Field::new(Function::Asset)];
    let mut plan = Plan::new((0..5).map(contract).collect(), fields, Limits::default(), Rung::Multicall3);
    let first = plan.next_batch().unwrap();
    let outcomes = [&[][..], &[1; 4], &[], &[2; 64], &[]].map(Outcome::failed);
    plan.record_outcomes(first.id, &outcomes).unwrap();
    let sizes: Vec<usize> = core::iter::from_fn(|| plan.next_batch()).map(|batch| batch.calls().len()).collect();
    assert_eq!(sizes, [1; 5]);
}

#[test]
fn a_call_is_asked_again_with_no_more_gas_than_the_provider_allows() {
    let mut plan = plan(1, Limits::default());
    let limit = 2_000_000;
    run(&mut plan, 10_000, limit, &[contract(0)]);
    let failed = |reading: &Reading| matches!(reading, Reading::Read(Outcome { status: Status::FailedEmpty, .. }));
    assert_eq!(count(&plan, failed), 3);
}

#[test]
fn a_provider_without_enough_gas_for_one_call_leaves_everything_unread() {
    let mut plan = plan(5, Limits::default());
    run(&mut plan, 10_000, 900_000, &[]);
    assert_eq!(count(&plan, |reading| *reading == Reading::Unread(Failure::Gas)), 15);
}

#[test]
fn a_request_that_is_too_large_is_halved_until_it_fits() {
    let mut plan = plan(64, Limits::default());
    while let Some(batch) = plan.next_batch() {
        if batch.contracts.len() > 10 {
            plan.record_failure(batch.id, Failure::Size).unwrap();
        } else {
            plan.record_answer(batch.id, &answer(&batch, 10_000, 25_000_000, &[])).unwrap();
        }
    }
    assert_eq!(count(&plan, returned), 64 * 3);
}

#[test]
fn a_provider_that_refuses_the_gas_of_a_request_is_asked_with_less() {
    let mut plan = plan(100, Limits { request_gas: 50_000_000, ..Limits::default() });
    let mut requests = 0;
    while let Some(batch) = plan.next_batch() {
        requests += 1;
        if batch.request_gas > 10_000_000 {
            plan.record_failure(batch.id, Failure::Gas).unwrap();
        } else {
            plan.record_answer(batch.id, &answer(&batch, 10_000, 50_000_000, &[])).unwrap();
        }
    }
    assert_eq!(count(&plan, returned), 300);
    assert!(requests < 40, "{requests}");
}

#[test]
fn a_failing_provider_is_asked_a_limited_number_of_times_and_never_becomes_a_reading() {
    for failure in [Failure::Transport, Failure::RateLimited { retry_after: Some(1) }, Failure::UnknownBlock] {
        let mut plan = plan(4, Limits::default());
        let mut requests = 0;
        while let Some(batch) = plan.next_batch() {
            requests += 1;
            assert!(requests < 100, "the plan does not end");
            plan.record_failure(batch.id, failure.clone()).unwrap();
        }
        assert_eq!((requests, plan.finished()), (3, true));
        assert_eq!(count(&plan, |reading| *reading == Reading::Unread(failure.clone())), 12);
    }
}

#[test]
fn a_revert_of_a_whole_reader_call_is_the_providers_failure() {
    let mut plan = plan(1, Limits { attempts: 1, ..Limits::default() });
    let batch = plan.next_batch().unwrap();
    plan.record_failure(batch.id, Failure::Reverted { data: vec![1] }).unwrap();
    assert_eq!(count(&plan, |reading| *reading == Reading::Unread(Failure::Transport)), 3);
}

#[test]
fn what_the_provider_does_not_serve_leads_to_the_next_rung_down_to_single_calls() {
    let mut plan = plan(2, Limits::default());
    let mut rungs = vec![];
    while let Some(batch) = plan.next_batch() {
        rungs.push(batch.rung);
        if batch.rung == Rung::Single {
            assert_eq!(batch.calls().len(), 1);
            plan.record_failure(batch.id, Failure::Reverted { data: vec![1, 2, 3, 4] }).unwrap();
        } else {
            plan.record_failure(batch.id, Failure::Unsupported).unwrap();
        }
    }
    assert_eq!(rungs[..4], Rung::ALL);
    assert_eq!(count(&plan, |reading| matches!(reading, Reading::Read(Outcome { status: Status::Reverted, .. }))), 6);
}

#[test]
fn two_refusals_at_one_rung_lead_down_one_rung() {
    let mut plan = plan(6, Limits { max_contracts: 3, ..Limits::default() });
    let in_flight = [plan.next_batch().unwrap(), plan.next_batch().unwrap()];
    for batch in in_flight {
        plan.record_failure(batch.id, Failure::Unsupported).unwrap();
    }
    assert_eq!(plan.rung(), Rung::InitCode);
}

#[test]
fn calls_that_cost_more_than_expected_make_the_next_batch_small_enough_at_once() {
    let mut plan = plan(400, Limits::default());
    let first = plan.next_batch().unwrap();
    plan.record_answer(first.id, &answer(&first, 200_000, 1 << 24, &[])).unwrap();
    let second = plan.next_batch().unwrap();
    let whole = answer(&second, 200_000, 1 << 24, &[]);
    assert_eq!(whole.contracts_answered(), second.contracts.len());
}

#[test]
fn batches_in_flight_may_come_back_in_any_order_and_only_once() {
    let mut plan = plan(6, Limits { max_contracts: 3, ..Limits::default() });
    let (first, second) = (plan.next_batch().unwrap(), plan.next_batch().unwrap());
    assert_eq!((plan.next_batch(), plan.finished()), (None, false));
    plan.record_answer(second.id, &answer(&second, 10_000, 25_000_000, &[])).unwrap();
    assert_eq!(plan.record_failure(second.id, Failure::Transport), Err(NotThisBatch));
    assert_eq!(plan.record_outcomes(first.id, &[]), Err(NotThisBatch), "too few outcomes");
    plan.record_answer(first.id, &answer(&first, 10_000, 25_000_000, &[])).unwrap();
    assert_eq!((plan.finished(), count(&plan, returned)), (true, 18));
}

#[test]
fn a_plan_without_work_is_finished() {
    assert!(plan(0, Limits::default()).finished());
    assert!(Plan::new(vec![contract(1)], vec![], Limits::default(), Rung::Single).finished());
}

#[test]
fn the_address_that_holds_the_reader_during_a_call_is_not_asked() {
    let fields = vec![Field::new(Function::TotalSupply)];
    let contracts = vec![contract(1), crate::body::READER_HOST, contract(2)];
    let mut plan = Plan::new(contracts, fields, Limits::default(), Rung::Override);
    run(&mut plan, 10_000, 1 << 24, &[]);
    let readings: Vec<bool> =
        plan.readings().flat_map(|(_, it)| it).map(|it| it.as_ref().is_some_and(returned)).collect();
    assert_eq!(readings, [true, false, true]);
}
