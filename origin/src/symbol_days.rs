//! The daily roll-up: when a day has ended, every symbol's vaults are added up as they were eligible then, and kept.
//!
//! Only the day that has just ended is ever kept. A day that was missed, because nothing ran, stays to be derived: nobody
//! knows any more who was eligible on it. So does the day of a symbol of which a vault was not read, though it was in the week
//! before: the sum is not observed, and a reading that comes in late still mends it.

use crate::store::{Db, StoreError, publication, symbols, tags};
use rds_shared::route::Tag;
use rds_shared::rules::symbol_history::{DayTotal, by_day};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Day;

/// Seconds into the new day after which the last readings of the old one have come in.
const SETTLED_AFTER: i64 = 30 * 60;

/// The day that may be kept at `now`.
pub fn due(now: Timestamp) -> Day {
    Day::of(now.plus_seconds(-SETTLED_AFTER)).plus(-1)
}

/// Keeps the day that has ended, unless that is done. Of several processes one does it. `true` when this one did.
pub async fn keep_due(db: &Db, now: Timestamp) -> Result<bool, StoreError> {
    let day = due(now);
    // Most of the time the answer is yes, and then nobody writes.
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
            // The day is served as observed from now on, where it was derived: a fact like others, and so it waits for its turn. Only
            // to be written: what was added up before is what is kept.
            publication::take_turn(tx).await?;
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
