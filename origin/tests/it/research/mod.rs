//! Research records, runs and the loss board.

pub mod external;
pub mod hindsight;
pub mod losses;
pub mod routes;
pub mod runs;
pub mod world;
