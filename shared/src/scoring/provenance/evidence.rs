//! Where a value was read on a chain, so that anybody can read it again.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

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
