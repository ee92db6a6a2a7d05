//! Routes of chains, protocols, curators, symbols and coverage statistics.

pub mod curators;
pub mod protocols;
pub mod symbols;
