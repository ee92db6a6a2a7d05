//! Whether vaults that state a deposit limit above zero really take deposits: a deposit and its redemption are simulated.
//!
//! `maxDeposit` is what a vault says. A vault may say that it is open and still refuse, because it is paused or only for some accounts. The
//! simulation is a call with overrides, so nothing is sent (see [`rds_chain::adapt::deposit_gate`]).
//!
//! What a trial shows:
//! - A deposit that was refused with a reason, twice: `closed`. The second trial deposits a thousand times as much with nearly twice the gas,
//!   so that neither a smallest deposit nor a lack of gas within the vault counts as a refusal. The depositor is a contract without any
//!   rights, so a vault for known accounts alone, or for accounts without code alone, is closed.
//! - A deposit that was accepted: `open`, also if the vault then refused to redeem. Many vaults lock shares for some blocks, so that a refusal
//!   in the block of the deposit does not show that holders cannot redeem; `withdraw_status` is left alone.
//! - Anything else shows nothing, and what was known stays.
//!
//! A verdict outlives the hourly readings of `maxDeposit`. It ends with the next trial, at once when the vault says that it is closed, and
//! after a week without a trial that shows something. Vaults are tried again after a day, and when `maxDeposit` is another than it was. The
//! reading's evidence is the call of `maxDeposit` and that of the last trial.

use super::observed::{self, AgreedCall, REWRITE_SECONDS, ReadBlock};
use rds_chain::abi::Word;
use rds_chain::adapt::deposit_gate::{
    GATE, Obstacle, RoundTrip, Step, Trial, balance_question, balance_simulation, candidates, holds_balance,
};
use rds_chain::adapt::governance::{Answer, Question};
use rds_chain::adapt::question::Answers;
use rds_chain::failure::Failure;
use rds_chain::{Address, Block};
use rds_facts::{At, ChainReading, ReadField};
use rds_rpc::agree::Reader;
use rds_rpc::ask::AgreedAnswer;
use rds_shared::model::status::DepositStatus;
use rds_store::chains::{DepositTrial, Newest};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Whole units of the asset that are deposited, at most what the vault allows, and the gas cap of each call; the second trial is made of vaults
/// that refused the first. All its calls together need less than a block of 30 million gas.
const ROUNDS: [(u128, u32); 2] = [(1, 3_000_000), (1_000, 5_500_000)];
/// Most vaults that are tried in one cycle. The others follow in the next cycles, those that were never tried first.
const MAX_TRIALS: usize = 50;
/// Most assets whose balances are looked for in one cycle, by 45 calls each.
const MAX_NEW_ASSETS: usize = 8;
/// Most assets that are remembered.
const MAX_ASSETS: usize = 10_000;
/// Seconds after which a vault is tried again whose trial showed nothing.
const RETRY_SECONDS: i64 = 21_600;
/// Seconds for which a verdict counts if no later trial shows anything.
const KEEP_SECONDS: i64 = 7 * REWRITE_SECONDS;

/// A vault that says that it takes deposits.
#[derive(Debug, Clone)]
pub(super) struct DepositLimit {
    pub asset: Address,
    /// Decimals of the asset.
    pub decimals: u8,
    /// Above zero; 2^256 − 1 if there is no limit.
    pub max_deposit: Word,
    /// The call of `maxDeposit`.
    pub seen: AgreedCall,
}

/// A vault that may be tried.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub vault_id: &'a str,
    pub vault: Address,
    pub deposit_limit: &'a DepositLimit,
}

/// What is known instead of what `maxDeposit` says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// A trial of this cycle. Boxed because a reading is large.
    Tried(Box<ChainReading>),
    /// An earlier trial, which is stored.
    Kept,
}

/// What one process found out and need not look for again.
#[derive(Debug, Default)]
pub(super) struct Memory {
    slots: BTreeMap<Address, Slot>,
    /// When the trial of a vault last showed nothing.
    failed: BTreeMap<String, At>,
    /// When a trial last showed what the vault says, and with which limit. Nothing is written of such a trial, so that a cycle in which
    /// nothing changed writes no reading.
    confirmed: BTreeMap<String, DepositTrial>,
}

/// Where an asset keeps the balance of [`GATE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Found(Word),
    /// None of the candidates was it, at this time.
    Unknown(At),
    /// The operators did not agree on every candidate, at this time. That shows nothing about the asset.
    Unread(At),
}

/// The chain at one block.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub reader: &'a Reader,
    pub block: &'a Block,
    pub at: &'a ReadBlock,
    pub counts: &'a TrialCounts,
}

/// Trials, by what they showed.
#[derive(Debug, Default)]
pub(super) struct TrialCounts {
    pub open: AtomicU64,
    pub refused: AtomicU64,
    pub unknown: AtomicU64,
}

impl TrialCounts {
    pub const fn new() -> Self {
        TrialCounts { open: AtomicU64::new(0), refused: AtomicU64::new(0), unknown: AtomicU64::new(0) }
    }
}

/// What is known of the vaults, by id. Tries those that are due; `earlier` are the trials that the store shows.
pub(super) async fn read(
    site: Site<'_>,
    vaults: &[Candidate<'_>],
    earlier: &BTreeMap<String, DepositTrial>,
    memory: &mut Memory,
    dissent: &mut BTreeMap<String, u64>,
) -> BTreeMap<String, Verdict> {
    let now = site.at.time;
    let ids: BTreeSet<&str> = vaults.iter().map(|it| it.vault_id).collect();
    memory.failed.retain(|id, _| ids.contains(id.as_str()));
    memory.confirmed.retain(|id, _| ids.contains(id.as_str()));
    let mut verdicts = BTreeMap::new();
    for it in vaults {
        let stands = |trial: &DepositTrial| now.0.seconds_since(trial.observed_at.0) < KEEP_SECONDS;
        if earlier.get(it.vault_id).is_some_and(stands) {
            verdicts.insert(it.vault_id.to_owned(), Verdict::Kept);
        }
    }
    let due = memory.due(vaults, earlier, now);
    memory.find_slots(site, &due, dissent).await;
    let tried = memory.tried(site, &due, dissent).await;
    verdicts.extend(tried.into_iter().map(|(id, reading)| (id, Verdict::Tried(Box::new(reading)))));
    verdicts
}

impl Memory {
    /// The vaults to try, those that were never tried first, then by the time of their last trial.
    fn due<'a>(
        &self,
        vaults: &[Candidate<'a>],
        earlier: &BTreeMap<String, DepositTrial>,
        now: At,
    ) -> Vec<Candidate<'a>> {
        let is_over = |since: At, seconds: i64| now.0.seconds_since(since.0) >= seconds;
        let last = |id: &str| {
            [earlier.get(id), self.confirmed.get(id)].into_iter().flatten().max_by_key(|trial| trial.observed_at)
        };
        let is_due = |it: &&Candidate<'a>| {
            let rests = self.failed.get(it.vault_id).is_some_and(|at| !is_over(*at, RETRY_SECONDS));
            let has_slot = match self.slots.get(&it.deposit_limit.asset) {
                Some(Slot::Unknown(at)) => is_over(*at, REWRITE_SECONDS),
                Some(Slot::Unread(at)) => is_over(*at, RETRY_SECONDS),
                Some(Slot::Found(_)) | None => true,
            };
            let is_old = last(it.vault_id).is_none_or(|last| {
                is_over(last.observed_at, REWRITE_SECONDS) || last.max_deposit != it.deposit_limit.seen.call.answer
            });
            !rests && has_slot && is_old
        };
        let mut due: Vec<Candidate<'a>> = vaults.iter().filter(is_due).copied().collect();
        due.sort_by_key(|it| last(it.vault_id).map(|last| last.observed_at));
        due.truncate(MAX_TRIALS);
        due
    }

    /// Looks for the balances of the vaults' assets, where that was not done.
    async fn find_slots(&mut self, site: Site<'_>, due: &[Candidate<'_>], dissent: &mut BTreeMap<String, u64>) {
        let mut assets: BTreeMap<Address, u128> = BTreeMap::new();
        for Candidate { deposit_limit, .. } in due {
            if !matches!(self.slots.get(&deposit_limit.asset), Some(Slot::Found(_)))
                && (assets.len() < MAX_NEW_ASSETS || assets.contains_key(&deposit_limit.asset))
                && let Some(amount) = units(1, deposit_limit.decimals)
            {
                assets.insert(deposit_limit.asset, amount);
            }
        }
        if self.slots.len().saturating_add(assets.len()) > MAX_ASSETS {
            self.slots.clear();
        }
        let places = candidates(GATE);
        let mut questions = Vec::new();
        for (asset, amount) in &assets {
            let of_asset = places.iter().map(|slot| balance_simulation(*asset, *slot, *amount));
            questions.extend(of_asset.map(Question::Simulation));
        }
        let mut answers = ask(site, &questions, dissent).await.into_iter();
        for (asset, amount) in assets {
            let of_asset: Vec<AgreedAnswer> = answers.by_ref().take(places.len()).collect();
            let found = places.iter().zip(&of_asset).find(|(_, answer)| shows(answer, asset, amount));
            let slot = match found {
                Some((slot, _)) => Slot::Found(*slot),
                None if of_asset.iter().all(|answer| answer.agreed > 0) => Slot::Unknown(site.at.time),
                None => Slot::Unread(site.at.time),
            };
            self.slots.insert(asset, slot);
        }
    }

    /// Makes the trials, and returns the readings that follow, by vault.
    async fn tried(
        &mut self,
        site: Site<'_>,
        due: &[Candidate<'_>],
        dissent: &mut BTreeMap<String, u64>,
    ) -> Vec<(String, ChainReading)> {
        let mut found = Vec::new();
        let mut open = due.to_vec();
        for (round, (many, call_gas)) in ROUNDS.into_iter().enumerate() {
            let is_last = round.saturating_add(1) == ROUNDS.len();
            let mut trials = Vec::new();
            for it in std::mem::take(&mut open) {
                if let Some(Slot::Found(balance_slot)) = self.slots.get(&it.deposit_limit.asset).copied()
                    && let Some(amount) = amount(many, it.deposit_limit)
                {
                    let (vault, asset) = (it.vault, it.deposit_limit.asset);
                    trials.push((it, Trial { vault, asset, balance_slot, amount, call_gas }));
                }
            }
            let questions: Vec<Question> =
                trials.iter().map(|(_, trial)| Question::Simulation(trial.simulation())).collect();
            let answers = ask(site, &questions, dissent).await;
            for ((it, trial), (question, answer)) in trials.into_iter().zip(questions.iter().zip(&answers)) {
                let trip = RoundTrip::from_result(&trial, site.block, site.reader.chain_id(), result(answer));
                let status = status(&trip);
                if status == Some(DepositStatus::Closed) && !is_last {
                    open.push(it);
                    continue;
                }
                if trip == RoundTrip::NotSimulated(Obstacle::NoBalance) {
                    self.slots.remove(&trial.asset);
                }
                let seen = observed::question(question, answer);
                let reading = status.zip(seen).and_then(|(status, seen)| {
                    let from = [&it.deposit_limit.seen, &seen];
                    site.at.reading(it.vault_id, ReadField::DepositStatus, json!(status), &from)
                });
                let count = match status {
                    Some(DepositStatus::Open) => &site.counts.open,
                    Some(DepositStatus::Closed) => &site.counts.refused,
                    Some(DepositStatus::Unknown) | None => &site.counts.unknown,
                };
                count.fetch_add(1, Relaxed);
                if let Some(reading) = reading {
                    self.failed.remove(it.vault_id);
                    if status == Some(DepositStatus::Open) {
                        let (vault_id, max_deposit) =
                            (it.vault_id.to_owned(), it.deposit_limit.seen.call.answer.clone());
                        let trial = DepositTrial { vault_id, observed_at: site.at.time, max_deposit };
                        self.confirmed.insert(it.vault_id.to_owned(), trial);
                    }
                    found.push((it.vault_id.to_owned(), reading));
                } else {
                    tracing::debug!(vault = it.vault_id, ?trip, "the trial of a deposit shows nothing");
                    self.failed.insert(it.vault_id.to_owned(), site.at.time);
                }
            }
        }
        found
    }
}

/// What a trial shows of the vault's deposits; `None` if nothing.
fn status(trip: &RoundTrip) -> Option<DepositStatus> {
    match trip {
        RoundTrip::Completed { .. } | RoundTrip::Refused { step: Step::Redeem, .. } => Some(DepositStatus::Open),
        RoundTrip::Refused { step: Step::Deposit, .. } => Some(DepositStatus::Closed),
        // The asset refused, and not the vault.
        RoundTrip::Refused { step: Step::Approve, .. } | RoundTrip::NotSimulated(_) => None,
    }
}

async fn ask(site: Site<'_>, questions: &[Question], dissent: &mut BTreeMap<String, u64>) -> Vec<AgreedAnswer> {
    if questions.is_empty() {
        return Vec::new();
    }
    let answers = site.reader.answers(site.block, questions).await;
    for operator in answers.iter().flat_map(|answer| &answer.dissenters) {
        *dissent.entry(operator.clone()).or_default() += 1;
    }
    answers
}

fn result(answer: &AgreedAnswer) -> Result<&[u8], Failure> {
    match &answer.answer {
        Answer::Call(Ok(bytes)) => Ok(bytes),
        Answer::Call(Err(failure)) | Answer::Failed(failure) => Err(failure.clone()),
        // An answer has the kind of its question.
        Answer::Code(_) | Answer::Storage(_) | Answer::RoleGrants(_) => Err(Failure::Transport),
    }
}

/// Whether the answer to a candidate's simulation is the amount.
fn shows(answer: &AgreedAnswer, asset: Address, amount: u128) -> bool {
    let mut answers = Answers::new();
    answers.insert(balance_question(asset), result(answer).map(<[u8]>::to_vec));
    holds_balance(&answers, asset, amount)
}

/// Whole units of an asset in its smallest unit; `None` above 2^128.
fn units(many: u128, decimals: u8) -> Option<u128> {
    many.checked_mul(10_u128.checked_pow(decimals.into())?)
}

/// What a trial deposits: so many whole units, or what the vault allows if that is less.
fn amount(many: u128, deposit_limit: &DepositLimit) -> Option<u128> {
    let wanted = units(many, deposit_limit.decimals).or_else(|| units(1, deposit_limit.decimals))?;
    // A limit that is no number of 128 bits is above every amount.
    Some(deposit_limit.max_deposit.to_u128().map_or(wanted, |limit| wanted.min(limit))).filter(|amount| *amount > 0)
}

/// Puts what is known in place of what `maxDeposit` says; `stored` is the status that was read last. How much a vault takes is not known of
/// one that refuses.
pub(super) fn apply(readings: &mut Vec<ChainReading>, verdict: Option<Verdict>, stored: Option<&Newest>) {
    let Some(verdict) = verdict else { return };
    readings.retain(|reading| reading.field != ReadField::DepositStatus);
    let status = match &verdict {
        Verdict::Tried(reading) => Some(&reading.value),
        Verdict::Kept => stored.map(|stored| &stored.value),
    };
    if status == Some(&json!(DepositStatus::Closed)) {
        let capacity = readings.iter_mut().filter(|reading| reading.field == ReadField::DepositCapacityUsd);
        capacity.for_each(|reading| reading.value = json!(null));
    }
    if let Verdict::Tried(reading) = verdict {
        readings.push(*reading);
    }
}

/// Whether the reading must be written although its value is the newest one's: it is a refusal, which must outlive what the vault says, or
/// it repeats or ends a trial that is stored.
pub(super) fn is_news(reading: &ChainReading, known: &Newest) -> bool {
    let gate = GATE.to_string();
    let is_refusal =
        || reading.value == json!(DepositStatus::Closed) && reading.calls.iter().any(|call| call.contract == gate);
    reading.field == ReadField::DepositStatus && (known.contracts.contains(&gate) || is_refusal())
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
