//! Fan-out: reads the journal and writes one delivery for each event and subscription.
//!
//! The journal position reached, the events and the deliveries are written in one transaction, so a crash loses nothing and
//! duplicates nothing. Any number of processes may try; a process that does not get the lock gives up at once. The process that has
//! numbered operations fans them out at once; the others look for the rest when they poll.
//!
//! In the same transaction the process leases new deliveries for itself, of endpoints that answer and as many as it has free slots for. It
//! starts their attempts as soon as the transaction is committed. They are written down with their results; until then one row an event
//! says for whom it has none ([`event_leases`](rds_store::webhooks::event_leases)).

use super::slots::Reservation;
use crate::app::App;
use crate::metrics::lag::PushStep;
use crate::traces::{self, Span};
use rds_engine::clock::Stopwatch;
use rds_shared::push::delivery::{Envelope, EventId};
use rds_shared::push::event_type::EventType;
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Micros;
use rds_store::webhooks::deliveries::{Capacity, Claimed, plan_once};
use rds_store::webhooks::fanout as table;
use rds_store::webhooks::fanout::{OfVersion, Operation, OutboundEvent, Wanted};
use rds_store::{Db, StoreError};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::timeout;

/// Maximum operations of one step.
const OPERATIONS: i64 = 200;
/// How often the journal is polled.
const POLL: Duration = Duration::from_millis(100);
/// Maximum deliveries that a step leases for this process.
const MAX_LEASED: u32 = 256;
/// Pause after a failed step.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The result of a step.
#[derive(Debug, Default)]
pub struct Step {
    /// Deliveries enqueued.
    pub enqueued: u64,
    /// Those of them that are leased to this process.
    pub leased: Vec<Claimed>,
    /// Whether the journal position advanced.
    pub moved: bool,
    /// Whether the journal has more operations.
    pub more: bool,
    /// Whether any subscription wants events.
    pub is_wanted: bool,
}

/// Fans out the next operations of the journal, and leases new deliveries within `capacity`. If there are no operations, the step only
/// reads, because taking the lock costs a commit on disk.
pub async fn step(db: &Db, now: Timestamp, capacity: Capacity) -> Result<Step, StoreError> {
    if !table::is_due(db).await? {
        return Ok(Step::default());
    }
    db.run_tx("webhook_fanout", |tx| {
        Box::pin(async move {
            // The head is read first, so that every subscription made before the head's operations is found by the next query.
            let Some((after, head)) = table::lock_position(tx).await? else { return Ok(Step::default()) };
            if head <= after {
                return Ok(Step::default());
            }
            plan_once(tx).await?;
            let Wanted { mut families, baskets } = table::wanted(tx).await?;
            if baskets {
                families.extend(EventType::BASKET.map(|event_type| event_type.as_str().to_owned()));
            }
            if families.is_empty() {
                // There is no subscription, so nothing up to the head needs to be read.
                table::advance(tx, head).await?;
                return Ok(Step { moved: true, ..Step::default() });
            }
            let stretch = table::behind(tx, after, OPERATIONS, &families).await?;
            // If the journal has no entry although the head is greater, the sequence numbers up to the head were skipped.
            let last = stretch.last.unwrap_or(head);
            if stretch.lost > 0 {
                tracing::error!(
                    stretch.lost,
                    after,
                    "operations were removed from the journal before they were fanned out to webhooks"
                );
            }
            let events: Vec<OutboundEvent> = stretch.operations.iter().filter_map(outbound_event).collect();
            let (mut enqueued, mut leased) = (0, Vec::new());
            if !events.is_empty() {
                (enqueued, leased) = table::enqueue(tx, &events, now, capacity).await?;
            }
            table::advance(tx, last).await?;
            Ok(Step { enqueued, leased, moved: true, more: last < head, is_wanted: true })
        })
    })
    .await
}

/// The event that subscribers get for `operation`; `None` if they get none.
fn outbound_event(operation: &Operation) -> Option<OutboundEvent> {
    if operation.is_withheld {
        return None;
    }
    let event_type: EventType = operation.family.parse().ok()?;
    // The captured bytes are sent unchanged, not parsed and serialised again.
    let data: &RawValue = match serde_json::from_slice(&operation.body) {
        Ok(data) => data,
        Err(error) => {
            tracing::error!(operation = operation.id, %error, "a captured operation is not JSON; it is not delivered to webhooks");
            return None;
        }
    };
    let version = match EventType::BASKET.contains(&event_type) {
        true => Some(of_version(operation, event_type, data)?),
        false => None,
    };
    let event_id = EventId::from_digest(digest(operation));
    let envelope = Envelope { event_id: &event_id, event_type, occurred_at: Micros(operation.recorded_at), data };
    let body = envelope.encode().ok()?;
    Some(OutboundEvent {
        event_id,
        event_type: operation.family.clone(),
        seq: operation.seq,
        occurred_at: operation.recorded_at,
        chain_ids: operation.chain_ids.clone(),
        version,
        body,
    })
}

/// The version that a basket's event is about. A rebalance goes to the subscriptions that are not pinned to a version; other events
/// go to those that are pinned to the version. `None` if the event names no version.
fn of_version(operation: &Operation, event_type: EventType, data: &RawValue) -> Option<OfVersion> {
    #[derive(Deserialize)]
    struct Named {
        basket_id: String,
        version_id: String,
    }
    match serde_json::from_str(data.get()) {
        Ok(Named { basket_id, version_id }) => {
            Some(OfVersion { basket_id, version_id, is_for_pinned: event_type != EventType::BasketRebalanced })
        }
        Err(error) => {
            tracing::error!(operation = operation.id, %error, "a captured event names no basket; it is not delivered to webhooks");
            None
        }
    }
}

/// Identifies an operation by its content. If the database is restored and an operation is fanned out again, its event has the same id as
/// before. Another operation with the same number has another event id.
fn digest(operation: &Operation) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(operation.id.to_be_bytes());
    digest.update(operation.recorded_at.as_micros().to_be_bytes());
    digest.update(&operation.body);
    digest.finalize().into()
}

/// Fans out until the process ends.
pub async fn keep_fanned_out(app: &App) {
    // Nothing is missed during these retries: without the database no subscription can be created.
    while table::join(&app.db).await.is_err() {
        tokio::time::sleep(RETRY_PAUSE).await;
    }
    loop {
        match step_and_start(app).await {
            Ok((step, started)) => {
                app.metrics.webhooks.enqueued.fetch_add(step.enqueued, Relaxed);
                if step.enqueued > started {
                    app.webhooks.due();
                }
                match step {
                    Step { more: true, .. } => {}
                    // Without subscriptions, one step for many operations suffices.
                    Step { moved: true, is_wanted: false, .. } => tokio::time::sleep(POLL).await,
                    _ => {
                        let _ = timeout(POLL, app.journal.until_numbered_here()).await;
                    }
                }
            }
            // The catalog refresh already logs that the database is unavailable.
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(RETRY_PAUSE).await,
            Err(error) => {
                tracing::error!(%error, "the journal could not be fanned out to webhooks");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}

/// Makes a step, and starts the attempts of the deliveries that it leased. Returns the step and the number of attempts.
///
/// Both run to their end in a task of their own: if this job is cancelled after the commit, the deliveries are still sent, and need not wait
/// for the end of their leases.
async fn step_and_start(app: &App) -> Result<(Step, u64), StoreError> {
    let (db, now, journal, intake) = (app.db.clone(), app.clock.now(), app.journal.clone(), app.webhooks.intake());
    let traces = app.traces.clone();
    let made = tokio::spawn(async move {
        let mut reserved = intake.as_ref().map(|intake| intake.slots.reserve(MAX_LEASED));
        let capacity = reserved.as_ref().map_or(Capacity::whole(0), Reservation::capacity);
        let watch = Stopwatch::start();
        let span = traces.of_job("fan out to webhooks");
        let mut step = traces::within(span.as_ref().map(Span::context), step(&db, now, capacity)).await?;
        if step.enqueued > 0 {
            span.iter().for_each(Span::keep);
            journal.lag.record_traced(PushStep::FanOut, watch.micros(), span.as_ref().map(Span::trace_id));
        }
        let leased = std::mem::take(&mut step.leased);
        let started = leased.len() as u64;
        if let (Some(intake), Some(reserved)) = (intake, &mut reserved) {
            leased.into_iter().for_each(|claimed| intake.start(reserved.take(false), claimed));
        }
        Ok((step, started))
    });
    match made.await {
        Ok(made) => made,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime ends.
        Err(_) => Ok((Step::default(), 0)),
    }
}
