//! JSON-RPC providers of EVM chains.
//!
//! | module | content |
//! |---|---|
//! | [`file`] | the operator's file of chains and providers, with the keys in a file of their own |
//! | [`reads`] | what is read on a chain, from the same file |
//! | [`units`] | the methods that are used, and what each costs |
//! | [`budget`] | when a provider may be asked: requests and units a second, `Retry-After`, and a pause after failures |
//! | [`meters`] | what providers did: requests, failures by kind, dissent |
//! | [`provider`] | one provider: requests with a deadline and a bounded body, alone or in batches |
//! | `gather` | waiting for several providers, no longer than they are needed |
//! | [`read`] | fields of contracts, read from one provider |
//! | [`ask`] | questions about who controls a contract, asked of every operator |
//! | `events` | logs of contracts, read from every operator |
//! | [`check`] | what a provider serves, found by asking it |
//! | [`agree`] | fields that enough operators read alike |
//! | `target` | the block to read at |
//! | [`served`] | how old the state is that a provider has, and how much gas a call may have |
//!
//! Architecture invariants:
//! - A failure of a provider is never a reading: see [`rds_chain::failure`].
//! - A slow provider costs a reading a short time beyond what the others take, unless the quorum needs it.
//! - An error or a log line never contains a provider's key: only its operator is named.

pub mod agree;
pub mod ask;
pub mod budget;
pub mod check;
mod events;
pub mod file;
mod gather;
pub mod meters;
pub mod provider;
pub mod read;
pub mod reads;
pub mod served;
mod target;
pub mod units;
