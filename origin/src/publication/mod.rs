//! How events become public, and stop being so.
//!
//! ```text
//! draft ──publish──► published ──retract──► retracted ──publish──► published …
//!                        └─promote─► published, promoted
//! ```
//!
//! A transition, the feed's row and the captured operation are one transaction: the caller's. It holds the writers' turn
//! ([`crate::store::publication::take_turn`]). What is asked for and is so already changes nothing and captures nothing: the answer
//! is [`Outcome::Already`]. A transition back and forth leaves one operation each way, in that order, however little time
//! lies between. Scores are the caller's affair: of an event of type `Incident` the touched vaults are to be scored again,
//! which [`verbs`] does for the operator and `ingest` for observations.
//!
//! An event whose chain is withheld changes its state like any other, but nothing of it is captured: nobody is told, not
//! even later, when the chain is served again and the event shows.
//!
//! Source: interface, "Event and security-event publication".

pub mod verbs;

use crate::ingest::fact::Fact;
use crate::ingest::kinds::{EventLink, EventRecord, Publication};
use crate::store::event_detail::{self, Placed};
use crate::store::push_operations::{self, OperationRow};
use crate::store::{StoreError, Tx, event_feed, event_states, facts};
use rds_shared::model::event::PublicationState;
use rds_shared::wire::Timestamp;
use serde::Serialize;

/// The source of the events that tell of moved ratings: what `excludeSource` takes to drop them.
pub const RATING_CHANGE_SOURCE: &str = "rating-change";
/// The source of every other event that the service makes out of what it observed.
pub const OBSERVED_CHANGE_SOURCE: &str = "observed-change";

/// Bodies that are held at a time: bounds the memory of a batch of any size.
const CAPTURED_AT_A_TIME: usize = 1_000;

/// Whom webhooks deliver an operation to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the interface's event types of webhooks")]
pub enum Family {
    EventPublished,
    EventRetracted,
    RatingChanged,
    SecurityEventPublished,
}

impl Family {
    /// Its word in subscriptions.
    pub const fn as_str(self) -> &'static str {
        match self {
            Family::EventPublished => "event.published",
            Family::EventRetracted => "event.retracted",
            Family::RatingChanged => "rating.changed",
            Family::SecurityEventPublished => "security_event.published",
        }
    }
}

/// A frame of the event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the interface's operation frames")]
pub enum StreamOp {
    Published,
    Promoted,
    Retracted,
}

impl StreamOp {
    /// The frame's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            StreamOp::Published => "published",
            StreamOp::Promoted => "promoted",
            StreamOp::Retracted => "retracted",
        }
    }
}

/// How an event becomes public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// By itself or by an editor: frame `published`.
    Published,
    /// Out of a registry, because it affects the tracked universe: frame `promoted`.
    Promoted,
}

/// What a request for a transition came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was made, and captured unless the chain is withheld.
    Moved,
    /// It had been made before: nothing changed, nothing was captured.
    Already,
    /// It leads nowhere from this state: nothing changed.
    Refused(PublicationState),
    /// There is no such event.
    Unknown,
}

/// One operation that subscribers are told of.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation<'a, T> {
    /// Whom webhooks deliver it to; none is for the stream alone.
    pub family: Option<Family>,
    /// The stream's frame; none is not for the stream.
    pub stream_op: Option<StreamOp>,
    /// The row's id as the API serves it.
    pub event_id: String,
    /// The vaults it concerns.
    pub vault_ids: Vec<String>,
    /// The chains it concerns.
    pub chain_ids: Vec<i64>,
    /// The row exactly as the API serves it at this instant.
    pub body: &'a T,
}

/// Appends one operation in the caller's transaction. Rows of withheld chains are not to be captured at all.
pub async fn capture<T: Serialize>(
    tx: &mut Tx<'_>,
    now: Timestamp,
    operation: Operation<'_, T>,
) -> Result<(), StoreError> {
    push_operations::append(tx, now.into(), &[row(operation)?]).await
}

/// Makes an event public: a draft for the first time, a retracted one again, with the body as it is now.
pub async fn publish(tx: &mut Tx<'_>, id: i64, now: Timestamp) -> Result<Outcome, StoreError> {
    let moved = event_states::publish(tx, &[id], now.into(), false, false).await?;
    told(tx, &moved, StreamOp::Published, now).await?;
    outcome(tx, id, &moved, |state, _| state == PublicationState::Published).await
}

/// Marks a public event as promoted into the feed: a frame of the stream, and nothing for webhooks, which have the event.
pub async fn promote(tx: &mut Tx<'_>, id: i64, now: Timestamp) -> Result<Outcome, StoreError> {
    let moved = event_states::promote(tx, id, now.into()).await?;
    for placed in event_detail::placed(&mut **tx, &moved).await?.iter().filter(|placed| placed.is_served) {
        capture(tx, now, operation(placed, None, StreamOp::Promoted)).await?;
    }
    outcome(tx, id, &moved, |state, promoted| state == PublicationState::Published && promoted).await
}

/// Withdraws a public event; the next newest of its group stands in for it.
pub async fn retract(tx: &mut Tx<'_>, id: i64, reason: Option<&str>, now: Timestamp) -> Result<Outcome, StoreError> {
    let moved = event_states::retract(tx, id, now.into(), reason).await?;
    told(tx, &moved, StreamOp::Retracted, now).await?;
    outcome(tx, id, &moved, |state, _| state == PublicationState::Retracted).await
}

/// Writes events with their links, and makes public those that never were. Answers their ids in order.
///
/// The id follows from the key, so that an event is made once, whoever tells of it and however often. An event that was
/// retracted stays so; a newer record of one that exists corrects what is served of it, and captures nothing.
pub async fn publish_new(
    tx: &mut Tx<'_>,
    events: &[EventRecord],
    how: How,
    now: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    take_in(tx, events).await?;
    let ids: Vec<i64> = events.iter().map(|event| event.id).collect();
    publish_first(tx, &ids, how, now).await
}

/// Makes those of `ids` public that never were; answers them.
pub async fn publish_first(tx: &mut Tx<'_>, ids: &[i64], how: How, now: Timestamp) -> Result<Vec<i64>, StoreError> {
    let promoted = how == How::Promoted;
    let moved = event_states::publish(tx, ids, now.into(), promoted, true).await?;
    told(tx, &moved, if promoted { StreamOp::Promoted } else { StreamOp::Published }, now).await?;
    Ok(moved)
}

/// What a batch of records changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakenIn {
    /// Events of which anything is new.
    pub events: Vec<i64>,
    /// Vaults that an event named before and names no longer.
    pub released_vaults: Vec<String>,
    /// The same of protocols.
    pub released_protocols: Vec<String>,
}

/// Writes events with their links; their states stay as they are, drafts where they are new.
pub async fn take_in(tx: &mut Tx<'_>, events: &[EventRecord]) -> Result<TakenIn, StoreError> {
    if events.is_empty() {
        return Ok(TakenIn::default());
    }
    let ids: Vec<i64> = events.iter().map(|event| event.id).collect();
    let groups = event_feed::groups_of(tx, &ids).await?;
    let changed = facts::upsert(tx, events).await?;
    let changed: Vec<i64> = changed.iter().filter_map(|id| id.parse().ok()).collect();
    let newest = newest(events);
    let links: Vec<EventLink> =
        newest.filter(|event| changed.contains(&event.id)).flat_map(EventRecord::subjects).collect();
    facts::upsert(tx, &links).await?;
    let mut taken = TakenIn::default();
    for (scope, subject) in event_states::drop_old_links(tx, &changed).await? {
        if scope == "vault" { &mut taken.released_vaults } else { &mut taken.released_protocols }.push(subject);
    }
    if !changed.is_empty() {
        event_feed::refresh(tx, &changed, &groups).await?;
    }
    Ok(TakenIn { events: changed, ..taken })
}

/// The ids of the records that are public at once.
pub fn public_at_once<'a>(events: impl Iterator<Item = &'a EventRecord>) -> Vec<i64> {
    events.filter(|event| event.publication == Publication::Published).map(|event| event.id).collect()
}

/// Of several records of one event the one that the table keeps.
fn newest(events: &[EventRecord]) -> impl Iterator<Item = &EventRecord> {
    let mut kept = std::collections::BTreeMap::<i64, &EventRecord>::new();
    for event in events {
        let older = |other: &&EventRecord| {
            (other.observed_at, other.content_hash()) < (event.observed_at, event.content_hash())
        };
        if kept.get(&event.id).is_none_or(older) {
            kept.insert(event.id, event);
        }
    }
    kept.into_values()
}

/// Brings the feed up to date with events that just moved, and captures what their subscribers are told.
async fn told(tx: &mut Tx<'_>, moved: &[i64], op: StreamOp, now: Timestamp) -> Result<(), StoreError> {
    if moved.is_empty() {
        return Ok(());
    }
    event_feed::refresh(tx, moved, &[]).await?;
    for ids in moved.chunks(CAPTURED_AT_A_TIME) {
        let mut rows = Vec::with_capacity(ids.len());
        for placed in event_detail::placed(&mut **tx, ids).await?.iter().filter(|placed| placed.is_served) {
            let rating = placed.detail.row.source == RATING_CHANGE_SOURCE;
            let family = match op {
                StreamOp::Retracted => Family::EventRetracted,
                StreamOp::Published | StreamOp::Promoted if rating => Family::RatingChanged,
                StreamOp::Published | StreamOp::Promoted => Family::EventPublished,
            };
            rows.push(row(operation(placed, Some(family), op))?);
        }
        push_operations::append(tx, now.into(), &rows).await?;
    }
    Ok(())
}

fn operation(
    placed: &Placed,
    family: Option<Family>,
    op: StreamOp,
) -> Operation<'_, rds_shared::model::event::EventDetail> {
    Operation {
        family,
        stream_op: Some(op),
        event_id: placed.detail.row.id.clone(),
        vault_ids: placed.vault_ids.clone(),
        chain_ids: placed.chain_ids.clone(),
        body: &placed.detail,
    }
}

fn row<T: Serialize>(operation: Operation<'_, T>) -> Result<OperationRow, StoreError> {
    let encode = |error: serde_json::Error| StoreError::Internal(sqlx::Error::Encode(error.into()));
    Ok(OperationRow {
        family: operation.family.map(Family::as_str),
        stream_op: operation.stream_op.map(StreamOp::as_str),
        event_id: operation.event_id,
        vault_ids: operation.vault_ids,
        chain_ids: operation.chain_ids,
        body: serde_json::to_string(operation.body).map_err(encode)?,
    })
}

async fn outcome(
    tx: &mut Tx<'_>,
    id: i64,
    moved: &[i64],
    is_there: impl Fn(PublicationState, bool) -> bool,
) -> Result<Outcome, StoreError> {
    if !moved.is_empty() {
        return Ok(Outcome::Moved);
    }
    Ok(match event_states::of(tx, id).await? {
        None => Outcome::Unknown,
        Some((state, promoted)) if is_there(state, promoted) => Outcome::Already,
        Some((state, _)) => Outcome::Refused(state),
    })
}
