//! One reading of one chain.

use super::exposures::{self, Managed};
use super::meters::ChainMeter;
use super::observed::{REWRITE_SECONDS, ReadBlock};
use super::{control, discovery, halt, state};
use rds_chain::{Address, Block};
use rds_engine::clock::Clock;
use rds_engine::ingest::{Batch, IngestError, Observation, commit, is_permitted};
use rds_facts::fact::Kind;
use rds_facts::{ChainReading, ChainSync, Exposure, ReadField};
use rds_rpc::agree::{NoTarget, Reader};
use rds_rpc::reads::Reads;
use rds_store::chains::{self, OfVault, ReadVault};
use rds_store::{At, Db, StoreError};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
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
            error => CycleError::Refused(error.to_string()),
        }
    }
}

/// Reads the chain once, if this process may and it is due.
pub(super) async fn run(
    db: &Db,
    clock: &Clock,
    reader: &mut Reader,
    reads: &Reads,
    meter: &ChainMeter,
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
    let searched_to = cursor.as_ref().and_then(|cursor| cursor.searched_to);
    let (mut batch, searched_to) = found(db, reader, &target.block, &at, reads, searched_to, meter).await?;
    let new = batch.vaults().map(|it| ReadVault {
        id: it.id.clone(),
        protocol_id: it.protocol_id.clone(),
        address: it.address.clone(),
    });
    let new: Vec<ReadVault> = new.collect();
    let since = cursor.as_ref().map_or(0, |cursor| cursor.block_number.saturating_add(1));
    let new_assets = batch.assets().filter_map(|it| Some((it.address.clone()?, it.id.clone()))).collect();
    let cycle = Cycle { db, block: &target.block, at: &at, reads, meter, new_assets };
    let read = cycle.read(reader, new, since).await?;
    let committed = u64::try_from(read.readings.len()).unwrap_or(u64::MAX);
    read.readings.into_iter().for_each(|it| add(&mut batch, Observation::ChainReading(Box::new(it)), meter));
    read.exposures.into_iter().for_each(|it| add(&mut batch, Observation::Exposure(it), meter));
    batch.push(Observation::ChainSync(ChainSync {
        kind: Kind,
        observed_at: at.time,
        source: at.source(),
        chain_id: at.chain_id,
        block_number: at.number,
        block_hash: at.hash.clone(),
        searched_to,
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

/// The vaults that are new on the chain, with the block up to which they were looked for.
async fn found(
    db: &Db,
    reader: &mut Reader,
    block: &Block,
    at: &ReadBlock,
    reads: &Reads,
    searched_to: Option<i64>,
    meter: &ChainMeter,
) -> Result<(Batch, Option<i64>), CycleError> {
    let mut batch = Batch::default();
    let Some(discovery) = &reads.discovery else { return Ok((batch, searched_to)) };
    let known = chains::known(db, at.chain_id).await?;
    let since = searched_to.and_then(|number| u64::try_from(number.saturating_add(1)).ok()).unwrap_or(0);
    let Some(found) = discovery::search(reader, block, at, discovery, since, &known).await else {
        return Ok((batch, searched_to));
    };
    found.assets.into_iter().for_each(|it| add(&mut batch, Observation::Asset(Box::new(it)), meter));
    found.candidates.into_iter().for_each(|it| add(&mut batch, Observation::ChainCandidate(it), meter));
    found.vaults.into_iter().for_each(|it| add(&mut batch, Observation::Vault(Box::new(it)), meter));
    Ok((batch, i64::try_from(found.searched_to).ok()))
}

/// Adds an observation, unless ingest would refuse it: what a contract answers must not keep the other contracts' answers out.
fn add(batch: &mut Batch, mut observation: Observation, meter: &ChainMeter) {
    if is_permitted(&mut observation) {
        batch.push(observation);
    } else {
        meter.implausible.fetch_add(1, Relaxed);
    }
}

/// What is to be written.
#[derive(Debug, Default)]
struct Read {
    readings: Vec<ChainReading>,
    exposures: Vec<Exposure>,
}

/// One reading at one block.
struct Cycle<'a> {
    db: &'a Db,
    block: &'a Block,
    at: &'a ReadBlock,
    reads: &'a Reads,
    meter: &'a ChainMeter,
    /// Ids of the assets that this cycle adds to the registry, by contract.
    new_assets: BTreeMap<String, String>,
}

impl Cycle<'_> {
    /// Reads the chain's vaults, and those that are `new` in this cycle. Control is read again where an event since block `since` says so.
    async fn read(&self, reader: &mut Reader, new: Vec<ReadVault>, since: i64) -> Result<Read, CycleError> {
        let Cycle { db, block, at, reads, meter, new_assets } = self;
        let protocols: Vec<&str> = reads.protocols.keys().map(String::as_str).collect();
        let mut vaults: Vec<(ReadVault, Address)> = Vec::new();
        for vault in chains::vaults(db, at.chain_id, &protocols).await?.into_iter().chain(new) {
            // Only addresses of EVM chains have this form.
            if let Ok(address) = vault.address.parse() {
                vaults.push((vault, address));
            }
        }
        let known = chains::newest(db, at.chain_id).await?;
        let none = OfVault::new();
        let of = |vault: &ReadVault| known.get(&vault.id).unwrap_or(&none);

        let asked: Vec<state::Vault<'_>> =
            vaults.iter().map(|(vault, address)| (vault.id.as_str(), *address)).collect();
        let mut states = state::read(reader, block, at, reads, &asked).await;
        let (mut read, mut managed) = (Read::default(), Vec::new());
        for ((vault, _), (asked, state)) in vaults.iter().zip(asked.iter().zip(std::mem::take(&mut states.vaults))) {
            let mut of_vault = state.readings;
            if state.is_disputed {
                meter.disputed.fetch_add(1, Relaxed);
            }
            of_vault.extend(review(at, vault, state.is_disputed, state.seen.as_ref(), of(vault)));
            read.readings.extend(changed(of_vault, of(vault), at.time));
            if let Some((asset, total, seen)) = state.managed {
                managed.push(Managed { vault: *asked, asset, total, seen });
            }
        }
        let mut asset_ids = chains::asset_ids(db, at.chain_id).await?;
        asset_ids.extend(new_assets.clone());
        let stored = chains::exposures(db, at.chain_id).await?;
        read.exposures = exposures::idle(reader, block, at, &managed, &asset_ids, &stored, &mut states).await;
        let mut dissent = states.dissent;
        let touched = self.touched(reader, since, &known).await;
        for (vault, address) in &vaults {
            if reads.protocols.get(&vault.protocol_id).is_some_and(|it| it.control)
                && is_control_due(of(vault), at.time, &touched)
            {
                let of_vault = control::read(reader, block, at, &vault.id, *address, &mut dissent).await;
                read.readings.extend(changed(of_vault, of(vault), at.time));
            }
        }
        meter.dissented(&dissent);
        Ok(read)
    }

    /// The contracts that control vaults, and that emitted an event of a changed control since the last reading.
    async fn touched(&self, reader: &Reader, since: i64, known: &BTreeMap<String, OfVault>) -> BTreeSet<String> {
        let contracts: BTreeSet<Address> = known
            .values()
            .flat_map(|of_vault| of_vault.iter().filter(|(field, _)| field.is_of_control()))
            .flat_map(|(_, newest)| &newest.contracts)
            .filter_map(|contract| contract.parse().ok())
            .collect();
        let contracts: Vec<Address> = contracts.into_iter().collect();
        let since = u64::try_from(since).unwrap_or(0);
        let touched = reader.touched(self.block, since, &contracts).await;
        touched.into_iter().map(|address| address.to_string()).collect()
    }
}

/// The mark of a vault about which the operators contradict each other, or its end.
fn review(
    at: &ReadBlock,
    vault: &ReadVault,
    is_disputed: bool,
    seen: Option<&super::observed::AgreedCall>,
    known: &OfVault,
) -> Option<ChainReading> {
    let is_marked = known.get(&ReadField::NeedsRiskReview).is_some_and(|mark| mark.value == json!(true));
    (is_disputed != is_marked)
        .then(|| at.reading(&vault.id, ReadField::NeedsRiskReview, json!(is_disputed), &[seen?]))
        .flatten()
}

/// The readings of a vault that are written: all of them if one is new, so that a row of its history is whole.
fn changed(readings: Vec<ChainReading>, known: &OfVault, now: At) -> Vec<ChainReading> {
    // A null is written only for a field that had a value.
    let readings: Vec<ChainReading> = readings
        .into_iter()
        .filter(|it| !it.value.is_null() || known.get(&it.field).is_some_and(|known| !known.value.is_null()))
        .collect();
    let is_new = |reading: &ChainReading| match known.get(&reading.field) {
        Some(known) => known.value != reading.value || now.0.seconds_since(known.observed_at.0) >= REWRITE_SECONDS,
        None => true,
    };
    if readings.iter().any(is_new) { readings } else { Vec::new() }
}

/// Whether it is to be read again who controls a vault: never read, a day old, or touched by an event of a contract on the way.
fn is_control_due(known: &OfVault, now: At, touched: &BTreeSet<String>) -> bool {
    let of_control = known.iter().filter(|(field, _)| field.is_of_control());
    let mut is_known = false;
    for (_, newest) in of_control {
        is_known = true;
        if now.0.seconds_since(newest.observed_at.0) >= REWRITE_SECONDS
            || newest.contracts.iter().any(|contract| touched.contains(contract))
        {
            return true;
        }
    }
    !is_known
}
