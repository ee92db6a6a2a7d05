//! Security incidents and signals.

pub mod list;
pub mod promotion;
pub mod signals;
pub mod world;
