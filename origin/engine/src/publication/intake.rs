//! Intake of events: writes their records and links, and decides which of them are public at once.

use rds_facts::fact::Fact;
use rds_facts::{EventLink, EventRecord, EventScope, Publication};
use rds_store::events::{feed, states};
use rds_store::ingest::facts;
use rds_store::{StoreError, Tx};
use std::collections::{BTreeMap, BTreeSet};

/// What a batch of records changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intake {
    /// Events that are new or changed.
    pub events: Vec<i64>,
    /// The groups that the events were in before.
    pub groups: Vec<String>,
    /// Vaults that an event named before and no longer names.
    pub released_vaults: Vec<String>,
    /// Protocols that an event named before and no longer names.
    pub released_protocols: Vec<String>,
}

/// Writes events with their links and refreshes the feed. Their states do not change; new events are drafts.
///
/// A record that replaces an earlier record of the event also replaces all of that record's links, whatever the links' instants.
pub async fn intake_events(tx: &mut Tx<'_>, events: &[EventRecord]) -> Result<Intake, StoreError> {
    let taken = write(tx, events).await?;
    feed::refresh(tx, &taken.events, &taken.groups).await?;
    Ok(taken)
}

/// Writes events with their links, as [`intake_events`] does, but leaves the refresh of the feed to the caller.
pub(super) async fn write(tx: &mut Tx<'_>, events: &[EventRecord]) -> Result<Intake, StoreError> {
    if events.is_empty() {
        return Ok(Intake::default());
    }
    let ids: Vec<i64> = events.iter().map(|event| event.id).collect();
    let groups = feed::groups_of(tx, &ids).await?;
    let changed = facts::upsert(tx, events).await?;
    let changed: BTreeSet<i64> = changed.iter().filter_map(|id| id.parse().ok()).collect();
    if changed.is_empty() {
        return Ok(Intake::default());
    }
    let mut taken = Intake { events: changed.iter().copied().collect(), groups, ..Intake::default() };
    let links: Vec<EventLink> =
        newest(events).filter(|event| changed.contains(&event.id)).flat_map(EventRecord::subjects).collect();
    let old = states::delete_links(tx, &taken.events).await?;
    facts::upsert(tx, &links).await?;
    let named: BTreeSet<(i64, EventScope, &str)> =
        links.iter().map(|link| (link.event_id, link.scope, link.subject_id.as_str())).collect();
    for (id, scope, subject) in old {
        if !named.contains(&(id, scope, subject.as_str())) {
            match scope {
                EventScope::Vault => taken.released_vaults.push(subject),
                EventScope::Protocol => taken.released_protocols.push(subject),
            }
        }
    }
    Ok(taken)
}

/// The events that become public at once: all of `first_told` (first reported by the batch) except those whose record
/// in `events`, the batch's records, is a draft. A report about a known event does not change its state.
pub fn initially_public<'a>(first_told: &[i64], events: impl IntoIterator<Item = &'a EventRecord>) -> Vec<i64> {
    let drafts: BTreeSet<i64> = newest(events).filter(|event| is_draft(event)).map(|event| event.id).collect();
    first_told.iter().copied().filter(|id| !drafts.contains(id)).collect()
}

/// For each event, the record that the table keeps. Of two records that differ only in their publication, the draft is kept.
fn newest<'a>(events: impl IntoIterator<Item = &'a EventRecord>) -> impl Iterator<Item = &'a EventRecord> {
    let rank = |event: &EventRecord| (event.observed_at, event.content_hash(), is_draft(event));
    let mut kept = BTreeMap::<i64, &EventRecord>::new();
    for event in events {
        if kept.get(&event.id).is_none_or(|other| rank(other) < rank(event)) {
            kept.insert(event.id, event);
        }
    }
    kept.into_values()
}

fn is_draft(event: &EventRecord) -> bool {
    event.publication == Publication::Draft
}
