//! The registries: what vaults belong to, and references and mappings between subjects.

pub mod catalog;
pub mod mappings;
pub mod references;
pub mod symbols;
