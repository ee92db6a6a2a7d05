//! Answers as readings of a protocol.
//!
//! An adapter names what is to be asked, step by step where one answer leads to the next question, and turns the answers into plain values.
//! A value that is not known has its reason, and does not make the others unknown; a list of shares with a gap is unknown as a whole.
//!
//! | module | content |
//! |---|---|
//! | [`erc4626`], [`erc7540`], [`yearn_v3`], [`metamorpho`], [`morpho_vault_v2`] | vaults |
//! | [`aave_v3`], [`compound_v3`], [`euler_v2`], [`morpho`] | lending markets |
//! | [`morpho_oracle`] | what the price of a market of Morpho Blue is made of |
//! | [`deposit_gate`] | whether a deposit and its redemption go through, simulated in one call |
//! | [`part`] | shares of a whole |
//! | [`governance`] | who can change a contract, after which delay |
//! | [`feed`] | price feeds |
//! | [`token`] | powers over a token, its name and symbol |
//! | [`holders`] | balances from a token's transfers |
//! | [`question`], [`ask`] | questions whose answers have several words, and the requests that ask them |
//!
//! The reader gives one word a call. An answer with more, such as a list or a text, is asked for alone, and is a [`CallAnswer`].

pub mod aave_v3;
pub mod ask;
pub mod compound_v3;
pub mod deposit_gate;
pub mod erc4626;
pub mod erc7540;
pub mod euler_v2;
pub mod feed;
pub mod governance;
pub mod holders;
pub mod metamorpho;
pub mod morpho;
pub mod morpho_oracle;
pub mod morpho_vault_v2;
pub mod part;
pub mod question;
mod scale;
pub mod token;
pub mod yearn_v3;

use crate::abi::{AbiError, Word};
use crate::failure::Failure;
use crate::plan::Reading;
use crate::reader::Status;
use alloc::vec::Vec;
use core::fmt;

/// What one `eth_call` of one contract gave: the bytes that the contract returned, or why there are none.
pub type CallAnswer = Result<Vec<u8>, Failure>;

/// A value, or why it is not known.
pub type Value<T> = Result<T, Unknown>;

/// Why a value is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unknown {
    /// The providers gave no answer. Nothing is known about the contract.
    Unread,
    /// The contract reverted with a reason.
    Refused,
    /// The contract has no such function: it answered too little, or failed without a reason. An address without code answers like this.
    NoAnswer,
    /// The answer is not a value of the type, or out of its bounds.
    Implausible,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unknown::Unread => "not read",
            Unknown::Refused => "refused by the contract",
            Unknown::NoAnswer => "not answered by the contract",
            Unknown::Implausible => "implausible",
        })
    }
}

impl core::error::Error for Unknown {}

impl From<AbiError> for Unknown {
    fn from(_: AbiError) -> Self {
        Unknown::Implausible
    }
}

/// The word that a contract returned. `None` stands for a call that is not settled.
fn word(reading: Option<&Reading>) -> Value<Word> {
    match reading {
        Some(Reading::Read(outcome)) => match outcome.status {
            Status::Returned => Ok(outcome.word),
            Status::Reverted => Err(Unknown::Refused),
            Status::ReturnedShort | Status::FailedEmpty => Err(Unknown::NoAnswer),
        },
        Some(Reading::Unread(_)) | None => Err(Unknown::Unread),
    }
}

/// The bytes that a contract returned: at least one word. `None` stands for a call that is not settled.
fn returned(answer: Option<&CallAnswer>) -> Value<&[u8]> {
    match answer {
        Some(Ok(bytes)) if bytes.len() >= 32 => Ok(bytes),
        Some(Ok(_)) => Err(Unknown::NoAnswer),
        Some(Err(Failure::Reverted { data })) if data.is_empty() => Err(Unknown::NoAnswer),
        Some(Err(Failure::Reverted { .. })) => Err(Unknown::Refused),
        Some(Err(_)) | None => Err(Unknown::Unread),
    }
}

/// Whether the number is not negative when it is read as `int256`.
fn is_not_negative(word: Word) -> bool {
    word.bit_length() < 256
}
