//! Rules of the event stream (cursors, frames) and of signed webhooks.
//!
//! | module | rule |
//! |---|---|
//! | [`timeline`] | choice of new sequence numbers after a restore |
//! | [`numbering`] | whether numbers that were read follow each other |
//! | [`cursor`], [`gap`] | where a stream starts, and how a gap is reported |
//! | [`frames`] | encoding of the stream's frames |
//! | [`stream_limits`] | streams per key and viewer, queued frames, heartbeats |
//! | [`event_type`] | the types of events |
//! | [`delivery`], [`signature`] | body, headers and signatures of a webhook delivery |
//! | [`schedule`] | when a delivery is attempted |
//! | [`breaker`] | when a subscription is paused or disabled |
//! | [`target`], [`address`] | URLs and addresses that deliveries may go to |

pub mod address;
pub mod breaker;
pub mod cursor;
pub mod delivery;
pub mod event_type;
pub mod frames;
pub mod gap;
pub mod numbering;
pub mod schedule;
pub mod signature;
pub mod stream_limits;
pub mod target;
pub mod timeline;

pub use cursor::Cursor;
