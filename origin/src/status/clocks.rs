//! Checks this process's clock against the database's clock and the edge's signatures.

use crate::metrics::Metrics;
use rds_engine::clock::Clock;
use rds_shared::access::assertion::MAX_SKEW_SECONDS;
use rds_shared::wire::Timestamp;
use std::sync::atomic::Ordering::Relaxed;

/// A request of the edge that was verified within this time shows that the clock is right, in seconds.
const HEARD_SECONDS: i64 = 15;

/// Whether the wall clock is so far from `database_now` that the edge's signatures would be refused here.
///
/// If a request of the edge was verified a moment ago, this clock is right and the database's is wrong. That must not take an origin
/// out of service.
pub fn is_off(clock: &Clock, metrics: &Metrics, database_now: Timestamp) -> bool {
    let wall = clock.wall();
    let heard = wall.as_seconds().saturating_sub(metrics.edge_heard_at.load(Relaxed));
    differs(offset_seconds(wall, database_now)) && !(0..HEARD_SECONDS).contains(&heard)
}

/// Whether clocks this many seconds apart differ by more than the edge's signatures allow.
pub fn differs(offset_seconds: i64) -> bool {
    offset_seconds.saturating_abs() > MAX_SKEW_SECONDS
}

/// Seconds that the wall clock is ahead of the database's.
pub fn offset_seconds(wall: Timestamp, database_now: Timestamp) -> i64 {
    wall.as_millis().saturating_sub(database_now.as_millis()) / 1_000
}
