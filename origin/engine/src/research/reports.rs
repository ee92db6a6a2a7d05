//! Validation reports: the results of all tests of the model, including those with too little data.

use super::backtests::Tried;
use super::health;
use super::records::Kept;
use rds_shared::model::research::{Figure, RecordKind, ReportType, ValidationReport};
use rds_shared::scoring::METHODOLOGY_VERSION;
use rds_store::research::facts::Coverage;
use rds_store::{StoreError, Tx};
use std::collections::BTreeMap;

/// Stores the coverage report and the discrimination report.
pub async fn run(
    tx: &mut Tx<'_>,
    (coverage, missing): (&Coverage, &BTreeMap<String, i64>),
    tried: &[Tried],
    kept: &mut Kept,
) -> Result<(), StoreError> {
    let vaults = coverage.vaults.unsigned_abs();
    for report in [of_coverage(coverage, missing), of_discrimination(coverage, tried)] {
        kept.document(tx, RecordKind::ValidationReport, report.report_type.as_str(), &report, vaults).await?;
    }
    Ok(())
}

fn of_coverage(coverage: &Coverage, missing: &BTreeMap<String, i64>) -> ValidationReport {
    let lacks = missing.iter().map(|(input, count)| {
        Figure::part(format!("missing:{input}"), count.unsigned_abs(), coverage.vaults.unsigned_abs())
    });
    let counted = health::figures(coverage).into_iter().map(|(figure, _)| figure);
    ValidationReport {
        model_version: METHODOLOGY_VERSION.into(),
        report_type: ReportType::Coverage,
        summary: format!(
            "{} of {} active vaults have a score; the exposures of {} of these were read.",
            coverage.scored, coverage.vaults, coverage.exposures_observed
        ),
        method: "Counts the active vaults of served chains by which facts about them are known.".into(),
        weaknesses: vec!["Vaults that no source lists are not counted.".to_owned()],
        figures: counted.chain(lacks).collect(),
        backtests: Vec::new(),
    }
}

fn of_discrimination(coverage: &Coverage, tried: &[Tried]) -> ValidationReport {
    let public = tried.iter().filter(|one| one.is_public()).count() as u64;
    ValidationReport {
        model_version: METHODOLOGY_VERSION.into(),
        report_type: ReportType::Discrimination,
        summary: format!("{public} of {} backtests had enough samples and losses to be published.", tried.len()),
        method: "Every backtest is listed with the requirements that it does not meet. Whether a backtest is published depends on its numbers of samples, losses and vaults, never on its result.".into(),
        weaknesses: vec![
            format!(
                "{} of {} scored vaults have a price from the last 7 days; the outcomes of the others cannot be observed.",
                coverage.scored_and_priced, coverage.scored
            ),
            "Several backtests use the same prices. Of twenty that test no real effect, one is expected to show an effect by chance.".to_owned(),
        ],
        figures: vec![Figure::part("backtests_shown", public, tried.len() as u64)],
        backtests: tried.iter().map(|one| one.row.clone()).collect(),
    }
}
