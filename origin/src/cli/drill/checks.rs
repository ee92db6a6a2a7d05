//! The checks of a restored database.

use super::{Check, Drill};
use rds_engine::clock::Clock;
use rds_engine::scoring_run;
use rds_shared::graph::evidence::Evidence;
use rds_shared::wire::Timestamp;
use rds_store::graph::{decisions, signers};
use rds_store::ingest::publication;
use rds_store::service::{drill as table, test_clock};
use rds_store::{self as store, Db};

/// Names of at most this many rows are shown in a check's detail.
const SHOWN: usize = 5;

/// The database of a URL without user and password.
pub(super) fn shown(url: &str) -> String {
    url.rsplit_once('@').map_or(url, |(_, server)| server).to_owned()
}

/// A check's detail, or why it failed.
type Outcome = anyhow::Result<Result<String, String>>;

/// Runs every check, and returns the time of the newest work too. A `migratable` database is brought to this release's schema first.
pub(super) async fn all(db: &Db, clock: &Clock, drill: &Drill, migratable: bool) -> (Vec<Check>, Option<Timestamp>) {
    let mut checks = vec![check("schema", schema(db, migratable).await)];
    if !checks.iter().all(|check| check.ok) {
        return (checks, None);
    }
    let newest = test_clock::newest_work(db).await.ok().flatten();
    checks.push(check("age", Ok(age(newest, clock.now(), drill.max_age))));
    checks.push(check("rows", rows(db).await));
    checks.push(check("journal", journal(db).await));
    checks.push(check("scores", scores(db).await));
    checks.push(check("decisions", signatures(db, drill.decisions).await));
    (checks, newest)
}

fn check(name: &'static str, outcome: Outcome) -> Check {
    match outcome {
        Ok(Ok(detail)) => Check { name, ok: true, detail },
        Ok(Err(detail)) => Check { name, ok: false, detail },
        Err(error) => Check { name, ok: false, detail: format!("{error:#}") },
    }
}

/// Whether the schema is this release's. A backup of an earlier release is migrated, which is what a restore would do.
async fn schema(db: &Db, migratable: bool) -> Outcome {
    let pending = store::pending_migrations(db).await?;
    if pending > 0 && !migratable {
        return Ok(Err(format!("{pending} migrations are pending; run: rds-origin migrate")));
    }
    // Also fails if the database has migrations that this release does not know.
    store::migrate(db).await?;
    if migratable {
        let mut connection = db.pool.acquire().await?;
        table::analyze(&mut connection).await?;
    }
    Ok(Ok(match pending {
        0 => "of this release".to_owned(),
        pending => format!("{pending} migrations of later releases were applied"),
    }))
}

fn age(newest: Option<Timestamp>, now: Timestamp, max_hours: u32) -> Result<String, String> {
    let Some(at) = newest else { return Err("the backup contains no batch and no score run".to_owned()) };
    let hours = now.seconds_since(at) / 3_600;
    let text = format!("the newest work is of {at}, {hours} hours ago");
    if hours >= i64::from(max_hours) { Err(format!("{text}; at most {max_hours} are allowed")) } else { Ok(text) }
}

async fn rows(db: &Db) -> Outcome {
    let table::Counts { chains, vaults, scores, without_history, decisions, keys } = table::counts(&db.pool).await?;
    let text = format!("{chains} chains, {vaults} vaults, {scores} scores, {decisions} decisions, {keys} keys");
    Ok(match (vaults, scores) {
        (0, _) => Err("there is no vault".to_owned()),
        _ if vaults != scores => Err(format!("{text}: every vault must have a row of scores")),
        _ if without_history > 0 => Err(format!("{text}; {without_history} vaults have no reading in the history")),
        _ => Ok(text),
    })
}

async fn journal(db: &Db) -> Outcome {
    let table::JournalFaults { head, is_ahead, missing, twice, out_of_order } = table::journal_faults(&db.pool).await?;
    Ok(match (is_ahead, missing, twice, out_of_order) {
        (false, 0, 0, 0) => Ok(format!("dense up to {head}")),
        _ => Err(format!(
            "head {head}; numbers above the head: {is_ahead}, missing: {missing}, of an operation that has another one: {twice}, out \
             of order: {out_of_order}"
        )),
    })
}

/// Makes the newest score run again, at its own instant, and compares what it published. The run is rolled back.
async fn scores(db: &Db) -> Outcome {
    let mut tx = db.begin("BEGIN").await?;
    publication::lock_writers(&mut tx).await?;
    let Some((at, published)) = table::newest_scores(&mut tx).await? else {
        return Ok(Err("no vault was ever scored".to_owned()));
    };
    let run = scoring_run::whole(&mut tx, at).await?;
    if let Some(reason) = run.withheld {
        return Ok(Ok(format!("not computed again: score runs are held back ({reason})")));
    }
    let ids: Vec<String> = published.keys().cloned().collect();
    let again = table::scores_of(&mut tx, &ids).await?;
    tx.rollback().await?;
    let other: Vec<&str> =
        published.iter().filter(|(id, score)| again.get(*id) != Some(*score)).map(|(id, _)| id.as_str()).collect();
    if other.is_empty() {
        return Ok(Ok(format!(
            "{} vaults of the run of {at} were computed again, to the same scores and evidence",
            ids.len()
        )));
    }
    let named = other.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    Ok(Err(format!("{} of {} vaults of the run of {at} are scored differently: {named}", other.len(), ids.len())))
}

async fn signatures(db: &Db, limit: u32) -> Outcome {
    let ids = table::newest_decisions(&db.pool, limit).await?;
    let registry = signers::list(&db.pool).await?;
    let mut bad = Vec::new();
    for id in &ids {
        let evidence = Evidence { record: decisions::record(db, *id).await?, signers: registry.clone() };
        let found = evidence.verify(*id);
        if !(found.found && found.envelope_intact && found.signature_valid && found.signer_recognized) {
            bad.push(id.to_hex());
        }
    }
    if bad.is_empty() {
        return Ok(Ok(format!("{} signatures are valid, with {} signers", ids.len(), registry.len())));
    }
    let named = bad.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    Ok(Err(format!("{} of {} decisions do not verify: {named}", bad.len(), ids.len())))
}
