//! Fan-out: reads the journal and writes one delivery for each event and subscription.
//!
//! The journal position reached, the events and the deliveries are written in one transaction, so a crash loses nothing and
//! duplicates nothing. Any number of processes may try; a process that does not get the lock gives up at once.

use crate::app::App;
use rds_shared::push::delivery::{Envelope, EventId};
use rds_shared::push::event_type::EventType;
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Micros;
use rds_store::push::journal::read;
use rds_store::webhooks::fanout as table;
use rds_store::webhooks::fanout::{OfVersion, Operation, OutboundEvent, Wanted};
use rds_store::{Db, StoreError};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Maximum operations of one step.
const OPERATIONS: i64 = 200;
/// How often the journal is polled.
const POLL: Duration = Duration::from_millis(100);
/// Pause after a step that read something: operations within this time are written and committed together.
const BATCH_DELAY: Duration = Duration::from_millis(20);
/// Pause after a failed step.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The result of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Step {
    /// Deliveries enqueued.
    pub enqueued: u64,
    /// Whether the journal position advanced.
    pub moved: bool,
    /// Whether the journal has more operations.
    pub more: bool,
}

/// Fans out the next operations of the journal. If there are none, the step only reads, because taking the lock costs a commit on
/// disk.
pub async fn step(db: &Db, now: Timestamp) -> Result<Step, StoreError> {
    if !table::is_due(db).await? {
        return Ok(Step::default());
    }
    db.run_tx("webhook_fanout", |tx| {
        Box::pin(async move {
            let Some(after) = table::lock_position(tx).await? else { return Ok(Step::default()) };
            // The head is read first, so that every subscription made before the head's operations is found by the next query.
            let head = i64::try_from(read::head(&mut **tx).await?).unwrap_or(i64::MAX);
            if head <= after {
                return Ok(Step::default());
            }
            let Wanted { mut families, baskets } = table::wanted(tx).await?;
            if baskets {
                families.extend(EventType::BASKET.map(|event_type| event_type.as_str().to_owned()));
            }
            if families.is_empty() {
                // There is no subscription, so nothing up to the head needs to be read.
                table::advance(tx, head).await?;
                return Ok(Step { enqueued: 0, moved: true, more: false });
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
            let enqueued = if events.is_empty() { 0 } else { table::enqueue(tx, &events, now).await? };
            table::advance(tx, last).await?;
            Ok(Step { enqueued, moved: true, more: last < head })
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
        event_id: event_id.to_string(),
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
        match step(&app.db, app.clock.now()).await {
            Ok(Step { enqueued, moved, more }) => {
                if enqueued > 0 {
                    app.metrics.webhooks.enqueued.fetch_add(enqueued, Relaxed);
                    app.webhooks.due();
                }
                if !more {
                    tokio::time::sleep(if moved { BATCH_DELAY } else { POLL }).await;
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
