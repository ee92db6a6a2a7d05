//! Decisions: what a check is asked with, the signature under what it came to, and who may sign.
//!
//! Source: interface, "Decisioning"; contracts, "Formats" (decision).
//!
//! # Invariants
//!
//! - A check of an organisation has one decision in force: the hash of what is decided is unique in the database, with the number of earlier decisions. It
//!   is decided again only if its signer was retired by then (`tests/it/decisions_retired.rs`).
//! - A key signs only while its registry row, locked until the decision is committed, allows it (`tests/it/decisions_signed.rs`).

pub mod issue;
mod json_error_location;
mod members;
pub mod registry;
pub mod request;
