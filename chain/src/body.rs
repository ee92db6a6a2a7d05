//! The bodies of the JSON-RPC requests that this service sends.
//!
//! Calls name their block by hash (EIP-1898), so the answer cannot come from another fork.

use crate::abi::Word;
use crate::block::{Address, BlockHash};
use crate::hex;
use crate::logs::BlockRange;
use crate::plan::{Batch, Rung, multicall3};
use crate::reader::{NumberSource, PROGRAM, Request, RequestError};
use crate::simulation::Simulation;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// An account that nobody uses, for functions that ask for one, such as the receiver of a deposit.
pub const READER: Address = Address([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xad]);

/// The address that has the reader program as its code during a call, and that called contracts see as their caller: the one of Multicall3.
///
/// A contract can always tell a call that reads from a transaction. What counts is that it cannot tell this service from everybody else: with
/// this address it sees what it sees whenever anybody reads through Multicall3, and `tx.origin` is zero as in every call without a sender. With
/// an address of our own it could answer us alone otherwise. As init code ([`Rung::InitCode`]) the caller is the first contract of the zero
/// address instead, so a contract that looks at its caller may answer differently there; operators whose providers are called in different
/// ways then contradict each other, and nothing is agreed.
pub const READER_HOST: Address = multicall3::MULTICALL3;

/// Gas of a call that is not part of a batch.
pub const QUESTION_GAS: u64 = 5_000_000;
/// Gas that a single call needs in addition to its cap: the price of the transaction itself and of its calldata.
const TRANSACTION_GAS: u64 = 50_000;
/// Gas of a self-test.
const SELF_TEST_GAS: u64 = 1_000_000;

/// A block that is asked for by number or by the network's own name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// The block with this number.
    Number(u64),
    /// The newest block.
    Latest,
    /// The newest final block. Not every network has this tag.
    Finalized,
}

/// `eth_call` for a batch of a plan, at the block with the hash `block`.
///
/// Error: the batch has more fields than a request can have, or a gas cap that is too high. A plan makes no such batch unless its limits
/// say so. A [`Rung::Single`] batch must have one call; only the first one is asked for.
pub fn eth_call(id: u64, batch: &Batch, number_source: NumberSource, block: BlockHash) -> Result<String, RequestError> {
    Ok(match batch.rung {
        Rung::Override => {
            let data = batch.request(number_source)?.encode();
            call(id, Some(READER_HOST), &data, batch.request_gas, block, &override_with_reader())
        }
        Rung::InitCode => {
            call(id, None, &batch.request(number_source)?.encode_init_code(), batch.request_gas, block, "")
        }
        Rung::Multicall3 => {
            call(id, Some(multicall3::MULTICALL3), &multicall3::encode(&batch.calls()), batch.request_gas, block, "")
        }
        Rung::Single => {
            let (to, data) = batch.calls().into_iter().next().unwrap_or((Address::ZERO, Vec::new()));
            let gas = u64::from(batch.call_gas).saturating_add(TRANSACTION_GAS).min(batch.request_gas);
            call(id, Some(to), &data, gas, block, "")
        }
    })
}

/// `eth_call` that shows whether a provider makes calls in this way: the reader without a call, or Multicall3 without one. `None` for single
/// calls, which every provider makes.
pub fn self_test(id: u64, rung: Rung, number_source: NumberSource, block: BlockHash) -> Option<String> {
    let request = Request::header_only(number_source);
    let gas = SELF_TEST_GAS;
    match rung {
        Rung::Override => {
            let code = override_with_reader();
            Some(call(id, Some(READER_HOST), &request.encode(), gas, block, &code))
        }
        Rung::InitCode => Some(call(id, None, &request.encode_init_code(), gas, block, "")),
        Rung::Multicall3 => Some(call(id, Some(multicall3::MULTICALL3), &multicall3::encode(&[]), gas, block, "")),
        Rung::Single => None,
    }
}

fn override_with_reader() -> String {
    format!(r#",{{"{READER_HOST}":{{"code":"{}"}}}}"#, hex::encode(&PROGRAM))
}

/// `eth_getBlockByHash` without the block's transactions.
pub fn block_by_hash(id: u64, block: BlockHash) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_getBlockByHash","params":["{block}",false]}}"#)
}

/// `eth_getBlockByNumber` without the block's transactions.
pub fn block_by_number(id: u64, tag: Tag) -> String {
    let tag = match tag {
        Tag::Number(number) => format!("{number:#x}"),
        Tag::Latest => "latest".into(),
        Tag::Finalized => "finalized".into(),
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_getBlockByNumber","params":["{tag}",false]}}"#)
}

/// `eth_call` of one contract, for an answer of any length.
pub fn contract_call(id: u64, contract: Address, data: &[u8], gas: u64, block: BlockHash) -> String {
    call(id, Some(contract), data, gas, block, "")
}

/// `eth_call` with overrides.
pub fn simulation(id: u64, simulation: &Simulation, block: BlockHash) -> String {
    let Simulation { contract, data, gas, overrides } = simulation;
    call(id, Some(*contract), data, *gas, block, &format!(",{overrides}"))
}

/// The same as [`contract_call`], from the address that the reader program calls from. Few contracts answer it otherwise than others.
pub fn contract_call_of_reader(id: u64, contract: Address, data: &[u8], gas: u64, block: BlockHash) -> String {
    let data = hex::encode(data);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_call","params":[{{"from":"{READER_HOST}","to":"{contract}","data":"{data}","gas":"{gas:#x}"}},{{"blockHash":"{block}"}}]}}"#
    )
}

/// `eth_getCode`.
pub fn code(id: u64, contract: Address, block: BlockHash) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_getCode","params":["{contract}",{{"blockHash":"{block}"}}]}}"#)
}

/// `eth_getStorageAt`.
pub fn storage_at(id: u64, contract: Address, slot: Word, block: BlockHash) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_getStorageAt","params":["{contract}","{slot}",{{"blockHash":"{block}"}}]}}"#
    )
}

/// `eth_getLogs` of the contracts, of which each log has one of `topics` first. Ranges are by number: read final blocks only.
pub fn logs(id: u64, contracts: &[Address], topics: &[Word], range: BlockRange) -> String {
    let contracts: Vec<String> = contracts.iter().map(|contract| format!(r#""{contract}""#)).collect();
    let topics: Vec<String> = topics.iter().map(|topic| format!(r#""{topic}""#)).collect();
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_getLogs","params":[{{"address":[{}],"topics":[[{}]],"fromBlock":"{:#x}","toBlock":"{:#x}"}}]}}"#,
        contracts.join(","),
        topics.join(","),
        range.first(),
        range.last()
    )
}

/// `eth_chainId`.
pub fn chain_id(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_chainId","params":[]}}"#)
}

fn call(id: u64, to: Option<Address>, data: &[u8], gas: u64, block: BlockHash, overrides: &str) -> String {
    let to = to.map_or(String::new(), |to| format!(r#""to":"{to}","#));
    let data = hex::encode(data);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_call","params":[{{{to}"data":"{data}","gas":"{gas:#x}"}},{{"blockHash":"{block}"}}{overrides}]}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{Event, Function};
    use crate::plan::{Limits, Plan};
    use crate::reader::Field;
    use serde_json::Value;
    use std::borrow::ToOwned;
    use std::string::ToString;
    use std::vec;

    fn body(rung: Rung) -> Value {
        let fields = vec![Field::new(Function::Asset)];
        let mut plan = Plan::new(vec![Address([7; 20])], fields, Limits::default(), rung);
        let batch = plan.next_batch().unwrap();
        serde_json::from_str(&eth_call(5, &batch, NumberSource::Opcodes, BlockHash([1; 32])).unwrap()).unwrap()
    }

    #[test]
    fn a_self_test_makes_no_call_and_names_its_block() {
        for rung in Rung::ALL {
            let Some(body) = self_test(7, rung, NumberSource::Opcodes, BlockHash([1; 32])) else {
                assert_eq!(rung, Rung::Single);
                continue;
            };
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["params"][1]["blockHash"].as_str(), Some("0x01".to_owned() + &"01".repeat(31)).as_deref());
            assert_eq!(
                body["params"].as_array().unwrap().len(),
                if rung == Rung::Override { 3 } else { 2 },
                "{rung:?}"
            );
        }
    }

    #[test]
    fn every_call_names_its_block_by_hash_and_its_gas() {
        for rung in Rung::ALL {
            let body = body(rung);
            assert_eq!((&body["id"], &body["method"]), (&5.into(), &"eth_call".into()), "{rung:?}");
            assert_eq!(body["params"][1]["blockHash"].as_str(), Some("0x01".to_owned() + &"01".repeat(31)).as_deref());
            let gas = if rung == Rung::Single { "0x100590" } else { "0x1000000" };
            assert_eq!(body["params"][0]["gas"], gas, "{rung:?}");
        }
    }

    #[test]
    fn each_rung_has_its_own_target() {
        let reader = READER_HOST.to_string();
        let over = body(Rung::Override);
        assert_eq!(over["params"][0]["to"], reader.as_str());
        assert_eq!(over["params"][2][&reader]["code"], hex::encode(&PROGRAM));
        let init = body(Rung::InitCode);
        assert!(init["params"][0].get("to").is_none());
        assert!(init["params"][0]["data"].as_str().unwrap().starts_with(&hex::encode(&PROGRAM)));
        assert_eq!(body(Rung::Multicall3)["params"][0]["to"], "0xca11bde05977b3631167028862be2a173976ca11");
        let single = body(Rung::Single);
        assert_eq!(
            (&single["params"][0]["to"], &single["params"][0]["data"]),
            (&Address([7; 20]).to_string().into(), &"0x38d52e0f".into())
        );
    }

    #[test]
    fn blocks_are_asked_for_by_number_or_tag() {
        for (tag, text) in [(Tag::Number(0), "0x0"), (Tag::Number(255), "0xff"), (Tag::Finalized, "finalized")] {
            let body: Value = serde_json::from_str(&block_by_number(1, tag)).unwrap();
            assert_eq!(body["params"], serde_json::json!([text, false]));
        }
        let by_hash: Value = serde_json::from_str(&block_by_hash(1, BlockHash([1; 32]))).unwrap();
        assert_eq!(by_hash["params"], serde_json::json!(["0x01".to_owned() + &"01".repeat(31), false]));
        assert!(serde_json::from_str::<Value>(&chain_id(1)).is_ok());
    }

    #[test]
    fn code_storage_and_logs_are_asked_for_at_a_block() {
        let (contract, block) = (Address([7; 20]), BlockHash([1; 32]));
        let pin = serde_json::json!({ "blockHash": block.to_string() });
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap()["params"].clone();
        assert_eq!(parsed(&code(1, contract, block)), serde_json::json!([contract.to_string(), pin]));
        let slot = Word::from_u128(3);
        let storage = parsed(&storage_at(1, contract, slot, block));
        assert_eq!(storage, serde_json::json!([contract.to_string(), slot.to_string(), pin]));
        assert_eq!(parsed(&contract_call(1, contract, &[1, 2], 16, block))[0]["data"], "0x0102");
        let of_reader = parsed(&contract_call_of_reader(1, contract, &[1, 2], 16, block));
        assert_eq!((&of_reader[0]["from"], &of_reader[0]["gas"]), (&READER_HOST.to_string().into(), &"0x10".into()));
        assert_eq!(
            (&of_reader[0]["to"], &of_reader[0]["data"], &of_reader[1]),
            (&contract.to_string().into(), &"0x0102".into(), &pin)
        );
        let range = BlockRange::new(16, 32).unwrap();
        let logs = &parsed(&logs(1, &[contract], &[Event::Transfer.topic(), Event::Upgraded.topic()], range))[0];
        assert_eq!((&logs["fromBlock"], &logs["toBlock"]), (&"0x10".into(), &"0x20".into()));
        assert_eq!(logs["topics"][0][1], Event::Upgraded.topic().to_string());
    }
}
