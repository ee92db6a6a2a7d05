//! Promotion: an event of the feed tells of a published row that touches the tracked universe.
//!
//! An incident that was reported by itself under the row's own names (`event_key` `{source}-{source_id}`) is that event already.
//! Otherwise one is made, of type `SecurityEvent`: scores count incidents, and no report of a registry becomes one by itself.
//! The event that was made says what its row says: it is corrected with the row, and retracted when the row turns out to touch
//! nothing that is tracked. What an editor retracted stays so.

use crate::facts::{EventRecord, Reference, event_id};
use crate::publication::{How, Outcome, promote as promote_event, publish, publish_new, retract, take_in};
use crate::store::{StoreError, Tx, event_states, security};
use rds_shared::model::security::SecurityEvent;
use rds_shared::wire::Timestamp;
use std::ops::AddAssign;

/// The type of events that are made of registry rows.
const EVENT_TYPE: &str = "SecurityEvent";

/// What the keys of events that are made of rows begin with; the row's number follows.
const KEY: &str = "security-";

/// Why an event that was made of a row is retracted when the incident itself is reported.
const GIVES_WAY: &str = "the incident is told by itself";

/// Why one is retracted when its row touches nothing that is tracked.
const TOUCHES_NOTHING: &str = "the report no longer concerns anything that is tracked";

/// The key of the event that is made of a row.
fn key_of(id: i64) -> String {
    format!("{KEY}{id}")
}

/// The number of the event that is made of a row.
pub(super) fn event_of(id: i64) -> i64 {
    event_id(&key_of(id))
}

/// What promotion changed in the feed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Promoted {
    /// Rows that an event came to tell of, tells differently of, or tells of no longer.
    pub rows: u64,
    /// Events that became public.
    pub published: u64,
}

impl AddAssign for Promoted {
    fn add_assign(&mut self, more: Self) {
        self.rows += more.rows;
        self.published += more.published;
    }
}

/// Promotes every published row that touches the tracked universe and that no event tells of, and makes those events that were
/// made of rows say again what their rows say.
pub(super) async fn keep(tx: &mut Tx<'_>, now: Timestamp) -> Result<Promoted, StoreError> {
    let mut promoted = Promoted::default();
    for id in security::to_promote(tx, KEY).await? {
        promoted += promote(tx, now, id).await?;
    }
    for id in security::told_wrongly(tx, KEY).await? {
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
    let (event, moved, published) = if matches!(marked, Outcome::Moved | Outcome::Already) {
        // One that was made before the incident was reported gives way to it.
        let gone = retract(tx, event_of(id), Some(GIVES_WAY), now).await?;
        (reported, [marked, gone].contains(&Outcome::Moved), false)
    } else {
        let made = record(tx, now, id, row).await?;
        let mut published = !publish_new(tx, std::slice::from_ref(&made), How::Promoted, now).await?.is_empty();
        // One that was retracted with its row comes back with it.
        if publish(tx, made.id, now).await? == Outcome::Moved {
            promote_event(tx, made.id, now).await?;
            published = true;
        }
        (made.id, published, published)
    };
    let moved = security::set_promoted(tx, id, Some(event)).await? || moved;
    Ok(Promoted { rows: u64::from(moved), published: u64::from(published) })
}

/// Makes the event that was made of a row say what the row says; it goes where the row touches nothing any longer.
async fn correct(tx: &mut Tx<'_>, now: Timestamp, id: i64) -> Result<(), StoreError> {
    let Some(row) = security::served(tx, id).await? else { return Ok(()) };
    if row.affects_tracked_universe {
        let made = record(tx, now, id, row).await?;
        take_in(tx, &[made]).await?;
    } else {
        retract(tx, event_of(id), Some(TOUCHES_NOTHING), now).await?;
        // Nobody decided that: should the row touch something again, it is promoted again.
        security::set_promoted(tx, id, None).await?;
    }
    Ok(())
}

/// What a row says, as an event: a newer record than any that there is of it.
async fn record(tx: &mut Tx<'_>, now: Timestamp, id: i64, row: SecurityEvent) -> Result<EventRecord, StoreError> {
    let touched = security::touched(tx, id).await?;
    let last = event_states::observed_at(tx, event_of(id)).await?;
    let at = last.map_or(now, |last| now.max(Timestamp::from_micros(last.0.as_micros() + 1)));
    let event =
        EventRecord::new(key_of(id), EVENT_TYPE, row.severity, row.title, &row.source, at.into()).about(touched.vaults);
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
