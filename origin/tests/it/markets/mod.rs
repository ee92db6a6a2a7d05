//! Markets and oracle feeds.

pub mod oracles;
pub mod routes;
