//! Keys and rate limits: two classes of Durable Objects that count exactly, and the answers that an isolate remembers.
//!
//! Each key has one Durable Object, [`keys::state::KeyGuard`], with its record, windows and usage. Addresses share 256
//! Durable Objects, [`addresses::state::AddressGuard`], selected by neighbourhood. Both are plain state machines over
//! synchronous storage: every admitted request is counted in a durable row before it is answered, and memory only mirrors storage.
//! So an eviction, a crash or a second instance never admits an extra request. For a busy key an isolate reserves
//! requests in advance and admits them by itself: see [`keys::isolate_reservations`] in the isolate and [`keys::object_reservations`] in
//! the Durable Object. Sixteen [`register`]s list the keys that the origin knows, so that a guessed key gets no Durable
//! Object. The modules called `object` connect the state machines to the runtime; they answer concurrent requests in
//! one group commit ([`objects::group_commit`]). [`objects::client`] makes the Worker's calls to the Durable Objects.
//!
//! # Invariants
//!
//! - A request is counted in a row of its Durable Object's storage before it is answered; requests that arrive together share one commit. Memory only
//!   mirrors storage, so an eviction, a crash or a second instance admits no extra request (`edge/tests/guard/exactness.rs`).
//! - An isolate admits by itself only reserved requests, which were counted in storage before, for 250 ms at most. It reports how many it admitted, and
//!   the Durable Object takes back the unused ones (`edge/tests/guard/reservations.rs`).
//! - A key's record is a lease of 30 seconds. A revocation is permanent; it is acknowledged when it is stored and every remembered refusal and reservation
//!   has expired (`edge/tests/access.test.mjs`).
//! - While look-ups at the origin fail, the record of a valid key stays usable for 12 hours after its last confirmation, provided the origin pushes
//!   changes of keys to the edge (`edge/src/guard/keys/record_kept_tests.rs`). Limits stay exact (`edge/tests/access.test.mjs`).
//! - A presented credential is never anonymous access. If it cannot be checked the answer is 503, or 401 if it was refused within the last hour.
//! - A valid key is never refused for the address it comes from, except on `/v1/status` and `/v1/health`, which limit addresses only. Rejected keys are
//!   charged to their address; a key that the origin does not know gets no Durable Object.
//! - A request without a valid key is charged to its address and its neighbourhood in one write of one Durable Object, or to neither. The choice of
//!   Durable Object depends on the neighbourhood and a secret. A full Durable Object deletes idle rows
//!   (`edge/tests/guard/addresses.rs`).
//! - A header names a caller's address only if the operator trusts the connecting peer (`TRUSTED_PROXIES`).
//! - An index token's record is stored under the digest of its text, so it can never pass for a key's record (`edge/tests/pipeline/index_tokens.rs`).

pub mod addresses;
pub mod keys;
pub mod known_keys;
pub mod objects;

use rds_shared::access::{Refused, Spray};
use std::cell::RefCell;

/// An isolate's memory of keys and addresses. All of it is bounded, and losing it is harmless.
#[derive(Debug, Default)]
pub struct Remembered {
    pub denials: RefCell<addresses::denials::Denials>,
    /// Keys that this isolate recently found valid or invalid.
    pub spray: RefCell<Spray>,
    /// Recently refused credentials; they are refused again while they cannot be checked.
    pub refused: RefCell<Refused>,
    /// The fallback limiter, used while the Durable Objects cannot be reached.
    pub fallback: RefCell<addresses::fallback_limiter::FallbackLimiter>,
    /// Reservations of busy keys.
    pub reserved: RefCell<keys::isolate_reservations::Reserved>,
    /// Requests not yet reported to the Durable Objects.
    pub reports: RefCell<keys::uncharged_requests::Reports>,
}

/// A failed read or write of storage. The state machine in memory is then discarded and loaded again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFault(pub String);
