//! Numbers of the scoring run: when a whole run is held back.

/// A run is held back when at least one in this many published tiers would move at once.
pub const MASS_MOVE_ONE_IN: u64 = 5;
/// Below this many published tiers a fraction says nothing, and single moves must still publish.
pub const MASS_MOVE_MIN_PUBLISHED: u64 = 20;
/// A reading older than so many of its cadences is stale.
pub const STALE_CADENCES: i64 = 2;
/// A vault is read at least once in so many seconds.
pub const READING_CADENCE_SECONDS: i64 = 86_400;
