//! Writes registry rows, loss cases and signals in a batch's transaction, and applies their effects.

use super::batch::Batch;
use super::commit::{Changed, upsert};
use crate::security::{self, Settled};
use rds_shared::wire::Timestamp;
use rds_store::security::signals;
use rds_store::{StoreError, Tx, security as registry};

/// Writes the batch's registry rows, cases and signals.
pub(super) async fn write(tx: &mut Tx<'_>, batch: &Batch, changed: &mut Changed) -> Result<(), StoreError> {
    let reported = upsert(tx, &batch.signals).await?;
    let written = [
        ("security_event", upsert(tx, &batch.security).await?.len()),
        ("loss_case", upsert(tx, &batch.losses).await?.len()),
        ("signal", reported.len()),
    ];
    changed.extend(written.into_iter().filter(|(_, rows)| *rows > 0).map(|(kind, rows)| (kind, rows as u64)));
    if !reported.is_empty() {
        let ids: Vec<i64> = reported.iter().filter_map(|id| id.parse().ok()).collect();
        signals::rebuild_affected_vaults(tx, &ids).await?;
    }
    Ok(())
}

/// Evaluates and publishes registry rows. Recomputes the signals' totals if the batch has chains, because a chain may now be withheld or
/// served again. Raises the counts of registry rows and feed events in `changed` to at least the numbers changed here.
pub(super) async fn follow(
    tx: &mut Tx<'_>,
    batch: &Batch,
    now: Timestamp,
    changed: &mut Changed,
) -> Result<Settled, StoreError> {
    if !batch.chains.is_empty() {
        signals::refresh_totals(tx, None).await?;
    }
    let settled = security::settle(tx, now, changed).await?;
    // A registry row shows its event only while the event is public, so a changed event may change the row.
    let events = batch.event_ids();
    let named = if events.is_empty() { 0 } else { registry::count_reported_by(tx, &events).await? };
    for (kind, rows) in [("security_event", settled.rows().max(named)), ("event", settled.promoted.rows)] {
        if rows > 0 {
            let count = changed.entry(kind).or_default();
            *count = rows.max(*count);
        }
    }
    Ok(settled)
}
