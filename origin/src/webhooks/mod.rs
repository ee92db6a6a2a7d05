//! Webhooks: signed events, delivered to subscribers at least once.
//!
//! ```text
//! journal ── fanout ──► deliveries ── claim ──► send ──► record (schedule, breaker)
//!                 └─── leased at once ─────────────┘
//! ```
//!
//! The process that numbers operations fans them out at once, leases the new deliveries of endpoints that answer in the same transaction,
//! and sends them. One row an event holds these leases; each delivery is written once, with the result of its first attempt. All other
//! deliveries are claimed: retries, deliveries that found no slot, and those of a process that died.
//!
//! | module | content |
//! |---|---|
//! | [`subscriptions`], [`create_request`] | creating, enabling, testing and replaying; the request that creates a subscription |
//! | [`fanout`] | one delivery per event and subscription, from the journal |
//! | [`deliver`], `record` | claiming and making attempts; recording their outcome |
//! | [`send`], [`egress_filter`] | one attempt, and the addresses that it may connect to |
//! | [`connection_pool`] | connections that the next delivery may reuse |
//! | [`seal`], [`reseal`] | encryption of stored signing secrets, and change of the master key |
//! | [`upkeep`] | changes due to time: ends of pauses and overlaps, old rows, gauges |
//! | [`counters`] | metrics |
//!
//! The rules (schedule, breaker, signatures, URLs) are in [`rds_shared::push`]; this module runs them.
//!
//! # Invariants
//!
//! - Fan-out advances its journal position in the transaction that writes the deliveries or their lease, so each event is enqueued once
//!   for each subscription (`tests/it/webhooks/fanout.rs`, `tests/it/webhooks/first_attempts.rs`).
//! - A delivery is sent under a lease with a fencing token and with no transaction open; its outcome and the subscription's breaker
//!   are written together. Crashes and our own errors consume no attempts and do not count towards the breaker.
//! - A delivery connects only to an address that was checked for this very attempt, also over a kept connection; only the
//!   operator's allow list permits non-public addresses (`tests/it/webhooks/connection_pool.rs`).
//! - A basket notice lists the chains of all its constituents and is not delivered while any of those chains is
//!   withheld (`tests/it/vaults/withheld_chains.rs`).

pub mod connection_pool;
pub mod counters;
pub mod create_request;
pub mod deliver;
pub mod egress_filter;
pub mod fanout;
mod record;
pub mod reseal;
pub mod seal;
pub mod send;
pub mod slots;
pub mod subscriptions;
pub mod upkeep;

use crate::config::Config;
use egress_filter::{EgressFilter, NameServers, Resolve};
use rds_shared::push::schedule::TIMEOUT_SECONDS;
use rds_shared::push::signature::SigningSecrets;
use rds_shared::wire::Timestamp;
use rds_store::webhooks::SealedSecrets;
use seal::{Sealer, Unopenable};
use send::Sender;
use slots::Intake;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Network egress of deliveries. Tests replace the name servers and the deadline of ten seconds.
#[derive(Debug, Clone)]
pub struct Egress {
    /// Resolves host names.
    pub resolver: Arc<dyn Resolve>,
    /// How long an attempt may take, from the look-up to the last byte.
    pub deadline: Duration,
}

impl Egress {
    /// The system's name servers, and the deadline of [`TIMEOUT_SECONDS`].
    pub fn of_system() -> Self {
        Egress {
            resolver: Arc::new(NameServers::of_system()),
            deadline: Duration::from_secs(TIMEOUT_SECONDS.unsigned_abs()),
        }
    }
}

/// Creation, signing and sending of webhooks in this process.
#[derive(Debug)]
pub struct Webhooks {
    /// Makes the attempts of deliveries.
    pub sender: Sender,
    sealer: Option<Arc<Sealer>>,
    due: Notify,
    /// Whether deliveries may be waiting for a slot.
    has_backlog: AtomicBool,
    /// Attempts that were started and are not recorded yet.
    unrecorded: AtomicUsize,
    intake: Mutex<Option<Arc<Intake>>>,
}

impl Webhooks {
    /// Creates the sender and the sealer that `config` describes. Fails only if a configured certificate authority is invalid.
    pub fn new(config: &Config, outward: Egress) -> Result<Self, tokio_rustls::rustls::Error> {
        let guard = EgressFilter::new(config.webhook_policy.clone(), outward.resolver);
        Ok(Webhooks {
            sender: Sender::new(guard, &config.webhook_authorities, outward.deadline)?,
            sealer: config.master_key.as_ref().and_then(Sealer::new).map(Arc::new),
            due: Notify::new(),
            has_backlog: AtomicBool::new(false),
            unrecorded: AtomicUsize::new(0),
            intake: Mutex::default(),
        })
    }

    /// Encrypts and decrypts signing secrets; `None` without a master key.
    pub fn sealer(&self) -> Option<&Arc<Sealer>> {
        self.sealer.as_ref()
    }

    /// Signals that deliveries may have become due, so that they need not wait for the next poll.
    pub fn due(&self) {
        self.has_backlog.store(true, Relaxed);
        self.due.notify_one();
    }

    /// Waits for the signal of [`Webhooks::due()`].
    pub async fn until_due(&self) {
        self.due.notified().await;
    }

    /// Where the fan-out hands over deliveries that it has leased; `None` while this process does not deliver.
    pub fn intake(&self) -> Option<Arc<Intake>> {
        self.intake.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_intake(&self, intake: Option<Intake>) {
        *self.intake.lock().unwrap_or_else(PoisonError::into_inner) = intake.map(Arc::new);
    }

    /// Decrypts the secrets with which a subscription signs at `now`, by the domain time.
    ///
    /// Signatures carry wall-clock time, but the overlap of two secrets follows the domain time. Whether the overlap has ended is
    /// therefore decided here; the returned secrets have no end of the overlap.
    pub fn signing(&self, id: i64, sealed: &SealedSecrets, now: Timestamp) -> Result<SigningSecrets, Unopenable> {
        const STILL: Timestamp = Timestamp::from_micros(i64::MAX);
        let sealer = self.sealer.as_ref().ok_or(Unopenable)?;
        let current = sealer.open(id, &sealed.current)?;
        match &sealed.previous {
            // The end of a new overlap is set by the next upkeep; until then the overlap counts as running.
            Some((previous, until)) if until.is_none_or(|until| now < until) => {
                Ok(SigningSecrets::new(sealer.open(id, previous)?).rotated(current, STILL))
            }
            _ => Ok(SigningSecrets::new(current)),
        }
    }
}
