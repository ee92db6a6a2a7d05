//! Addresses: exact limits in Durable Objects, refusals that an isolate remembers, and limits while those cannot be reached.

pub mod denials;
pub mod fallback_limiter;
pub mod object;
pub mod state;
