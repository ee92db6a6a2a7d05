//! The sanity checks before publication: an implausible run is rolled back, and the last published scores stay in force.
//!
//! Every run goes through [`attempt`], inside the transaction that stored the facts. The facts are kept in either case. While a run is
//! held back, every further run covers everything, so that the change cannot be published in parts.
//!
//! In the modes `degraded` and `fail_closed`, which an operator sets, no run is made: no score changes and no event is
//! published.

use super::{Run, Scope, evaluate, keep_facts, score_assets};
use crate::fail_safe;
use rds_shared::model::health::FailSafeMode;
use rds_shared::scoring::sanity_checks::{RunFacts, Withheld};
use rds_shared::wire::Timestamp;
use rds_store::ingest::publication::{self, Touched};
use rds_store::scoring::fail_safe as table;
use rds_store::scoring::scores;
use rds_store::{StoreError, Tx, scoring};
use sqlx::Acquire;

/// The assets and vaults that a run covers.
#[derive(Debug)]
pub enum RunScope {
    /// Every asset and vault.
    All,
    /// The vaults that depend on changed facts.
    Touched {
        touched: Touched,
        /// Whether scores of assets may change.
        assets: bool,
    },
}

/// Where the facts of a run come from, which decides whether the share of changed tiers is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Feeds: a run that moves too many tiers is held back.
    Feeds,
    /// An operator's import of a whole data set, which may move any number of tiers.
    Operator,
}

/// Scores `over` as of `now`, with data version `version`. If the run is held back, the result gives the reason.
///
/// The caller holds the writers' lock.
pub async fn attempt(
    tx: &mut Tx<'_>,
    now: Timestamp,
    version: i64,
    over: RunScope,
    trust: Trust,
) -> Result<Run, StoreError> {
    let standing = table::read(&mut **tx).await?;
    let touched = match &over {
        RunScope::All => None,
        RunScope::Touched { touched, .. } => Some(touched.clone()),
    };
    if standing.mode != FailSafeMode::Normal {
        return keep_facts_without_run(tx, now, version, standing.mode, touched).await;
    }
    // A partial run cannot tell whether all inputs are outdated.
    let judges_age = matches!(over, RunScope::All);
    let is_suspected = standing.held.is_some_and(|held| held != Withheld::StaleInputs);
    let over = if is_suspected && trust == Trust::Feeds { RunScope::All } else { over };
    let is_whole = matches!(over, RunScope::All);

    let mut inner = tx.begin().await?;
    let mut facts = RunFacts { published: scores::published_tiers(&mut inner).await?, ..RunFacts::default() };
    let run = scored(&mut inner, now, version, over, &mut facts).await?;
    // A run takes a while, and an operator may change the mode meanwhile. From here to the commit the mode is locked.
    let mode = table::lock(&mut inner).await?.mode;
    if mode != FailSafeMode::Normal {
        inner.rollback().await?;
        return keep_facts_without_run(tx, now, version, mode, touched).await;
    }
    if !judges_age {
        facts.stale_inputs = 0;
    }
    let may_move = trust == Trust::Operator || (is_whole && standing.accepted);
    match facts.withheld(may_move || run.is_new_methodology) {
        None => {
            inner.commit().await?;
            if is_whole && (standing.held.is_some() || standing.accepted) {
                fail_safe::release(tx, now).await?;
            }
            Ok(run)
        }
        Some(reason) => {
            inner.rollback().await?;
            let kept = keep_touched(tx, now, version, FailSafeMode::Degraded, touched).await?;
            fail_safe::hold_runs(tx, now, reason).await?;
            let vaults = run.suspects.of(reason);
            tracing::warn!(%reason, %vaults, ?facts, "a score run is held back; the last good one is served");
            Ok(Run { vaults: run.vaults, kept, withheld: Some(reason.as_str()), ..Run::default() })
        }
    }
}

/// Keeps the facts without a run, because an operator set `mode`.
async fn keep_facts_without_run(
    tx: &mut Tx<'_>,
    now: Timestamp,
    version: i64,
    mode: FailSafeMode,
    touched: Option<Touched>,
) -> Result<Run, StoreError> {
    let kept = keep_touched(tx, now, version, mode, touched).await?;
    Ok(Run { kept, withheld: Some("operator"), ..Run::default() })
}

/// Publishes the changed facts without changing a score. Returns the number of vaults.
async fn keep_touched(
    tx: &mut Tx<'_>,
    now: Timestamp,
    version: i64,
    mode: FailSafeMode,
    touched: Option<Touched>,
) -> Result<u64, StoreError> {
    let Some(touched) = touched else { return Ok(0) };
    let ids = publication::affected_vaults(tx, &touched).await?;
    keep_facts(tx, now, version, mode, &ids).await?;
    Ok(ids.len() as u64)
}

async fn scored(
    tx: &mut Tx<'_>,
    now: Timestamp,
    version: i64,
    over: RunScope,
    facts: &mut RunFacts,
) -> Result<Run, StoreError> {
    match over {
        RunScope::All => {
            let assets = score_assets(tx, now, version, facts).await?;
            let ids = scoring::vault_ids(tx).await?;
            let run = evaluate(tx, now, version, Scope::All, ids, facts).await?;
            Ok(Run { assets_moved: assets.is_news, ..run })
        }
        RunScope::Touched { mut touched, assets } => {
            let mut assets_moved = false;
            if assets {
                let scored = score_assets(tx, now, version, facts).await?;
                touched.assets.extend(scored.moved);
                assets_moved = scored.is_news;
            }
            let ids = publication::affected_vaults(tx, &touched).await?;
            let run = evaluate(tx, now, version, Scope::Vaults, ids, facts).await?;
            Ok(Run { assets_moved, ..run })
        }
    }
}
