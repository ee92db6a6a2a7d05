//! The daily roll-up: after a day has ended, each symbol's TVL and rate over the vaults eligible on that day are stored.
//!
//! Only the day that has just ended is stored. A day that was missed because the service did not run is computed on request, because
//! the vaults that were eligible then are not known. A symbol's day is also computed on request if one of its vaults has readings in the
//! week before but none on that day: the total is incomplete, and a late reading still corrects it.

use rds_shared::route::Tag;
use rds_shared::rules::symbol_history::{DayTotal, by_day};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Day;
use rds_store::ingest::publication;
use rds_store::registry::symbols;
use rds_store::service::tags;
use rds_store::{Db, StoreError};

/// Seconds after the end of a day until its roll-up is due; by then its last readings are ingested.
const SETTLED_AFTER: i64 = 30 * 60;

/// The day whose roll-up is due at `now`.
pub fn due(now: Timestamp) -> Day {
    Day::of(now.plus_seconds(-SETTLED_AFTER)).plus(-1)
}

/// Stores the roll-up of the due day unless it exists. Only one process claims a day; `true` if this process stored it.
pub async fn keep_due(db: &Db, now: Timestamp) -> Result<bool, StoreError> {
    let day = due(now);
    // The day is usually claimed already; this check then avoids a transaction.
    if symbols::is_claimed(db, day).await? {
        return Ok(false);
    }
    db.run_tx("symbol days", move |tx| {
        Box::pin(async move {
            if !symbols::claim_day(tx, day, now).await? {
                return Ok(false);
            }
            let readings = symbols::readings(tx, None, &[day]).await?;
            let total = |(symbol, readings): (String, Vec<_>)| {
                let whole = by_day(readings).remove(&day).filter(DayTotal::is_whole)?;
                Some((symbol, whole))
            };
            let totals = readings.into_iter().filter_map(total).collect();
            // Storing the day changes its served `source` from `derived` to `observed`, so the transaction takes the writers' lock.
            // The totals are computed first, so that the lock is held only for the write.
            publication::lock_writers(tx).await?;
            symbols::keep_day(tx, day, &totals).await?;
            tags::touch(tx, &[Tag::Vaults]).await?;
            Ok(true)
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_due_once_the_next_one_has_settled() {
        let due = |text: &str| due(Timestamp::parse(text).unwrap()).to_string();
        assert_eq!(due("2026-11-21T00:29:59Z"), "2026-11-19");
        assert_eq!(due("2026-11-21T00:30:00Z"), "2026-11-20");
        assert_eq!(due("2026-11-22T00:29:59Z"), "2026-11-20");
    }
}
