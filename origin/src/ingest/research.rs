//! Research from elsewhere: findings take the place of what their source found before; predictions are taken once, and in time.

use super::Fault;
use super::batch::Batch;
use super::commit::{Changed, upsert};
use crate::research::given;
use crate::store::research_predictions::{self as table, GivenPrediction, Standing};
use crate::store::{At, StoreError, Tx};
use rds_shared::research::Horizon;
use rds_shared::research::outcome::BASE_WITHIN_DAYS;
use rds_shared::wire::Timestamp;
use std::collections::HashMap;

/// A prediction is taken for so long after its window began. Later nobody could tell it from one that was made in hindsight.
const TAKEN_FOR_SECONDS: i64 = 3_600;

/// What is wrong with predictions. The batch's prices must have been written, for what is foretold has to be seen.
pub async fn faults(tx: &mut Tx<'_>, batch: &Batch, now: Timestamp) -> Result<Vec<Fault>, StoreError> {
    if batch.predictions.is_empty() {
        return Ok(Vec::new());
    }
    let rows = rows(batch);
    let standing = table::standing_of(tx, &rows).await?;
    let mut first: HashMap<(&str, Horizon, i64), &GivenPrediction> = HashMap::new();
    let mut faults = Vec::new();
    for (((line, _), row), standing) in batch.predictions.iter().zip(&rows).zip(standing) {
        let instant = (row.vault_id.as_str(), row.horizon, row.made_at.0.as_seconds());
        let (field, reason) = match standing {
            _ if *first.entry(instant).or_insert(row) != row => (
                "observed_at",
                "another line foretells something else of this vault and horizon at that second".to_owned(),
            ),
            Standing::Same => continue,
            Standing::Other => (
                "observed_at",
                "another prediction of this vault and horizon stands at that second, and none is ever changed"
                    .to_owned(),
            ),
            Standing::None { .. } if now.seconds_since(row.made_at.0) > TAKEN_FOR_SECONDS => (
                "observed_at",
                format!(
                    "must lie at most {} minutes back: what comes later was not seen to stand before its window",
                    TAKEN_FOR_SECONDS / 60
                ),
            ),
            Standing::None { is_watched: false } => (
                "vault_id",
                format!(
                    "has no price of the {BASE_WITHIN_DAYS} days before that moved: nobody could see what becomes of it"
                ),
            ),
            Standing::None { is_watched: true } => continue,
        };
        faults.push(Fault { line: *line, field: Some(field.to_owned()), reason });
    }
    Ok(faults)
}

/// Writes both kinds.
pub async fn write(tx: &mut Tx<'_>, batch: &Batch, now: Timestamp, changed: &mut Changed) -> Result<(), StoreError> {
    let records = upsert(tx, &batch.research).await?;
    given::take_in(tx, &records, now).await?;
    let predictions = table::take_in(tx, &rows(batch)).await?;
    let written = [("research_record", records.len() as u64), ("research_prediction", predictions)];
    changed.extend(written.into_iter().filter(|(_, rows)| *rows > 0));
    Ok(())
}

fn rows(batch: &Batch) -> Vec<GivenPrediction> {
    let row = |(_, one): &(u64, crate::facts::ResearchPrediction)| GivenPrediction {
        vault_id: one.vault_id.clone(),
        horizon: one.horizon,
        made_at: At(one.observed_at.0),
        model_version: one.model_version.clone(),
        score: one.score.0,
        provided_by: one.source.clone(),
    };
    batch.predictions.iter().map(row).collect()
}
