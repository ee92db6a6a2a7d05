//! The event stream: admission of streams, and their delivery.
//!
//! | file | does |
//! |---|---|
//! | [`admission`] | leases: at most 200 streams per key and 5 per end viewer, across all processes |
//! | [`maintenance`] | releases leases, renews this process's liveness, ends the streams of revoked keys |
//! | [`delivery`] | one stream from `ready` to its end: a position in the journal's ring. Once it has delivered everything, it waits without a task ([`live`](crate::http::transport::live)) |
//! | [`live_stream`] | what such a stream consists of |
//! | `alarm` | the timer of a stream |
//! | [`pages`] | reads from the journal what the ring no longer contains |
//! | [`silence`] | when a heartbeat is due |
//! | [`body`] | a delivery as an HTTP body, written no faster than it is read |
//!
//! # Invariants
//!
//! - A stream has a cursor and no queue. A frame is encoded once; a slow reader costs a cursor and a bounded socket buffer (`tests/it/push/stream_bounds.rs`).
//! - Everything a stream leaves out is announced: each skip is a gap frame with its reason and the cursor to continue from
//!   (`tests/it/push/stream_faults.rs`).
//! - Streams of a key and of a viewer are counted by rows that processes insert under one lock; rows of a dead process do not count
//!   (`tests/it/push/stream_admission.rs`).

pub mod admission;
mod alarm;
pub mod body;
pub mod delivery;
pub mod live_stream;
pub mod maintenance;
pub mod meters;
pub mod pages;
pub mod silence;

pub use admission::{StreamLease, Streams};
