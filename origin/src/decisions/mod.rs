//! Decisions: the request of a check, the signature under its result, and the registry of signers.
//!
//! # Invariants
//!
//! - An organisation's check has one decision in force: organisation, hash of the subject and number of earlier decisions are unique
//!   in the database. The check is decided again only if the signer was retired with effect from the decision's creation or earlier
//!   (`tests/it/graph/decisions_retired.rs`).
//! - A key signs only while its registry row, locked until the decision is committed, allows it (`tests/it/graph/decisions_signed.rs`).

pub mod issue;
mod json_error_location;
mod members;
pub mod request;
pub mod signer_registry;
