//! One reading of one chain.

use super::discovery::Searched;
use super::holders::Tried;
use super::meters::ChainMeter;
use super::observed::ReadBlock;
use super::powers::{self, LastReadings};
use super::vaults::Cycle;
use super::{discovery, gate, halt};
use rds_chain::Block;
use rds_engine::clock::Clock;
use rds_engine::ingest::{Batch, IngestError, Observation, commit, is_permitted};
use rds_facts::ChainSync;
use rds_facts::fact::Kind;
use rds_rpc::agree::{NoTarget, Reader};
use rds_rpc::reads::Reads;
use rds_store::chains::{self, ReadVault};
use rds_store::{Db, StoreError};
use std::sync::atomic::Ordering::Relaxed;

/// How a cycle ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// Another process reads the chain.
    Elsewhere,
    /// The chain has no newer final block, or it is too early for the next reading.
    NotDue,
    /// The readings are committed.
    Committed,
}

/// Why a cycle failed. Nothing of it was stored.
#[derive(Debug, thiserror::Error)]
pub(super) enum CycleError {
    #[error(transparent)]
    NoTarget(#[from] NoTarget),
    /// A final block was replaced.
    #[error("the chain is not read until an operator resumes it: {0}")]
    Contradicted(String),
    /// A reading is not a valid observation.
    #[error("the readings were refused: {0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<IngestError> for CycleError {
    fn from(error: IngestError) -> Self {
        match error {
            IngestError::Store(error) => CycleError::Store(error),
            IngestError::Faults(faults) => {
                let first = faults.clone().into_listed().first().map(|fault| {
                    format!("; the first: {} {}", fault.field.as_deref().unwrap_or_default(), fault.reason)
                });
                CycleError::Refused(format!("{} faults{}", faults.total(), first.unwrap_or_default()))
            }
            error => CycleError::Refused(error.to_string()),
        }
    }
}

/// What a process remembers from one reading to the next. Losing it costs requests, and nothing else.
#[derive(Default)]
pub(super) struct Remembered {
    holders: Tried,
    gates: gate::Memory,
    tokens: LastReadings,
}

/// Reads the chain once, if this process may and it is due.
pub(super) async fn run(
    db: &Db,
    clock: &Clock,
    reader: &mut Reader,
    reads: &Reads,
    meter: &ChainMeter,
    remembered: &mut Remembered,
) -> Result<Ended, CycleError> {
    let Ok(chain_id) = i64::try_from(reader.chain_id()) else { return Ok(Ended::NotDue) };
    let Some(mut lock) = chains::lock(db, chain_id).await? else {
        meter.elsewhere.fetch_add(1, Relaxed);
        return Ok(Ended::Elsewhere);
    };
    let cursor = chains::cursor(db, chain_id).await?;
    if let Some(reason) = cursor.as_ref().and_then(|cursor| cursor.halted.clone()) {
        return Err(CycleError::Contradicted(reason));
    }
    let target = reader.target().await?;
    let Some(at) = ReadBlock::new(reader.chain_id(), &target.block, reader.operators()) else {
        return Ok(Ended::NotDue);
    };
    if let Some(cursor) = &cursor {
        meter.block.store(cursor.block_number, Relaxed);
        meter.block_time.store(cursor.observed_at.0.as_seconds(), Relaxed);
        let known = if at.number == cursor.block_number {
            at.hash.clone()
        } else {
            let number = u64::try_from(cursor.block_number).unwrap_or(0);
            reader.block_at(number).await?.block.id.hash.to_string()
        };
        if known != cursor.block_hash && cursor.block_hash != halt::UNKNOWN_BLOCK {
            let number = cursor.block_number;
            let reason = format!("block {number} was {} when it was read, and is {known} now", cursor.block_hash);
            halt::halt(db, clock, reader, cursor, &reason).await?;
            return Err(CycleError::Contradicted(reason));
        }
        meter.contradicted.store(0, Relaxed);
        let since = at.time.0.seconds_since(cursor.observed_at.0);
        if at.number <= cursor.block_number || since < i64::from(reads.every_seconds) {
            return Ok(Ended::NotDue);
        }
    }
    let searched = cursor.as_ref().map_or_else(Searched::default, |cursor| Searched {
        to: cursor.searched_to,
        factories: cursor.factories.clone(),
    });
    let (mut batch, searched) = found(db, reader, &target.block, &at, reads, searched, meter).await?;
    let new = batch.vaults().map(|it| ReadVault {
        id: it.id.clone(),
        protocol_id: it.protocol_id.clone(),
        address: it.address.clone(),
    });
    let new: Vec<ReadVault> = new.collect();
    let since = cursor.as_ref().map_or(0, |cursor| cursor.block_number.saturating_add(1));
    let new_assets = batch.assets().filter_map(|it| Some((it.address.clone()?, it.id.clone()))).collect();
    let cycle = Cycle { db, block: &target.block, at: &at, reads, meter, new_assets };
    let Remembered { holders, gates, tokens } = remembered;
    let read = cycle.read(reader, new, since, holders, gates).await?;
    let answers = powers::read(&cycle, reader, since, tokens).await?;
    let committed = u64::try_from(read.readings.len()).unwrap_or(u64::MAX);
    read.assets.into_iter().for_each(|it| add(&mut batch, Observation::Asset(Box::new(it)), meter));
    read.feeds.into_iter().for_each(|it| add(&mut batch, Observation::OracleFeed(Box::new(it)), meter));
    read.markets.into_iter().for_each(|it| add(&mut batch, it, meter));
    read.readings.into_iter().for_each(|it| add(&mut batch, Observation::ChainReading(Box::new(it)), meter));
    read.exposures.into_iter().for_each(|it| add(&mut batch, Observation::Exposure(it), meter));
    read.holders.into_iter().for_each(|it| add(&mut batch, Observation::HolderSnapshot(it), meter));
    answers.into_iter().for_each(|it| add(&mut batch, Observation::AssetAnswer(Box::new(it)), meter));
    batch.push(Observation::ChainSync(ChainSync {
        kind: Kind,
        observed_at: at.time,
        source: at.source(),
        chain_id: at.chain_id,
        block_number: at.number,
        block_hash: at.hash.clone(),
        searched_to: searched.to,
        factories: searched.factories,
        halted: None,
    }));
    if !lock.stands().await {
        return Ok(Ended::Elsewhere);
    }
    commit(db, clock, batch).await?;
    meter.block.store(at.number, Relaxed);
    meter.block_time.store(at.time.0.as_seconds(), Relaxed);
    meter.cycles.fetch_add(1, Relaxed);
    meter.readings.fetch_add(committed, Relaxed);
    Ok(Ended::Committed)
}

/// The vaults that are new on the chain, and how far they were looked for.
async fn found(
    db: &Db,
    reader: &mut Reader,
    block: &Block,
    at: &ReadBlock,
    reads: &Reads,
    searched: Searched,
    meter: &ChainMeter,
) -> Result<(Batch, Searched), CycleError> {
    let mut batch = Batch::default();
    let Some(discovery) = &reads.discovery else { return Ok((batch, searched)) };
    let known = chains::known(db, at.chain_id).await?;
    let Some(found) = discovery::search(reader, block, at, discovery, &searched, &known).await else {
        return Ok((batch, searched));
    };
    found.assets.into_iter().for_each(|it| add(&mut batch, Observation::Asset(Box::new(it)), meter));
    found.candidates.into_iter().for_each(|it| add(&mut batch, Observation::ChainCandidate(it), meter));
    found.vaults.into_iter().for_each(|it| add(&mut batch, Observation::Vault(Box::new(it)), meter));
    Ok((batch, Searched { to: i64::try_from(found.searched_to).ok(), factories: found.factories }))
}

/// Adds an observation, unless ingest would refuse it: what a contract answers must not keep the other contracts' answers out.
fn add(batch: &mut Batch, mut observation: Observation, meter: &ChainMeter) {
    if is_permitted(&mut observation) {
        batch.push(observation);
    } else {
        meter.implausible.fetch_add(1, Relaxed);
    }
}
