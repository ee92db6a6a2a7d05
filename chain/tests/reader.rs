//! The reader program in an interpreter, against contracts that behave in every way.

mod evm;

use evm::{Message, Reply, World};
use proptest::prelude::*;
use rds_chain::abi::{Function, Word};
use rds_chain::reader::{Answer, CODE_DEPOSIT_GAS, Field, NumberSource, Outcome, PROGRAM, Request};
use rds_chain::{Address, Block, BlockHash, BlockId};

const BLOCK: Block =
    Block { id: BlockId { number: 5_000, hash: BlockHash([1; 32]) }, parent: BlockHash([2; 32]), time: 1_700_000_000 };
const CHAIN: u64 = 8_453;
/// Gas that suffices for the header alone.
const HEADER_GAS: u64 = 40_000;

/// How one call behaves.
#[derive(Debug, Clone)]
struct Behaviour {
    ok: bool,
    data: Vec<u8>,
    /// Part of the call's gas that it uses, in percent.
    gas_percent: u64,
}

impl Behaviour {
    fn outcome(&self) -> Outcome {
        if self.ok { Outcome::succeeded(&self.data) } else { Outcome::failed(&self.data) }
    }
}

fn behaviour() -> impl Strategy<Value = Behaviour> {
    let length = prop_oneof![Just(0_usize), 1..32_usize, Just(31), Just(32), 33..200_usize];
    let data = length.prop_flat_map(|length| proptest::collection::vec(any::<u8>(), length));
    (any::<bool>(), data, 0..=100_u64).prop_map(|(ok, data, gas_percent)| Behaviour { ok, data, gas_percent })
}

fn contract(index: usize) -> Address {
    Address([u8::try_from(index + 1).unwrap(); 20])
}

/// Runs a request and returns the answer's bytes and the gas that each call was given.
fn run(request: &Request, gas: u64, as_init_code: bool, behave: &dyn Fn(&Message) -> Behaviour) -> (Vec<u8>, Vec<u64>) {
    let mut given = Vec::new();
    let mut contracts = |message: Message| {
        let Behaviour { ok, data, gas_percent } = behave(&message);
        given.push(message.gas);
        Reply { ok, data, gas_used: message.gas * gas_percent / 100 }
    };
    let mut world = World {
        number: BLOCK.id.number,
        parent: BLOCK.parent.0,
        time: BLOCK.time,
        chain_id: CHAIN,
        contracts: &mut contracts,
    };
    let answer = if as_init_code {
        evm::run(&request.encode_init_code(), &[], gas, &mut world)
    } else {
        evm::run(&PROGRAM, &request.encode(), gas, &mut world)
    };
    (answer.unwrap(), given)
}

proptest! {
    /// The answer holds the outcome of each call in order, up to the point where a call's whole gas was no longer there.
    #[test]
    fn every_call_has_its_whole_gas_and_its_own_outcome(
        behaviours in proptest::collection::vec(behaviour(), 1..40),
        fields in 1..5_usize,
        call_gas in 1..200_000_u32,
        gas in HEADER_GAS..3_000_000,
        as_init_code: bool,
    ) {
        let contracts = behaviours.len().div_ceil(fields);
        let list: Vec<Field> = (0..fields)
            .map(|field| {
                let argument = (field % 2 == 1).then(|| Word::from_u128(field as u128));
                Field::raw([0xaa, 0, 0, u8::try_from(field).unwrap()], argument)
            })
            .collect();
        let request =
            Request::new(NumberSource::Opcodes, call_gas, list.clone(), (0..contracts).map(contract).collect()).unwrap();
        let of = |contract: usize, field: usize| behaviours[(contract * fields + field) % behaviours.len()].clone();
        let behave = |message: &Message| {
            let field = usize::from(message.data[3]);
            assert_eq!(message.data, list[field].calldata(), "the calldata arrives unchanged");
            of(usize::from(message.to[0]) - 1, field)
        };
        let (data, given) = run(&request, gas, as_init_code, &behave);
        prop_assert!(given.iter().all(|gas| *gas == u64::from(call_gas)), "a call was starved: {:?}", given);
        let answer = Answer::decode(&request, &BLOCK, CHAIN, &data).unwrap();
        let answered = answer.contracts_answered();
        prop_assert_eq!(answered, given.len() / fields);
        for (contract, outcomes) in answer.by_contract().enumerate() {
            for (field, outcome) in outcomes.iter().enumerate() {
                prop_assert_eq!(*outcome, of(contract, field).outcome());
            }
        }
        if given.len() < request.calls() {
            let needed = if as_init_code { request.needed_gas_of_init_code() } else { request.needed_gas() };
            prop_assert!(answer.gas_at_end < u64::from(needed), "it stopped too early");
        }
        prop_assert!(answer.gas_at_start <= gas && answer.gas_used() <= gas);
        if as_init_code && !given.is_empty() {
            let storing = u64::from(CODE_DEPOSIT_GAS) * data.len() as u64;
            prop_assert!(answer.gas_at_end >= storing, "the node could not store the answer");
        }
        let again = answer.ask_again(&request);
        prop_assert_eq!(again.contracts.len(), contracts - answered);
    }

    #[test]
    fn arbitrary_answers_never_panic_and_no_accepted_one_has_more_contracts_than_asked(
        mut data in proptest::collection::vec(any::<u8>(), 0..600),
        with_header: bool,
        contracts in 0..5_usize,
    ) {
        let list = vec![Field::new(Function::Asset), Field::new(Function::Decimals)];
        let request = Request::new(NumberSource::Opcodes, 9, list, (0..contracts).map(contract).collect()).unwrap();
        if with_header {
            let (header, _) = run(&Request::header_only(NumberSource::Opcodes), HEADER_GAS, false, &|_| unreachable!());
            data.splice(0..0, header);
        }
        if let Ok(answer) = Answer::decode(&request, &BLOCK, CHAIN, &data) {
            prop_assert!(answer.contracts_answered() <= contracts);
        }
    }
}

#[test]
fn arb_sys_is_asked_for_the_number_and_then_for_the_parents_hash() {
    let l2 = Block { id: BlockId { number: 900_000_000, ..BLOCK.id }, parent: BlockHash([9; 32]), ..BLOCK };
    let arb_sys = |message: &Message| {
        assert_eq!(message.to[19], 0x64);
        let word = if message.data == Function::ArbBlockNumber.selector() {
            Word::from_u128(l2.id.number.into())
        } else {
            let hash_of_parent = Field::with(Function::ArbBlockHash, Word::from_u128(u128::from(l2.id.number) - 1));
            assert_eq!(message.data, hash_of_parent.calldata());
            Word(l2.parent.0)
        };
        Behaviour { ok: true, data: word.0.into(), gas_percent: 1 }
    };
    let request = Request::header_only(NumberSource::ArbSys);
    let (data, given) = run(&request, 1_000_000, false, &arb_sys);
    assert_eq!(given.len(), 2);
    assert!(Answer::decode(&request, &l2, CHAIN, &data).is_ok());
    assert!(Answer::decode(&request, &BLOCK, CHAIN, &data).is_err());
}

#[test]
fn without_arb_sys_an_answer_that_claims_its_number_is_refused() {
    for (ok, gas_percent) in [(true, 0), (false, 100)] {
        let request = Request::header_only(NumberSource::ArbSys);
        let (data, _) = run(&request, 10_000_000, false, &|_| Behaviour { ok, data: vec![], gas_percent });
        assert!(Answer::decode(&request, &BLOCK, CHAIN, &data).is_err(), "{ok}");
    }
}

#[test]
fn memory_of_a_large_answer_is_paid_for_and_starves_no_call() {
    let fields = vec![Field::new(Function::Asset); 255];
    let request = Request::new(NumberSource::Opcodes, 50_000, fields, (0..120).map(contract).collect()).unwrap();
    let zero = |_: &Message| Behaviour { ok: true, data: vec![0; 32], gas_percent: 100 };
    let (data, given) = run(&request, 2_000_000_000, false, &zero);
    assert_eq!((given.len(), data.len()), (255 * 120, 192 + 33 * 255 * 120));
    assert!(given.iter().all(|gas| *gas == 50_000));
}
