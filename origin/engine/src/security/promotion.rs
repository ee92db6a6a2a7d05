//! Promotion: an event of the feed represents a published row that touches the tracked universe.
//!
//! If an incident was reported separately with the row's key (`event_key` `{source}-{source_id}`), that incident is the event. Otherwise an
//! event of type `SecurityEvent` is created. It is not an incident, because scores count incidents and a registry's report must not change
//! scores. The created event is corrected when its row changes, and retracted if the row no longer touches the tracked universe. An event
//! that an editor retracted stays retracted.

use crate::publication::{
    How, PublicationResult, intake_events, promote as promote_event, publish, publish_new, retract,
};
use rds_facts::{EventRecord, Reference, event_id};
use rds_shared::model::security::SecurityEvent;
use rds_shared::wire::Timestamp;
use rds_store::events::states;
use rds_store::{StoreError, Tx, security};
use std::ops::AddAssign;

/// The type of events created from registry rows.
const EVENT_TYPE: &str = "SecurityEvent";

/// Prefix of the keys of events created from rows; the row's number follows.
const KEY_PREFIX: &str = "security-";

/// Reason for retracting a created event when the incident itself is reported.
const REASON_REPORTED: &str = "the incident was reported separately";

/// Reason for retracting a created event when its row no longer touches the tracked universe.
const REASON_UNTRACKED: &str = "the report no longer concerns anything that is tracked";

/// The key of the event created from a row.
fn key_of(id: i64) -> String {
    format!("{KEY_PREFIX}{id}")
}

/// The id of the event created from a row.
pub(super) fn event_of(id: i64) -> i64 {
    event_id(&key_of(id))
}

/// What promotion changed in the feed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Promoted {
    /// Number of rows whose event in the feed was created, changed or withdrawn.
    pub rows: u64,
    /// Number of events that became public.
    pub published: u64,
}

impl AddAssign for Promoted {
    fn add_assign(&mut self, more: Self) {
        self.rows += more.rows;
        self.published += more.published;
    }
}

/// Promotes every published row that touches the tracked universe and has no event, and corrects created events that differ from their
/// rows.
pub(super) async fn keep(tx: &mut Tx<'_>, now: Timestamp) -> Result<Promoted, StoreError> {
    let mut promoted = Promoted::default();
    for id in security::to_promote(tx, KEY_PREFIX).await? {
        promoted += promote(tx, now, id).await?;
    }
    for id in security::outdated_events(tx, KEY_PREFIX).await? {
        correct(tx, now, id).await?;
        promoted.rows += 1;
    }
    Ok(promoted)
}

/// Promotes a row, if it is served and touches the tracked universe.
pub(super) async fn promote(tx: &mut Tx<'_>, now: Timestamp, id: i64) -> Result<Promoted, StoreError> {
    let Some(row) = security::served(tx, id).await?.filter(|row| row.affects_tracked_universe) else {
        return Ok(Promoted::default());
    };
    let reported = event_id(&format!("{}-{}", row.source, row.source_id).to_lowercase());
    let marked = promote_event(tx, reported, now).await?;
    let (event, moved, published) = if matches!(marked, PublicationResult::Moved | PublicationResult::Already) {
        // A created event is replaced by the incident that was reported after it.
        let gone = retract(tx, event_of(id), Some(REASON_REPORTED), now).await?;
        (reported, [marked, gone].contains(&PublicationResult::Moved), false)
    } else {
        let made = record(tx, now, id, row).await?;
        let mut published = !publish_new(tx, std::slice::from_ref(&made), How::Promoted, now).await?.is_empty();
        // An event that was retracted with its row is published again with it.
        if publish(tx, made.id, now).await? == PublicationResult::Moved {
            promote_event(tx, made.id, now).await?;
            published = true;
        }
        (made.id, published, published)
    };
    let moved = security::set_promoted(tx, id, Some(event)).await? || moved;
    Ok(Promoted { rows: u64::from(moved), published: u64::from(published) })
}

/// Corrects the event created from a row, or retracts it if the row no longer touches anything tracked.
async fn correct(tx: &mut Tx<'_>, now: Timestamp, id: i64) -> Result<(), StoreError> {
    let Some(row) = security::served(tx, id).await? else { return Ok(()) };
    if row.affects_tracked_universe {
        let made = record(tx, now, id, row).await?;
        intake_events(tx, &[made]).await?;
    } else {
        retract(tx, event_of(id), Some(REASON_UNTRACKED), now).await?;
        // No editor decided this retraction: if the row touches the tracked universe again, it is promoted again.
        security::set_promoted(tx, id, None).await?;
    }
    Ok(())
}

/// The event record of a row, newer than every existing record of that event.
async fn record(tx: &mut Tx<'_>, now: Timestamp, id: i64, row: SecurityEvent) -> Result<EventRecord, StoreError> {
    let tracked = security::tracked_part(tx, id).await?;
    let last = states::observed_at(tx, event_of(id)).await?;
    let at = last.map_or(now, |last| now.max(Timestamp::from_micros(last.0.as_micros() + 1)));
    let event =
        EventRecord::new(key_of(id), EVENT_TYPE, row.severity, row.title, &row.source, at.into()).about(tracked.vaults);
    Ok(EventRecord {
        description: row.description,
        occurred_at: row.attacked_at.into(),
        loss_usd: row.loss_amount_usd.map(|loss| loss.as_f64()),
        tx_hash: row.tx_hash,
        links: row.links.into_iter().map(|link| Reference { label: link.label, url: link.url }).collect(),
        protocol_id: tracked.protocols.into_iter().next(),
        chain_id: row.chain_id.and_then(|chain| i64::try_from(chain.0).ok()),
        ..event
    })
}
