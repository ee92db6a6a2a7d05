//! Facts read from EVM chains over plain JSON-RPC.
//!
//! | module | content |
//! |---|---|
//! | [`block`] | addresses, hashes, and the part of a block's header that this crate uses |
//! | [`hex`] | byte strings as JSON-RPC writes them |
//! | [`abi`] | encoding of calls, strict decoding of answers, selectors and topics |
//! | [`reader`] | an EVM program that makes many calls in one `eth_call`; its request and its answer |
//! | [`plan`] | which calls go into which request, and what is asked again after a failure |
//! | [`body`] | the bodies of the JSON-RPC requests |
//! | [`failure`] | what a provider's response means: a result, a revert of the contract, or a failure of the provider |
//! | [`result`] | the results of the JSON-RPC methods that this service uses |
//! | [`simulation`] | calls as if accounts had other code or storage |
//! | [`logs`] | strict decoding of event logs; the block ranges that they are asked for in |
//! | [`quorum`] | whether enough operators gave the same answer at the same block |
//! | [`follow`] | the chain of recent blocks: forks, finality, halts, and the block to read at |
//! | [`adapt`] | answers as readings of a protocol |
//!
//! Terms:
//! - *provider*: an address that answers JSON-RPC; *operator*: who runs one or more providers, and counts once in a quorum.
//! - *rung*: a way to make calls; the next one is used where a provider does not serve it.
//! - *reading*: what is known of one call: the contract's answer, or the provider's failure.
//! - *question*: a call of one contract that an adapter needs answered.
//!
//! Architecture invariants:
//! - No clock, no randomness, no I/O: a function that needs the time takes it as an argument.
//! - Nothing here panics on any input, and every list has a bound.
//! - Only an answer of the contract becomes a reading. A failure of the provider never does.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects
    )
)]

extern crate alloc;

#[cfg(test)]
extern crate std;

pub mod abi;
pub mod adapt;
pub mod block;
pub mod body;
mod evm;
pub mod failure;
pub mod follow;
pub mod hex;
pub mod logs;
pub mod plan;
pub mod quorum;
pub mod reader;
pub mod result;
pub mod simulation;

pub use block::{Address, Block, BlockHash, BlockId};
