//! The event stream: who may hold one open, and what each is sent.
//!
//! | file | does |
//! |---|---|
//! | [`admission`] | places: 200 a key and 5 an end viewer, over all processes |
//! | [`keeper`] | gives places back, keeps this process's alive, ends the streams of revoked keys |
//! | [`delivery`] | one stream from `ready` to its end: a cursor over the journal's ring |
//! | `alarm` | what is due by time in a stream |
//! | [`pages`] | what the ring no longer holds, read from the journal |
//! | [`body`] | a delivery as an HTTP body, written no faster than it is read |
//!
//! Source: interface, "Event stream".
//!
//! # Invariants
//!
//! - A stream holds a cursor, never a queue. A frame is encoded once; a slow reader costs a cursor and a bounded socket (`tests/it/stream_bounds.rs`).
//! - Everything a stream leaves out is announced: each skip is a gap frame with its reason and the way to go on (`tests/it/stream_faults.rs`).
//! - Streams of a key and of a viewer are counted by rows that processes take under one lock; rows of a dead process do not count
//!   (`tests/it/stream_admission.rs`).

pub mod admission;
mod alarm;
pub mod body;
pub mod delivery;
pub mod keeper;
pub mod meters;
pub mod pages;

pub use admission::{Place, Streams};
