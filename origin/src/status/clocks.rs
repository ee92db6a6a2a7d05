//! Whether this process's clock is right: by the database's, and by what the edge signs.

use crate::app::App;
use rds_shared::access::assertion::MAX_SKEW_SECONDS;
use rds_shared::wire::Timestamp;
use std::sync::atomic::Ordering::Relaxed;

/// How long ago the edge may have been believed to show that the clock is right, in seconds.
const HEARD_SECONDS: i64 = 15;

/// Whether the wall clock is so far from `database_now` that the edge's signatures do not hold here.
///
/// Where the edge was believed a moment ago this clock is right, and the database's is the one that is off: that takes no origin
/// out of service.
pub fn is_off(app: &App, database_now: Timestamp) -> bool {
    let wall = app.clock.wall();
    let heard = wall.as_seconds().saturating_sub(app.metrics.edge_heard_at.load(Relaxed));
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
