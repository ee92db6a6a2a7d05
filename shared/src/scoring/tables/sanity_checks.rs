//! Numbers of the score run: when a whole run is held back.

/// A run is held back when at least one in this many published tiers would change at once: 20 percent.
pub const MASS_MOVE_ONE_IN: u64 = 5;
/// The check for mass moves needs at least this many published tiers; with fewer, a few changes could hold the run back.
pub const MASS_MOVE_MIN_PUBLISHED: u64 = 20;
/// A reading is stale when it is older than this many cadences.
pub const STALE_CADENCES: i64 = 2;
/// Longest interval between two readings of a vault, in seconds.
pub const READING_CADENCE_SECONDS: i64 = 86_400;
