//! The scoring methodology: every rule behind a score, as pure integer functions.
//!
//! | module | content |
//! |---|---|
//! | [`tables`] | every weight, cap, threshold and cadence, as data |
//! | [`number`], [`decimal`], [`decay`] | units, rounding, exact decimal text, the three exponentials |
//! | [`asset`] | an asset's score: weighted dimensions, then overlays that only lower it |
//! | [`rubric`] | a dimension's value from answers to published questions |
//! | [`vault`] | a vault's score: four vectors, then the lowest cap |
//! | [`provenance`] | the inputs and steps that are published, so that clients can recompute a vault's score |
//! | [`methodology`] | all rules, as the document that is served |
//! | [`sanity_checks`], [`canonical`] | the input hash and the sanity checks of a score run; canonical JSON for hashes and signatures |
//!
//! Caps bound every score, so that a strength cannot compensate for a fatal weakness. A missing fact is counted conservatively and
//! flagged. Each result is rounded once, and later steps use the rounded, published value; [`number`] lists where values are rounded.

pub mod asset;
pub mod canonical;
pub mod decay;
pub mod decimal;
pub mod methodology;
mod named;
pub mod number;
pub mod provenance;
mod range;
pub mod rubric;
pub mod sanity_checks;
pub mod tables;
pub mod vault;

pub use methodology::METHODOLOGY_VERSION;
pub use named::UnknownName;
pub(crate) use named::named_enum;
pub use number::{MilliPoints, Ppm, SumUnits};
pub use range::{ScoreBasis, ScoreRange};
