//! The resources exactly as the API serves them, one file per resource.
//!
//! Response types implement `Serialize` only. Fields are in the order of the API specification, and a null is written, not omitted.
//! Amounts are USD as `f64`, rates are decimal fractions, scores are [`crate::scoring::MilliPoints`].
//!
//! The API specification is the written requirement that this service implements; it is not part of the repository. It names every route,
//! but leaves some shapes open. Open shapes and additive fields are this service's own decisions.
//!
//! # Invariants
//!
//! - Fields that need a key are emptied in two places: `asset_encoded.rs` for lists and `AssetRow::withheld` for details (`e2e/access-copies.test.mjs`).
//! - Amounts and rates are rounded once, when they are written (`money.rs`): USD to the cent, below one dollar to the millionth; rates to twelve decimals.

// Field documentation is published as schema descriptions.
#![warn(missing_docs)]

pub mod allocation;
pub mod asset;
pub mod asset_encoded;
pub mod asset_restricted;
pub mod attestation;
pub mod basket;
pub mod chain;
pub mod content_hash;
pub mod curator;
pub mod decision;
pub mod edited;
pub mod encoded;
pub mod event;
pub mod evidence;
pub mod facets;
pub mod graph;
pub mod health;
pub mod holders;
pub mod ids;
pub mod index;
pub mod key;
pub mod loss;
pub mod mapping;
pub mod market;
pub mod money;
pub mod oracle;
pub mod portfolio;
pub mod protocol;
pub mod reference_rate;
pub mod research;
pub mod rwa;
pub mod rwa_history;
pub mod security;
pub mod signal;
pub mod spelling;
pub mod stats;
pub mod status;
pub mod status_feed;
pub mod strategy;
pub mod symbol;
pub mod vault;
pub mod vault_changes;
pub mod vault_history;
pub mod vault_score;
pub mod version_signature;
pub mod webhook;

pub use asset_encoded::EncodedAsset;
pub use encoded::EncodedRow;
