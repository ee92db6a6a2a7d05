//! Who may ask, and how often: two kinds of Durable Objects that count exactly, and what an isolate remembers of them.
//!
//! A key has one object, [`key::KeyGuard`]: its record, its windows, its usage. The addresses share 256,
//! [`address::AddressGuard`]. Both are plain state machines over a synchronous disk: every admitted request is one durable
//! row before it is answered, memory only mirrors the disk, and so neither an eviction nor a crash nor a second instance
//! admits one request more. [`key_object`] and [`address_object`] are the runtime's shells around them; [`client`] is the
//! Worker's way to them.

pub mod address;
//AO
//C
pub mod flight;
pub mod key;
//KO
pub mod ledger;
//M
pub mod message;
pub mod record;
//S
pub mod subclient;
pub mod usage;

/// A disk that did not take a change, or could not be read: the machine above it is thrown away and loaded anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFault(pub String);
