//! The registries of chains, protocols and curators, the catalog's vault rows, daily totals by symbol, and look-ups of references.

pub mod catalog;
pub mod mappings;
pub mod references;
pub mod symbols;
