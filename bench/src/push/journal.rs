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

/// Minimum operations per second.
const TARGET: f64 = 5_000.0;
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
    let (mut single, mut batches) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        single.push(round(&ours, 1, plan.duration())?);
        batches.push(round(&ours, BATCH, plan.duration())?);
    }
    let per_second = |rounds: &[f64]| median(rounds.to_vec());
    report.at_least(
        &format!("journal: durable operations/s, one a transaction, {CONNECTIONS} producers"),
        per_second(&single),
        TARGET,
        &format!("committed with fsync and numbered; the machine's load before: {load}"),
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
        let mut producers = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (db, rows) = (ours.db.clone(), rows.clone());
            producers.spawn(async move {
                let mut committed = 0;
                while begun.elapsed() < duration {
                    ours::commit(&db, &rows, &|| {}).await?;
                    committed += rows.len() as u64;
                }
                Ok::<_, StoreError>(committed)
            });
        }
        let mut committed = 0;
        while let Some(producer) = producers.join_next().await {
            committed += producer??;
        }
        let last = before + committed;
        loop {
            let head = read::head(&ours.db.pool).await?;
            ensure!(head <= last, "more operations were numbered than committed");
            if head == last {
                break;
            }
            if begun.elapsed() > duration + TIMEOUT {
                bail!("{} of {committed} operations have no sequence number", last - head);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(committed as f64 / begun.elapsed().as_secs_f64())
    })
}
