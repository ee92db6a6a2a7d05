//! Whether the clock went back: facts that are newer than the present.

use crate::store::{Db, StoreError, test_clock};
use rds_shared::wire::Timestamp;

/// How far the clocks of processes may differ, in seconds.
const APART_SECONDS: i64 = 300;

/// What it means for the service.
pub const WENT_BACK: &str = "THE CLOCK IS BEHIND THE NEWEST FACTS: until it has caught up, new readings count as old, nothing newer is \
     published, and ages are wrong; set the clock right, or restore a database of that time";

/// The instant of the newest work in the database, when the clock is behind it by more than clocks differ.
pub async fn behind(db: &Db, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    let newest = test_clock::newest_work(db).await?;
    Ok(newest.filter(|newest| newest.seconds_since(now) > APART_SECONDS))
}
