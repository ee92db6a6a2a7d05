//! The auto-publish pass: publishes the drafts that need no editor.
//!
//! A pass publishes at most fifty drafts, those of the oldest attacks first, so that new drafts never delay older drafts. Further drafts
//! wait for the next pass.

use super::{Promoted, promotion, publish, record};
use crate::clock::Clock;
use rds_shared::model::security::PublishedBy;
use rds_shared::wire::Timestamp;
use rds_store::ingest::publication::lock_writers;
use rds_store::{Db, StoreError, Tx, security};
use serde::Serialize;

/// Maximum number of drafts that a pass publishes.
pub const BATCH: u32 = 50;

/// The result of a pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Pass {
    /// The published rows, in the order of publication.
    pub published: Vec<i64>,
    /// Number of rows whose event in the feed was created, changed or withdrawn.
    pub promoted: u64,
    /// Number of drafts that wait for the next pass.
    pub waiting: u64,
}

/// Runs one pass in its own transaction, as one data version.
pub async fn run(db: &Db, clock: &Clock) -> Result<Pass, StoreError> {
    let now = clock.now();
    db.run_tx("auto-publish", move |tx| {
        Box::pin(async move {
            lock_writers(tx).await?;
            let judged = security::refresh_tracked_flags(tx).await?;
            let (published, mut promoted) = pass(tx, now).await?;
            promoted += promotion::keep(tx, now).await?;
            let waiting = security::auto_publish::count_drafts(tx).await?;
            let rows = judged + published.len() as u64 + promoted.rows;
            if rows > 0 {
                record(tx, now, rows).await?;
            }
            Ok(Pass { published, promoted: promoted.rows, waiting })
        })
    })
    .await
}

/// Publishes drafts that need no editor, at most [`BATCH`], in the caller's transaction; returns the rows, and the changes of the feed.
pub(super) async fn pass(tx: &mut Tx<'_>, now: Timestamp) -> Result<(Vec<i64>, Promoted), StoreError> {
    let (due, mut promoted) = (security::auto_publish::drafts(tx, BATCH).await?, Promoted::default());
    for id in &due {
        promoted += publish(tx, now, *id, PublishedBy::Auto).await?;
    }
    Ok((due, promoted))
}
