//! Converts research by other parties to records. Results are recomputed from the figures, and the records pass the same gates
//! as those of the service.

use super::records::{new_record, of_claim};
use rds_facts::{ExternalBacktest, ExternalFigure, Finding};
use rds_shared::model::research::{
    Backtest, Claim, Figure, ModelHealth, PREVIEW_STAGE, RecordKind, TriedBacktest, ValidationReport,
};
use rds_shared::research::discrimination::Band;
use rds_shared::research::{Discrimination, gates};
use rds_shared::scoring::Ppm;
use rds_shared::wire::Timestamp;
use rds_store::research::{self as table, Given, NewRecord};
use rds_store::{At, StoreError, Tx};

/// Stores the findings `ids`, which a batch has just changed, as records.
pub async fn insert_external(tx: &mut Tx<'_>, ids: &[String], now: Timestamp) -> Result<(), StoreError> {
    if ids.is_empty() {
        return Ok(());
    }
    for given in table::given(tx, ids).await? {
        let record = record(&given)?;
        table::keep(tx, (None, At(now)), &given.chain_ids, &record).await?;
    }
    Ok(())
}

fn record(given: &Given) -> Result<NewRecord, StoreError> {
    let finding = Finding::read(given.kind, &given.body)
        .map_err(|_| StoreError::Corrupt { column: "given_research.body", text: given.id.clone() })?;
    let named = (RecordKind::from(given.kind), given.id.as_str());
    let said = given.observed_at.0.as_micros().to_be_bytes();
    let version = || given.model_version.clone().into();
    let record = match finding {
        Finding::Report(report) => {
            let counted = report.figures.len() + report.backtests.len();
            let document = ValidationReport {
                model_version: version(),
                report_type: report.report_type,
                summary: report.summary,
                method: report.method.into(),
                weaknesses: report.weaknesses,
                figures: report.figures.into_iter().map(figure).collect(),
                backtests: report
                    .backtests
                    .into_iter()
                    .map(|tried| TriedBacktest {
                        signal: tried.signal,
                        outcome: tried.outcome,
                        horizon: tried.horizon,
                        samples: tried.samples,
                        losses: tried.losses,
                        unmet: tried.unmet,
                    })
                    .collect(),
            };
            new_record(named, &said, &document, gates::figure(counted as u64))?
        }
        Finding::Claim(claim) => {
            let unmet = gates::claim(claim.checked, claim.violations);
            let document = Claim {
                level: claim.level,
                surface: claim.surface.into(),
                statement: claim.statement.into(),
                model_version: version(),
                checked: claim.checked,
                violations: claim.violations,
                method: claim.method.into(),
                weaknesses: claim.weaknesses,
            };
            of_claim(new_record(named, &said, &document, unmet)?, &document)
        }
        Finding::Backtest(backtest) => {
            let found = found(&backtest);
            let document = Backtest {
                model_version: version(),
                from: backtest.from.map(|At(at)| at),
                to: backtest.to.map(|At(at)| at),
                unobserved: backtest.unobserved,
                repeated: backtest.repeated,
                broken_series: backtest.broken_series,
                protocols: backtest.protocols,
                method: backtest.method,
                weaknesses: backtest.weaknesses,
                samples_hash: backtest.samples_hash,
                ..Backtest::of(backtest.signal, backtest.outcome, backtest.horizon, &found)
            };
            let record = new_record(named, &said, &document, gates::backtest(&found))?;
            NewRecord { outcome: Some(document.outcome.as_str()), ..record }
        }
        Finding::Health(health) => {
            let document = ModelHealth {
                model_version: version(),
                stage: PREVIEW_STAGE,
                figure: figure(ExternalFigure { name: health.name, count: health.count, of: health.of }),
                method: health.method.into(),
            };
            new_record(named, &said, &document, gates::figure(health.of.unwrap_or(1)))?
        }
    };
    Ok(NewRecord {
        model_version: Some(given.model_version.clone()),
        provided_by: Some(given.source.clone()),
        ..record
    })
}

fn figure(given: ExternalFigure) -> Figure {
    match given.of {
        Some(of) => Figure::part(given.name, given.count, of),
        None => Figure::number(given.name, given.count),
    }
}

/// The source's figures in the type of the service's own results, with the tiers sorted from best to worst.
fn found(given: &ExternalBacktest) -> Discrimination {
    let ppm = |share: Option<rds_facts::Share>| share.map(|share| Ppm(share.0.into()));
    let band = |band: &rds_facts::ExternalBand| Band { tier: band.tier, samples: band.samples, losses: band.losses };
    let mut bands: Vec<Band> = given.bands.iter().map(band).collect();
    bands.sort_unstable_by_key(|band| std::cmp::Reverse(band.tier));
    Discrimination {
        samples: given.samples,
        losses: given.losses,
        vaults: given.vaults,
        loss_vaults: given.loss_vaults,
        loss_groups: given.loss_groups,
        distinct_values: given.distinct_values,
        auc: ppm(given.auc),
        interval: ppm(given.auc_low).zip(ppm(given.auc_high)),
        bands,
    }
}
