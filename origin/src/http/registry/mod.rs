//! Routes of chains, protocols, curators, symbols and coverage statistics.

pub mod chains;
pub mod curators;
pub mod protocols;
pub mod stats;
pub mod symbols;
