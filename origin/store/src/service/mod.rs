//! The service itself: health, status, tag versions, clock, write probe and the restore drill.

pub mod database_state;
pub mod drill;
pub mod health;
pub mod status;
pub mod tags;
pub mod test_clock;
pub mod write_probe;
