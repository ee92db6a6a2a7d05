//! Detects a clock that went back: the newest facts are later than the present.

use rds_shared::wire::Timestamp;
use rds_store::service::test_clock;
use rds_store::{Db, StoreError};

/// Tolerated difference between the clocks of two processes, in seconds.
const MAX_SKEW_SECONDS: i64 = 300;

/// Message for operators when [`newest_work_ahead_of`] found a difference.
pub const WENT_BACK: &str = "THE CLOCK IS BEHIND THE NEWEST FACTS: until it has caught up, new readings count as old, nothing newer is \
     published, and ages are wrong; set the clock right, or restore a database of that time";

/// The time of the newest ingest or score run in the database, if `now` is more than five minutes before it.
pub async fn newest_work_ahead_of(db: &Db, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    let newest = test_clock::newest_work(db).await?;
    Ok(newest.filter(|newest| newest.seconds_since(now) > MAX_SKEW_SECONDS))
}
