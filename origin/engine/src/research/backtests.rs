//! Backtests: did low values precede losses?
//!
//! Two signals are tested: the published score, as readers saw it at each instant, and the history vector, recomputed
//! as of each instant from facts that have a date. The vector covers the whole time for which prices were observed,
//! which begins long before the first published score. The other parts of a score are not recomputed, because their
//! facts have no date.

use super::records::Kept;
use super::wording;
use crate::scoring_run::as_of::Histories;
use rds_shared::model::research::{Backtest, Grouping, Signal, TriedBacktest};
use rds_shared::research::gates;
use rds_shared::research::outcome::{OutcomeKind, price_loss};
use rds_shared::research::{Discrimination, Horizon, Sample, windows};
use rds_shared::scoring::MilliPoints;
use rds_shared::wire::Timestamp;
use rds_store::research::samples as table;
use rds_store::research::samples::{SampleRow, WindowRow};
use rds_store::{At, StoreError, Tx};
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashSet};

/// A backtest that was run, whatever its result.
pub struct Tried {
    /// Signal, outcome and horizon, with the numbers of samples and losses and the requirements that are not met.
    pub row: TriedBacktest,
    pub found: Discrimination,
}

/// Draws the samples, runs every comparison, and stores each backtest.
///
/// Vaults whose price series is `broken` are left out; each backtest states how many there were.
pub async fn run(
    tx: &mut Tx<'_>,
    now: Timestamp,
    broken: &HashSet<String>,
    kept: &mut Kept,
) -> Result<Vec<Tried>, StoreError> {
    let mut tried = Vec::new();
    let end = table::newest_price(tx, At(now)).await?;
    let histories = Histories::load(tx).await?;
    for horizon in Horizon::ALL.iter().copied() {
        let instants: Vec<At> =
            end.map_or_else(Vec::new, |At(end)| windows::instants(end, horizon).into_iter().map(At).collect());
        let (broken_rows, rows): (Vec<WindowRow>, Vec<WindowRow>) =
            table::windows(tx, &instants, horizon).await?.into_iter().partition(|row| broken.contains(&row.vault_id));
        let left_out = broken_rows.iter().map(|row| &row.vault_id).collect::<BTreeSet<_>>().len() as u64;
        for signal in Signal::ALL.iter().copied() {
            let samples = match signal {
                Signal::PublishedScore => published(&rows, horizon),
                Signal::HistoryVector => reconstructed(tx, &histories, &rows, horizon).await?,
            };
            table::replace(tx, signal.as_str(), horizon, &samples).await?;
            for outcome in OutcomeKind::ALL.iter().copied() {
                tried.push(keep(tx, (signal, outcome, horizon), (&samples, left_out), kept).await?);
            }
        }
    }
    Ok(tried)
}

fn published(rows: &[WindowRow], horizon: Horizon) -> Vec<SampleRow> {
    rows.iter().filter_map(|row| Some(sample(row, row.published_score?, horizon))).collect()
}

async fn reconstructed(
    tx: &mut Tx<'_>,
    histories: &Histories,
    rows: &[WindowRow],
    horizon: Horizon,
) -> Result<Vec<SampleRow>, StoreError> {
    let mut samples = Vec::with_capacity(rows.len());
    for at_once in rows.chunk_by(|one, next| one.as_of == next.as_of) {
        let Some(At(as_of)) = at_once.first().map(|row| row.as_of) else { continue };
        let ids: Vec<String> = at_once.iter().map(|row| row.vault_id.clone()).collect();
        let values = histories.vectors(tx, &ids, as_of).await?;
        samples.extend(at_once.iter().filter_map(|row| Some(sample(row, values.get(&row.vault_id)?.get(), horizon))));
    }
    Ok(samples)
}

fn sample(row: &WindowRow, value: i32, horizon: Horizon) -> SampleRow {
    SampleRow {
        vault_id: row.vault_id.clone(),
        protocol_id: row.protocol_id.clone(),
        repeats: row.window_prices().only_repeats(row.as_of.0, horizon),
        as_of: row.as_of,
        value,
        price_loss: price_loss(row.window_prices(), row.as_of.0, horizon),
        drawdown_bp: row.drawdown_bp,
        incident: row.incident,
    }
}

/// Whether a loss followed the sample; `None` if that is unknown.
///
/// Only published incidents count, so the incident outcome is always known, even if no price was observed.
fn lost(row: &SampleRow, outcome: OutcomeKind) -> Option<bool> {
    match outcome {
        OutcomeKind::PriceLoss => row.price_loss,
        OutcomeKind::Incident => Some(row.incident),
    }
}

async fn keep(
    tx: &mut Tx<'_>,
    (signal, outcome, horizon): (Signal, OutcomeKind, Horizon),
    (rows, broken_series): (&[SampleRow], u64),
    kept: &mut Kept,
) -> Result<Tried, StoreError> {
    let told: Vec<(&SampleRow, bool)> = rows.iter().filter_map(|row| Some((row, lost(row, outcome)?))).collect();
    let samples: Vec<Sample<'_>> = told
        .iter()
        .map(|(row, lost)| Sample {
            vault_id: &row.vault_id,
            group: match Grouping::of(outcome) {
                Grouping::Vault => &row.vault_id,
                Grouping::Protocol => &row.protocol_id,
            },
            value: MilliPoints::saturating(row.value.into()),
            lost: *lost,
        })
        .collect();
    let found = Discrimination::of(&samples);
    let unmet = gates::backtest(&found);
    let instants: BTreeSet<At> = told.iter().map(|(row, _)| row.as_of).collect();
    let protocols: BTreeSet<&str> = told.iter().map(|(row, _)| row.protocol_id.as_str()).collect();
    let repeated = rows.iter().filter(|row| row.repeats && lost(row, outcome).is_none()).count() as u64;
    let backtest = Backtest {
        from: instants.first().map(|At(at)| *at),
        to: instants.last().map(|At(at)| *at),
        unobserved: (rows.len() - told.len()) as u64,
        repeated,
        broken_series,
        protocols: protocols.len() as u64,
        samples_hash: hash(&told),
        ..Backtest::of(signal, outcome, horizon, &found)
    };
    let (method, weaknesses) = (wording::method(signal, outcome), wording::weaknesses(&backtest, instants.len()));
    let backtest = Backtest { method, weaknesses, ..backtest };
    let key = format!("{signal}/{outcome}/{horizon}");
    kept.backtest(tx, (&key, outcome.as_str()), &backtest, unmet.clone()).await?;
    let (samples, losses) = (found.samples, found.losses);
    Ok(Tried { row: TriedBacktest { signal, outcome, horizon, samples, losses, unmet }, found })
}

impl Tried {
    /// Whether the backtest passes its gate.
    pub fn is_public(&self) -> bool {
        self.row.unmet.is_empty()
    }
}

/// Digest of the samples, one line each, in order.
fn hash(told: &[(&SampleRow, bool)]) -> String {
    let mut digest = Sha256::new();
    for (row, lost) in told {
        let line = format!("{} {} {} {}\n", row.as_of.0.as_seconds(), row.vault_id, row.value, u8::from(*lost));
        digest.update(line);
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
