//! Who may ask, and how often: two kinds of Durable Objects that count exactly, and what an isolate remembers of them.
//!
//! A key has one object, [`key::KeyGuard`]: its record, its windows, its usage. The addresses share 256,
//! [`address::AddressGuard`], by their neighbourhoods. Both are plain state machines over a synchronous disk: every admitted request is counted in a
//! durable row before it is answered, memory only mirrors the disk, and so neither an eviction nor a crash nor a second instance
//! admits one request more. Of a key that is asked for very often an isolate has requests counted ahead, to let them through by
//! itself: they are [`reserved`] there, and [`outstanding`] at the object. Which keys there are is written in sixteen [`register`]s, so
//! that a guessed key gets no object. [`key_object`] and [`address_object`] are the runtime's shells around them, which let requests that
//! come together [`gather`]; [`client`] is the Worker's way to them.

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
