//! Fan-out: a reader of the journal that leaves one delivery for each event and subscription.
//!
//! Its place, the events and the deliveries are written in one transaction, so that a crash at any instruction loses nothing and
//! doubles nothing. Any number of processes may try; who does not get the turn leaves at once.

use crate::app::App;
use crate::store::journal::read;
use crate::store::webhook_fanout::{self as table, OfVersion, Operation, Told, Wanted};
use crate::store::{Db, StoreError};
use rds_shared::push::webhook::{Envelope, EventId, EventType};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Micros;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Operations of one step.
const OPERATIONS: i64 = 200;
/// How often the journal is looked at.
const POLL: Duration = Duration::from_millis(100);
/// How soon again after something was read: what comes within this time is written, and committed, together.
const GATHER: Duration = Duration::from_millis(20);
/// How long a failed step rests.
const REST: Duration = Duration::from_secs(1);

/// What a step did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Step {
    /// Deliveries enqueued.
    pub enqueued: u64,
    /// Whether it went on in the journal.
    pub moved: bool,
    /// Whether the journal goes on behind it.
    pub more: bool,
}

/// Fans the next operations of the journal out. Where there are none it only reads: a turn that is taken is a commit on disk.
pub async fn step(db: &Db, now: Timestamp) -> Result<Step, StoreError> {
    if !table::is_due(db).await? {
        return Ok(Step::default());
    }
    db.run_tx("webhook_fanout", |tx| {
        Box::pin(async move {
            let Some(after) = table::take_turn(tx).await? else { return Ok(Step::default()) };
            // The head first: whoever subscribed before what it counts is among those who are asked for next.
            let head = i64::try_from(read::head(&mut **tx).await?).unwrap_or(i64::MAX);
            if head <= after {
                return Ok(Step::default());
            }
            let Wanted { mut families, baskets } = table::wanted(tx).await?;
            if baskets {
                families.extend(EventType::BASKET.map(|event_type| event_type.as_str().to_owned()));
            }
            if families.is_empty() {
                // Nobody is told of anything up to here, so nothing of it is read.
                table::advance(tx, head).await?;
                return Ok(Step { enqueued: 0, moved: true, more: false });
            }
            let stretch = table::behind(tx, after, OPERATIONS, &families).await?;
            // Nothing there, though the head is farther on: the numbers up to it were stepped over.
            let last = stretch.last.unwrap_or(head);
            if stretch.lost > 0 {
                tracing::error!(stretch.lost, after, "operations left the journal before webhooks were told of them");
            }
            let told: Vec<Told> = stretch.operations.iter().filter_map(told).collect();
            let enqueued = if told.is_empty() { 0 } else { table::enqueue(tx, &told, now).await? };
            table::advance(tx, last).await?;
            Ok(Step { enqueued, moved: true, more: last < head })
        })
    })
    .await
}

/// An operation as subscribers are told of it; none when it is for nobody.
fn told(operation: &Operation) -> Option<Told> {
    if operation.is_withheld {
        return None;
    }
    let event_type: EventType = operation.family.parse().ok()?;
    // The row as it was captured, not read and written again: those very bytes go out.
    let data: &RawValue = match serde_json::from_slice(&operation.body) {
        Ok(data) => data,
        Err(error) => {
            tracing::error!(operation = operation.id, %error, "a captured operation is no JSON; nobody is told of it");
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
    Some(Told {
        event_id: event_id.to_string(),
        event_type: operation.family.clone(),
        seq: operation.seq,
        occurred_at: operation.recorded_at,
        chain_ids: operation.chain_ids.clone(),
        version,
        body,
    })
}

/// The version that a basket's event tells of: its basket's followers are told of a rebalance, those who are pinned to it of its
/// end. None when the event names no version.
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
            tracing::error!(operation = operation.id, %error, "a captured event names no basket; nobody is told of it");
            None
        }
    }
}

/// Tells operations apart: where the database is restored and an operation is fanned out a second time, its event has the same
/// id, and an operation that got another's number has another.
fn digest(operation: &Operation) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(operation.id.to_be_bytes());
    digest.update(operation.recorded_at.as_micros().to_be_bytes());
    digest.update(&operation.body);
    digest.finalize().into()
}

/// Fans out until the process ends.
pub async fn keep_fanned_out(app: &App) {
    // Without the database nobody can subscribe either.
    while table::join(&app.db).await.is_err() {
        tokio::time::sleep(REST).await;
    }
    loop {
        match step(&app.db, app.clock.now()).await {
            Ok(Step { enqueued, moved, more }) => {
                if enqueued > 0 {
                    app.metrics.webhooks.enqueued.fetch_add(enqueued, Relaxed);
                    app.webhooks.due();
                }
                if !more {
                    tokio::time::sleep(if moved { GATHER } else { POLL }).await;
                }
            }
            // The catalog's refresh says when the database is down; once is enough.
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(REST).await,
            Err(error) => {
                tracing::error!(%error, "the journal could not be fanned out to webhooks");
                tokio::time::sleep(REST).await;
            }
        }
    }
}
