//! Assets: symbols, indices, reference rates and real-world assets.

pub mod indices;
pub mod reference_rates;
pub mod routes;
pub mod rwa;
pub mod rwa_totals;
pub mod symbols;
