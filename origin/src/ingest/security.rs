//! The security registry, the casebook and signals in a batch's transaction: written like other facts, and then what follows.

use super::batch::Batch;
use super::commit::{Changed, upsert};
use crate::security::{self, Settled};
use crate::store::{StoreError, Tx, security as registry, signals};
use rds_shared::wire::Timestamp;

/// Writes what the batch observed.
pub(super) async fn write(tx: &mut Tx<'_>, batch: &Batch, changed: &mut Changed) -> Result<(), StoreError> {
    let told = upsert(tx, &batch.signals).await?;
    let written = [
        ("security_event", upsert(tx, &batch.security).await?.len()),
        ("loss_case", upsert(tx, &batch.losses).await?.len()),
        ("signal", told.len()),
    ];
    changed.extend(written.into_iter().filter(|(_, rows)| *rows > 0).map(|(kind, rows)| (kind, rows as u64)));
    if !told.is_empty() {
        let ids: Vec<i64> = told.iter().filter_map(|id| id.parse().ok()).collect();
        signals::find_vaults(tx, &ids).await?;
    }
    Ok(())
}

/// Judges and publishes registry rows, and adds up signals anew where a chain came to be served or withheld. Rows that
/// this changes count as changed, and so do events of the feed. Answers what was settled.
pub(super) async fn follow(
    tx: &mut Tx<'_>,
    batch: &Batch,
    now: Timestamp,
    changed: &mut Changed,
) -> Result<Settled, StoreError> {
    if !batch.chains.is_empty() {
        signals::add_up(tx, None).await?;
    }
    let settled = security::settle(tx, now, changed).await?;
    // Whether a row names its event depends on whether that one shows.
    let events = batch.event_ids();
    let named = if events.is_empty() { 0 } else { registry::told_by(tx, &events).await? };
    for (kind, rows) in [("security_event", settled.rows().max(named)), ("event", settled.promoted.rows)] {
        if rows > 0 {
            let count = changed.entry(kind).or_default();
            *count = rows.max(*count);
        }
    }
    Ok(settled)
}
