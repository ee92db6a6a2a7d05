//! Chains, protocols and curators.

pub mod routes;
