//! Decisioning: what a portfolio is exposed to, whether that is within its limits, and an answer anyone can check.
//!
//! | module | knows |
//! |---|---|
//! | [`amount`] | exact dollars and shares |
//! | [`facts`] | vaults, what they hold, who answers for them |
//! | [`look_through`], [`exposures`] | vaults opened down to their assets, cycles told, nothing lost |
//! | [`incidents`] | which part of a vault stands behind vaults that an incident hit |
//! | [`lending`], [`breach`] | what a fall of all collateral would do to lending markets, as far as their totals say |
//! | [`index`] | which part of a position stands behind which key |
//! | [`limits`], [`portfolio`], [`check`] | the nine limits, the positions, the verdict and its findings |
//! | [`snapshot`] | the frozen facts a check was made against, named by their content |
//! | [`decision`] | the canonical envelope of a verdict, and its id |
//! | [`signature`] | EIP-191 signatures: made from a key, traced back to an address |
//! | [`verification`] | what can be said of a decision, from the stored record and the signer registry alone |
//! | [`evidence`] | both as the origin hands them to the edge |
//!
//! Source: interface, "Decisioning", "Graph structures", "Decision verdicts"; methodology, "Check verdict".
//!
//! # Invariants
//!
//! - Verification uses the envelope's bytes, the signature and the signer registry only; a statement of the origin proves nothing
//!   (`edge/tests/pipeline/decisions.rs`).

pub mod amount;
pub mod breach;
pub mod check;
mod cycles;
pub mod decision;
pub mod evidence;
pub mod exposures;
pub mod facts;
pub mod incidents;
pub mod index;
pub mod lending;
pub mod limits;
pub mod look_through;
pub mod portfolio;
pub mod signature;
pub mod snapshot;
pub mod verification;
