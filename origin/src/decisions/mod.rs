//! Decisions: the request of a check, the signature under its result, and the registry of signers.
//!
//! # Invariants
//!
//! - A check of an organisation has one decision in force: the hash of what is decided is unique in the database, with the number of earlier decisions. It
//!   is decided again only if its signer was retired by then (`tests/it/graph/decisions_retired.rs`).
//! - A key signs only while its registry row, locked until the decision is committed, allows it (`tests/it/graph/decisions_signed.rs`).

pub mod issue;
mod json_error_location;
mod members;
pub mod registry;
pub mod request;
