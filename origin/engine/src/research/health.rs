//! Model health: completeness of the inputs and stability of the scores. A run stores one measurement of each figure.

use super::records::Kept;
use rds_shared::model::research::{Figure, ModelHealth, PREVIEW_STAGE, RecordKind};
use rds_shared::scoring::METHODOLOGY_VERSION;
use rds_store::research::facts::Coverage;
use rds_store::{StoreError, Tx};
use std::collections::BTreeMap;

/// Stores a measurement of every figure.
pub async fn run(
    tx: &mut Tx<'_>,
    coverage: &Coverage,
    missing: &BTreeMap<String, i64>,
    kept: &mut Kept,
) -> Result<(), StoreError> {
    for (figure, method) in figures(coverage).into_iter().chain(lacks(coverage, missing)) {
        let (key, counted) = (figure.name.clone(), figure.of.unwrap_or(1));
        let reading = ModelHealth {
            model_version: METHODOLOGY_VERSION.into(),
            stage: PREVIEW_STAGE,
            figure,
            method: method.into(),
        };
        kept.document(tx, RecordKind::ModelHealth, &key, &reading, counted).await?;
    }
    Ok(())
}

/// The figures, each with a description of how it is counted.
pub(super) fn figures(found: &Coverage) -> Vec<(Figure, &'static str)> {
    let part = |name: &str, count: i64, of: i64| Figure::part(name, count.unsigned_abs(), of.unsigned_abs());
    vec![
        (
            part("score_coverage", found.scored, found.vaults),
            "Active vaults with a published score, of all active vaults.",
        ),
        (
            part("exposure_coverage", found.exposures_observed, found.scored),
            "Scored vaults whose exposures were read, of all scored vaults; the others count as one exposure of 3.00.",
        ),
        (
            part("state_coverage", found.observed, found.vaults),
            "Active vaults with at least one reading of their state, of all active vaults.",
        ),
        (
            part("data_freshness", found.fresh, found.observed),
            "Active vaults whose newest reading is at most a day old, of those with a reading.",
        ),
        (
            part("price_coverage", found.priced, found.vaults),
            "Active vaults with a price from the last 7 days, of all active vaults.",
        ),
        (
            part("outcome_coverage", found.scored_and_priced, found.scored),
            "Scored vaults with a price from the last 7 days, of all scored vaults; only their outcomes can be observed.",
        ),
        (
            part("run_moves", found.last_run_changes, found.last_run_vaults),
            "Published changes of the newest full score run, per vault that it scored.",
        ),
        (
            part("tier_moves_30d", found.moved_tier, found.scored),
            "Vaults whose published tier changed within 30 days, of all scored vaults.",
        ),
        (
            part("dwelling", found.dwelling, found.scored),
            "Scored vaults with a tier change that waits for its dwell, of all scored vaults.",
        ),
        (
            part("overrides", found.overrides, found.assets),
            "Hard-fail flags lifted by an override in force; `of` is the number of scored assets.",
        ),
    ]
}

/// Unscored vaults by missing input; a vault may miss several.
fn lacks(found: &Coverage, missing: &BTreeMap<String, i64>) -> Vec<(Figure, &'static str)> {
    let lack = |(name, count): (&String, &i64)| {
        let figure = Figure::part(format!("missing:{name}"), count.unsigned_abs(), found.vaults.unsigned_abs());
        (figure, "Active vaults that lack this required input, of all active vaults.")
    };
    missing.iter().map(lack).collect()
}
