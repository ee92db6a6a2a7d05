//! The bounds of an observation's time.

use rds_shared::wire::Timestamp;
use rds_store::At;

/// 2009-01-01: an observation from before the first chain comes from a broken clock.
const EARLIEST: Timestamp = Timestamp::from_seconds(1_230_768_000);
/// How far `observed_at` may be ahead of this service's clock.
const MAX_AHEAD_SECONDS: i64 = 300;
/// What is wrong with a time before 2009.
pub const TOO_EARLY: &str = "must be 2009 or later";

/// Whether the time is not before 2009.
pub fn is_late_enough(at: At) -> bool {
    at.0 >= EARLIEST
}

/// What is wrong with a time too far ahead.
pub fn too_far_ahead_rule() -> String {
    format!("must not be more than {} minutes ahead of this service's clock", MAX_AHEAD_SECONDS / 60)
}

/// The fault of a time too far ahead of `now`; `None` for an earlier time. A row with such a time could not be replaced by a correct
/// observation until that time has come.
pub fn too_far_ahead(at: At, now: Timestamp) -> Option<String> {
    (at > At(now.plus_seconds(MAX_AHEAD_SECONDS))).then(too_far_ahead_rule)
}
