//! The source that the simulated observations name.

/// `source` of simulated observations.
pub(super) const SOURCE: &str = "simulation";
