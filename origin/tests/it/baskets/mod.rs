//! Baskets: versions, signatures, routes and webhooks.

pub mod faults;
pub mod index_tokens;
pub mod routes;
pub mod signatures;
pub mod versions;
pub mod webhooks;
pub mod world;
