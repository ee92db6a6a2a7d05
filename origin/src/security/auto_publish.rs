//! The auto-publish pass: what needs no editor.
//!
//! A pass publishes at most fifty drafts, those of the oldest attacks first, so that what has waited longest is never passed over
//! however much comes in. What is left waits for the next pass.

use super::{Promoted, promotion, publish, record};
use crate::clock::Clock;
use crate::store::publication::take_turn;
use crate::store::{Db, StoreError, Tx, security};
use rds_shared::model::security::PublishedBy;
use rds_shared::wire::Timestamp;
use serde::Serialize;

/// Rows a pass. Source: interface, "Parameter bounds".
pub const BATCH: u32 = 50;

/// What a pass did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Pass {
    /// The rows that it published, in the order in which it did.
    pub published: Vec<i64>,
    /// Rows that an event of the feed came to tell of, tells differently of, or tells of no longer.
    pub promoted: u64,
    /// Drafts that wait for the next one.
    pub waiting: u64,
}

/// Runs one pass in a transaction of its own, as one data version.
pub async fn run(db: &Db, clock: &Clock) -> Result<Pass, StoreError> {
    let now = clock.now();
    db.run_tx("auto-publish", move |tx| {
        Box::pin(async move {
            take_turn(tx).await?;
            let judged = security::judge(tx).await?;
            let (published, mut promoted) = pass(tx, now).await?;
            promoted += promotion::keep(tx, now).await?;
            let waiting = security::count_due(tx).await?;
            let rows = judged + published.len() as u64 + promoted.rows;
            if rows > 0 {
                record(tx, now, rows).await?;
            }
            Ok(Pass { published, promoted: promoted.rows, waiting })
        })
    })
    .await
}

/// Publishes what is due in the caller's transaction; answers the rows, and what that changed in the feed.
pub(super) async fn pass(tx: &mut Tx<'_>, now: Timestamp) -> Result<(Vec<i64>, Promoted), StoreError> {
    let (due, mut promoted) = (security::due(tx, BATCH).await?, Promoted::default());
    for id in &due {
        promoted += publish(tx, now, *id, PublishedBy::Auto).await?;
    }
    Ok((due, promoted))
}
