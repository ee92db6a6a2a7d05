//! The resources exactly as the API serves them, one file a family.
//!
//! Response types are `Serialize` only, fields stand in the interface's order, and a null is written, never left out.
//! Amounts are USD as `f64`, rates are decimal fractions, scores are [`crate::scoring::MilliPoints`].

pub mod chain;
pub mod content_hash;
pub mod curator;
pub mod encoded;
pub mod event;
pub mod health;
pub mod ids;
pub mod key;
pub mod protocol;
pub mod status;
pub mod vault;
pub mod vault_history;
pub mod vault_score;

pub use encoded::EncodedRow;
