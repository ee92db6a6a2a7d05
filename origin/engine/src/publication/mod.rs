//! Publication of events: how they become public, and how they are withdrawn.
//!
//! ```text
//! draft ──publish──► published ──retract──► retracted ──publish──► published …
//!                        └─promote─► published, promoted
//! ```
//!
//! A transition, the feed's row and the captured operation are written in the caller's transaction, which holds the writers' lock
//! ([`rds_store::ingest::publication::lock_writers`]). A transition to the present state changes and captures nothing: the result is
//! [`PublicationResult::Already`]. A transition and its reversal capture two operations in their order, even within the same instant.
//! Scores are left to the caller: after a transition of an event of type `Incident`, the affected vaults must be scored again. [`commands`]
//! does that for operators' commands, and `ingest` for observations.
//!
//! An event on a withheld chain changes its state like any other, but nothing is captured. When the chain is served again, an event that
//! was published meanwhile appears in the feed without an operation. If subscribers have received an event as public and it was retracted
//! meanwhile, the retraction is captured then ([`publish_pending_retractions`]).
//!
//! # Invariants
//!
//! - An event's transition, its row in the feed and the captured operation are one transaction; an operation is appended without a
//!   lock on the journal and never changed. A transition to the present state captures nothing (`origin/tests/it/events/publication.rs`).
//! - Nothing on a withheld chain is captured. A retraction of an event that clients saw before is captured when the chain is served
//!   again (`origin/tests/it/events/withheld.rs`).

pub mod commands;
mod intake;

pub use intake::{Intake, initially_public, intake_events};

use rds_facts::EventRecord;
use rds_shared::model::event::PublicationState;
use rds_shared::push::event_type::EventType;
use rds_shared::wire::Timestamp;
use rds_store::events::detail::{self, Placed};
use rds_store::events::{feed, states};
use rds_store::push::operations::{self, OperationRow};
use rds_store::{StoreError, Tx};
use serde::Serialize;
use std::collections::BTreeSet;

/// The source of `RatingChange` events; `excludeSource` with this value removes them.
pub const RATING_CHANGE_SOURCE: &str = "rating-change";
/// The source of all other events that the service creates from its observations.
pub const OBSERVED_CHANGE_SOURCE: &str = "observed-change";
/// Sources whose events webhooks deliver under a type of their own. Ingest refuses these sources; otherwise any feed could trigger such a
/// webhook.
pub const TYPED_SOURCES: [(&str, EventType); 1] = [(RATING_CHANGE_SOURCE, EventType::RatingChanged)];

/// Operations held in memory at once, which bounds the memory for a batch of any size. An operation of an event that counts against
/// a large protocol has some hundred kilobytes, because it names the vaults that it touches.
const CAPTURE_BATCH: usize = 50;

/// A frame of the event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamOp {
    Published,
    Promoted,
    Retracted,
}

impl StreamOp {
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
    /// Automatically or by an editor: frame `published`.
    Published,
    /// From the security registry, because its row touches the tracked universe ([`crate::security`]): frame `promoted`.
    Promoted,
}

/// The result of a requested transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicationResult {
    /// The transition was made, and captured unless the chain is withheld.
    Moved,
    /// The event already has this state: nothing changed, nothing was captured.
    Already,
    /// The transition is not possible from this state: nothing changed.
    Refused(PublicationState),
    /// There is no such event.
    Unknown,
}

/// One operation for subscribers.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation<'a, T> {
    /// The event type for webhooks; `None` if it is for the stream only.
    pub family: Option<EventType>,
    /// Kind of stream frame; `None` if the operation goes to webhooks only.
    pub stream_op: Option<StreamOp>,
    /// The row's id as the API serves it.
    pub event_id: String,
    /// Ids of the affected vaults.
    pub vault_ids: Vec<String>,
    /// Every chain named in `body`. Once one of these chains is withheld, the operation is no longer delivered.
    pub chain_ids: Vec<i64>,
    /// The row exactly as the API serves it at this instant.
    pub body: &'a T,
}

/// Appends one operation in the caller's transaction. Rows of withheld chains must not be captured.
pub async fn capture<T: Serialize>(
    tx: &mut Tx<'_>,
    now: Timestamp,
    operation: Operation<'_, T>,
) -> Result<(), StoreError> {
    operations::append(tx, now.into(), &[row(operation)?]).await
}

/// Makes an event public: a draft for the first time, a retracted one again, with the body as it is now.
pub async fn publish(tx: &mut Tx<'_>, id: i64, now: Timestamp) -> Result<PublicationResult, StoreError> {
    let moved = states::publish(tx, &[id], now.into(), false, false).await?;
    refresh_and_capture(tx, &moved, StreamOp::Published, now).await?;
    outcome(tx, id, &moved, |state, _| state == PublicationState::Published).await
}

/// Marks a public event as promoted into the feed. Captures a stream frame only, because webhooks already have the event.
pub async fn promote(tx: &mut Tx<'_>, id: i64, now: Timestamp) -> Result<PublicationResult, StoreError> {
    let moved = states::promote(tx, id, now.into()).await?;
    captured(tx, &moved, StreamOp::Promoted, now, |_| None).await?;
    outcome(tx, id, &moved, |state, promoted| state == PublicationState::Published && promoted).await
}

/// Withdraws a public event; in the feed, the next newest event of its group then represents the group.
pub async fn retract(
    tx: &mut Tx<'_>,
    id: i64,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<PublicationResult, StoreError> {
    let moved = states::retract(tx, id, now.into(), reason).await?;
    refresh_and_capture(tx, &moved, StreamOp::Retracted, now).await?;
    outcome(tx, id, &moved, |state, _| state == PublicationState::Retracted).await
}

/// Writes events with their links, and publishes those that never were public. Returns their ids in order.
///
/// The id is derived from the key, so an event is created once, however often it is reported. A retracted event stays retracted. A
/// newer record of an existing event corrects what is served, and captures nothing.
pub async fn publish_new(
    tx: &mut Tx<'_>,
    events: &[EventRecord],
    how: How,
    now: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    let Intake { events: mut stale, groups, .. } = intake::write(tx, events).await?;
    let ids: Vec<i64> = events.iter().map(|event| event.id).collect();
    let promoted = how == How::Promoted;
    let moved = states::publish(tx, &ids, now.into(), promoted, true).await?;
    // One refresh for the events that were written and those that became public.
    stale.extend_from_slice(&moved);
    stale.sort_unstable();
    stale.dedup();
    feed::refresh(tx, &stale, &groups).await?;
    let op = if promoted { StreamOp::Promoted } else { StreamOp::Published };
    captured(tx, &moved, op, now, |placed| Some(family(placed, op))).await?;
    Ok(moved)
}

/// Publishes those of `ids` that never were public; returns them.
pub async fn publish_first(tx: &mut Tx<'_>, ids: &[i64], how: How, now: Timestamp) -> Result<Vec<i64>, StoreError> {
    let promoted = how == How::Promoted;
    let moved = states::publish(tx, ids, now.into(), promoted, true).await?;
    refresh_and_capture(tx, &moved, if promoted { StreamOp::Promoted } else { StreamOp::Published }, now).await?;
    Ok(moved)
}

/// Refreshes the feed for events that have just changed state, and captures their operations.
async fn refresh_and_capture(tx: &mut Tx<'_>, moved: &[i64], op: StreamOp, now: Timestamp) -> Result<(), StoreError> {
    if moved.is_empty() {
        return Ok(());
    }
    feed::refresh(tx, moved, &[]).await?;
    captured(tx, moved, op, now, |placed| Some(family(placed, op))).await
}

/// Captures the outstanding retractions: of events that subscribers have received as public, and that were retracted while their chain was
/// withheld. An event whose chain is still withheld is skipped.
pub async fn publish_pending_retractions(tx: &mut Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    let owed = states::pending_retractions(tx).await?;
    captured(tx, &owed, StreamOp::Retracted, now, |_| Some(EventType::EventRetracted)).await
}

/// Captures an operation for each served event of `ids`, and stores whether subscribers have last received the event as public or as
/// retracted.
async fn captured(
    tx: &mut Tx<'_>,
    ids: &[i64],
    op: StreamOp,
    now: Timestamp,
    family: impl Fn(&Placed) -> Option<EventType> + Send,
) -> Result<(), StoreError> {
    for ids in ids.chunks(CAPTURE_BATCH) {
        let mut placed = detail::placed(&mut **tx, ids).await?;
        placed.retain(|placed| placed.is_served);
        let rows =
            placed.iter().map(|placed| row(operation(placed, family(placed), op))).collect::<Result<Vec<_>, _>>()?;
        operations::append(tx, now.into(), &rows).await?;
        let told: Vec<&str> = placed.iter().map(|placed| placed.detail.row.id.as_str()).collect();
        states::set_known_public(tx, &told, op != StreamOp::Retracted).await?;
    }
    Ok(())
}

fn family(placed: &Placed, op: StreamOp) -> EventType {
    let typed = || TYPED_SOURCES.iter().find(|(source, _)| placed.detail.row.source == *source);
    match op {
        StreamOp::Retracted => EventType::EventRetracted,
        StreamOp::Published | StreamOp::Promoted => typed().map_or(EventType::EventPublished, |(_, typed)| *typed),
    }
}

fn operation(
    placed: &Placed,
    family: Option<EventType>,
    op: StreamOp,
) -> Operation<'_, rds_shared::model::event::EventDetail> {
    Operation {
        family,
        stream_op: Some(op),
        event_id: placed.detail.row.id.clone(),
        vault_ids: placed.vault_ids.clone(),
        chain_ids: chains(placed),
        body: &placed.detail,
    }
}

/// Every chain named in the body, including those of the vaults that an event of a whole protocol touches. A captured body is never
/// changed, so the whole operation is no longer delivered once one of these chains is withheld.
fn chains(placed: &Placed) -> Vec<i64> {
    let named = placed.detail.affected_vaults.iter().filter_map(|vault| i64::try_from(vault.chain_id.0).ok());
    let all: BTreeSet<i64> = placed.chain_ids.iter().copied().chain(named).collect();
    all.into_iter().collect()
}

fn row<T: Serialize>(operation: Operation<'_, T>) -> Result<OperationRow, StoreError> {
    let encode = |error: serde_json::Error| StoreError::Internal(sqlx::Error::Encode(error.into()));
    Ok(OperationRow {
        family: operation.family,
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
) -> Result<PublicationResult, StoreError> {
    if !moved.is_empty() {
        return Ok(PublicationResult::Moved);
    }
    Ok(match states::of(tx, id).await? {
        None => PublicationResult::Unknown,
        Some((state, promoted)) if is_there(state, promoted) => PublicationResult::Already,
        Some((state, _)) => PublicationResult::Refused(state),
    })
}
