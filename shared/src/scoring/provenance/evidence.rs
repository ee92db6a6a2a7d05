//! Where a value was read on a chain, so that anybody can read it again.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Most accounts that one call overrides.
pub const MAX_OVERRIDDEN_ACCOUNTS: usize = 8;
/// Most words of storage that one call overrides in one account.
pub const MAX_OVERRIDDEN_WORDS: usize = 32;
/// Longest code that a call puts at an account, in bytes: the longest that a contract can have (EIP-170).
pub const MAX_OVERRIDING_CODE: usize = 24_576;
/// Most gas of a call: nodes with the usual settings give no more.
pub const MAX_CALL_GAS: u64 = 50_000_000;

/// The block at which a value was read on a chain, and every call that led to it.
///
/// Whoever repeats the calls at the same block, through any node, gets the same answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainEvidence {
    /// The chain's id (EIP-155).
    pub chain_id: u64,
    /// Number of the block.
    pub block_number: u64,
    /// Hash of the block: `0x` and 64 hex digits.
    pub block_hash: String,
    /// The calls, in the order in which one led to the next.
    pub calls: Vec<ChainCall>,
    /// Number of independent operators of nodes that gave these answers.
    pub agreed: u32,
    /// Number of operators that were asked.
    pub asked: u32,
}

/// One call at a block, with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainCall {
    /// The JSON-RPC method that repeats the call.
    pub method: CallMethod,
    /// The contract: `0x` and 40 hex digits.
    pub contract: String,
    /// The call data, or the storage slot of `eth_getStorageAt`: `0x` and hex digits. Null for `eth_getCode`.
    pub data: Option<String>,
    /// The bytes of the answer: `0x` and hex digits; of a function with one result its first 32 bytes. For `eth_getCode`, the Keccak-256 of
    /// the code. Null if the contract gave no answer: it reverted, or returned less than a result.
    pub answer: Option<String>,
    /// What accounts have instead during an `eth_call`, by address: the state override, its third parameter. Such a call shows what would
    /// happen, for example if somebody deposited. Absent in a call that overrides nothing.
    #[serde(default, deserialize_with = "crate::wire::object::by_name", skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<String, AccountOverride>,
    /// The gas that the call was given. Absent if any usual amount gives the same answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::LeftOut<u64>"))]
    pub gas: Option<u64>,
}

/// What an account has instead during a call, as JSON-RPC takes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccountOverride {
    /// Its code: `0x` and hex digits. Absent if the code is its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::LeftOut<String>"))]
    pub code: Option<String>,
    /// Words of its storage by slot, each `0x` and 64 hex digits. Absent if the storage is its own.
    #[serde(rename = "stateDiff", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub state_diff: BTreeMap<String, String>,
}

/// A JSON-RPC method of Ethereum nodes that reads at a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CallMethod {
    #[serde(rename = "eth_call")]
    Call,
    #[serde(rename = "eth_getStorageAt")]
    Storage,
    #[serde(rename = "eth_getCode")]
    Code,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_without_overrides_is_written_as_before_there_were_any() {
        let text = r#"{"method":"eth_call","contract":"0x01","data":"0x02","answer":null}"#;
        let call: ChainCall = serde_json::from_str(text).unwrap();
        assert_eq!((call.overrides.len(), call.gas), (0, None));
        assert_eq!(serde_json::to_string(&call).unwrap(), text);
    }

    #[test]
    fn overrides_are_written_as_the_method_takes_them() {
        let overrides = json!({ "0x01": { "code": "0x60" }, "0x02": { "stateDiff": { "0x03": "0x04" } }, "0x05": {} });
        let value = json!({ "method": "eth_call", "contract": "0x01", "data": "0x", "answer": "0x", "overrides": overrides, "gas": 7 });
        let call: ChainCall = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&call).unwrap(), value);
        let other = json!({ "method": "eth_call", "contract": "0x01", "data": "0x", "answer": "0x", "overrides": { "0x01": { "balance": "0x1" } } });
        assert!(serde_json::from_value::<ChainCall>(other).is_err());
    }
}
