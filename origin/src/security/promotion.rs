//! Promotion: an event of the feed tells of a published row that touches the tracked universe.
//!
//! An incident that was reported by itself under the row's own names (`event_key` `{source}-{source_id}`) is that event already.
//! Otherwise one is made, of type `SecurityEvent`: scores count incidents, and no report of a registry becomes one by itself.

use crate::ingest::kinds::{EventRecord, Reference, event_id};
use crate::publication::{How, Outcome, promote as promote_event, publish, publish_new, retract};
use crate::store::{StoreError, Tx, security};
use rds_shared::model::security::SecurityEvent;
use rds_shared::wire::Timestamp;

/// The type of events that are made of registry rows.
const EVENT_TYPE: &str = "SecurityEvent";

/// Why an event that was made of a row is retracted when the incident itself is reported.
const GIVES_WAY: &str = "the incident is told by itself";

/// The key of the event that is made of a row.
fn key_of(id: i64) -> String {
    format!("security-{id}")
}

/// The number of the event that is made of a row.
pub(super) fn event_of(id: i64) -> i64 {
    event_id(&key_of(id))
}

/// Promotes every published row that touches the tracked universe and that no event tells of; answers how many.
pub(super) async fn promote_all(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64, StoreError> {
    let rows = security::to_promote(tx, EVENT_TYPE).await?;
    for id in &rows {
        promote(tx, now, *id).await?;
    }
    Ok(rows.len() as u64)
}

/// Promotes a row, if it is served and touches the tracked universe.
pub(super) async fn promote(tx: &mut Tx<'_>, now: Timestamp, id: i64) -> Result<(), StoreError> {
    let Some(row) = security::served(tx, id).await?.filter(|row| row.affects_tracked_universe) else { return Ok(()) };
    let reported = event_id(&format!("{}-{}", row.source, row.source_id).to_lowercase());
    let event = match promote_event(tx, reported, now).await? {
        Outcome::Moved | Outcome::Already => {
            // One that was made before the incident was reported gives way to it.
            retract(tx, event_of(id), Some(GIVES_WAY), now).await?;
            reported
        }
        Outcome::Refused(_) | Outcome::Unknown => {
            let made = record(tx, now, id, row).await?;
            publish_new(tx, std::slice::from_ref(&made), How::Promoted, now).await?;
            // One that was retracted with its row comes back with it.
            if publish(tx, made.id, now).await? == Outcome::Moved {
                promote_event(tx, made.id, now).await?;
            }
            made.id
        }
    };
    security::set_promoted(tx, id, event).await
}

async fn record(tx: &mut Tx<'_>, now: Timestamp, id: i64, row: SecurityEvent) -> Result<EventRecord, StoreError> {
    let touched = security::touched(tx, id).await?;
    let event = EventRecord::new(key_of(id), EVENT_TYPE, row.severity, row.title, &row.source, now.into())
        .about(touched.vaults);
    Ok(EventRecord {
        description: row.description,
        occurred_at: row.attacked_at.into(),
        loss_usd: row.loss_amount_usd.map(|loss| loss.as_f64()),
        tx_hash: row.tx_hash,
        links: row.links.into_iter().map(|link| Reference { label: link.label, url: link.url }).collect(),
        protocol_id: touched.protocols.into_iter().next(),
        chain_id: row.chain_id.and_then(|chain| i64::try_from(chain.0).ok()),
        ..event
    })
}
