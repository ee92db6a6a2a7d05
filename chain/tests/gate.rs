//! The deposit gate and the asynchronous vaults against the recorded answers of a real node; `fixtures/README.md` says how they were made.

use rds_chain::abi::Word;
use rds_chain::adapt::deposit_gate::{self, GATE, MAX_REASON_BYTES, Obstacle, RoundTrip, Step, Trial};
use rds_chain::adapt::erc7540::{self, Kind, Operation, Requests};
use rds_chain::adapt::question::Answers;
use rds_chain::failure::{self, Failure, Response};
use rds_chain::{Address, BlockHash, body, hex};
use serde_json::Value;

const AMOUNT: u128 = 1_000_000;

fn recorded() -> Value {
    serde_json::from_str(include_str!("../fixtures/gate.json")).unwrap()
}

fn address(value: &Value) -> Address {
    value.as_str().unwrap().parse().unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap()).unwrap()
}

/// The result in a recorded response.
fn result(call: &Value) -> Result<Vec<u8>, Failure> {
    let body = match call.get("answer") {
        Some(answer) => serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": answer}),
        None => serde_json::json!({"jsonrpc": "2.0", "id": 1, "error": call["error"]}),
    };
    let body = body.to_string();
    let result = failure::read(Response { status: 200, retry_after: None, body: body.as_bytes() }, 1)?;
    Ok(bytes(&serde_json::from_str(result.get()).unwrap()))
}

/// What came of the recorded trial with this name. The request must be the one that this crate makes.
fn trial(name: &str) -> RoundTrip {
    let recorded = recorded();
    let case = recorded["trials"].as_array().unwrap().iter().find(|case| case["name"] == name).unwrap();
    let trial = Trial {
        vault: address(&case["vault"]),
        asset: address(&recorded["asset"]),
        balance_slot: Word(bytes(&case["slot"]).try_into().unwrap()),
        amount: AMOUNT,
        call_gas: 3_000_000,
    };
    let hash = BlockHash(bytes(&recorded["block"]["hash"]).try_into().unwrap());
    let body = body::simulation(1, &trial.simulation(), hash);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&body["params"][0]["data"], &body["params"][0]["to"]), (&case["data"], &GATE.to_string().into()));
    let result = result(case);
    let json = recorded["block"].to_string();
    let block = rds_chain::result::block(serde_json::from_str(&json).unwrap()).unwrap();
    RoundTrip::from_result(&trial, &block, 31_337, result.as_deref().map_err(Clone::clone))
}

fn completed(name: &str) -> (u128, u32) {
    match trial(name) {
        RoundTrip::Completed { returned, loss_ppm, .. } => (returned, loss_ppm),
        other => panic!("{name}: {other:?}"),
    }
}

fn refused(name: &str) -> (Step, Vec<u8>) {
    match trial(name) {
        RoundTrip::Refused { step, reason } => (step, reason),
        other => panic!("{name}: {other:?}"),
    }
}

fn obstacle(name: &str) -> Obstacle {
    match trial(name) {
        RoundTrip::NotSimulated(obstacle) => obstacle,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_round_trip_ends_with_the_loss_that_the_balance_shows() {
    assert_eq!(completed("Vault"), (AMOUNT, 0));
    assert_eq!(completed("FeeVault"), (990_000, 10_000));
    // This vault says that it paid everything.
    assert_eq!(completed("LyingVault"), (0, 1_000_000));
}

#[test]
fn a_refusal_names_its_step_and_its_reason() {
    let (step, reason) = refused("ClosedVault");
    assert_eq!((step, reason.len()), (Step::Deposit, 100));
    assert_eq!(reason[..4], [0x08, 0xc3, 0x79, 0xa0]);
    assert_eq!(reason[68..74], *b"closed");
    let (step, reason) = refused("LockedVault");
    assert_eq!((step, reason.len()), (Step::Redeem, MAX_REASON_BYTES));
    assert_eq!(refused("AsyncVault").0, Step::Deposit);
}

#[test]
fn a_call_without_a_reason_or_without_an_answer_is_no_refusal() {
    for name in ["SilentVault", "BurningVault", "NoCode"] {
        assert_eq!(obstacle(name), Obstacle::NoAnswer(Step::Deposit), "{name}");
    }
    assert_eq!(obstacle("WrongSlot"), Obstacle::NoBalance);
    assert_eq!(obstacle("LittleGas"), Obstacle::TooLittleGas);
}

#[test]
fn the_word_that_holds_the_balance_is_found_among_the_candidates() {
    let recorded = recorded();
    let candidates = deposit_gate::candidates(GATE);
    let mut found = Vec::new();
    for case in recorded["balances"].as_array().unwrap() {
        let token = address(&case["token"]);
        let slot = Word(bytes(&case["slot"]).try_into().unwrap());
        let question = deposit_gate::balance_question(token);
        assert_eq!(question.calldata(), bytes(&case["data"]));
        let mut answers = Answers::new();
        answers.insert(question, result(case));
        let position = candidates.iter().position(|candidate| *candidate == slot);
        found.push((position, deposit_gate::holds_balance(&answers, token, AMOUNT)));
    }
    // The second token shows twice what it stores.
    assert_eq!(found, [(Some(0), false), (Some(3), true), (Some(0), false)]);
}

fn ask(recorded: &Value, vault: Address, controller: Address) -> Answers {
    let mut answers = Answers::new();
    for question in erc7540::first_step(vault).into_iter().chain(erc7540::request_step(vault, controller)) {
        let (to, data) = (vault.to_string(), hex::encode(&question.calldata()));
        let call = recorded["calls"].as_array().unwrap().iter().find(|call| call["to"] == *to && call["data"] == *data);
        answers.insert(question, result(call.unwrap()));
    }
    answers
}

#[test]
fn an_asynchronous_vault_is_told_from_a_plain_one() {
    let recorded = recorded();
    let vault = address(&recorded["vaults"]["AsyncVault"]);
    let answers = ask(&recorded, vault, GATE);
    let kind = Kind::from_answers(&answers, vault);
    assert_eq!((kind.deposit, kind.redeem), (Ok(Operation::ByRequest), Ok(Operation::ByRequest)));
    assert_eq!(kind.share, Ok(address(&recorded["asset"])));
    let requests = Requests::from_answers(&answers, vault, GATE);
    assert_eq!((requests.pending_deposit, requests.claimable_deposit), (Ok(11), Ok(0)));
    assert_eq!((requests.pending_redeem, requests.claimable_redeem), (Ok(22), Ok(33)));
    let vault = address(&recorded["vaults"]["Vault"]);
    let kind = Kind::from_answers(&ask(&recorded, vault, GATE), vault);
    assert_eq!((kind.deposit, kind.redeem), (Ok(Operation::Immediate), Ok(Operation::Immediate)));
    assert_eq!(kind.share, Ok(vault));
}
