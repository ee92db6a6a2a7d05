//! Backtests: did low values precede losses?
//!
//! Two things are tested. The published score, as it stood at each instant: it is the very thing that readers had. And the history
//! vector, made again as of the instant from facts that bear a date: it reaches back to where the readings of prices begin,
//! long before the service published anything. Nothing else of a score is made again, for its facts bear no date.

use super::records::Kept;
use crate::scoring_run::as_of::Histories;
use crate::store::research_samples::{self as table, SampleRow, WindowRow};
use crate::store::{At, StoreError, Tx};
use rds_shared::model::research::{Backtest, Signal, TriedBacktest};
use rds_shared::research::gates;
use rds_shared::research::outcome::{LOSS_FROM_BP, OutcomeKind, price_loss};
use rds_shared::research::{Discrimination, Horizon, Sample, windows};
use rds_shared::scoring::MilliPoints;
use rds_shared::wire::Timestamp;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

const METHOD: &str = "Instants one horizon apart, back from the newest price, so that no two windows overlap. At each, every vault with a price \
    of the 7 days before is looked at once, with the value that was known then. A loss is a fall of the price per share of at least 1 percent from \
    its running peak within the window (price_loss), or a published incident of the vault, or of its protocol and counted against it (incident). A \
    window without a loss counts only when a price was read in its last quarter. auc is the share of pairs of a lossy and a lossless sample in \
    which the lossy one had the lower value, ties counting half; its interval is as wide as chance makes it for the number of vaults.";

/// A backtest that was tried, whatever came out.
pub struct Tried {
    /// What, and how far ahead.
    pub row: TriedBacktest,
    /// What was found.
    pub found: Discrimination,
}

/// Draws the samples, compares, and keeps every backtest.
pub async fn run(tx: &mut Tx<'_>, now: Timestamp, kept: &mut Kept) -> Result<Vec<Tried>, StoreError> {
    let mut tried = Vec::new();
    let end = table::newest_price(tx, At(now)).await?;
    let histories = Histories::load(tx).await?;
    for horizon in Horizon::ALL.iter().copied() {
        let instants: Vec<At> =
            end.map_or_else(Vec::new, |At(end)| windows::instants(end, horizon).into_iter().map(At).collect());
        let rows = table::windows(tx, &instants, horizon).await?;
        for signal in Signal::ALL.iter().copied() {
            let samples = match signal {
                Signal::PublishedScore => published(&rows, horizon),
                Signal::HistoryVector => reconstructed(tx, &histories, &rows, horizon).await?,
            };
            table::replace(tx, signal.as_str(), horizon, &samples).await?;
            for outcome in OutcomeKind::ALL.iter().copied() {
                tried.push(keep(tx, (signal, outcome, horizon), &samples, kept).await?);
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
        as_of: row.as_of,
        value,
        price_loss: price_loss(row.watched(), row.as_of.0, horizon),
        drawdown_bp: row.drawdown_bp,
        incident: row.incident,
    }
}

/// Whether a sample lost; none where nobody can say.
///
/// Incidents are published facts: none is known where none was published, whether or not a price was read.
fn lost(row: &SampleRow, outcome: OutcomeKind) -> Option<bool> {
    match outcome {
        OutcomeKind::PriceLoss => row.price_loss,
        OutcomeKind::Incident => Some(row.incident),
    }
}

async fn keep(
    tx: &mut Tx<'_>,
    (signal, outcome, horizon): (Signal, OutcomeKind, Horizon),
    rows: &[SampleRow],
    kept: &mut Kept,
) -> Result<Tried, StoreError> {
    let told: Vec<(&SampleRow, bool)> = rows.iter().filter_map(|row| Some((row, lost(row, outcome)?))).collect();
    let samples: Vec<Sample<'_>> = told
        .iter()
        .map(|(row, lost)| Sample {
            vault_id: &row.vault_id,
            value: MilliPoints::saturating(row.value.into()),
            lost: *lost,
        })
        .collect();
    let found = Discrimination::of(&samples);
    let unmet = gates::backtest(&found);
    let instants: BTreeSet<At> = told.iter().map(|(row, _)| row.as_of).collect();
    let backtest = Backtest {
        from: instants.first().map(|At(at)| *at),
        to: instants.last().map(|At(at)| *at),
        unobserved: (rows.len() - told.len()) as u64,
        method: METHOD,
        weaknesses: weaknesses(signal, outcome, &found, instants.len()),
        samples_hash: hash(&told),
        ..Backtest::of(signal, outcome, horizon, &found)
    };
    let key = format!("{signal}/{outcome}/{horizon}");
    kept.backtest(tx, (&key, outcome.as_str()), &backtest, unmet.clone()).await?;
    let (samples, losses) = (found.samples, found.losses);
    Ok(Tried { row: TriedBacktest { signal, outcome, horizon, samples, losses, unmet }, found })
}

impl Tried {
    /// Whether it is shown.
    pub fn is_public(&self) -> bool {
        self.row.unmet.is_empty()
    }
}

fn weaknesses(signal: Signal, outcome: OutcomeKind, found: &Discrimination, instants: usize) -> Vec<String> {
    let mut said = vec![
        format!(
            "{} of {} vaults lost, at {instants} instants: few, and losses of one instant may have one cause.",
            found.loss_vaults, found.vaults
        ),
        "Vaults whose price nobody read are not in it, and those that failed may be among them.".to_owned(),
    ];
    match signal {
        Signal::PublishedScore => said.push("Scores stand only since this service published them.".to_owned()),
        Signal::HistoryVector => {
            said.push("The history vector is 15 percent of a score; the other three are not tested by it.".to_owned());
            said.push("Age is counted from the deployment or first sight that is known today; whether an incident was resolved is today's knowledge; a fall of deposits is left out.".to_owned());
            said.push(
                "A fall before the instant lowers the vector, so that falls which go on are foreseen by it.".to_owned(),
            );
        }
    }
    match outcome {
        OutcomeKind::PriceLoss => said.push(format!(
            "A fall of {} percent need not be a loss of depositors: prices of some vaults move with what they hold.",
            LOSS_FROM_BP / 100
        )),
        OutcomeKind::Incident => {
            said.push("Only incidents that were reported and linked to a vault or its protocol are known.".to_owned())
        }
    }
    said
}

/// The digest of the samples in their order, a line each.
fn hash(told: &[(&SampleRow, bool)]) -> String {
    let mut digest = Sha256::new();
    for (row, lost) in told {
        let line = format!("{} {} {} {}\n", row.as_of.0.as_seconds(), row.vault_id, row.value, u8::from(*lost));
        digest.update(line);
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
