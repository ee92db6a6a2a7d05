//! Vaults: lists, details, changes, holders and daily sums.

pub mod batch;
pub mod changes;
mod changes_chains;
pub mod changes_writers;
pub mod days;
pub mod days_costs;
pub mod detail;
pub mod holders;
pub mod lists;
pub mod portfolio;
pub mod strategies;
pub mod thinning;
pub mod withheld_chains;
