//! The exposure graph: its inputs, frozen snapshots, and the decisions signed over it.

pub mod decisions;
pub mod facts;
pub mod signers;
pub mod snapshots;
