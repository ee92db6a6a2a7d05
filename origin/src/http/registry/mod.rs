//! Routes of chains, protocols, curators, symbols and what the platform covers.

pub mod chains;
pub mod curators;
pub mod protocols;
pub mod stats;
pub mod symbols;
