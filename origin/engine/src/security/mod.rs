//! Publication in the security registry.
//!
//! ```text
//! draft ──publish──► published ──retract──► retracted ──publish──► published …
//!   ├─dismiss─► dismissed ──publish──► published
//!   └─remove──► removed   ──publish──► published        any state ──purge──► purged, for good
//! ```
//!
//! The tracked universe is the stored protocols, vaults, assets, markets and reserves. A row touches the tracked universe if it names a
//! protocol, or if one of its victims is the contract of a vault, an asset, a market or a reserve, or of the asset of a vault or a reserve.
//!
//! A row is published by an editor ([`editing`]) or by the auto-publish pass ([`auto_publish`]). The pass runs with every batch that may
//! make a draft publishable, and on the operator's command. A published row that touches the tracked universe is promoted into the events
//! feed ([`promotion`]). Every step is one transaction that holds the writers' lock, so a concurrent process finds the step already done.
//! [`crate::publication`] captures the operations in the same transaction.
//!
//! Whether a row touches the tracked universe is computed again whenever a row or the universe changes, because an older row may name
//! contracts that are tracked only now. The event created from a row is corrected or retracted accordingly.
//!
//! Rows on a withheld chain are not auto-published, served, promoted or captured; an editor's request to publish one is refused.
//!
//! # Invariants
//!
//! - A registry row is served only while it is published; its state, event and captured operation change in one transaction under the
//!   writers' lock. A registry row never changes a score (`origin/tests/it/security/world.rs`).
//! - Losses are whole cents from ingest to the answer; a board's total is the exact sum of its rows (`origin/tests/it/research/losses.rs`).

pub mod auto_publish;
pub mod editing;
mod promotion;

pub use promotion::Promoted;

use crate::publication::{Operation, capture};
use rds_shared::model::security::PublishedBy;
use rds_shared::push::event_type::EventType;
use rds_shared::route::Tag;
use rds_shared::wire::Timestamp;
use rds_store::ingest::publication::{advance_to, current_version, record_batch};
use rds_store::service::tags;
use rds_store::{StoreError, Tx, security};
use std::collections::BTreeMap;

/// Fact kinds that may change which rows touch the tracked universe. `protocol` is not among them, because ingest accepts a row only if the
/// protocol that it names exists.
const UNIVERSE: [&str; 5] = ["security_event", "vault", "asset", "market", "market_reserve"];
/// Fact kinds that may make a draft publishable, cause a chain to be served again, or change the event that represents a row.
const REGISTRY: [&str; 5] = ["security_event", "loss_case", "chain", "incident_link", "event"];

/// Tags touched by a change of the registry.
pub const SHOWN_IN: [Tag; 2] = [Tag::Events, Tag::Security];

/// The effects of a batch on the registry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// Number of rows that have begun or ceased to touch the tracked universe.
    pub judged: u64,
    /// Number of rows that the auto-publish pass published.
    pub published: u64,
    /// The resulting changes of the feed.
    pub promoted: Promoted,
}

impl Settled {
    /// Upper bound of the number of changed rows.
    pub fn rows(&self) -> u64 {
        self.judged + self.published + self.promoted.rows
    }
}

/// Applies the effects of a batch that changed rows of the fact kinds in `changed`.
pub async fn settle(
    tx: &mut Tx<'_>,
    now: Timestamp,
    changed: &BTreeMap<&'static str, u64>,
) -> Result<Settled, StoreError> {
    let any = |kinds: &[&str]| kinds.iter().any(|kind| changed.contains_key(kind));
    let mut settled = Settled::default();
    if any(&UNIVERSE) {
        settled.judged = security::refresh_tracked_flags(tx).await?;
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

/// Records a change of this many rows, outside an ingest batch, as a data version.
async fn record(tx: &mut Tx<'_>, now: Timestamp, rows: u64) -> Result<(), StoreError> {
    let version = current_version(tx).await? + 1;
    let changed = serde_json::json!({ "security_event": rows, "event": rows });
    record_batch(tx, version, now.into(), 0, &changed).await?;
    advance_to(tx, version).await?;
    tags::touch(tx, &SHOWN_IN).await?;
    Ok(())
}

/// Publishes a row. If the row is served, promotes it if it touches the tracked universe, and captures its served form as an operation.
async fn publish(tx: &mut Tx<'_>, now: Timestamp, id: i64, by: PublishedBy) -> Result<Promoted, StoreError> {
    security::set_published(tx, id, by, now.into()).await?;
    let promoted = promotion::promote(tx, now, id).await?;
    let Some(row) = security::served(tx, id).await? else { return Ok(promoted) };
    let operation = Operation {
        family: Some(EventType::SecurityEventPublished),
        // The stream carries events only. If the row has an event, the event is captured by its own operation.
        stream_op: None,
        event_id: row.id.to_string(),
        vault_ids: security::tracked_part(tx, id).await?.vaults,
        chain_ids: row.chain_id.iter().filter_map(|chain| i64::try_from(chain.0).ok()).collect(),
        body: &row,
    };
    capture(tx, now, operation).await?;
    Ok(promoted)
}
