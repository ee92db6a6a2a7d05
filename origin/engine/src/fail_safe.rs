//! The platform's fail-safe mode: what the operator set, what the sanity checks of score runs found, and the mode in force.
//!
//! The worse of the operator's mode and the sanity checks' mode is in force. Sanity checks can only set `degraded`: the first good full run
//! ends it, but never ends a mode that an operator set. An operator's `normal` ends both: the operator has reviewed the held-back run, so
//! the next full run is due at once and may change any number of tiers. While an operator sets `degraded` or `fail_closed`, no score run is
//! made: facts are ingested, and scores, their history and their events wait for the next run.
//!
//! `fail_closed` means that the published scores must not be relied on. `normal` therefore makes a full run first and commits it
//! together with the mode; if a sanity check holds that run back, the mode stays `fail_closed`.
//! Only present data is withheld: past events and basket versions read by id are still served.
//!
//! # Invariants
//!
//! - The sanity checks end `degraded` only if they set it; they never change what an operator set. The record of who changed the mode,
//!   when and why is never rewritten (`origin/tests/it/service/fail_safe.rs`).
//! - The version of `Tag::FailSafe` encodes the mode, so a process reads version and mode together and never returns to an older mode.

use crate::clock::Clock;
use crate::scoring_run;
use rds_shared::model::health::FailSafeMode;
use rds_shared::route::Tag;
use rds_shared::scoring::sanity_checks::Withheld;
use rds_shared::wire::Timestamp;
use rds_store::ingest::publication;
use rds_store::scoring::fail_safe as table;
use rds_store::scoring::fail_safe::{Change, Stored};
use rds_store::{Db, StoreError, Tx};
use sqlx::Acquire;

/// Tags touched when the mode changes.
pub const MODE_TAGS: [Tag; 1] = [Tag::FailSafe];
/// Tags touched when an operator sets `normal`, which may publish a run.
pub const NORMAL_TAGS: [Tag; 4] = [Tag::FailSafe, Tag::Vaults, Tag::Assets, Tag::Events];
/// The author recorded for changes made by the sanity checks.
pub const SANITY_CHECKS: &str = "guard";

/// Result of an operator's change of the mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetModeResult {
    /// The mode was set; this is the stored state now.
    Set(Stored),
    /// The mode stays `fail_closed` and nothing was changed: a sanity check held back the full run.
    StaysClosed(Withheld),
}

/// Sets the operator's mode. Setting the same mode again is recorded, too.
pub async fn set_operator_mode(
    db: &Db,
    clock: &Clock,
    mode: FailSafeMode,
    reason: &str,
    said_by: &str,
) -> Result<SetModeResult, StoreError> {
    let at = clock.now();
    db.run_tx("fail-safe", move |tx| {
        let (reason, said_by) = (reason.to_owned(), said_by.to_owned());
        Box::pin(async move {
            let is_opened = |before: &Stored| mode == FailSafeMode::Normal && before.mode == FailSafeMode::FailClosed;
            if mode == FailSafeMode::Normal {
                // `normal` may publish a run, so it takes the writers' lock; the other modes do not wait for it.
                publication::lock_writers(tx).await?;
            }
            let mut tx = tx.begin().await?;
            let before = table::lock(&mut tx).await?;
            let mut after = Stored { mode, reason: Some(reason.clone()), ..before.clone() };
            if mode == FailSafeMode::Normal {
                // While runs were held back or suspended, the tiers of many vaults may have changed. `accepted` lets the next full run
                // change any number of tiers.
                after.accepted = before.accepted || before.held.is_some() || before.mode != FailSafeMode::Normal;
                after.held = None;
            }
            let change = Change { at, mode: after.in_force(), said_by, reason };
            let after = settle(&mut tx, &before, after, Some(change)).await?;
            if !is_opened(&before) {
                tx.commit().await?;
                return Ok(SetModeResult::Set(after));
            }
            scoring_run::whole(&mut tx, at).await?;
            let after = table::read(&mut *tx).await?;
            match after.held {
                Some(found) => {
                    tx.rollback().await?;
                    Ok(SetModeResult::StaysClosed(found))
                }
                None => {
                    tx.commit().await?;
                    Ok(SetModeResult::Set(after))
                }
            }
        })
    })
    .await
}

/// Records that a run was held back: the last good run is served until the next good one.
pub async fn hold_runs(tx: &mut Tx<'_>, now: Timestamp, reason: Withheld) -> Result<(), StoreError> {
    let before = table::lock(tx).await?;
    let after = Stored { held: Some(reason), tried_at: Some(now), ..before.clone() };
    let change = (before.held != after.held).then(|| sanity_check_change(now, &after, reason.message()));
    settle(tx, &before, after, change).await.map(drop)
}

/// Records that a full run was published, so nothing is held back any more.
pub async fn release(tx: &mut Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    let before = table::lock(tx).await?;
    let after = Stored { held: None, tried_at: None, accepted: false, ..before.clone() };
    let change = before.held.map(|_| sanity_check_change(now, &after, "a score run was published again"));
    settle(tx, &before, after, change).await.map(drop)
}

fn sanity_check_change(at: Timestamp, after: &Stored, reason: &str) -> Change {
    Change { at, mode: after.in_force(), said_by: SANITY_CHECKS.to_owned(), reason: reason.to_owned() }
}

async fn settle(
    tx: &mut Tx<'_>,
    before: &Stored,
    mut after: Stored,
    change: Option<Change>,
) -> Result<Stored, StoreError> {
    if let Some(change) = &change {
        if before.in_force() != after.in_force() {
            after.since = Some(change.at);
        }
        table::note(tx, change).await?;
    }
    if *before != after {
        table::write(tx, &after).await?;
    }
    Ok(after)
}
