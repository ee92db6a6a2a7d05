//! The security registry's publication.
//!
//! ```text
//! draft ──publish──► published ──retract──► retracted ──publish──► published …
//!   ├─dismiss─► dismissed ──publish──► published
//!   └─remove──► removed   ──publish──► published        any state ──purge──► purged, for good
//! ```
//!
//! A row is published by an editor ([`editing`]) or by the auto-publish pass ([`auto_publish`]), which runs with every batch that
//! changes the registry, the casebook or the tracked universe, and by the operator's verb. A published row that touches the
//! tracked universe is promoted into the events feed ([`promotion`]). Every step is one transaction that holds the writers'
//! turn, so that of two processes at once the second finds done what the first did. What leaves is captured there too, by
//! [`crate::publication`].
//!
//! What a row touches is judged anew whenever a row or the universe changes: with vaults, assets, markets and reserves that
//! come to be tracked, older rows come to touch them. The event that was made of a row follows it.
//!
//! Nothing on a withheld chain is published by itself, served, promoted or captured; an editor is told so.
//!
//! Source: interface, "Event and security-event publication".
//!
//! # Invariants
//!
//! - A registry row is served only while it is published; its state, event and captured operation change in one transaction behind the writers' lock. A
//!   report never moves a score (`tests/it/security.rs`).
//! - Losses are whole cents from ingest to the answer; a board's total is the exact sum of its rows (`tests/it/losses.rs`).

pub mod auto_publish;
pub mod editing;
mod promotion;

pub use promotion::Promoted;

use crate::publication::{Family, Operation, capture};
use crate::store::publication::{advance_to, current_version, record_batch};
use crate::store::{StoreError, Tx, security, tags};
use rds_shared::model::security::PublishedBy;
use rds_shared::route::Tag;
use rds_shared::wire::Timestamp;
use std::collections::BTreeMap;

/// Kinds of observation that the tracked universe is made of, the registry's own rows among them.
const UNIVERSE: [&str; 5] = ["security_event", "vault", "asset", "market", "market_reserve"];
/// Kinds after which a draft may have become due, a chain may have come to be served, or another event may tell of a row.
const REGISTRY: [&str; 5] = ["security_event", "loss_case", "chain", "incident_link", "event"];

/// Where a change of the registry shows.
pub const SHOWN_IN: [Tag; 2] = [Tag::Events, Tag::Security];

/// What a batch led to in the registry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// Rows that came to touch the tracked universe, or no longer do.
    pub judged: u64,
    /// Rows that the pass published.
    pub published: u64,
    /// What that changed in the feed.
    pub promoted: Promoted,
}

impl Settled {
    /// Rows that read differently now, at most.
    pub fn rows(&self) -> u64 {
        self.judged + self.published + self.promoted.rows
    }
}

/// What follows in the registry from a batch that changed rows of these kinds.
pub async fn settle(
    tx: &mut Tx<'_>,
    now: Timestamp,
    changed: &BTreeMap<&'static str, u64>,
) -> Result<Settled, StoreError> {
    let any = |kinds: &[&str]| kinds.iter().any(|kind| changed.contains_key(kind));
    let mut settled = Settled::default();
    if any(&UNIVERSE) {
        settled.judged = security::judge(tx).await?;
    }
    if settled.judged > 0 || any(&REGISTRY) {
        let (published, promoted) = auto_publish::pass(tx, now).await?;
        settled.published = published.len() as u64;
        settled.promoted = promoted;
    }
    if any(&UNIVERSE) || any(&REGISTRY) {
        settled.promoted += promotion::keep(tx, now).await?;
    }
    Ok(settled)
}

/// Makes a change of so many rows, outside a batch, a data version.
async fn record(tx: &mut Tx<'_>, now: Timestamp, rows: u64) -> Result<(), StoreError> {
    let version = current_version(tx).await? + 1;
    let changed = serde_json::json!({ "security_event": rows, "event": rows });
    record_batch(tx, version, now.into(), 0, &changed).await?;
    advance_to(tx, version).await?;
    tags::touch(tx, &SHOWN_IN).await?;
    Ok(())
}

/// Makes a row public, promotes it where it touches the tracked universe, and captures it as it is served then.
async fn publish(tx: &mut Tx<'_>, now: Timestamp, id: i64, by: PublishedBy) -> Result<Promoted, StoreError> {
    security::set_published(tx, id, by, now.into()).await?;
    let promoted = promotion::promote(tx, now, id).await?;
    let Some(row) = security::served(tx, id).await? else { return Ok(promoted) };
    let operation = Operation {
        family: Some(Family::SecurityEventPublished),
        // The stream tells of events; this row's is the promoted one, where there is one.
        stream_op: None,
        event_id: row.id.to_string(),
        vault_ids: security::touched(tx, id).await?.vaults,
        chain_ids: row.chain_id.iter().filter_map(|chain| i64::try_from(chain.0).ok()).collect(),
        body: &row,
    };
    capture(tx, now, operation).await?;
    Ok(promoted)
}
