//! The Durable Object of each key, with the key's record, exact limits, reservations and usage.

pub mod answers;
pub(in crate::guard) mod disk;
pub mod isolate_reservations;
pub mod ledger;
pub mod object;
pub mod object_reservations;
pub(in crate::guard) mod origin_calls;
pub mod record;
#[cfg(test)]
mod record_kept_tests;
pub mod state;
pub mod subclient;
pub mod uncharged_requests;
pub mod usage_batches;
