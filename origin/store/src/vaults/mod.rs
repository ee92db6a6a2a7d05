//! Data of single vaults: documents, histories, holders, allocations, strategies and rewards.

pub mod allocation;
pub mod days;
pub mod detail;
pub mod holders;
pub mod positions;
pub mod rewards;
pub mod score_history;
pub mod snapshots;
pub mod strategies;
