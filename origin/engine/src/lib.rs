//! The write side of the service: ingest, scoring, publication, baskets and research. It contains no HTTP or other transport.
//!
//! # Invariants
//!
//! - One ingest batch is one transaction.
//! - `tier == tier_of(total_score)` in every published row.
//! - Time and randomness come in as arguments; only `clock` and `entropy` read them from the operating system.

pub mod attestation;
pub mod baskets;
pub mod clock;
pub mod dimensions;
pub mod entropy;
pub mod evidence_status;
pub mod fail_safe;
pub mod ingest;
pub mod observed_changes;
pub mod publication;
pub mod research;
pub mod rwa;
pub mod scoring_run;
pub mod security;
pub mod symbol_days;
