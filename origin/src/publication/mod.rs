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
//! An event whose chain is withheld changes its state like any other, but nothing of it is captured. When the chain is served
//! again, an event that was published meanwhile shows, and is news no longer: nobody is told. But what subscribers had been told
//! is public, and was withdrawn meanwhile, they still take for true: that retraction is told then ([`tell_owed_retractions`]).
//!
//! Source: interface, "Event and security-event publication".
//!
//! # Invariants
//!
//! - An event's transition, its row in the feed and the captured operation are one transaction; an operation is appended without a lock and never changed.
//!   A transition to the present state captures nothing (`tests/it/events_publication.rs`).
//! - Nothing on a withheld chain is captured. A retraction of an event that clients saw before is captured when the chain is served again
//!   (`tests/it/events_withheld.rs`).

mod intake;
pub mod verbs;

pub use intake::{TakenIn, public_at_once, take_in};

use crate::facts::EventRecord;
use crate::store::event_detail::{self, Placed};
use crate::store::push_operations::{self, OperationRow};
use crate::store::{StoreError, Tx, event_feed, event_states};
use rds_shared::model::event::PublicationState;
use rds_shared::wire::Timestamp;
use serde::Serialize;
use std::collections::BTreeSet;

/// The source of the events that tell of moved ratings: what `excludeSource` takes to drop them.
pub const RATING_CHANGE_SOURCE: &str = "rating-change";
/// The source of every other event that the service makes out of what it observed.
pub const OBSERVED_CHANGE_SOURCE: &str = "observed-change";

/// Operations that are held at a time: bounds the memory of a batch of any size. One of an event that counts against a large
/// protocol is some hundred kilobytes, by the vaults that it touches.
const CAPTURED_AT_A_TIME: usize = 50;

/// Whom webhooks deliver an operation to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    EventPublished,
    EventRetracted,
    RatingChanged,
    SecurityEventPublished,
    BasketRebalanced,
    BasketVersionDeprecated,
    BasketVersionRetired,
}

impl Family {
    /// Its word in subscriptions.
    pub const fn as_str(self) -> &'static str {
        match self {
            Family::EventPublished => "event.published",
            Family::EventRetracted => "event.retracted",
            Family::RatingChanged => "rating.changed",
            Family::SecurityEventPublished => "security_event.published",
            Family::BasketRebalanced => "basket.rebalanced",
            Family::BasketVersionDeprecated => "basket.version.deprecated",
            Family::BasketVersionRetired => "basket.version.retired",
        }
    }
}

/// A frame of the event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    captured(tx, &moved, StreamOp::Promoted, now, |_| None).await?;
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
    let TakenIn { events: mut stale, groups, .. } = intake::write(tx, events).await?;
    let ids: Vec<i64> = events.iter().map(|event| event.id).collect();
    let promoted = how == How::Promoted;
    let moved = event_states::publish(tx, &ids, now.into(), promoted, true).await?;
    // Once, for what was written and for what became public of it.
    stale.extend_from_slice(&moved);
    stale.sort_unstable();
    stale.dedup();
    event_feed::refresh(tx, &stale, &groups).await?;
    let op = if promoted { StreamOp::Promoted } else { StreamOp::Published };
    captured(tx, &moved, op, now, |placed| Some(family(placed, op))).await?;
    Ok(moved)
}

/// Makes those of `ids` public that never were; answers them.
pub async fn publish_first(tx: &mut Tx<'_>, ids: &[i64], how: How, now: Timestamp) -> Result<Vec<i64>, StoreError> {
    let promoted = how == How::Promoted;
    let moved = event_states::publish(tx, ids, now.into(), promoted, true).await?;
    told(tx, &moved, if promoted { StreamOp::Promoted } else { StreamOp::Published }, now).await?;
    Ok(moved)
}

/// Brings the feed up to date with events that just moved, and captures what their subscribers are told.
async fn told(tx: &mut Tx<'_>, moved: &[i64], op: StreamOp, now: Timestamp) -> Result<(), StoreError> {
    if moved.is_empty() {
        return Ok(());
    }
    event_feed::refresh(tx, moved, &[]).await?;
    captured(tx, moved, op, now, |placed| Some(family(placed, op))).await
}

/// Tells of events that were withdrawn while their chain was withheld, and that subscribers had been told are public: once, when
/// the chain is served again. What is withheld still waits.
pub async fn tell_owed_retractions(tx: &mut Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    let owed = event_states::owed_retractions(tx).await?;
    captured(tx, &owed, StreamOp::Retracted, now, |_| Some(Family::EventRetracted)).await
}

/// Captures an operation of every one of these events that is served, and notes which of them subscribers take for public now.
async fn captured(
    tx: &mut Tx<'_>,
    ids: &[i64],
    op: StreamOp,
    now: Timestamp,
    family: impl Fn(&Placed) -> Option<Family> + Send,
) -> Result<(), StoreError> {
    for ids in ids.chunks(CAPTURED_AT_A_TIME) {
        let mut placed = event_detail::placed(&mut **tx, ids).await?;
        placed.retain(|placed| placed.is_served);
        let rows =
            placed.iter().map(|placed| row(operation(placed, family(placed), op))).collect::<Result<Vec<_>, _>>()?;
        push_operations::append(tx, now.into(), &rows).await?;
        let told: Vec<&str> = placed.iter().map(|placed| placed.detail.row.id.as_str()).collect();
        event_states::set_told(tx, &told, op != StreamOp::Retracted).await?;
    }
    Ok(())
}

fn family(placed: &Placed, op: StreamOp) -> Family {
    match op {
        StreamOp::Retracted => Family::EventRetracted,
        _ if placed.detail.row.source == RATING_CHANGE_SOURCE => Family::RatingChanged,
        StreamOp::Published | StreamOp::Promoted => Family::EventPublished,
    }
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
        chain_ids: chains(placed),
        body: &placed.detail,
    }
}

/// Every chain that the body names, those of the vaults that an event of a whole protocol touches included: a body that was captured
/// is never changed, so all of it is told no more once one of them is withheld.
fn chains(placed: &Placed) -> Vec<i64> {
    let named = placed.detail.affected_vaults.iter().filter_map(|vault| i64::try_from(vault.chain_id.0).ok());
    let all: BTreeSet<i64> = placed.chain_ids.iter().copied().chain(named).collect();
    all.into_iter().collect()
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
