//! The guard before publication: a run that cannot be right leaves nothing behind, and the last good one stays what is served.
//!
//! Every run goes through [`attempt`], inside the transaction that brought the facts. The facts stay either way. While something is
//! held back, every run is one over everything: only that can be good as a whole, and nothing slips past in pieces.
//!
//! While an operator says `degraded` or `fail_closed` there is nothing to judge: no run is made, so no score moves, and nobody is told
//! of one.

use super::{Run, Scope, evaluate, keep_facts, score_assets};
use crate::fail_safe;
use crate::store::ingest::publication::{self, Touched};
use crate::store::scoring::fail_safe as table;
use crate::store::scoring::scores;
use crate::store::{StoreError, Tx, scoring};
use rds_shared::model::health::FailSafeMode;
use rds_shared::scoring::run::{RunFacts, Withheld};
use rds_shared::wire::Timestamp;
use sqlx::Acquire;

/// What a run is about.
#[derive(Debug)]
pub enum Over {
    /// Every asset and vault.
    All,
    /// The vaults that depend on what was touched.
    Touched {
        /// What it was.
        touched: Touched,
        /// Whether assets may score differently.
        assets: bool,
    },
}

/// Who answers for the facts that a run goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Nobody: whatever comes from feeds.
    Judged,
    /// An operator who loads a whole data set: it may move as many tiers as it does.
    VerifiedHead,
}

/// Scores what `over` says as of `now`; what changes belongs to data version `version`. A run that is held back says why.
///
/// The caller holds the writers' turn.
pub async fn attempt(
    tx: &mut Tx<'_>,
    now: Timestamp,
    version: i64,
    over: Over,
    trust: Trust,
) -> Result<Run, StoreError> {
    let standing = table::read(&mut **tx).await?;
    let touched = match &over {
        Over::All => None,
        Over::Touched { touched, .. } => Some(touched.clone()),
    };
    if standing.mode != FailSafeMode::Normal {
        return stood_still(tx, now, version, standing.mode, touched).await;
    }
    // Of a part nobody can say that everything in it is too old.
    let judges_age = matches!(over, Over::All);
    let is_suspected = standing.held.is_some_and(|held| held != Withheld::StaleInputs);
    let over = if is_suspected && trust == Trust::Judged { Over::All } else { over };
    let is_whole = matches!(over, Over::All);

    let mut inner = tx.begin().await?;
    let mut facts = RunFacts { published: scores::published_tiers(&mut inner).await?, ..RunFacts::default() };
    let run = scored(&mut inner, now, version, over, &mut facts).await?;
    // A run takes a while, and an operator who closes does not wait for it; from here on one waits for the commit.
    let said = table::hold(&mut inner).await?.mode;
    if said != FailSafeMode::Normal {
        inner.rollback().await?;
        return stood_still(tx, now, version, said, touched).await;
    }
    if !judges_age {
        facts.stale_inputs = 0;
    }
    let may_move = trust == Trust::VerifiedHead || (is_whole && standing.accepted);
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
            fail_safe::hold(tx, now, reason).await?;
            let vaults = run.suspects.of(reason);
            tracing::warn!(%reason, %vaults, ?facts, "a score run is held back; the last good one is served");
            Ok(Run { vaults: run.vaults, kept, withheld: Some(reason.as_str()), ..Run::default() })
        }
    }
}

/// No run is made, because an operator said `mode`.
async fn stood_still(
    tx: &mut Tx<'_>,
    now: Timestamp,
    version: i64,
    mode: FailSafeMode,
    touched: Option<Touched>,
) -> Result<Run, StoreError> {
    let kept = keep_touched(tx, now, version, mode, touched).await?;
    Ok(Run { kept, withheld: Some("operator"), ..Run::default() })
}

/// What was touched shows, though no score of it moves. Of how many vaults that is.
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
    over: Over,
    facts: &mut RunFacts,
) -> Result<Run, StoreError> {
    match over {
        Over::All => {
            let assets = score_assets(tx, now, version, facts).await?;
            let ids = scoring::vault_ids(tx).await?;
            let run = evaluate(tx, now, version, Scope::All, ids, facts).await?;
            Ok(Run { assets_moved: assets.is_news, ..run })
        }
        Over::Touched { mut touched, assets } => {
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
