//! Ingest: batches, importers, data sets and the simulation.

pub mod asset_answers;
pub mod batches;
pub mod chain_markets;
pub mod chain_overrides;
pub mod chain_readings;
pub mod described;
pub mod faults;
pub mod import;
pub mod mappings;
pub mod market;
pub mod publication;
pub mod read_answers;
pub mod real_data;
pub mod restored;
pub mod sets;
pub mod simulate;
pub mod simulate_markets;
