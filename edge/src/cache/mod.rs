//! Kept answers: a bounded memory in the isolate before the data centre's Cache API, under one policy.
//!
//! Keys are made of the parsed route and its known parameters, never of a raw URL or a client's header.

pub mod entry;
pub mod freshness;
pub mod key;
pub mod memory;
pub mod policy;
pub mod store;

pub use entry::Entry;
pub use memory::Memory;
pub use policy::{Condition, Lifetime};
