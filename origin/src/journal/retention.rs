//! Keeps the journal's partitions: made some hours ahead, dropped when they have left the window.

use super::{connect, in_time};
use crate::app::App;
use crate::store::StoreError;
use crate::store::journal::retention::{self as table, HOUR, Round};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::sleep;

/// How often it is asked whether an hour has begun: a moved clock takes effect this soon.
const LOOK: Duration = Duration::from_secs(1);
/// Looks after which partitions that could not be dropped are tried again.
const RETRY_LOOKS: u32 = 30;
/// Hours for which partitions are made ahead: how long the service may be away before producers write to the default one.
const AHEAD: i64 = 6;
/// What a round may take.
const ROUND: Duration = Duration::from_secs(120);

/// Keeps them until the process ends.
pub async fn keep_partitions(app: &App) {
    let (mut kept, mut looks) = (None, 0);
    loop {
        let hour = app.clock.now().as_seconds().div_euclid(HOUR);
        looks += 1;
        if kept != Some(hour) || looks >= RETRY_LOOKS {
            looks = 0;
            match round(app).await {
                Ok(round) => {
                    kept = Some(hour);
                    app.journal.meters.dropped.fetch_add(u64::from(round.dropped), Relaxed);
                    app.journal.meters.kept.store(u64::from(round.kept), Relaxed);
                }
                // The sequencer says when the database is down; once is enough.
                Err(StoreError::Unavailable(_)) => {}
                Err(error) => tracing::error!(%error, "the journal's partitions cannot be kept"),
            }
        }
        sleep(LOOK).await;
    }
}

async fn round(app: &App) -> Result<Round, StoreError> {
    let mut connection = connect(&app.db, "rds-retention", ROUND).await?;
    in_time(ROUND, table::round(&mut connection, app.clock.now(), AHEAD)).await
}
