//! Throughput of the journal: operations committed durably by concurrent producers, and numbered.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use rds_store::StoreError;
use rds_store::push::journal::read;
use tokio::task::JoinSet;

use super::ours::{self, CONNECTIONS, Ours};
use super::sse;
use crate::report::Report;
use crate::versus::median;
use crate::{Plan, cores};

/// Minimum operations per second, and minimum over plain inserts.
const TARGETS: (f64, f64) = (5_000.0, 0.7);
/// A table with the columns of an operation, and nothing that the journal adds.
const PLAIN: &str = "create table bench_plain (id bigint generated always as identity primary key, recorded_at timestamptz not null, \
    family text, stream_op text, event_id text not null, vault_ids text[] not null, chain_ids bigint[] not null, body bytea not null)";
/// Operations per transaction, as in an ingest batch of events.
const BATCH: u32 = 20;
const TIMEOUT: Duration = Duration::from_secs(30);

/// Measures single operations and batches in turns.
pub fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    // Producers, Postgres and the sequencer may use every core.
    let ours = Ours::start(|_| {})?;
    ours.market.release()?;
    cores::release()?;
    for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
        let value = ours.setting(setting)?;
        ensure!(value == "on", "{setting} must be on, but is {value}: commits would not be durable");
    }
    let load = cores::load();
    round(&ours, 1, plan.duration() / 2)?;
    ours.runtime.block_on(sqlx::query(PLAIN).execute(&ours.db.pool))?;
    let (mut single, mut ratios, mut batches) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let numbered = round(&ours, 1, plan.duration())?;
        single.push(numbered);
        ratios.push(numbered / plain(&ours, plan.duration())?);
        batches.push(round(&ours, BATCH, plan.duration())?);
    }
    let per_second = |rounds: &[f64]| median(rounds.to_vec());
    report.at_least(
        &format!("journal: durable operations/s, one a transaction, {CONNECTIONS} producers"),
        per_second(&single),
        TARGETS.0,
        &format!("committed with fsync and numbered; the machine's load before: {load}"),
    );
    report.at_least(
        "journal: the same over plain durable inserts of the same row",
        median(ratios),
        TARGETS.1,
        "by the same producers, in turns",
    );
    report.stated(&format!("journal: the same with {BATCH} a transaction"), per_second(&batches), "");
    Ok(())
}

/// Operations per second, from the first commit until the last operation has its sequence number.
fn round(ours: &Ours, batch: u32, duration: Duration) -> Result<f64> {
    xtask::signals::check()?;
    let row = ours::operation(&sse::payload(sse::FIRST), None)?;
    let rows = vec![row; batch as usize];
    ours.runtime.block_on(async {
        let before = read::head(&ours.db.pool).await?;
        let begun = Instant::now();
        let db = ours.db.clone();
        let committed = produce(begun, duration, move || {
            let (db, rows) = (db.clone(), rows.clone());
            async move { ours::commit(&db, &rows, &|| {}).await }
        })
        .await?;
        let last = before + committed * u64::from(batch);
        loop {
            let head = read::head(&ours.db.pool).await?;
            ensure!(head <= last, "more operations were numbered than committed");
            if head == last {
                break;
            }
            if begun.elapsed() > duration + TIMEOUT {
                bail!("{} of {committed} transactions have no sequence number", last - head);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok((committed * u64::from(batch)) as f64 / begun.elapsed().as_secs_f64())
    })
}

/// Plain inserts per second of the same row, each in a transaction of its own.
fn plain(ours: &Ours, duration: Duration) -> Result<f64> {
    xtask::signals::check()?;
    let row = ours::operation(&sse::payload(sse::FIRST), None)?;
    ours.runtime.block_on(async {
        let begun = Instant::now();
        let db = ours.db.clone();
        let committed = produce(begun, duration, move || {
            let (db, row) = (db.clone(), row.clone());
            async move {
                let mut tx = db.pool.begin().await?;
                let sql = "insert into bench_plain (recorded_at, family, stream_op, event_id, vault_ids, chain_ids, body) \
                           values (now(), null, $1, $2, $3, $4, $5)";
                let query = sqlx::query(sql).bind(row.stream_op).bind(&row.event_id).bind(&row.vault_ids).bind(&row.chain_ids);
                query.bind(row.body.as_bytes()).execute(&mut *tx).await?;
                Ok(tx.commit().await?)
            }
        })
        .await?;
        Ok(committed as f64 / begun.elapsed().as_secs_f64())
    })
}

/// Lets all producers commit for `duration` from `begun` on; returns the number of commits.
async fn produce<F: Future<Output = Result<(), StoreError>> + Send + 'static>(
    begun: Instant,
    duration: Duration,
    commit: impl Fn() -> F + Clone + Send + Sync + 'static,
) -> Result<u64> {
    let mut producers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let commit = commit.clone();
        producers.spawn(async move {
            let mut committed = 0;
            while begun.elapsed() < duration {
                commit().await?;
                committed += 1;
            }
            Ok::<_, StoreError>(committed)
        });
    }
    let mut committed = 0;
    while let Some(producer) = producers.join_next().await {
        committed += producer??;
    }
    Ok(committed)
}
