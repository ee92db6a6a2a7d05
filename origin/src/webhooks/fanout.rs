//! Fan-out: a reader of the journal that leaves one delivery for each event and subscription.
//!
//! Its place, the events and the deliveries are written in one transaction, so that a crash at any instruction loses nothing and
//! doubles nothing. Any number of processes may try; who does not get the turn leaves at once.

use crate::app::App;
use crate::store::webhook_fanout::{self as table, OfVersion, Operation, Told};
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
/// How long a failed step rests.
const REST: Duration = Duration::from_secs(1);

/// What a step did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Step {
    /// Deliveries enqueued.
    pub enqueued: u64,
    /// Whether there may be more to do at once.
    pub more: bool,
}

/// Fans the next operations of the journal out.
pub async fn step(db: &Db, now: Timestamp) -> Result<Step, StoreError> {
    db.run_tx("webhook_fanout", |tx| {
        Box::pin(async move {
            let Some(after) = table::take_turn(tx).await? else { return Ok(Step::default()) };
            let (operations, last, places) = table::behind(tx, after, OPERATIONS).await?;
            let Some(last) = last else { return Ok(Step::default()) };
            if operations.len() < places {
                let lost = places - operations.len();
                tracing::error!(lost, after, "operations left the journal before webhooks were told of them");
            }
            let mut wanted = table::wanted(tx).await?;
            if table::anyone_follows_a_basket(tx).await? {
                wanted.extend(EventType::BASKET.map(|event_type| event_type.as_str().to_owned()));
            }
            let told: Vec<Told> = operations.iter().filter_map(|operation| told(operation, &wanted)).collect();
            let enqueued = if told.is_empty() { 0 } else { table::enqueue(tx, &told, now).await? };
            table::advance(tx, last).await?;
            // A step ends early where bodies are large: only an empty one is the last.
            Ok(Step { enqueued, more: true })
        })
    })
    .await
}

/// An operation as subscribers are told of it; none when it is not for them.
fn told(operation: &Operation, wanted: &[String]) -> Option<Told> {
    let family = operation.family.as_ref().filter(|family| !operation.is_withheld && wanted.contains(family))?;
    let event_type: EventType = family.parse().ok()?;
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
        event_type: family.clone(),
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
            Ok(Step { enqueued, more }) => {
                if enqueued > 0 {
                    app.metrics.webhooks.enqueued.fetch_add(enqueued, Relaxed);
                    app.webhooks.due();
                }
                if !more {
                    tokio::time::sleep(POLL).await;
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
