//! A scoring run: loads typed inputs, evaluates the methodology, lets the dwell judge, and writes only what changed.
//!
//! A run is one transaction, so scores, history and run record are there together or not at all. [`sanity_checks`] decides whether what
//! came of it is published.
//!
//! # Invariants
//!
//! - In every published row `tier == tier_of(total_score)`, at every instant of a dwell.
//! - Every run passes the sanity checks inside the transaction that brought its facts: it is published whole or leaves nothing but the facts. While
//!   something is held back, every run covers all vaults (`tests/it/held_back.rs`).
//! - While scores are closed no run is made and no basket rebalanced. A closure ends in one commit with the run that follows it, or stays
//!   (`tests/it/fail_safe_closed.rs`).

pub mod as_of;
mod assets;
mod inputs;
mod nested;
mod peers;
mod publish;
pub mod sanity_checks;
mod suspects;

pub use assets::{AssetRun, score_assets};

use crate::clock::Clock;
use crate::observed_changes;
use crate::rwa::totals;
use crate::store::assets as asset_table;
use crate::store::ingest::publication;
use crate::store::scoring;
use crate::store::scoring::fail_safe::{self, Stored};
use crate::store::scoring::scores::{self, RunRow, RunStamp};
use crate::store::service::tags;
use crate::store::{At, Db, StoreError, Tx};
use inputs::Market;
use publish::Published;
use rds_shared::model::health::FailSafeMode;
use rds_shared::route::Tag;
use rds_shared::rules::dwell::Change;
use rds_shared::scoring::METHODOLOGY_VERSION;
use rds_shared::scoring::run::{InputsHasher, RunFacts};
use rds_shared::wire::Timestamp;
use sanity_checks::{Over, Trust, attempt};
use suspects::Suspects;

/// How long a run that was held back rests, in seconds.
const HELD_RETRY_SECONDS: i64 = 60;

/// Vaults evaluated at a time: bounds the memory of a run of any size.
const CHUNK: usize = 2_000;

/// What a run counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// A run over every vault.
    All,
    /// One over those that facts concerned.
    Vaults,
}

/// A published score that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultChange {
    /// The vault.
    pub vault_id: String,
    /// What changed.
    pub change: Change,
}

/// What a run did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// Null when there was nothing to evaluate, or when the run was held back: such a run leaves no trace.
    pub id: Option<String>,
    /// Vaults evaluated.
    pub vaults: u64,
    /// Vaults whose facts show anew although no score of theirs was published.
    pub kept: u64,
    /// Published changes, in vault order.
    pub changes: Vec<VaultChange>,
    /// Events that tell of them.
    pub events: u64,
    /// Why nothing of it was published: a reason of the guard's, or `operator` while one says `degraded` or `fail_closed`.
    pub withheld: Option<&'static str>,
    /// Whether anything that is served of an asset changed.
    pub assets_moved: bool,
    /// Whether scores of another version of the methodology were replaced.
    is_new_methodology: bool,
    /// The vaults that the guard would hold it back for.
    suspects: Suspects,
}

/// Runs over every asset and vault in a transaction of its own, as a data version of its own.
pub async fn run_all(db: &Db, clock: &Clock) -> Result<Run, StoreError> {
    Ok(run_whole(db, clock.now(), None).await?.unwrap_or_default())
}

/// Runs over everything when the last such run is at least `every_seconds` old; none when it is not.
///
/// The question is asked while holding the writers' turn, so that of several processes one runs.
pub async fn run_due(db: &Db, clock: &Clock, every_seconds: i64) -> Result<Option<Run>, StoreError> {
    let now = clock.now();
    // Most of the time the answer is no, and then nobody waits for a turn.
    let (last, standing) = (scores::last_whole_run(&db.pool).await?, fail_safe::read(&db.pool).await?);
    if !is_due(last, &standing, now, every_seconds) {
        return Ok(None);
    }
    run_whole(db, now, Some(every_seconds)).await
}

/// A run that was held back is tried again soon; one that an operator lets pass, at once.
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
            publication::take_turn(tx).await?;
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

/// Runs over every asset and vault as of `now`, and makes what came of it show when `tx` commits.
///
/// The caller holds the writers' turn.
pub async fn whole(tx: &mut Tx<'_>, now: Timestamp) -> Result<Run, StoreError> {
    let version = publication::current_version(tx).await? + 1;
    let run = attempt(tx, now, version, Over::All, Trust::Judged).await?;
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

/// Evaluates the vaults of `ids` as of `now`; what changes belongs to data version `version`, and what is found is added to `facts`.
///
/// Assets must have been scored before: vaults read their published scores.
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
    let (mut market, mut hasher) = (Market::load(tx).await?, InputsHasher::new());
    for ids in ids.chunks(CHUNK) {
        let vaults = market.vaults(tx, ids, now).await?;
        let mut published = Published::new(stamp);
        for vault in &vaults {
            // Ids come in byte order and once, which is what the hash asks for.
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

/// Makes the facts of `ids` show while no run is published: scores stay as they are, and a vault that is new has none.
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
    scores::mark_read(tx, version, ids).await?;
    let new = scores::never_judged(tx, ids).await?;
    let mut unjudged = Published::new(stamp);
    for row in scoring::vaults(tx, &new).await? {
        unjudged.unjudged(row)?;
    }
    unjudged.write(tx).await?;
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

/// The one place that learns of every published change, inside the transaction that made it: events are
/// made from here.
async fn announce(tx: &mut Tx<'_>, changes: &[VaultChange], version: i64, now: Timestamp) -> Result<u64, StoreError> {
    for VaultChange { vault_id, change } in changes {
        tracing::debug!(vault = %vault_id, change = %change.change_type, "published");
    }
    observed_changes::rating_changes(tx, changes, version, now).await
}
