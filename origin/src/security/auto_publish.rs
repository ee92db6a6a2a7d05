//! The auto-publish pass: what needs no editor.
//!
//! A pass publishes at most fifty drafts, those of the oldest attacks first, so that what has waited longest is never passed over
//! however much comes in. What is left waits for the next pass.

use super::{promotion, publish, record};
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
    /// Rows that an event of the feed now tells of and did not before.
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
            let published = pass(tx, now).await?;
            let promoted = promotion::promote_all(tx, now).await?;
            let waiting = security::count_due(tx).await?;
            let rows = judged + published.len() as u64 + promoted;
            if rows > 0 {
                record(tx, now, rows).await?;
            }
            Ok(Pass { published, promoted, waiting })
        })
    })
    .await
}

/// Publishes what is due in the caller's transaction; answers the rows.
pub(super) async fn pass(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<i64>, StoreError> {
    let due = security::due(tx, BATCH).await?;
    for id in &due {
        publish(tx, now, *id, PublishedBy::Auto).await?;
    }
    Ok(due)
}
