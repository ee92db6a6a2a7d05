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

pub mod admission;
mod alarm;
pub mod body;
pub mod delivery;
pub mod keeper;
pub mod meters;
pub mod pages;

pub use admission::{Place, Streams};
