//! The source that the simulated observations name.

pub(super) const SOURCE: &str = "simulation";
