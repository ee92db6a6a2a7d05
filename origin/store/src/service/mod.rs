//! The service itself: health, status, tag versions, clock and write probe.

pub mod database_state;
pub mod health;
pub mod status;
pub mod tags;
pub mod test_clock;
pub mod write_probe;
