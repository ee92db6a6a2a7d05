//! JSON-RPC providers of EVM chains.
//!
//! | module | content |
//! |---|---|
//! | [`file`] | the operator's file of chains and providers, with the keys in a file of their own |
//! | [`reads`] | what is read on a chain, from the same file |
//! | [`budget`] | when a provider may be asked: requests a second, `Retry-After`, and a pause after failures |
//! | [`provider`] | one provider: requests with a deadline and a bounded body |
//! | [`read`] | fields of contracts, read from one provider |
//! | [`ask`] | questions about who controls a contract, asked of every operator |
//! | [`check`] | what a provider serves, found by asking it |
//! | [`served`] | how old the state is that a provider has, and how much gas a call may have |
//! | [`agree`] | the block to read at, and fields that enough operators read alike |
//!
//! Architecture invariants:
//! - A failure of a provider is never a reading: see [`rds_chain::failure`].
//! - An error or a log line never contains a provider's key: only its operator is named.

pub mod agree;
pub mod ask;
pub mod budget;
pub mod check;
pub mod file;
pub mod provider;
pub mod read;
pub mod reads;
pub mod served;
