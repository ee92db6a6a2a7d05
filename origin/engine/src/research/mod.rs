//! Research: the service tests its own scores, and stores the findings with the rows that they follow from.
//!
//! A run reads facts and writes only research rows; no score depends on it. A record that passes its gate is shown at once. A gate checks
//! whether there is enough data, never what the result was. A record that does not pass stays a draft, but the discrimination report
//! lists it.
//!
//! # Invariants
//!
//! - A record is written once. A prediction is stored before its window begins and resolved once; the database refuses anything else
//!   (`origin/tests/it/research/routes.rs`).
//! - A gate checks whether there are enough samples, never what the result was; the discrimination report lists the comparisons that found
//!   nothing.
//! - Records of other parties name their provider, and none of their figures counts towards a gate of the service (`origin/tests/it/research/external.rs`).
//! - A backtest uses nothing dated after its sample's instant; where later knowledge is used, its method says so.
//! - A repeated price is not an observation: it supports neither a window without a loss nor a prediction. Series with impossible steps are left out, and each
//!   record states how many.
//! - A symbol's day is `observed` only if every vault of the symbol was read that day; otherwise the last value of up to seven days before
//!   is used and the day is `derived` (`origin/tests/it/assets/symbols.rs`).

mod backtests;
mod claims;
pub(crate) mod external;
mod health;
mod hindsight;
mod predictions;
mod records;
mod reports;
mod wording;

use crate::clock::Clock;
use rds_shared::model::research::RecordKind;
use rds_shared::route::Tag;
use rds_shared::scoring::METHODOLOGY_VERSION;
use rds_shared::wire::Timestamp;
use rds_store::ingest::publication;
use rds_store::research::{self as records_table, LastRun};
use rds_store::research::{facts, predictions as predictions_table, samples};
use rds_store::service::tags;
use rds_store::vaults::days;
use rds_store::{At, Db, StoreError};
use records::Kept;
use serde::Serialize;

/// Tags that a run touches.
pub const SHOWN_IN: [Tag; 1] = [Tag::Research];

/// Interval of automatic runs.
const EVERY_SECONDS: i64 = 86_400;

/// The result of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Number of new records.
    pub records: u64,
    /// Number of new records that pass their gate.
    pub promoted: u64,
    /// Number of samples used by the backtests.
    pub samples: u64,
    /// Number of new predictions.
    pub predicted: u64,
    /// Number of predictions whose outcome was stored.
    pub resolved: u64,
}

/// Runs at once, whether or not a run is due.
pub async fn run(db: &Db, clock: &Clock) -> Result<Run, StoreError> {
    Ok(run_if(db, clock.now(), |_, _| true).await?.unwrap_or_default())
}

/// Runs if the last run is a day old, covered other chains or used another methodology version, or if there was no run yet.
///
/// The condition is checked again under the lock, so only one of several processes runs.
pub async fn run_due(db: &Db, clock: &Clock) -> Result<Option<Run>, StoreError> {
    let now = clock.now();
    let due = move |last: Option<&LastRun>, served: &[i64]| is_due(last, served, now);
    let (last, served) = (records_table::last_run(&db.pool).await?, records_table::served_chains(&db.pool).await?);
    if due(last.as_ref(), &served) { run_if(db, now, due).await } else { Ok(None) }
}

/// Hides a record with its later versions, or a prediction, from clients, for the reason `hidden`; `None` shows it again.
///
/// Returns false if the id is unknown.
pub async fn set_visible(db: &Db, id: &str, hidden: Option<&str>) -> Result<bool, StoreError> {
    let (id, hidden) = (id.to_owned(), hidden.map(str::to_owned));
    db.run_tx("research visibility", move |tx| {
        let (id, hidden) = (id.clone(), hidden.clone());
        Box::pin(async move {
            let visible = hidden.is_none();
            let known = records_table::set_visible(tx, &id, hidden.as_deref(), visible).await?
                || predictions_table::set_visible(tx, &id, visible).await?;
            if known {
                tags::touch(tx, &SHOWN_IN).await?;
            }
            Ok::<bool, StoreError>(known)
        })
    })
    .await
}

fn is_due(last: Option<&LastRun>, served: &[i64], now: Timestamp) -> bool {
    last.is_none_or(|last| {
        now.seconds_since(last.ran_at.0) >= EVERY_SECONDS
            || last.chain_ids != served
            || last.model_version != METHODOLOGY_VERSION
    })
}

/// Updates the daily summaries in a separate transaction, so that the writers' lock is released before the run begins.
async fn sum_days(db: &Db) -> Result<(), StoreError> {
    db.run_tx("daily sums", |tx| {
        Box::pin(async move {
            publication::lock_writers(tx).await?;
            days::refresh_all(tx).await?;
            Ok::<(), StoreError>(())
        })
    })
    .await
}

async fn run_if(
    db: &Db,
    now: Timestamp,
    due: impl Fn(Option<&LastRun>, &[i64]) -> bool + Send + Sync + Copy + 'static,
) -> Result<Option<Run>, StoreError> {
    sum_days(db).await?;
    db.run_tx("research run", move |tx| {
        Box::pin(async move {
            records_table::lock_runs(tx).await?;
            let chain_ids = records_table::served_chains(&mut **tx).await?;
            if !due(records_table::last_run(&mut **tx).await?.as_ref(), &chain_ids) {
                return Ok(None);
            }
            let run_id = records_table::begin_run(tx, At(now), METHODOLOGY_VERSION, &chain_ids).await?;
            let mut kept = Kept::new((run_id, At(now)), chain_ids);
            let broken = samples::broken_series(tx, At(now)).await?;
            let tried = backtests::run(tx, now, &broken, &mut kept).await?;
            let coverage = facts::coverage(tx, At(now)).await?;
            let missing = facts::missing_inputs(tx).await?;
            health::run(tx, &coverage, &missing, &mut kept).await?;
            claims::run(tx, &tried, &mut kept).await?;
            reports::run(tx, (&coverage, &missing), &tried, &mut kept).await?;
            hindsight::run(tx, &mut kept).await?;
            let sources = facts::sources(tx).await?;
            for source in &sources {
                let rows = source.kinds.iter().map(|kind| kind.rows).sum();
                kept.document(tx, RecordKind::Source, &source.source, source, rows).await?;
            }
            let names: Vec<String> = sources.into_iter().map(|source| source.source).collect();
            records_table::supersede_others(tx, RecordKind::Source, &names, At(now)).await?;
            let mut run = kept.into_run();
            run.samples = tried.iter().map(|backtest| backtest.found.samples).sum();
            (run.predicted, run.resolved) = predictions::run(tx, now, &broken).await?;
            tags::touch(tx, &SHOWN_IN).await?;
            Ok(Some(run))
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_due_daily_and_whenever_it_is_about_something_else() {
        let at = |seconds| Timestamp::from_seconds(seconds);
        let last = LastRun { ran_at: At(at(0)), model_version: METHODOLOGY_VERSION.to_owned(), chain_ids: vec![1, 10] };
        assert!(is_due(None, &[], at(0)));
        assert!(
            !is_due(Some(&last), &[1, 10], at(EVERY_SECONDS - 1)) && is_due(Some(&last), &[1, 10], at(EVERY_SECONDS))
        );
        assert!(is_due(Some(&last), &[1], at(1)));
        assert!(is_due(Some(&LastRun { model_version: "older".to_owned(), ..last }), &[1, 10], at(1)));
    }
}
