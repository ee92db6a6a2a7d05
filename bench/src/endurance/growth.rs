//! Growth of tables beside the prediction of `docs/handbook/growth.md`.

use anyhow::{Context, Result};

use super::reading::Reading;

/// Tables that the load fills, with the bytes a row, indexes and large values included, that `cargo xtask bench growth` measured. The load also fills
/// tables for which there is no prediction yet: decisions, and those of webhooks.
pub const PREDICTED: [(&str, f64); 1] = [("vault_snapshot", 370.0)];

/// For each table: how much its growth deviates from the prediction, as a fraction, and the figures.
pub fn deviations(readings: &[Reading]) -> Result<Vec<(&'static str, f64, String)>> {
    // The first tables' pages are partly empty, and indexes are small.
    let first = readings.get(readings.len() / 10).context("no readings")?;
    let last = readings.last().context("no readings")?;
    let deviations = PREDICTED.into_iter().enumerate().map(|(at, (table, each))| {
        let [first, last] = [first, last].map(|reading| reading.tables.get(at).copied().unwrap_or_default());
        let (rows, bytes) = ((last.rows - first.rows) as f64, (last.bytes - first.bytes) as f64);
        let seen = format!(
            "{rows:.0} rows, {:.1} MB; {:.0} bytes a row instead of {each:.0}",
            bytes / 1e6,
            bytes / rows.max(1.0)
        );
        (table, bytes / (rows * each) - 1.0, seen)
    });
    Ok(deviations.collect())
}
