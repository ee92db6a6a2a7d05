//! Checks this process's clock against the database's clock and the edge's signatures.

use crate::metrics::Metrics;
use rds_engine::clock::Clock;
use rds_shared::access::assertion::MAX_SKEW_SECONDS;
use rds_shared::wire::Timestamp;
use std::sync::atomic::Ordering::Relaxed;

/// Maximum age, in seconds, of a verified edge request that proves this clock right.
const EDGE_PROOF_SECONDS: i64 = 15;

/// Whether the wall clock is so far from `database_now` that the edge's signatures would be refused here.
///
/// A request of the edge that was verified a moment ago proves that this clock is right and the database's is wrong; the origin then stays
/// in service.
pub fn is_off(clock: &Clock, metrics: &Metrics, database_now: Timestamp) -> bool {
    let wall = clock.wall();
    let heard = wall.as_seconds().saturating_sub(metrics.edge_heard_at.load(Relaxed));
    differs(offset_seconds(wall, database_now)) && !(0..EDGE_PROOF_SECONDS).contains(&heard)
}

/// Whether clocks this many seconds apart differ by more than the edge's signatures allow.
pub fn differs(offset_seconds: i64) -> bool {
    offset_seconds.saturating_abs() > MAX_SKEW_SECONDS
}

/// Seconds that the wall clock is ahead of the database's.
pub fn offset_seconds(wall: Timestamp, database_now: Timestamp) -> i64 {
    wall.as_millis().saturating_sub(database_now.as_millis()) / 1_000
}
