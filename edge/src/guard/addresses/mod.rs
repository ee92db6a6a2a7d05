//! Addresses: exact limits in Durable Objects, refusals that an isolate remembers, and fallback limits while those
//! objects cannot be reached.

pub mod denials;
pub mod fallback_limiter;
pub mod object;
pub mod state;
