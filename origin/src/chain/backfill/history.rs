//! One point of the vaults' histories for each UTC day: what they had at the day's last block.

use super::commit::BackfillError;
use super::headers::PAUSES;
use super::{Backfill, Progress, Stage, Vault};
use crate::chain::observed::{REWRITE_SECONDS, ReadBlock};
use crate::chain::state::{self, VaultState};
use rds_chain::Block;
use rds_facts::{At, ChainReading, ReadField};
use rds_rpc::agree::NoTarget;
use rds_shared::wire::time::Day;
use rds_store::{chain_history, chains};
use serde::Serialize;
use std::collections::BTreeSet;
use tokio::time::sleep;

/// What is kept of a past block. Limits and control matter only at present.
const KEPT: [ReadField; 3] = [ReadField::PricePerShare, ReadField::TvlNative, ReadField::TvlUsd];
/// Days in a row without any answer after which a backfill ends.
const MAX_SILENT_DAYS: u32 = 3;

/// What became known about the days.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Days {
    /// Vaults of which there is no price now, so that their past is not read.
    pub without_price: Vec<String>,
    /// The earliest day, and the newest one.
    pub first: Option<Day>,
    pub last: Option<Day>,
    /// Days at whose last block something was read.
    pub read: u64,
    /// Days of which the store had a price of every vault.
    pub known: u64,
    /// Days without a block.
    pub without_block: u64,
    /// Days at whose last block no vault answered.
    pub without_answer: u64,
    /// Days of single vaults about which the operators contradict each other.
    pub disputed: u64,
    /// The providers have no state of this day and of those before it.
    pub no_state_until: Option<Day>,
}

impl Backfill<'_> {
    /// Reads the days from the newest complete one back to the first deployment, or as many as are wanted.
    pub(super) async fn history(&mut self, vaults: &[Vault], days: Option<u32>) -> Result<(), BackfillError> {
        let present = self.present(vaults).await?;
        let vaults: Vec<Read<'_>> = vaults
            .iter()
            .zip(present)
            .filter(|(_, fields)| fields.contains(&ReadField::PricePerShare))
            .map(|(vault, fields)| Read { vault, fields })
            .collect();
        if vaults.is_empty() {
            return Ok(());
        }
        let newest = Day::of(self.head.time.0).plus(-1);
        let mut oldest = Day::of(self.time_of_state().await?);
        if vaults.iter().all(|read| read.vault.deployed_at.is_some()) {
            let first = vaults.iter().filter_map(|read| read.vault.deployed_at).min();
            // A day before the oldest state is looked at, so that the report says that it cannot be read.
            oldest = first.map_or(oldest, |At(first)| Day::of(first));
        }
        if let Some(days) = days {
            oldest = oldest.max(newest.plus(1).plus(-i64::from(days)));
        }
        let total = u64::try_from(newest.number().saturating_sub(oldest.number()).saturating_add(1)).unwrap_or(0);
        if total > 0 {
            (self.report.days.first, self.report.days.last) = (Some(oldest), Some(newest));
        }
        let mut silent = 0;
        for done in 0..total {
            (self.progress)(Progress { stage: Stage::Days, done, total });
            let day = newest.plus(-i64::try_from(done).unwrap_or(i64::MAX));
            match self.day(day, &vaults).await? {
                Outcome::Nothing => {}
                Outcome::Answers => silent = 0,
                Outcome::Silence => silent += 1,
                Outcome::NoState => {
                    self.report.days.no_state_until = Some(day);
                    break;
                }
            }
            if silent == MAX_SILENT_DAYS {
                return Err(BackfillError::NoTarget(NoTarget::TooFewAnswers {
                    answered: 0,
                    needed: self.reader.quorum().needed(),
                }));
            }
        }
        (self.progress)(Progress { stage: Stage::Days, done: total, total });
        Ok(())
    }

    /// The columns that each vault has now. Those that the store does not have are written first, so that no older value shows in them.
    async fn present(&mut self, vaults: &[Vault]) -> Result<Vec<BTreeSet<ReadField>>, BackfillError> {
        let asked: Vec<state::Vault<'_>> = vaults.iter().map(|it| (it.id.as_str(), it.contract)).collect();
        let (block, at) = (self.headers.at(self.reader, self.report.head).await?, self.head.clone());
        let known = chains::newest(self.db, at.chain_id).await?;
        let is_known = |reading: &ChainReading| {
            let newest = known.get(&reading.vault_id).and_then(|of_vault| of_vault.get(&reading.field));
            newest.is_some_and(|newest| at.time.0.seconds_since(newest.observed_at.0) < REWRITE_SECONDS)
        };
        let (mut fields, mut new) = (Vec::new(), Vec::new());
        let states = self.states(&block, &at, &asked).await;
        for (vault, state) in vaults.iter().zip(states.into_iter().map(Some).chain(std::iter::repeat_with(|| None))) {
            let readings = kept(state.map(|state| state.readings).unwrap_or_default());
            fields.push(readings.iter().map(|reading| reading.field).collect::<BTreeSet<_>>());
            if !readings.iter().any(|reading| reading.field == ReadField::PricePerShare) {
                self.report.days.without_price.push(vault.id.clone());
            } else if !readings.iter().all(is_known) {
                new.extend(readings);
            }
        }
        self.writer.add(self.reader, &block, new).await?;
        self.writer.flush(self.reader).await?;
        Ok(fields)
    }

    async fn time_of_state(&mut self) -> Result<rds_shared::wire::Timestamp, NoTarget> {
        let block = self.headers.at(self.reader, self.state_since).await?;
        Ok(ReadBlock::new(self.reader.chain_id(), &block, 1).map_or(self.head.time.0, |at| at.time.0))
    }

    async fn day(&mut self, day: Day, vaults: &[Read<'_>]) -> Result<Outcome, BackfillError> {
        let (from, to) = (At(day.start()), At(day.plus(1).start()));
        let due: Vec<&Read<'_>> = vaults.iter().filter(|it| it.vault.deployed_at.is_none_or(|at| at < to)).collect();
        let ids: Vec<&str> = due.iter().map(|it| it.vault.id.as_str()).collect();
        let known = chain_history::priced_between(self.db, &ids, from, to).await?;
        let open: Vec<&Read<'_>> = due.into_iter().filter(|it| !known.contains(&it.vault.id)).collect();
        if open.is_empty() {
            self.report.days.known += 1;
            return Ok(Outcome::Nothing);
        }
        let end = u64::try_from(to.0.as_seconds()).unwrap_or(0);
        let Some(block) = self.headers.last_before(self.reader, end).await? else { return Ok(Outcome::Nothing) };
        if block.id.number < self.state_since {
            return Ok(Outcome::NoState);
        }
        let Some(at) = ReadBlock::new(self.reader.chain_id(), &block, self.reader.operators()) else {
            return Ok(Outcome::Nothing);
        };
        if at.time < from {
            self.report.days.without_block += 1;
            return Ok(Outcome::Nothing);
        }
        let asked: Vec<state::Vault<'_>> = open.iter().map(|it| (it.vault.id.as_str(), it.vault.contract)).collect();
        let states = self.states(&block, &at, &asked).await;
        self.report.days.disputed += states.iter().map(|state| u64::from(state.is_disputed)).sum::<u64>();
        let is_answered = states.iter().any(|state| state.seen.is_some());
        let of_vault = |(read, state): (&&Read<'_>, VaultState)| {
            let mut readings = kept(state.readings);
            readings.retain(|reading| read.fields.contains(&reading.field));
            readings
        };
        let readings: Vec<ChainReading> = open.iter().zip(states).flat_map(of_vault).collect();
        if readings.is_empty() {
            self.report.days.without_answer += 1;
            return Ok(if is_answered { Outcome::Answers } else { Outcome::Silence });
        }
        self.report.days.read += 1;
        self.writer.add(self.reader, &block, readings).await?;
        Ok(Outcome::Answers)
    }

    /// The states of the vaults; asks again while no provider answers, because they may rest for a while.
    async fn states(&mut self, block: &Block, at: &ReadBlock, asked: &[state::Vault<'_>]) -> Vec<VaultState> {
        for pause in PAUSES {
            let states = state::read(self.reader, block, at, self.reads, asked, Vec::new()).await.vaults;
            if states.iter().any(|state| state.seen.is_some()) {
                return states;
            }
            sleep(pause).await;
        }
        Vec::new()
    }
}

/// The readings of a block that are kept.
fn kept(mut readings: Vec<ChainReading>) -> Vec<ChainReading> {
    readings.retain(|it| KEPT.contains(&it.field) && !it.value.is_null());
    readings
}

/// A vault with the columns that are read back.
struct Read<'a> {
    vault: &'a Vault,
    fields: BTreeSet<ReadField>,
}

/// What a day gave.
enum Outcome {
    /// There was nothing to ask.
    Nothing,
    Answers,
    /// No provider answered.
    Silence,
    /// The providers do not have the block's state.
    NoState,
}
