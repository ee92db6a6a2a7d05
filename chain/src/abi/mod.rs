//! The contract ABI, as far as this service reads contracts: 32-byte words, and dynamic values made of words or bytes.
//!
//! Source: Solidity's "Contract ABI Specification". Decoding is stricter than most clients: a value that does not fill its type, or
//! padding that is not zero where the type demands zeros, is an error and not a truncated value.

mod call;
mod data;
mod signature;
mod word;

pub use call::{Call, Selector};
pub use data::Data;
pub use signature::{Creation, Event, Function, keccak256};
pub use word::Word;

use core::fmt;

/// Why bytes are not the value that they were decoded as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbiError {
    /// The data ends before the value does.
    Truncated,
    /// The number does not fit into the type.
    OutOfRange,
    /// Bytes that must be zero are not, or a boolean is neither 0 nor 1.
    Padding,
    /// The list, or the byte string, is longer than the caller's maximum.
    TooLong,
    /// A string is not UTF-8.
    NotUtf8,
}

impl fmt::Display for AbiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AbiError::Truncated => "the data ends before the value does",
            AbiError::OutOfRange => "the number does not fit into the type",
            AbiError::Padding => "the padding is not zero",
            AbiError::TooLong => "the value is longer than allowed",
            AbiError::NotUtf8 => "the string is not UTF-8",
        })
    }
}

impl core::error::Error for AbiError {}
