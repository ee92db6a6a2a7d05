//! Reads the past of a chain's vaults: when each was deployed, and one point of its history for each UTC day.
//!
//! | file | content |
//! |---|---|
//! | `headers.rs` | agreed headers, remembered; the last block of a day |
//! | `deployment.rs` | the first block at which a vault's contract has code |
//! | `history.rs` | amounts and prices at the end of each day |
//! | `commit.rs` | writes readings, unless the chain is halted or the block was replaced |
//!
//! # Beside a running service
//!
//! A backfill never moves the chain's cursor, and reads only blocks that are final. It holds a lock of its own, so that one backfill at a
//! time reads a chain, and takes the chain's lock only while it commits: no cycle of the service can halt the chain in between. Whatever it
//! wrote of a block that turns out to be replaced is taken back with everything else from that block on.
//!
//! # Invariants
//!
//! - Readings enter through `rds_engine::ingest::commit`, each with the block at which it holds. An older reading never shows in a column
//!   that a newer one fills.
//! - Nothing of the past shows as the present: of a vault only those columns are read back that it has at the newest final block, whose values
//!   are written first.
//! - What the store has is not asked again: a vault whose deployment is known, and a day with a price of the vault.

mod commit;
mod deployment;
mod headers;
mod history;

pub use commit::BackfillError;
pub use deployment::Deployments;
pub use history::Days;

use super::observed::ReadBlock;
use commit::Writer;
use headers::Headers;
use rds_chain::Address;
use rds_engine::clock::Clock;
use rds_rpc::agree::Reader;
use rds_rpc::reads::Reads;
use rds_store::chains::{self, ReadVault};
use rds_store::{At, Db, chain_history};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is to be read.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Only these vaults; all vaults that are read on the chain if there are none.
    pub vaults: Vec<String>,
    /// Only this many days before the newest complete one.
    pub days: Option<u32>,
}

/// How far a backfill is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub stage: Stage,
    pub done: u64,
    pub total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Rounds of the search for the vaults' first blocks.
    Deployments,
    /// Days of the history.
    Days,
}

/// What a backfill did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BackfillReport {
    pub chain_id: u64,
    /// The final block from which it looked back.
    pub head: u64,
    /// The oldest block that was tried whose state enough operators have. Null if they have no state of earlier blocks.
    pub state_since: Option<u64>,
    /// Whether that is the first block of the chain.
    pub is_archive: bool,
    /// Number of vaults that were looked at.
    pub vaults: usize,
    /// Ids that were asked for and are not read on the chain.
    pub unknown_vaults: Vec<String>,
    pub deployments: Deployments,
    pub days: Days,
    /// Readings that were new to the store.
    pub readings: u64,
    pub vaults_scored: u64,
    pub score_changes: u64,
    /// Why scores were not published after a commit.
    pub scores_withheld: Option<&'static str>,
    /// Why the backfill ended early. What it had committed stays; another run goes on from there.
    pub stopped: Option<String>,
}

/// A vault whose past is read.
#[derive(Debug, Clone)]
struct Vault {
    id: String,
    contract: Address,
    /// When it was deployed, if that is known.
    deployed_at: Option<At>,
}

/// Everything that a backfill works with.
struct Backfill<'a> {
    db: &'a Db,
    reader: &'a mut Reader,
    reads: &'a Reads,
    headers: Headers,
    writer: Writer<'a>,
    head: ReadBlock,
    /// The oldest block whose state enough operators have.
    state_since: u64,
    report: BackfillReport,
    progress: &'a mut (dyn FnMut(Progress) + Send),
}

/// Reads the past of the chain's vaults. An error means that nothing was begun; what ends a backfill early is in the report.
pub async fn run(
    db: &Db,
    clock: &Clock,
    reader: &mut Reader,
    reads: &Reads,
    wanted: &Wanted,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<BackfillReport, BackfillError> {
    let chain_id = i64::try_from(reader.chain_id()).map_err(|_| BackfillError::Elsewhere)?;
    let Some(lock) = chains::lock_backfill(db, chain_id).await? else { return Err(BackfillError::Elsewhere) };
    commit::not_halted(db, chain_id).await?;
    let target = headers::patiently(async || reader.target().await).await?;
    let head = ReadBlock::new(reader.chain_id(), &target.block, reader.operators()).ok_or(BackfillError::Elsewhere)?;
    let (mut vaults, unknown_vaults) = vaults(db, chain_id, reads, wanted).await?;
    let state_since = reader.agreed_state_since().await.filter(|since| *since < target.block.id.number);
    let report = BackfillReport {
        chain_id: reader.chain_id(),
        head: target.block.id.number,
        state_since,
        is_archive: state_since.is_some_and(|since| since <= 1),
        vaults: vaults.len(),
        unknown_vaults,
        ..BackfillReport::default()
    };
    let mut backfill = Backfill {
        db,
        reader,
        reads,
        headers: Headers::new(target.block),
        writer: Writer::new(db, clock, chain_id),
        head,
        state_since: state_since.unwrap_or(target.block.id.number),
        report,
        progress,
    };
    if state_since.is_some() {
        let read = backfill.read(&mut vaults, wanted.days).await;
        backfill.report.stopped = read.err().map(|error| error.to_string());
    }
    let Backfill { writer, mut report, .. } = backfill;
    writer.add_to(&mut report);
    drop(lock);
    Ok(report)
}

impl Backfill<'_> {
    async fn read(&mut self, vaults: &mut [Vault], days: Option<u32>) -> Result<(), BackfillError> {
        for block in chain_history::last_blocks_of_days(self.db, self.head.chain_id).await? {
            self.headers.hint(block);
        }
        let read = match self.deployments(vaults).await {
            Ok(()) => self.history(vaults, days).await,
            failed => failed,
        };
        // What was read before a failure is kept.
        let written = self.writer.flush(self.reader).await;
        read.and(written)
    }
}

/// The vaults to read, and the ids that were asked for and are not among those that are read on the chain.
async fn vaults(
    db: &Db,
    chain_id: i64,
    reads: &Reads,
    wanted: &Wanted,
) -> Result<(Vec<Vault>, Vec<String>), BackfillError> {
    let protocols: Vec<&str> = reads.protocols.keys().map(String::as_str).collect();
    let deployed: BTreeMap<String, At> = chain_history::deployment_times(db, chain_id).await?;
    let is_wanted = |vault: &ReadVault| wanted.vaults.is_empty() || wanted.vaults.contains(&vault.id);
    let mut vaults = Vec::new();
    for vault in chains::vaults(db, chain_id, &protocols).await?.into_iter().filter(is_wanted) {
        // Only addresses of EVM chains have this form.
        if let Ok(contract) = vault.address.parse() {
            let deployed_at = deployed.get(&vault.id).copied();
            vaults.push(Vault { id: vault.id, contract, deployed_at });
        }
    }
    let is_unknown = |id: &&String| !vaults.iter().any(|vault| vault.id == **id);
    let unknown = wanted.vaults.iter().filter(is_unknown).cloned().collect();
    Ok((vaults, unknown))
}
