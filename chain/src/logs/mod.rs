//! Logs: the events that contracts emitted, as `eth_getLogs` returns them.
//!
//! Decoding is strict. A provider that returns logs of another range or contract, in another order, twice, or of a replaced block has
//! its whole answer refused. A log that is *missing* cannot be seen here: several operators have to agree on the list.
//!
//! | file | content |
//! |---|---|
//! | `creation.rs` | the vault that a factory's event tells of |
//! | `event.rs` | the parameters of an event, from topics and data |
//! | `range.rs` | which block ranges to ask for |

mod creation;
mod event;
mod range;

pub use event::{EventError, Parameters};
pub use range::{BlockRange, Ranges, SingleBlockTooLarge};

use crate::abi::Word;
use crate::block::{Address, BlockHash, BlockId};
use crate::hex;
use crate::result::parse_quantity;
use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Maximum length of one log's data in bytes. The events of this crate have at most 64.
pub const MAX_DATA_BYTES: usize = 64 << 10;
/// The EVM has `LOG0` to `LOG4`.
pub const MAX_TOPICS: usize = 4;

/// One event, as a contract emitted it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Log {
    /// The contract.
    pub address: Address,
    /// The event's hash, then its indexed parameters; at most [`MAX_TOPICS`].
    pub topics: Vec<Word>,
    /// The other parameters.
    pub data: Vec<u8>,
    /// The block.
    pub block: BlockId,
    /// Position among all logs of the block.
    pub index: u64,
}

/// Why a list of logs is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogError {
    /// The result is no list of logs, or a member is missing or malformed. A pending log has no block.
    Malformed,
    /// There are more logs than the caller's maximum.
    TooMany,
    /// A log has more than [`MAX_TOPICS`] topics or [`MAX_DATA_BYTES`] bytes.
    TooLong,
    /// A log belongs to a block that was replaced.
    Removed,
    /// A log is of a contract, a block or an event that was not asked for.
    NotAsked,
    /// The logs are not in the order of the chain, or one occurs twice.
    Order,
    /// Two logs of one block number name different blocks.
    Fork,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LogError::Malformed => "the result is no list of logs",
            LogError::TooMany => "there are more logs than allowed",
            LogError::TooLong => "a log is longer than allowed",
            LogError::Removed => "a log belongs to a replaced block",
            LogError::NotAsked => "a log was not asked for",
            LogError::Order => "the logs are not in the order of the chain",
            LogError::Fork => "two logs of one block number name different blocks",
        })
    }
}

impl core::error::Error for LogError {}

/// What was asked for. An empty list stands for any contract or event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The blocks.
    pub range: BlockRange,
    /// The contracts.
    pub contracts: &'a [Address],
    /// The first topics.
    pub topics: &'a [Word],
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawLog<'a> {
    #[serde(borrow)]
    address: Cow<'a, str>,
    #[serde(borrow)]
    topics: Vec<Cow<'a, str>>,
    #[serde(borrow)]
    data: Cow<'a, str>,
    #[serde(borrow)]
    block_number: Cow<'a, str>,
    #[serde(borrow)]
    block_hash: Cow<'a, str>,
    #[serde(borrow)]
    log_index: Cow<'a, str>,
    /// Left out by some providers, which then means `false`.
    #[serde(default)]
    removed: bool,
}

/// The logs in the result of `eth_getLogs`, at most `max`.
pub fn decode(result: &RawValue, asked: Asked<'_>, max: usize) -> Result<Vec<Log>, LogError> {
    // Split first: the number of logs is checked before one of them is parsed.
    let list: Vec<&RawValue> = serde_json::from_str(result.get()).map_err(|_| LogError::Malformed)?;
    if list.len() > max {
        return Err(LogError::TooMany);
    }
    let mut logs: Vec<Log> = Vec::with_capacity(list.len());
    for raw in list {
        let log = decode_one(raw)?;
        let is_asked = (asked.contracts.is_empty() || asked.contracts.contains(&log.address))
            && (asked.topics.is_empty() || log.topics.first().is_some_and(|topic| asked.topics.contains(topic)))
            && asked.range.contains(log.block.number);
        if !is_asked {
            return Err(LogError::NotAsked);
        }
        if let Some(before) = logs.last() {
            if (before.block.number, before.index) >= (log.block.number, log.index) {
                return Err(LogError::Order);
            }
            if before.block.number == log.block.number && before.block.hash != log.block.hash {
                return Err(LogError::Fork);
            }
        }
        logs.push(log);
    }
    Ok(logs)
}

fn decode_one(raw: &RawValue) -> Result<Log, LogError> {
    let raw: RawLog<'_> = serde_json::from_str(raw.get()).map_err(|_| LogError::Malformed)?;
    if raw.removed {
        return Err(LogError::Removed);
    }
    if raw.topics.len() > MAX_TOPICS || raw.data.len() > MAX_DATA_BYTES.saturating_mul(2).saturating_add(2) {
        return Err(LogError::TooLong);
    }
    let topics: Option<Vec<Word>> = raw.topics.iter().map(|topic| hex::decode_array(topic).map(Word)).collect();
    let log = || {
        let hash = BlockHash(hex::decode_array(&raw.block_hash)?);
        Some(Log {
            address: Address(hex::decode_array(&raw.address)?),
            topics: topics?,
            data: hex::decode(&raw.data)?,
            block: BlockId { number: parse_quantity(&raw.block_number)?, hash },
            index: parse_quantity(&raw.log_index)?,
        })
    };
    log().ok_or(LogError::Malformed)
}

#[cfg(test)]
mod tests;
