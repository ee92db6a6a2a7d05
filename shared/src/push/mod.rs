//! The rules of push: the event stream's cursors and frames, and signed webhooks.
//!
//! | module | rule |
//! |---|---|
//! | [`past`] | which numbers are given after a restore |
//! | [`cursor`], [`gap`] | where a stream begins, and what a client is told that cannot be given everything |
//! | [`frames`] | the bytes of the stream |
//! | [`webhook`], [`signature`] | the bytes and headers of a delivery |
//! | [`schedule`] | when a delivery is attempted |
//! | [`breaker`] | when a subscription is paused or disabled |
//! | [`target`], [`address`] | where deliveries may go |
//!
//! Source: interface, "Events", "Webhook subscription" and "Delivery limits".

pub mod address;
pub mod breaker;
pub mod cursor;
pub mod frames;
pub mod gap;
pub mod past;
pub mod schedule;
pub mod signature;
pub mod target;
pub mod webhook;

pub use cursor::Cursor;

/// Streams that one key may hold open at once, over all processes.
pub const STREAMS_PER_KEY: u32 = 200;
/// Streams of one end viewer: an address that a keyed relay reports, or an address without a key while that is allowed.
pub const STREAMS_PER_VIEWER: u32 = 5;
