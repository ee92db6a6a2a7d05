//! Predictions: published values are stored before their window begins, and resolved when it has ended.

use rds_shared::research::Horizon;
use rds_shared::research::outcome::{PredictionOutcome, prediction_outcome};
use rds_shared::wire::Timestamp;
use rds_store::research::predictions as table;
use rds_store::research::predictions::horizon;
use rds_store::{At, StoreError, Tx};
use std::collections::HashSet;

/// Resolves ended windows, then stores predictions for vaults without an open window. Returns how many were stored and
/// how many resolved.
///
/// Vaults in `broken` (unusable price series) get no new predictions; their ended windows are resolved as `unobserved`.
pub async fn run(tx: &mut Tx<'_>, now: Timestamp, broken: &HashSet<String>) -> Result<(u64, u64), StoreError> {
    let due = table::due(tx, At(now)).await?;
    let settled: Vec<_> = due
        .into_iter()
        .filter_map(|row| {
            let outcome = match broken.contains(&row.vault_id) {
                true => PredictionOutcome::Unobserved,
                false => prediction_outcome(row.window_prices(), row.made_at.0, horizon(row.horizon_days)?, now),
            };
            (outcome != PredictionOutcome::Pending).then_some((row, outcome))
        })
        .collect();
    table::resolve(tx, At(now), &settled).await?;
    let broken: Vec<&str> = broken.iter().map(String::as_str).collect();
    let mut written = 0;
    for horizon in Horizon::ALL.iter().copied() {
        written += table::record_due(tx, At(now), horizon, &broken).await?;
    }
    Ok((written, settled.len() as u64))
}
