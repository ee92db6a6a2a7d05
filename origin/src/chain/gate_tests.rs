//! Which vaults are tried, with how much, and what becomes of a trial. `e2e/chain-gate.test.mjs` makes trials on a node.

use super::*;
use proptest::prelude::*;
use rds_chain::hex;
use rds_shared::scoring::provenance::{CallMethod, ChainCall};
use rds_shared::wire::Timestamp;
use serde_json::Value;

const ASSET: Address = Address([7; 20]);

fn at(hours: i64) -> At {
    At(Timestamp::from_seconds(1_700_000_000 + 3_600 * hours))
}

fn call(contract: Address, answer: Option<String>) -> ChainCall {
    let (contract, data) = (contract.to_string(), Some("0x".to_owned()));
    ChainCall { method: CallMethod::Call, contract, data, answer, overrides: BTreeMap::new(), gas: None }
}

fn deposit_limit(max_deposit: Word) -> DepositLimit {
    let seen = AgreedCall { call: call(Address([1; 20]), Some(hex::encode(&max_deposit.0))), agreed: 2 };
    DepositLimit { asset: ASSET, decimals: 6, max_deposit, seen }
}

fn reading(field: ReadField, calls: Vec<ChainCall>) -> ChainReading {
    ChainReading {
        kind: rds_facts::fact::Kind,
        observed_at: at(0),
        source: "chain:1".to_owned(),
        vault_id: "vault".to_owned(),
        field,
        value: json!("open"),
        chain_id: 1,
        block_number: 5,
        block_hash: "0x".to_owned(),
        calls,
        agreed: 2,
        asked: 3,
    }
}

/// The ids of the vaults that are due at this hour. All say that they take deposits without a limit.
fn due(memory: &Memory, ids: &[&str], trials: &[(&str, i64, Word)], hour: i64) -> Vec<String> {
    let deposit_limit = deposit_limit(Word::MAX);
    let vaults: Vec<Candidate<'_>> =
        ids.iter().map(|vault_id| Candidate { vault_id, vault: ASSET, deposit_limit: &deposit_limit }).collect();
    let trial = |(id, hour, limit): &(&str, i64, Word)| {
        let max_deposit = Some(hex::encode(&limit.0));
        ((*id).to_owned(), DepositTrial { vault_id: (*id).to_owned(), observed_at: at(*hour), max_deposit })
    };
    let trials = trials.iter().map(trial).collect();
    memory.due(&vaults, &trials, at(hour)).iter().map(|it| it.vault_id.to_owned()).collect()
}

#[test]
fn a_vault_is_tried_first_then_daily_and_when_its_limit_changes() {
    let memory = Memory::default();
    assert_eq!(due(&memory, &["a"], &[], 0), ["a"]);
    let same = [("a", 0, Word::MAX)];
    assert!(due(&memory, &["a"], &same, 23).is_empty());
    assert_eq!(due(&memory, &["a"], &same, 24), ["a"]);
    assert_eq!(due(&memory, &["a"], &[("a", 0, Word::from_u128(9))], 1), ["a"], "another limit than then");
}

#[test]
fn a_trial_of_which_nothing_is_written_counts_too() {
    let mut memory = Memory::default();
    let max_deposit = Some(hex::encode(&Word::MAX.0));
    memory
        .confirmed
        .insert("a".to_owned(), DepositTrial { vault_id: "a".to_owned(), observed_at: at(10), max_deposit });
    assert!(due(&memory, &["a"], &[], 33).is_empty());
    assert_eq!(due(&memory, &["a"], &[], 34), ["a"]);
    // The later of the two trials counts.
    assert!(due(&memory, &["a"], &[("a", 0, Word::MAX)], 30).is_empty());
    assert!(due(&memory, &["a"], &[("a", 20, Word::MAX)], 40).is_empty());
}

#[test]
fn vaults_that_were_never_tried_come_before_those_whose_trial_is_oldest() {
    let trials = [("a", 10, Word::MAX), ("b", 0, Word::MAX)];
    assert_eq!(due(&Memory::default(), &["a", "b", "c"], &trials, 48), ["c", "b", "a"]);
    let many: Vec<String> = (0..=MAX_TRIALS).map(|number| format!("{number:03}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(due(&Memory::default(), &many, &[], 0).len(), MAX_TRIALS);
}

#[test]
fn what_showed_nothing_rests_for_a_while() {
    let mut memory = Memory::default();
    memory.failed.insert("a".to_owned(), at(0));
    assert!(due(&memory, &["a"], &[], 5).is_empty());
    assert_eq!(due(&memory, &["a"], &[], 6), ["a"]);
    let mut memory = Memory::default();
    memory.slots.insert(ASSET, Slot::Unknown(at(0)));
    assert!(due(&memory, &["a"], &[], 23).is_empty(), "nobody knows where the asset keeps balances");
    assert_eq!(due(&memory, &["a"], &[], 24), ["a"]);
    memory.slots.insert(ASSET, Slot::Unread(at(0)));
    assert!(due(&memory, &["a"], &[], 5).is_empty(), "the operators did not agree");
    assert_eq!(due(&memory, &["a"], &[], 6), ["a"]);
}

proptest! {
    #[test]
    fn a_trial_never_deposits_more_than_the_vault_allows_and_never_nothing(limit in 1_u128.., decimals in 0_u8..=36) {
        let limited = DepositLimit { decimals, ..deposit_limit(Word::from_u128(limit)) };
        let [small, large] = ROUNDS.map(|(many, _)| amount(many, &limited).unwrap());
        prop_assert!(0 < small && small <= large && large <= limit);
        let unlimited = DepositLimit { decimals, ..deposit_limit(Word::MAX) };
        prop_assert_eq!(amount(1, &unlimited), Some(10_u128.pow(decimals.into())));
    }
}

#[test]
fn a_trial_fits_into_a_block_of_thirty_million_gas() {
    for (_, call_gas) in ROUNDS {
        let trial = Trial { vault: ASSET, asset: ASSET, balance_slot: Word::ZERO, amount: 1, call_gas };
        assert!(trial.simulation().gas <= 30_000_000);
    }
}

#[test]
fn only_an_accepted_or_refused_deposit_shows_something() {
    let refused = |step| RoundTrip::Refused { step, reason: vec![1] };
    let completed = RoundTrip::Completed { shares: Word::ZERO, returned: 0, loss_ppm: 1_000_000 };
    assert_eq!(status(&completed), Some(DepositStatus::Open));
    assert_eq!(status(&refused(Step::Redeem)), Some(DepositStatus::Open), "shares may be locked in their first block");
    assert_eq!(status(&refused(Step::Deposit)), Some(DepositStatus::Closed));
    assert_eq!(status(&refused(Step::Approve)), None);
    for obstacle in [
        Obstacle::Failed(Failure::Transport),
        Obstacle::Failed(Failure::RateLimited { retry_after: None }),
        Obstacle::Failed(Failure::Unsupported),
        Obstacle::Failed(Failure::Gas),
        Obstacle::Failed(Failure::Reverted { data: vec![1] }),
        Obstacle::Damaged,
        Obstacle::WrongBlock,
        Obstacle::TooLittleGas,
        Obstacle::NoBalance,
        Obstacle::NoAnswer(Step::Deposit),
    ] {
        assert_eq!(status(&RoundTrip::NotSimulated(obstacle)), None);
    }
}

#[test]
fn a_verdict_takes_the_place_of_what_max_deposit_says() {
    let stated = || vec![reading(ReadField::TvlUsd, Vec::new()), reading(ReadField::DepositStatus, Vec::new())];
    let mut readings = stated();
    apply(&mut readings, None, None);
    assert_eq!(readings, stated());
    apply(&mut readings, Some(Verdict::Kept), None);
    assert_eq!(readings, stated()[..1], "the stored one stays");
    let trial = reading(ReadField::DepositStatus, vec![call(GATE, None)]);
    let mut readings = stated();
    apply(&mut readings, Some(Verdict::Tried(Box::new(trial.clone()))), None);
    assert_eq!(readings, [stated().remove(0), trial]);
}

#[test]
fn how_much_a_vault_takes_is_not_known_of_one_that_refuses() {
    let stated = || {
        let mut capacity = reading(ReadField::DepositCapacityUsd, Vec::new());
        capacity.value = json!(5.0);
        vec![capacity]
    };
    let after = |verdict: Verdict, stored: DepositStatus| {
        let stored = Newest { value: json!(stored), observed_at: at(0), contracts: Vec::new() };
        let mut readings = stated();
        apply(&mut readings, Some(verdict), Some(&stored));
        readings.remove(0).value
    };
    let tried = |status: DepositStatus| {
        let mut trial = reading(ReadField::DepositStatus, vec![call(GATE, None)]);
        trial.value = json!(status);
        Verdict::Tried(Box::new(trial))
    };
    assert_eq!(after(Verdict::Kept, DepositStatus::Closed), Value::Null);
    assert_eq!(after(Verdict::Kept, DepositStatus::Open), json!(5.0));
    assert_eq!(after(tried(DepositStatus::Closed), DepositStatus::Open), Value::Null);
    assert_eq!(after(tried(DepositStatus::Open), DepositStatus::Closed), json!(5.0));
}

#[test]
fn refusals_are_written_and_what_repeats_or_ends_a_stored_trial() {
    let known =
        |contract: Address| Newest { value: Value::Null, observed_at: at(0), contracts: vec![contract.to_string()] };
    let of = |field, contract| reading(field, vec![call(contract, None)]);
    assert!(is_news(&of(ReadField::DepositStatus, GATE), &known(GATE)));
    assert!(!is_news(&of(ReadField::DepositStatus, GATE), &known(ASSET)), "it confirms what the vault says");
    let mut refusal = of(ReadField::DepositStatus, GATE);
    refusal.value = json!(DepositStatus::Closed);
    assert!(is_news(&refusal, &known(ASSET)), "the vault itself said that it is closed, and does not any more");
    refusal.calls = vec![call(ASSET, None)];
    assert!(!is_news(&refusal, &known(ASSET)));
    assert!(is_news(&of(ReadField::DepositStatus, ASSET), &known(GATE)));
    assert!(!is_news(&of(ReadField::DepositStatus, ASSET), &known(ASSET)));
    assert!(!is_news(&of(ReadField::TvlUsd, GATE), &known(GATE)));
}
