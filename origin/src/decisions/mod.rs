//! Decisions: what a check is asked with, the signature under what it came to, and who may sign.
//!
//! Source: interface, "Decisioning"; contracts, "Formats" (decision).

pub mod issue;
mod members;
mod misspelt;
pub mod registry;
pub mod request;
