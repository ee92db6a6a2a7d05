//! External research: a finding replaces the source's earlier finding of the same key; a prediction is accepted once, and only until an
//! hour after its window has begun.

use super::Fault;
use super::batch::Batch;
use super::commit::{Changed, upsert};
use crate::research::external;
use rds_shared::research::Horizon;
use rds_shared::research::outcome::BASE_WITHIN_DAYS;
use rds_shared::wire::Timestamp;
use rds_store::research::predictions as table;
use rds_store::research::predictions::{ExternalPrediction, StoredPrediction};
use rds_store::{At, StoreError, Tx};
use std::collections::HashMap;

/// How long after the start of its window a prediction is accepted. A later prediction could have been made in hindsight.
const MAX_LATE_SECONDS: i64 = 3_600;

/// The faults of predictions. The batch's prices must have been written, because a prediction needs an observed price.
pub async fn faults(tx: &mut Tx<'_>, batch: &Batch, now: Timestamp) -> Result<Vec<Fault>, StoreError> {
    if batch.predictions.is_empty() {
        return Ok(Vec::new());
    }
    let rows = rows(batch);
    let standing = table::stored_predictions(tx, &rows).await?;
    let mut first: HashMap<(&str, Horizon, i64), &ExternalPrediction> = HashMap::new();
    let mut faults = Vec::new();
    for (((line, _), row), standing) in batch.predictions.iter().zip(&rows).zip(standing) {
        let instant = (row.vault_id.as_str(), row.horizon, row.made_at.0.as_seconds());
        let (field, reason) = match standing {
            _ if *first.entry(instant).or_insert(row) != row => (
                "observed_at",
                "must differ by a second from that of another prediction of this vault and horizon in the batch".to_owned(),
            ),
            StoredPrediction::Same => continue,
            StoredPrediction::Other => (
                "observed_at",
                "must differ by a second from that of a stored prediction of this vault and horizon, which cannot be changed"
                    .to_owned(),
            ),
            StoredPrediction::None { .. } if now.seconds_since(row.made_at.0) > MAX_LATE_SECONDS => (
                "observed_at",
                format!(
                    "must be at most {} minutes ago, so that the prediction is not made in hindsight",
                    MAX_LATE_SECONDS / 60
                ),
            ),
            StoredPrediction::None { is_watched: false } => (
                "vault_id",
                format!(
                    "must be a vault whose price was read and changed in the last {BASE_WITHIN_DAYS} days; otherwise the outcome cannot be observed"
                ),
            ),
            StoredPrediction::None { is_watched: true } => continue,
        };
        faults.push(Fault { line: *line, field: Some(field.to_owned()), reason });
    }
    Ok(faults)
}

/// Writes external records and predictions.
pub async fn write(tx: &mut Tx<'_>, batch: &Batch, now: Timestamp, changed: &mut Changed) -> Result<(), StoreError> {
    let records = upsert(tx, &batch.research).await?;
    external::insert_external(tx, &records, now).await?;
    let predictions = table::insert_external(tx, &rows(batch)).await?;
    let written = [("research_record", records.len() as u64), ("research_prediction", predictions)];
    changed.extend(written.into_iter().filter(|(_, rows)| *rows > 0));
    Ok(())
}

fn rows(batch: &Batch) -> Vec<ExternalPrediction> {
    let row = |(_, one): &(u64, rds_facts::ResearchPrediction)| ExternalPrediction {
        vault_id: one.vault_id.clone(),
        horizon: one.horizon,
        made_at: At(one.observed_at.0),
        model_version: one.model_version.clone(),
        score: one.score.0,
        provided_by: one.source.clone(),
    };
    batch.predictions.iter().map(row).collect()
}
