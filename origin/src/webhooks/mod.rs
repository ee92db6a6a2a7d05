//! Webhooks: events pushed to whoever subscribed, signed, at least once.
//!
//! ```text
//! journal ── fanout ──► deliveries ── claim ──► send ──► complete (schedule, breaker)
//! ```
//!
//! | module | knows |
//! |---|---|
//! | [`subscriptions`], [`wish`] | creating, enabling, testing, replaying; what a creation asks for |
//! | [`fanout`] | one delivery per event and subscription, out of the journal |
//! | [`deliver`] | taking up due deliveries, and what becomes of them |
//! | [`send`], [`guard`] | one attempt, and where it may connect to |
//! | [`kept`] | connections that the next delivery may use |
//! | [`seal`], [`reseal`] | signing secrets at rest, and under another master key |
//! | [`upkeep`] | what time alone changes: pauses that end, overlaps, old rows, gauges |
//! | [`counters`] | what is counted |
//!
//! Every rule of the product (schedule, breaker, signatures, URLs) is in [`rds_shared::push`]; this is its host. Source: interface,
//! "Webhooks", "Webhook subscription" and "Delivery limits".
//!
//! # Invariants
//!
//! - Fan-out moves its place in the journal in the transaction that writes the deliveries, so each event is enqueued once for each subscription
//!   (`tests/it/webhooks_fanout.rs`).
//! - A delivery is sent under a lease with a fencing token and with no transaction open; its outcome and the subscription's breaker are written together. A
//!   crash or a fault of ours costs no attempt and counts against no endpoint.
//! - A delivery connects only to an address that was checked for this very attempt, also over a kept connection; only the operator's list opens non-public
//!   addresses (`tests/it/webhooks_kept.rs`).
//! - A notice to a basket's subscribers carries the chains of every constituent it names; while one of them is withheld it is not delivered
//!   (`tests/it/withheld_chains.rs`).

pub mod counters;
pub mod deliver;
pub mod fanout;
pub mod guard;
pub mod kept;
pub mod reseal;
pub mod seal;
pub mod send;
mod slots;
pub mod subscriptions;
pub mod upkeep;
pub mod wish;

use crate::config::Config;
use crate::store::webhooks::SealedSecrets;
use guard::{Guard, NameServers, Resolve};
use rds_shared::push::schedule::TIMEOUT_SECONDS;
use rds_shared::push::signature::SigningSecrets;
use rds_shared::wire::Timestamp;
use seal::{Sealer, Unopenable};
use send::Sender;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// How deliveries reach the world: what a test puts in the place of the network's name servers, and of ten seconds.
#[derive(Debug, Clone)]
pub struct Outward {
    /// Finds the addresses of names.
    pub resolver: Arc<dyn Resolve>,
    /// How long an attempt may take, from the look-up to the last byte.
    pub deadline: Duration,
}

impl Outward {
    /// The system's name servers, and the interface's deadline.
    pub fn of_system() -> Self {
        Outward {
            resolver: Arc::new(NameServers::of_system()),
            deadline: Duration::from_secs(TIMEOUT_SECONDS.unsigned_abs()),
        }
    }
}

/// What this process needs for webhooks.
#[derive(Debug)]
pub struct Webhooks {
    /// Makes attempts.
    pub sender: Sender,
    sealer: Option<Arc<Sealer>>,
    due: Notify,
}

impl Webhooks {
    /// As configured. Fails only when an authority that was configured is none.
    pub fn new(config: &Config, outward: Outward) -> Result<Self, tokio_rustls::rustls::Error> {
        let guard = Guard::new(config.webhook_policy.clone(), outward.resolver);
        Ok(Webhooks {
            sender: Sender::new(guard, &config.webhook_authorities, outward.deadline)?,
            sealer: config.master_key.as_ref().and_then(Sealer::new).map(Arc::new),
            due: Notify::new(),
        })
    }

    /// Seals and opens secrets; none without a master key.
    pub fn sealer(&self) -> Option<&Arc<Sealer>> {
        self.sealer.as_ref()
    }

    /// Says that deliveries may have become due, so that nobody waits for the next look.
    pub fn due(&self) {
        self.due.notify_one();
    }

    /// Waits until somebody says so.
    pub async fn until_due(&self) {
        self.due.notified().await;
    }

    /// Opens what a subscription signs with at `now`, by the service's clock.
    ///
    /// Signatures carry the wall's time, overlaps follow the service's: so the overlap is judged here, and what is left of it is
    /// open-ended for the signature.
    pub fn signing(&self, id: i64, sealed: &SealedSecrets, now: Timestamp) -> Result<SigningSecrets, Unopenable> {
        const STILL: Timestamp = Timestamp::from_micros(i64::MAX);
        let sealer = self.sealer.as_ref().ok_or(Unopenable)?;
        let current = sealer.open(id, &sealed.current)?;
        match &sealed.previous {
            // An overlap without an end has just begun: nobody has seen it yet.
            Some((previous, until)) if until.is_none_or(|until| now < until) => {
                Ok(SigningSecrets::new(sealer.open(id, previous)?).rotated(current, STILL))
            }
            _ => Ok(SigningSecrets::new(current)),
        }
    }
}
