//! The reader against the recorded answers of a real node; `fixtures/README.md` says how they were made.

use rds_chain::abi::{Function, Word};
use rds_chain::adapt::Unknown;
use rds_chain::adapt::erc4626::{self, Limit, Vault};
use rds_chain::failure::{self, Failure, Response};
use rds_chain::plan::Reading;
use rds_chain::reader::{Answer, AnswerError, Field, HeaderField, NumberSource, Outcome, PROGRAM, Request, Status};
use rds_chain::{Address, Block, BlockHash, BlockId, result};
use serde_json::Value;

fn recorded() -> Value {
    serde_json::from_str(include_str!("../fixtures/answers.json")).unwrap()
}

fn hex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap().strip_prefix("0x").unwrap();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// The block that everything was read at.
fn block() -> Block {
    let json = recorded()["block"].to_string();
    result::block(serde_json::from_str(&json).unwrap()).unwrap()
}

/// A recorded request, rebuilt from its description, and the answer's bytes.
fn case(name: &str) -> (Request, Vec<u8>) {
    let recorded = recorded();
    let case = recorded["answers"].as_array().unwrap().iter().find(|case| case["name"] == name).unwrap();
    let source = if case["source"] == "arb_sys" { NumberSource::ArbSys } else { NumberSource::Opcodes };
    let field = |calldata: &Value| {
        let calldata = hex(calldata);
        let argument = calldata.get(4..36).map(|word| Word(word.try_into().unwrap()));
        Field::raw(calldata[..4].try_into().unwrap(), argument)
    };
    let fields: Vec<Field> = case["fields"].as_array().unwrap().iter().map(field).collect();
    let contracts = case["contracts"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().parse().unwrap());
    let gas = u32::try_from(case["call_gas"].as_u64().unwrap()).unwrap();
    let request = if fields.is_empty() {
        Request::header_only(source)
    } else {
        let request = Request::new(source, gas, fields, contracts.collect::<Vec<Address>>()).unwrap();
        let is_init_code = case["rung"] == "init_code";
        let encoded = if is_init_code { request.encode_init_code().split_off(PROGRAM.len()) } else { request.encode() };
        assert_eq!(encoded, hex(&case["request"]), "{name}");
        request
    };
    (request, hex(&case["answer"]))
}

fn read(name: &str) -> (Request, Answer) {
    let (request, data) = case(name);
    let answer = Answer::decode(&request, &block(), 31_337, &data).unwrap();
    (request, answer)
}

/// Status of each contract's first field, and the last eight bytes of its word.
fn firsts(answer: &Answer) -> Vec<(Status, [u8; 8])> {
    answer.by_contract().map(|outcomes| (outcomes[0].status, outcomes[0].word.0[24..].try_into().unwrap())).collect()
}

#[test]
fn every_kind_of_contract_has_its_own_status_and_disturbs_no_other() {
    let (_, answer) = read("every contract");
    let statuses: Vec<Status> = firsts(&answer).into_iter().map(|(status, _)| status).collect();
    // The burner and the ten megabytes reach the gas cap.
    let expected = [
        Status::Returned,      // vault
        Status::FailedEmpty,   // burner
        Status::ReturnedShort, // empty
        Status::Reverted,      // reverts
        Status::FailedEmpty,   // reverts_silently
        Status::Returned,      // returns_64_kib
        Status::FailedEmpty,   // returns_10_mb
        Status::ReturnedShort, // returns_4_bytes
    ];
    assert_eq!(statuses, expected);
    let words: Vec<Word> = answer.by_contract().map(|outcomes| outcomes[0].word).collect();
    assert_eq!(words[0], Word::from_u128(1_250_000_000));
    assert_eq!(
        (words[3], words[7]),
        (Word::from_fixed([0xde, 0xad, 0xbe, 0xef]), Word::from_fixed([0x11, 0x22, 0x33, 0x44]))
    );
    assert!(answer.gas_used() < 2_000_000, "four calls at the cap of 300,000 gas: {}", answer.gas_used());
}

#[test]
fn with_too_little_gas_the_answer_is_short_and_the_rest_is_named() {
    let (request, answer) = read("gas for some contracts");
    let (_, whole) = read("every contract");
    assert_eq!(answer.contracts_answered(), 6);
    assert_eq!(firsts(&answer), firsts(&whole)[..6], "the contracts that were answered have the same answers");
    let again = answer.ask_again(&request);
    assert_eq!(again.contracts, request.contracts()[6..]);
    assert_eq!(again.failed.iter().map(|(contract, _)| *contract).collect::<Vec<_>>(), {
        let failing = [request.contracts()[1], request.contracts()[4]];
        [failing[0], failing[0], failing[1], failing[1]]
    });
    assert_eq!(read("gas for no contract").1.contracts_answered(), 0);
}

#[test]
fn the_program_gives_the_same_answers_as_init_code() {
    let (_, data) = case("every contract");
    let (_, init_code) = case("init code");
    assert_eq!(init_code[..128], data[..128]);
    assert_eq!(init_code[192..], data[192..]);
}

#[test]
fn ten_megabytes_of_return_data_cost_the_contract_its_own_gas_only() {
    let (_, answer) = read("ten megabytes");
    assert_eq!(firsts(&answer), [(Status::Returned, [0; 8]), (Status::Returned, 1_250_000_000_u64.to_be_bytes())]);
}

#[test]
fn on_arbitrum_the_number_and_the_parent_hash_come_from_arb_sys() {
    let (request, data) = case("arb sys");
    let mut parent = [0; 32];
    (parent[0], parent[30], parent[31]) = (0xab, 0x1e, 0x60);
    let l2 = Block { id: BlockId { number: 7_777, ..block().id }, parent: BlockHash(parent), ..block() };
    assert_eq!(Answer::decode(&request, &l2, 31_337, &data).map(|answer| answer.contracts_answered()), Ok(1));
    let of_l1 = Answer::decode(&request, &block(), 31_337, &data);
    assert_eq!(of_l1, Err(AnswerError::WrongBlock(HeaderField::Number)));
}

#[test]
fn an_answer_is_refused_for_every_other_block() {
    let (request, data) = case("every contract");
    let block = block();
    let after = Block { id: BlockId { number: block.id.number + 1, ..block.id }, ..block };
    let fork = Block { parent: BlockHash([7; 32]), ..block };
    let decode =
        |block, chain| Answer::decode(&request, &block, chain, &data).map(|answer| answer.contracts_answered());
    assert_eq!(decode(after, 31_337), Err(AnswerError::WrongBlock(HeaderField::Number)));
    assert_eq!(decode(fork, 31_337), Err(AnswerError::WrongBlock(HeaderField::Parent)));
    assert_eq!(decode(block, 1), Err(AnswerError::WrongBlock(HeaderField::Chain)));
    assert_eq!(read("header").1.contracts_answered(), 0);
}

#[test]
fn a_vault_is_read_into_its_facts() {
    let (_, answer) = read("vault");
    let vaults: Vec<Vec<Outcome>> = answer.by_contract().map(<[Outcome]>::to_vec).collect();
    assert_eq!((vaults.len(), &vaults[0]), (3, &vaults[2]));
    // The recorded order is asset, decimals, totalAssets, totalSupply, convertToAssets, maxDeposit, maxMint, maxRedeem.
    let reading = |vault: usize, field: usize| Some(Reading::Read(vaults[vault][field]));
    let of = |vault: usize| Vault::from_readings(&[0, 1, 2, 3, 5, 7].map(|field| reading(vault, field)));
    let vault = of(0);
    assert_eq!(vault.asset, Ok("0x00000000000000000000000000000000a55e7000".parse().unwrap()));
    assert_eq!((vault.decimals, vault.total_assets), (Ok(18), Ok(Word::from_u128(1_250_000_000))));
    assert_eq!(vault.total_supply, Ok(Word::from_u128(10_u128.pow(21))));
    assert_eq!(vault.max_deposit, Ok(Limit::Amount(Word::from_u128(750_000_000))));
    assert_eq!(vault.max_redeem, Ok(Limit::Amount(Word::from_u128(10_u128.pow(21)))));
    assert_eq!(erc4626::price_per_share(reading(0, 4).as_ref(), 6), Ok(Word::from_u128(1_250_000)));
    assert_eq!(vaults[0][6].word.0[..4], [0x08, 0xc3, 0x79, 0xa0], "Error(string)");
    let empty = of(1);
    assert_eq!((empty.asset, empty.total_assets), (Err(Unknown::NoAnswer), Err(Unknown::NoAnswer)));
    assert_eq!(erc4626::share_value(18).unwrap().calldata()[..4], Function::ConvertToAssets.selector());
}

#[test]
fn the_nodes_error_responses_are_classified() {
    let recorded = recorded();
    let meaning = |name: &str| {
        let response = &recorded["failures"][name];
        let status = u16::try_from(response["status"].as_u64().unwrap()).unwrap();
        let body = response["body"].as_str().unwrap().as_bytes();
        let read = failure::read(Response { status, retry_after: None, body }, 1);
        read.map(|result| result::bytes(result, 32).unwrap())
    };
    for (name, expected) in [
        ("unknown_block", Failure::UnknownBlock),
        ("future_block", Failure::UnknownBlock),
        ("orphaned_block", Failure::UnknownBlock),
        ("long_init_code_answer", Failure::Size),
        ("out_of_gas", Failure::Gas),
        ("intrinsic_gas", Failure::Gas),
        ("revert_with_data", Failure::Reverted { data: vec![0xde, 0xad, 0xbe, 0xef] }),
        ("revert_silently", Failure::Reverted { data: vec![] }),
        ("unknown_method", Failure::Unsupported),
        ("wrong_parameters", Failure::Unsupported),
    ] {
        assert_eq!(meaning(name), Err(expected), "{name}");
    }
    assert!(matches!(meaning("revert_with_reason"), Err(Failure::Reverted { data }) if data.len() == 100));
    assert_eq!(meaning("result"), Ok(Word::from_u128(1_250_000_000).0.into()));
}

#[test]
fn the_program_is_small() {
    assert!(PROGRAM.len() <= 300, "{}", PROGRAM.len());
}
