//! A scoring run: loads typed inputs, evaluates the methodology, lets the dwell judge, and writes only what changed.
//!
//! A run is one transaction, so scores, history and run record are there together or not at all.

mod assets;
mod inputs;
mod nested;
mod peers;
mod publish;

pub use assets::{AssetRun, score_assets};

use crate::clock::Clock;
use crate::observed_changes;
use crate::rwa::totals;
use crate::store::assets as asset_table;
use crate::store::publication;
use crate::store::scores::{self, RunRow, RunStamp};
use crate::store::scoring;
use crate::store::tags;
use crate::store::{At, Db, StoreError, Tx};
use inputs::Market;
use publish::Published;
use rds_shared::route::Tag;
use rds_shared::rules::dwell::Change;
use rds_shared::scoring::METHODOLOGY_VERSION;
use rds_shared::scoring::run::InputsHasher;
use rds_shared::wire::Timestamp;

/// Vaults evaluated at a time: bounds the memory of a run of any size.
const CHUNK: usize = 2_000;

/// Which vaults a run evaluates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every vault.
    All,
    /// These, by id.
    Vaults(Vec<String>),
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
    /// Null when there was nothing to evaluate: such a run leaves no trace.
    pub id: Option<String>,
    /// Vaults evaluated.
    pub vaults: u64,
    /// Published changes, in vault order.
    pub changes: Vec<VaultChange>,
    /// Events that tell of them.
    pub events: u64,
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
    if !is_due(scores::last_whole_run(&db.pool).await?, now, every_seconds) {
        return Ok(None);
    }
    run_whole(db, now, Some(every_seconds)).await
}

fn is_due(last: Option<At>, now: Timestamp, every_seconds: i64) -> bool {
    last.is_some_and(|At(last)| now.seconds_since(last) >= every_seconds)
}

async fn run_whole(db: &Db, now: Timestamp, every_seconds: Option<i64>) -> Result<Option<Run>, StoreError> {
    db.run_tx("score run", move |tx| {
        Box::pin(async move {
            publication::take_turn(tx).await?;
            if let Some(every) = every_seconds
                && !is_due(scores::last_whole_run(&mut **tx).await?, now, every)
            {
                return Ok(None);
            }
            let version = publication::current_version(tx).await? + 1;
            let scored = score_assets(tx, now, version).await?;
            let run = run(tx, now, version, Scope::All).await?;
            let is_revised = totals::revise(tx, now, &[]).await? > 0;
            if is_revised {
                asset_table::mark_changed(tx, version).await?;
            }
            if run.id.is_some() || scored.is_news || is_revised {
                publication::advance_to(tx, version).await?;
                let told = (run.events > 0).then_some(Tag::Events);
                let touched: Vec<Tag> = [Tag::Vaults, Tag::Assets].into_iter().chain(told).collect();
                tags::touch(tx, &touched).await?;
            }
            Ok(Some(run))
        })
    })
    .await
}

/// Evaluates the vaults of `scope` as of `now`; what changes belongs to data version `version`.
///
/// The caller holds the writers' turn. Assets must have been scored before: vaults read their published scores.
pub async fn run(tx: &mut Tx<'_>, now: Timestamp, version: i64, scope: Scope) -> Result<Run, StoreError> {
    let (label, ids) = match scope {
        Scope::All => ("all", scoring::vault_ids(tx).await?),
        Scope::Vaults(ids) => ("vaults", ids),
    };
    if ids.is_empty() {
        return Ok(Run::default());
    }
    let run_id = format!("run-{version}");
    let mut run = Run { id: Some(run_id.clone()), vaults: ids.len() as u64, changes: Vec::new(), events: 0 };
    let stamp =
        RunStamp { run_id: &run_id, methodology_version: METHODOLOGY_VERSION, computed_at: now.into(), version };
    let (mut market, mut hasher) = (Market::load(tx).await?, InputsHasher::new());
    for ids in ids.chunks(CHUNK) {
        let vaults = market.vaults(tx, ids, now).await?;
        let mut published = Published::new(stamp);
        for vault in &vaults {
            // Ids come in byte order and once, which is what the hash asks for.
            let _ = hasher.push(&vault.row.id, &vault.input);
            published.step(vault)?;
        }
        run.changes.extend(published.write(tx).await?);
    }
    let record = RunRow {
        id: &run_id,
        version,
        scope: label,
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

/// The one place that learns of every published change, inside the transaction that made it: events are
/// made from here.
async fn announce(tx: &mut Tx<'_>, changes: &[VaultChange], version: i64, now: Timestamp) -> Result<u64, StoreError> {
    for VaultChange { vault_id, change } in changes {
        tracing::debug!(vault = %vault_id, change = %change.change_type, "published");
    }
    observed_changes::rating_changes(tx, changes, version, now).await
}
