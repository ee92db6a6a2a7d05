//! Who may ask, and how often: two kinds of Durable Objects that count exactly, and what an isolate remembers of them.
//!
//! A key has one object, [`key::KeyGuard`]: its record, its windows, its usage. The addresses share 256,
//! [`address::AddressGuard`], by their neighbourhoods. Both are plain state machines over a synchronous disk: every admitted request is counted in a
//! durable row before it is answered, memory only mirrors the disk, and so neither an eviction nor a crash nor a second instance
//! admits one request more. Of a key that is asked for very often an isolate has requests counted ahead, to let them through by
//! itself: they are [`reserved`] there, and [`outstanding`] at the object. Which keys there are is written in sixteen [`register`]s, so
//! that a guessed key gets no object. [`key_object`] and [`address_object`] are the runtime's shells around them, which let requests that
//! come together [`gather`]; [`client`] is the Worker's way to them.
//!
//! # Invariants
//!
//! - A request is counted in a row on its object's disk before it is answered; requests that reach the object together share one commit. Memory only
//!   mirrors the disk, so an eviction, a crash or a second instance admits no extra request (`edge/tests/guard/exactness.rs`).
//! - An isolate admits by itself only what was reserved: counted on the object's disk before, for 250 ms at most. It reports what it used and the object
//!   takes back the rest (`edge/tests/guard/reservations.rs`).
//! - A key's record is a lease of 30 seconds. A revocation is permanent; it is acknowledged when it is on disk and every remembered refusal and reservation
//!   has expired (`edge/tests/access.test.mjs`).
//! - While the origin cannot be asked, the record of a valid key stays usable for 12 hours after its last confirmation, provided the origin pushes changes
//!   of keys to the edge. Limits stay exact (`edge/tests/pipeline/outages.rs`).
//! - A presented credential is never anonymous access. If it cannot be checked the answer is 503, or 401 if it was refused within the last hour.
//! - A valid key is never refused for the address it comes from. Rejected keys are charged to their address; a key that the origin does not know gets no
//!   object.
//! - A request without a valid key is charged to its address and to the neighbourhood in one write of one object, or to neither. The choice of object
//!   depends on the neighbourhood and a secret. A full object deletes idle rows (`edge/tests/guard/addresses.rs`).
//! - A header names a caller's address only if the operator trusts the connecting peer (`TRUSTED_PROXIES`).
//! - An index token's record is stored under the digest of its text, so it can never pass for a key's record (`edge/tests/pipeline/index_tokens.rs`).

pub mod address;
pub mod address_object;
pub mod client;
pub mod denials;
pub mod flight;
pub mod gather;
pub mod key;
mod key_calls;
mod key_disk;
pub mod key_object;
pub mod ledger;
pub mod message;
pub mod outstanding;
pub mod record;
#[cfg(test)]
mod record_kept_tests;
pub mod register;
mod register_object;
pub mod reloaded;
pub mod reports;
pub mod reserved;
pub mod share;
pub mod sql;
pub mod stand_in;
pub mod subclient;
pub mod usage;

use rds_shared::access::{Refused, Spray};
use std::cell::RefCell;

/// What an isolate remembers of keys and addresses. All of it is bounded, and all of it may be lost.
#[derive(Debug, Default)]
pub struct Remembered {
    /// Refusals.
    pub denials: RefCell<denials::Denials>,
    /// Keys that were judged.
    pub spray: RefCell<Spray>,
    /// Credentials that were refused, for when they cannot be judged.
    pub refused: RefCell<Refused>,
    /// Counters for when the real ones cannot be reached.
    pub stand_in: RefCell<stand_in::StandIn>,
    /// Requests of keys that are counted already.
    pub reserved: RefCell<reserved::Reserved>,
    /// What the objects have yet to be told.
    pub reports: RefCell<reports::Reports>,
}

/// A disk that did not take a change, or could not be read: the machine above it is thrown away and loaded anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFault(pub String);
