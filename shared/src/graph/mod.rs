//! Decisioning: a portfolio's exposures, their check against limits, and a signed decision that anyone can verify.
//!
//! | module | subject |
//! |---|---|
//! | [`amount`] | exact dollars and shares |
//! | [`facts`] | vaults, their holdings, and the parties responsible for them |
//! | [`look_through`], [`exposures`] | nested vaults resolved down to their assets; cycles and unattributed parts are reported |
//! | [`incidents`] | share of a vault that is exposed to vaults hit by an incident |
//! | [`lending`], [`breach`] | projected effect of a collateral price fall on lending markets, from market totals |
//! | [`index`] | share of a position per exposure key |
//! | [`limits`], [`portfolio`], [`check`] | the nine limits, the positions, the verdict and its findings |
//! | [`snapshot`] | the frozen facts a check was made against, identified by a content hash |
//! | [`decision`] | the canonical envelope of a verdict, and its id |
//! | [`signature`] | EIP-191 signatures: signing, and recovering the signer's address |
//! | [`verification`] | verification of a decision from its stored record and the signer registry |
//! | [`evidence`] | the stored record and the registry as the origin sends them to the edge |
//!
//! Source: methodology, "Check verdict".
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
