//! Background tasks for open streams: release of leases, liveness of this process, detection of revoked keys, and heartbeats that follow a
//! moved test clock.

use crate::journal::Journal;
use crate::journal::in_time;
use crate::stream::Streams;
use rds_engine::clock::Clock;
use rds_shared::wire::Timestamp;
use rds_store::Db;
use rds_store::StoreError;
use rds_store::push::stream_leases as table;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often this process renews its liveness: a third of the time for which it is valid.
const ALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// How often revoked keys are checked. A notification about a changed key shortens the wait.
const KEYS_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Pause before a failed release is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout of one database call. A call without an answer must not keep a revoked key's streams open.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the service's clock is compared with the wall clock.
const CLOCK_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// A change of the difference between the two clocks by at least this many microseconds means that the test clock was moved.
const MIN_MOVE_MICROS: i64 = 1_000_000;

/// Releases leases as streams end.
pub async fn keep_giving_back(db: &Db, streams: &Streams) {
    loop {
        let _ = timeout(RETRY_INTERVAL, streams.until_given_back()).await;
        if in_time(QUERY_TIMEOUT, streams.release(db)).await.is_err() {
            sleep(RETRY_INTERVAL).await;
        }
    }
}

/// Renews this process's liveness, and reconciles its streams with their leases.
pub async fn keep_alive(db: &Db, journal: &Journal, streams: &Streams) {
    loop {
        let kept = async {
            streams.announce(db).await?;
            let ended = streams.reconcile(db).await?;
            if let Some(at) = streams.meters.overflowed_at() {
                table::overflowed(db, at).await?;
            }
            Ok::<_, StoreError>(ended)
        };
        // The sequencer already logs that the database is down.
        if let Ok(ended @ 1..) = in_time(QUERY_TIMEOUT, kept).await {
            tracing::warn!(
                ended,
                "streams were ended: this process had been considered dead, so their leases were deleted"
            );
            journal.signal();
        }
        sleep(ALIVE_INTERVAL).await;
    }
}

/// Ends the streams of revoked keys.
pub async fn keep_revoking(db: &Db, journal: &Journal, streams: &Streams) {
    loop {
        let _ = timeout(KEYS_POLL_INTERVAL, streams.until_keys_change()).await;
        if let Ok(ended @ 1..) = in_time(QUERY_TIMEOUT, streams.end_revoked(db)).await {
            streams.meters.revoked.fetch_add(ended as u64, Relaxed);
            journal.signal();
        }
    }
}

/// Wakes every stream when the test clock was moved.
pub async fn keep_time(clock: &Clock, journal: &Journal) {
    if !clock.is_movable() {
        return;
    }
    let difference = || clock.now().as_micros().saturating_sub(clock.wall().as_micros());
    let mut known = difference();
    loop {
        sleep(CLOCK_POLL_INTERVAL).await;
        let now = difference();
        if now.saturating_sub(known).abs() >= MIN_MOVE_MICROS {
            known = now;
            journal.signal();
        }
    }
}

/// Whether a stream of any process overflowed in the `seconds` before `now`, for the status page.
pub async fn overflowed_within(db: &Db, streams: &Streams, now: Timestamp, seconds: i64) -> Result<bool, StoreError> {
    let since = now.plus_seconds(-seconds);
    let here = streams.meters.overflowed_at().is_some_and(|at| at >= since);
    Ok(here || table::overflowed_since(db, since).await?)
}
