//! The exposure graph, checks and signed decisions.

pub mod breach;
pub mod checks;
pub mod decisions_published;
pub mod decisions_retired;
pub mod decisions_signed;
pub mod decisions_world;
pub mod exposures;
pub mod incidents;
pub mod look_through;
pub mod mappings;
pub mod real_data;
pub mod snapshots;
pub mod world;
