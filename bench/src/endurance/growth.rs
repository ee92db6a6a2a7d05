//! Growth of tables beside the prediction of `docs/handbook/growth.md`.

use anyhow::{Context, Result};

use super::reading::Reading;

/// Tables that grow together, by the rows of the first one.
pub struct Predicted {
    pub tables: &'static [&'static str],
    /// Bytes a row, indexes and large values included.
    pub bytes_a_row: f64,
}

/// What the load fills, as `cargo xtask bench growth` measured it, and for webhooks `cargo xtask bench push`.
pub const PREDICTED: [Predicted; 3] = [
    Predicted { tables: &["vault_snapshot"], bytes_a_row: 365.0 },
    Predicted { tables: &["decision"], bytes_a_row: 1_401.0 },
    Predicted { tables: &["webhook_delivery", "webhook_attempt", "webhook_event"], bytes_a_row: 398.0 },
];

/// For each table: how much its growth deviates from the prediction, as a fraction, and the figures.
pub fn deviations(readings: &[Reading]) -> Result<Vec<(String, f64, String)>> {
    // The first tables' pages are partly empty, and indexes are small.
    let first = readings.get(readings.len() / 10).context("no readings")?;
    let last = readings.last().context("no readings")?;
    let deviations = PREDICTED.into_iter().enumerate().map(|(at, Predicted { tables, bytes_a_row: each })| {
        let [first, last] = [first, last].map(|reading| reading.tables.get(at).copied().unwrap_or_default());
        let (rows, bytes) = ((last.rows - first.rows) as f64, (last.bytes - first.bytes) as f64);
        let seen = format!(
            "{rows:.0} rows, {:.1} MB; {:.0} bytes a row instead of {each:.0}",
            bytes / 1e6,
            bytes / rows.max(1.0)
        );
        (tables.join("`, `"), bytes / (rows * each) - 1.0, seen)
    });
    Ok(deviations.collect())
}
