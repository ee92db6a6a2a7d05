//! Commands of editors on one event: the transition and the scores that follow from it, as one data version.

use super::{PublicationResult, promote, publish, retract};
use crate::clock::Clock;
use crate::scoring_run::sanity_checks::{RunScope, Trust, attempt};
use rds_shared::route::Tag;
use rds_shared::wire::Timestamp;
use rds_store::events::states;
use rds_store::ingest::publication as versions;
use rds_store::ingest::publication::Touched;
use rds_store::service::tags;
use rds_store::{Db, StoreError, Tx, security};

/// Tags touched by a transition: those of the feed, of the scores of vaults that an incident counts against, and of registry rows that
/// name their event.
pub const SHOWN_IN: [Tag; 3] = [Tag::Vaults, Tag::Events, Tag::Security];

/// A command of an editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verb {
    /// Make the event public, for the first time or again.
    Publish,
    /// Withdraw the event.
    Retract {
        /// The reason, served to subscribers.
        reason: Option<String>,
    },
    /// Mark the event as promoted into the feed.
    Promote,
}

/// Runs a command on one event in its own transaction. A running service picks up the new data version like that of an ingest batch.
pub async fn run(db: &Db, clock: &Clock, id: i64, verb: Verb) -> Result<PublicationResult, StoreError> {
    let now = clock.now();
    db.run_tx("event publication", move |tx| {
        let verb = verb.clone();
        Box::pin(async move {
            versions::lock_writers(tx).await?;
            let outcome = match &verb {
                Verb::Publish => publish(tx, id, now).await?,
                Verb::Retract { reason } => retract(tx, id, reason.as_deref(), now).await?,
                Verb::Promote => promote(tx, id, now).await?,
            };
            if outcome == PublicationResult::Moved {
                follow(tx, id, now).await?;
            }
            Ok(outcome)
        })
    })
    .await
}

/// Scores the vaults that an incident counts against, and records the change as a data version.
async fn follow(tx: &mut Tx<'_>, id: i64, now: Timestamp) -> Result<(), StoreError> {
    let version = versions::current_version(tx).await? + 1;
    let touched = Touched { events: states::incidents_among(tx, &[id]).await?, ..Touched::default() };
    let run = attempt(tx, now, version, RunScope::Touched { touched, assets: false }, Trust::Feeds).await?;
    let changed = match security::count_reported_by(tx, &[id]).await? {
        0 => serde_json::json!({ "event": 1 }),
        rows => serde_json::json!({ "event": 1, "security_event": rows }),
    };
    versions::record_batch(tx, version, now.into(), 0, &changed).await?;
    versions::advance_to(tx, version).await?;
    let assets = run.assets_moved.then_some(Tag::Assets);
    let shown: Vec<Tag> = SHOWN_IN.into_iter().chain(assets).collect();
    tags::touch(tx, &shown).await?;
    Ok(())
}
