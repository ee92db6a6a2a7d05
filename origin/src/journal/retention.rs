//! Maintains the journal's partitions: creates them some hours ahead and drops them once they have left the retention window.

use super::{connect, in_time};
use crate::journal::Journal;
use rds_engine::clock::Clock;
use rds_store::Db;
use rds_store::StoreError;
use rds_store::push::journal::retention as table;
use rds_store::push::journal::retention::{HOUR, Round};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::sleep;

/// How often to check whether a new hour has begun; every second, so that a moved test clock takes effect.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Number of checks after which partitions that could not be dropped are tried again.
const RETRY_POLLS: u32 = 30;
/// Number of hours for which partitions exist ahead: the service may be down this long before producers write to the default partition.
const HOURS_AHEAD: i64 = 8;
/// Timeout of one maintenance round.
const ROUND_TIMEOUT: Duration = Duration::from_secs(120);

/// Maintains the partitions until the process ends.
pub async fn keep_partitions(db: &Db, clock: &Clock, journal: &Journal) {
    let (mut kept, mut polls) = (None, 0);
    loop {
        let hour = clock.now().as_seconds().div_euclid(HOUR);
        polls += 1;
        if kept != Some(hour) || polls >= RETRY_POLLS {
            polls = 0;
            match round(db, clock).await {
                Ok(round) => {
                    kept = Some(hour);
                    journal.meters.dropped.fetch_add(u64::from(round.dropped), Relaxed);
                    journal.meters.kept.store(u64::from(round.kept), Relaxed);
                }
                // The sequencer already logs that the database is down.
                Err(StoreError::Unavailable(_)) => {}
                Err(error) => tracing::error!(%error, "the journal's partitions could not be maintained"),
            }
        }
        sleep(POLL_INTERVAL).await;
    }
}

async fn round(db: &Db, clock: &Clock) -> Result<Round, StoreError> {
    let mut connection = connect(db, "rds-retention", ROUND_TIMEOUT).await?;
    in_time(ROUND_TIMEOUT, table::round(&mut connection, clock.now(), HOURS_AHEAD)).await
}
