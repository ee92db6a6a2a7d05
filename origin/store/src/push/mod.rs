//! What subscribers receive: operations, the journal that numbers them, and leases of streams.

pub mod journal;
pub mod operations;
pub mod stream_leases;
