//! The scoring methodology `rds-1.0.0`: every rule behind a score, as pure integer functions.
//!
//! | module | knows |
//! |---|---|
//! | [`tables`] | every weight, cap, threshold and cadence, as data |
//! | [`number`], [`decimal`], [`decay`] | units, rounding, exact decimal text, the three exponentials |
//! | [`asset`] | an asset's score: weighted dimensions, then overlays that only lower it |
//! | [`vault`] | a vault's score: four vectors, then the lowest cap |
//! | [`provenance`] | what is published so that anyone can recompute a vault's score |
//! | [`methodology`] | all of the rules as the document that is served |
//! | [`run`], [`canonical`] | what one scoring run hashes, and when it must not be published |
//!
//! A score is a minimum, never an average that lets a strength pay for a fatal weakness. A missing fact is counted
//! conservatively and shown. What is rounded is rounded once and published as it was used: [`number`] says where.

pub mod asset;
pub mod canonical;
pub mod decay;
pub mod decimal;
pub mod methodology;
mod named;
pub mod number;
pub mod provenance;
pub mod run;
pub mod tables;
pub mod vault;

pub use named::UnknownName;
pub(crate) use named::named_enum;
pub use number::{MilliPoints, Ppm, SumUnits};

/// The version of the rules in this module, as every score and history point carries it.
pub const METHODOLOGY_VERSION: &str = "rds-1.0.0";
