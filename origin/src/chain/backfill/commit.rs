//! Writes readings of past blocks.

use super::BackfillReport;
use rds_chain::Block;
use rds_engine::clock::Clock;
use rds_engine::ingest::{Batch, IngestError, IngestReport, Observation, commit, is_permitted};
use rds_facts::ChainReading;
use rds_rpc::agree::{NoTarget, Reader};
use rds_store::chains::{self, ChainLock};
use rds_store::{Db, StoreError};
use std::time::Duration;
use tokio::time::sleep;

/// Readings that are committed together.
const READINGS_A_COMMIT: usize = 1_000;
/// Blocks whose readings are committed together at most, so that an interrupted backfill loses little.
const BLOCKS_A_COMMIT: usize = 8;
/// Pause between two attempts to get the chain's lock, and their number: ten minutes in all.
const LOCK_PAUSE: Duration = Duration::from_millis(250);
const LOCK_ATTEMPTS: u32 = 2_400;

/// Why a backfill did not begin, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum BackfillError {
    #[error("another process reads the past of this chain")]
    Elsewhere,
    #[error("the chain is halted: {0}")]
    Halted(String),
    #[error("the providers name no block: {0}")]
    NoTarget(#[from] NoTarget),
    /// A final block was replaced.
    #[error("block {0} was replaced after it was read")]
    Replaced(u64),
    #[error("another process reads the chain, and does not end")]
    Locked,
    #[error("the readings were refused: {0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<IngestError> for BackfillError {
    fn from(error: IngestError) -> Self {
        match error {
            IngestError::Store(error) => BackfillError::Store(error),
            error => BackfillError::Refused(error.to_string()),
        }
    }
}

/// Fails if the chain is halted.
pub(super) async fn not_halted(db: &Db, chain_id: i64) -> Result<(), BackfillError> {
    match chains::cursor(db, chain_id).await?.and_then(|cursor| cursor.halted) {
        Some(reason) => Err(BackfillError::Halted(reason)),
        None => Ok(()),
    }
}

/// Collects readings and commits them.
pub(super) struct Writer<'a> {
    db: &'a Db,
    clock: &'a Clock,
    chain_id: i64,
    batch: Batch,
    waiting: usize,
    /// Blocks of the readings that wait.
    blocks: usize,
    /// The newest block of a reading that waits.
    newest: Option<Block>,
    committed: Committed,
}

#[derive(Default)]
struct Committed {
    readings: u64,
    vaults_scored: u64,
    score_changes: u64,
    scores_withheld: Option<&'static str>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(db: &'a Db, clock: &'a Clock, chain_id: i64) -> Self {
        let (batch, committed) = (Batch::default(), Committed::default());
        Writer { db, clock, chain_id, batch, waiting: 0, blocks: 0, newest: None, committed }
    }

    /// Adds readings of `block`. A reading that ingest would refuse is left out. Commits if enough wait.
    pub(super) async fn add(
        &mut self,
        reader: &Reader,
        block: &Block,
        readings: Vec<ChainReading>,
    ) -> Result<(), BackfillError> {
        for reading in readings {
            let mut observation = Observation::ChainReading(Box::new(reading));
            if is_permitted(&mut observation) {
                self.batch.push(observation);
                self.waiting += 1;
                self.newest = Some(self.newest.filter(|newest| newest.id.number >= block.id.number).unwrap_or(*block));
            }
        }
        self.blocks += 1;
        let is_enough = self.waiting >= READINGS_A_COMMIT || self.blocks >= BLOCKS_A_COMMIT;
        if is_enough { self.flush(reader).await } else { Ok(()) }
    }

    /// Commits what waits.
    pub(super) async fn flush(&mut self, reader: &Reader) -> Result<(), BackfillError> {
        let Some(newest) = self.newest.take() else { return Ok(()) };
        (self.waiting, self.blocks) = (0, 0);
        let batch = std::mem::take(&mut self.batch);
        // While this process has the lock, no cycle halts the chain or takes readings back.
        let mut lock = self.lock().await?;
        not_halted(self.db, self.chain_id).await?;
        let number = newest.id.number;
        // The earlier blocks are ancestors of this one.
        if super::headers::patiently(async || reader.block_at(number).await).await?.block.id != newest.id {
            return Err(BackfillError::Replaced(number));
        }
        if !lock.stands().await {
            return Err(BackfillError::Locked);
        }
        let IngestReport { changed, vaults_scored, score_changes, scores_withheld, .. } =
            commit(self.db, self.clock, batch).await?;
        self.committed.readings += changed.get("chain_reading").copied().unwrap_or_default();
        self.committed.vaults_scored += vaults_scored;
        self.committed.score_changes += score_changes;
        self.committed.scores_withheld = scores_withheld.or(self.committed.scores_withheld);
        Ok(())
    }

    async fn lock(&self) -> Result<ChainLock, BackfillError> {
        for _ in 0..LOCK_ATTEMPTS {
            if let Some(lock) = chains::lock(self.db, self.chain_id).await? {
                return Ok(lock);
            }
            sleep(LOCK_PAUSE).await;
        }
        Err(BackfillError::Locked)
    }

    /// Tells the report what was committed.
    pub(super) fn add_to(self, report: &mut BackfillReport) {
        let Committed { readings, vaults_scored, score_changes, scores_withheld } = self.committed;
        (report.readings, report.vaults_scored) = (readings, vaults_scored);
        (report.score_changes, report.scores_withheld) = (score_changes, scores_withheld);
    }
}
