//! Rules of the event stream (cursors, frames) and of signed webhooks.
//!
//! | module | rule |
//! |---|---|
//! | [`timeline`] | choice of new sequence numbers after a restore |
//! | [`cursor`], [`gap`] | where a stream starts, and how a gap is reported |
//! | [`frames`] | encoding of the stream's frames |
//! | [`stream_limits`] | streams per key and viewer, queued frames, heartbeats |
//! | [`webhook`], [`signature`] | body, headers and signatures of a delivery |
//! | [`schedule`] | when a delivery is attempted |
//! | [`breaker`] | when a subscription is paused or disabled |
//! | [`target`], [`address`] | URLs and addresses that deliveries may go to |

pub mod address;
pub mod breaker;
pub mod cursor;
pub mod frames;
pub mod gap;
pub mod schedule;
pub mod signature;
pub mod stream_limits;
pub mod target;
pub mod timeline;
pub mod webhook;

pub use cursor::Cursor;
