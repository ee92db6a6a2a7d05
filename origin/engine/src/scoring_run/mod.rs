//! A score run: loads typed inputs, evaluates the methodology, applies the dwell, and writes only what changed.
//!
//! A run is one transaction, so scores, history and run record are committed together or not at all. [`sanity_checks`] decides whether
//! the result is published.
//!
//! # Invariants
//!
//! - In every published row `tier == tier_of(total_score)`, at every instant of a dwell.
//! - Every run passes the sanity checks inside the transaction that stored its facts: it is published whole, or only its facts are kept. While
//!   a run is held back, every further run covers all vaults (`origin/tests/it/scoring/held_back.rs`).
//! - In fail-closed mode no run is made and no basket rebalanced. The mode ends in the same commit as the run that follows it, or not at all
//!   (`origin/tests/it/service/fail_safe_closed.rs`).

pub mod as_of;
mod asset_side;
mod assets;
mod inputs;
mod nested;
mod peers;
mod platform;
mod publish;
pub mod sanity_checks;
mod suspects;
mod unstated;

pub use assets::{AssetRun, entered_numbers, score_assets};
pub use unstated::unstated_inputs;

use crate::clock::Clock;
use crate::observed_changes;
use crate::rwa::totals;
use inputs::Market;
use publish::Published;
use rds_shared::model::health::FailSafeMode;
use rds_shared::route::Tag;
use rds_shared::rules::dwell::Change;
use rds_shared::scoring::METHODOLOGY_VERSION;
use rds_shared::scoring::sanity_checks::{InputsHasher, RunFacts};
use rds_shared::wire::Timestamp;
use rds_store::assets as asset_table;
use rds_store::ingest::publication;
use rds_store::scoring;
use rds_store::scoring::fail_safe::{self, Stored};
use rds_store::scoring::scores::{self, RunRow, RunStamp};
use rds_store::service::tags;
use rds_store::{At, Db, StoreError, Tx};
use sanity_checks::{RunScope, Trust, attempt};
use suspects::Suspects;

/// Seconds after which a run that was held back is retried.
const HELD_RETRY_SECONDS: i64 = 60;

/// Vaults evaluated at a time, which bounds the memory of a run.
const CHUNK: usize = 2_000;

/// Which vaults a run covered; stored in the run record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Every vault.
    All,
    /// The vaults that depend on changed facts.
    Vaults,
}

/// A published score that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultChange {
    pub vault_id: String,
    pub change: Change,
}

/// The result of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// `None` if there was nothing to evaluate, or the run was held back and left no record.
    pub id: Option<String>,
    /// Number of evaluated vaults.
    pub vaults: u64,
    /// Number of vaults whose facts were updated without a published score.
    pub kept: u64,
    /// Published changes, in order of vault ids.
    pub changes: Vec<VaultChange>,
    /// Number of events about these changes.
    pub events: u64,
    /// Why nothing was published: the sanity check's reason, or `operator` in the modes `degraded` and `fail_closed`.
    pub withheld: Option<&'static str>,
    /// Whether any published field of an asset changed.
    pub assets_moved: bool,
    /// Whether scores of another methodology version were replaced.
    is_new_methodology: bool,
    /// The vaults that failed a sanity check; logged if the run is held back.
    suspects: Suspects,
}

/// Scores every asset and vault in a separate transaction, with a separate data version.
pub async fn run_all(db: &Db, clock: &Clock) -> Result<Run, StoreError> {
    Ok(run_whole(db, clock.now(), None).await?.unwrap_or_default())
}

/// Scores every asset and vault if the last full run is at least `every_seconds` old or a held-back run is to be retried; otherwise returns
/// `None`.
///
/// The age is checked again while holding the writers' lock, so only one of several processes runs.
pub async fn run_due(db: &Db, clock: &Clock, every_seconds: i64) -> Result<Option<Run>, StoreError> {
    let now = clock.now();
    // Usually no run is due; then the lock is not taken.
    let (last, standing) = (scores::last_whole_run(&db.pool).await?, fail_safe::read(&db.pool).await?);
    if !is_due(last, &standing, now, every_seconds) {
        return Ok(None);
    }
    run_whole(db, now, Some(every_seconds)).await
}

/// Whether a run is due. A run that was held back is retried early, and immediately if an operator accepted it.
fn is_due(last: Option<At>, standing: &Stored, now: Timestamp, every_seconds: i64) -> bool {
    let Some(At(last)) = last else { return false };
    let since = |at: Timestamp| now.seconds_since(at);
    match (standing.mode, standing.held.and(standing.tried_at)) {
        (FailSafeMode::Degraded | FailSafeMode::FailClosed, _) => false,
        _ if standing.accepted => true,
        (_, Some(tried)) => since(tried) >= every_seconds.min(HELD_RETRY_SECONDS),
        (_, None) => since(last) >= every_seconds,
    }
}

async fn run_whole(db: &Db, now: Timestamp, every_seconds: Option<i64>) -> Result<Option<Run>, StoreError> {
    db.run_tx("score run", move |tx| {
        Box::pin(async move {
            publication::lock_writers(tx).await?;
            if let Some(every) = every_seconds {
                let (last, standing) = (scores::last_whole_run(&mut **tx).await?, fail_safe::read(&mut **tx).await?);
                if !is_due(last, &standing, now, every) {
                    return Ok(None);
                }
            }
            whole(tx, now).await.map(Some)
        })
    })
    .await
}

/// Scores every asset and vault as of `now`; the result becomes visible when `tx` commits.
///
/// The caller holds the writers' lock.
pub async fn whole(tx: &mut Tx<'_>, now: Timestamp) -> Result<Run, StoreError> {
    let version = publication::current_version(tx).await? + 1;
    let run = attempt(tx, now, version, RunScope::All, Trust::Feeds).await?;
    let is_revised = totals::revise(tx, now, &[]).await? > 0;
    if is_revised {
        asset_table::mark_changed(tx, version).await?;
    }
    if run.id.is_some() || run.assets_moved || is_revised {
        publication::advance_to(tx, version).await?;
        let told = (run.events > 0).then_some(Tag::Events);
        let touched: Vec<Tag> = [Tag::Vaults, Tag::Assets].into_iter().chain(told).collect();
        tags::touch(tx, &touched).await?;
    }
    Ok(run)
}

/// Evaluates the vaults of `ids` as of `now`. Changed rows get data version `version`; counts for the sanity checks are added to `facts`.
///
/// Assets must be scored first, because vaults read their published scores.
async fn evaluate(
    tx: &mut Tx<'_>,
    now: Timestamp,
    version: i64,
    scope: Scope,
    ids: Vec<String>,
    facts: &mut RunFacts,
) -> Result<Run, StoreError> {
    if ids.is_empty() {
        return Ok(Run::default());
    }
    let run_id = format!("run-{version}");
    let mut run = Run { id: Some(run_id.clone()), vaults: ids.len() as u64, ..Run::default() };
    let stamp =
        RunStamp { run_id: &run_id, methodology_version: METHODOLOGY_VERSION, computed_at: now.into(), version };
    let (mut market, mut hasher) = (Market::load(tx, now).await?, InputsHasher::new());
    for ids in ids.chunks(CHUNK) {
        let vaults = market.vaults(tx, ids, now).await?;
        let mut published = Published::new(stamp);
        for vault in &vaults {
            // Ids are unique and in byte order, as the hash requires.
            let _ = hasher.push(&vault.row.id, &vault.input);
            let before = *facts;
            vault.count(now, facts);
            published.step(vault, facts)?;
            run.suspects.note(&vault.row.id, &before, facts);
        }
        run.is_new_methodology |= published.is_new_methodology;
        run.changes.extend(published.write(tx).await?);
    }
    let record = RunRow {
        id: &run_id,
        version,
        scope: match scope {
            Scope::All => "all",
            Scope::Vaults => "vaults",
        },
        methodology_version: METHODOLOGY_VERSION,
        input_hash: hasher.finish(),
        mode: "normal",
        vaults: run.vaults,
        changes: run.changes.len(),
        started_at: now.into(),
        completed_at: now.into(),
    };
    scores::record_run(tx, &record).await?;
    run.events = announce(tx, &run.changes, version, now).await?;
    Ok(run)
}

/// Publishes the facts of `ids` without a score run: scores stay as they are, and a new vault has none.
async fn keep_facts(
    tx: &mut Tx<'_>,
    now: Timestamp,
    version: i64,
    mode: FailSafeMode,
    ids: &[String],
) -> Result<(), StoreError> {
    if ids.is_empty() {
        return Ok(());
    }
    let run_id = format!("run-{version}");
    let stamp =
        RunStamp { run_id: &run_id, methodology_version: METHODOLOGY_VERSION, computed_at: now.into(), version };
    scores::mark_unscored_change(tx, version, ids).await?;
    let new = scores::without_score(tx, ids).await?;
    let mut unscored = Published::new(stamp);
    for row in scoring::vaults(tx, &new).await? {
        unscored.add_unscored(row)?;
    }
    unscored.write(tx).await?;
    let record = RunRow {
        id: &run_id,
        version,
        scope: "vaults",
        methodology_version: METHODOLOGY_VERSION,
        input_hash: InputsHasher::new().finish(),
        mode: mode.as_str(),
        vaults: ids.len() as u64,
        changes: 0,
        started_at: now.into(),
        completed_at: now.into(),
    };
    scores::record_run(tx, &record).await
}

/// Creates the events for every published change, in the transaction that made it. All published changes pass through
/// this function.
async fn announce(tx: &mut Tx<'_>, changes: &[VaultChange], version: i64, now: Timestamp) -> Result<u64, StoreError> {
    for VaultChange { vault_id, change } in changes {
        tracing::debug!(vault = %vault_id, change = %change.change_type, "published");
    }
    observed_changes::rating_changes(tx, changes, version, now).await
}
