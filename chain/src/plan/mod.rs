//! Which calls go into which request, and what is asked again after a failure.
//!
//! A [`Plan`] reads the same fields of many contracts at one block. It hands out batches that fit the gas and the bytes that the provider
//! allows, and learns the gas of a call from the answers:
//!
//! - A short answer: the rest is asked again. If not even one contract was answered, the next batch has half as many contracts, then half
//!   as many fields.
//! - A request that needs too much gas or too many bytes: the same. If one call alone is refused, requests ask for half as much gas.
//! - A call that failed without data: asked again with more gas, because the gas may have been the cause. The reader keeps calls apart, so
//!   such calls share requests. With Multicall3 a call may have failed because earlier ones used up the gas, also with data, so each call
//!   that failed is asked again alone. A second failure is the contract's.
//! - A failure of the provider: asked again, a limited number of times.
//! - A request that the provider does not serve: the next [`Rung`].
//!
//! Several batches may be in flight. The plan neither waits nor sends: the caller decides when to ask whom.

pub mod multicall3;
mod rung;
mod size;

pub use rung::{Need, Rung};
pub use size::Limits;

use crate::block::Address;
use crate::failure::Failure;
use crate::reader::{Answer, Field, NumberSource, Outcome, Request, RequestError, Status};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::ops::Range;
use size::BatchSize;

/// Names a batch of one plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId(u64);

/// Calls for one request: every field of every contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The id under which the result is recorded.
    pub id: BatchId,
    /// How to make the calls. [`Rung::Single`] batches have one call.
    pub rung: Rung,
    /// The contracts.
    pub contracts: Vec<Address>,
    /// The fields.
    pub fields: Vec<Field>,
    /// Gas cap of each call.
    pub call_gas: u32,
    /// Gas limit of the whole request.
    pub request_gas: u64,
}

impl Batch {
    /// The reader's request for this batch.
    pub fn request(&self, number_source: NumberSource) -> Result<Request, RequestError> {
        Request::new(number_source, self.call_gas, self.fields.clone(), self.contracts.clone())
    }

    /// The single calls of this batch, contract by contract, field by field.
    pub fn calls(&self) -> Vec<(Address, Vec<u8>)> {
        let of = |contract: Address| self.fields.iter().map(move |field| (contract, field.calldata()));
        self.contracts.iter().flat_map(|contract| of(*contract)).collect()
    }
}

/// What is known of one call at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// The contract's answer or refusal.
    Read(Outcome),
    /// Nothing is known about the contract: the provider failed in this way.
    Unread(Failure),
}

/// A result was recorded for a batch that is not in flight, or with another number of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotThisBatch;

/// A set of contracts, as indices, whose fields `fields` are still to be read.
#[derive(Debug, Clone)]
struct Work {
    contracts: Vec<usize>,
    fields: Range<usize>,
    /// Failures of the provider so far.
    attempts: u8,
    /// Calls that failed for a doubtful reason and are asked again with more gas.
    is_second: bool,
}

impl Work {
    fn calls(&self) -> usize {
        self.contracts.len().saturating_mul(self.fields.len())
    }
}

/// The state of reading `fields` of `contracts`.
#[derive(Debug, Clone)]
pub struct Plan {
    fields: Vec<Field>,
    contracts: Vec<Address>,
    limits: Limits,
    size: BatchSize,
    rung: Rung,
    queue: VecDeque<Work>,
    /// By field, the contracts whose call failed once, for a reason that may not be the contract's.
    doubtful: BTreeMap<usize, Vec<usize>>,
    in_flight: BTreeMap<BatchId, (Work, Rung)>,
    next_id: u64,
    /// Contract by contract, field by field.
    readings: Vec<Option<Reading>>,
}

impl Plan {
    /// A plan to read every field of every contract, beginning at `rung`. Without fields or contracts it is finished.
    pub fn new(contracts: Vec<Address>, fields: Vec<Field>, limits: Limits, rung: Rung) -> Self {
        let mut queue = VecDeque::new();
        // During a call the reader is there, and would answer in place of the contract.
        let is_hidden = |contract: &Address| *contract == crate::body::READER_HOST;
        let all: Vec<usize> =
            contracts.iter().enumerate().filter(|(_, it)| !is_hidden(it)).map(|(place, _)| place).collect();
        let mut readings = Vec::new();
        for contract in &contracts {
            let unread = is_hidden(contract).then_some(Reading::Unread(Failure::Unsupported));
            readings.extend(core::iter::repeat_n(unread, fields.len()));
        }
        if !all.is_empty() && !fields.is_empty() {
            queue.push_back(Work { contracts: all, fields: 0..fields.len(), attempts: 0, is_second: false });
        }
        let size = BatchSize::new(&limits);
        let (doubtful, in_flight) = (BTreeMap::new(), BTreeMap::new());
        Self { fields, contracts, limits, size, rung, queue, doubtful, in_flight, next_id: 0, readings }
    }

    /// The next batch to ask for; `None` if everything is read or in flight.
    pub fn next_batch(&mut self) -> Option<Batch> {
        let mut work = self.queue.pop_front().or_else(|| self.second_attempt())?;
        let max_calls = self.rung.max_calls(self.limits.max_answer_bytes);
        let max_fields = max_calls.min(crate::reader::MAX_FIELDS);
        if work.fields.len() > max_fields {
            let middle = work.fields.start.saturating_add(max_fields);
            self.queue.push_front(Work { fields: middle..work.fields.end, ..work.clone() });
            work.fields.end = middle;
        }
        let call_gas = if work.is_second { self.size.retry_gas(&self.limits) } else { self.limits.call_gas };
        let is_alone = work.is_second && !self.rung.is_reader();
        let max_calls = if is_alone { 1 } else { max_calls };
        let contracts = self.size.contracts(work.fields.len(), call_gas, max_calls, self.rung, &self.limits);
        if work.contracts.len() > contracts {
            let rest = work.contracts.split_off(contracts);
            self.queue.push_front(Work { contracts: rest, ..work.clone() });
        }
        let id = BatchId(self.next_id);
        self.next_id = self.next_id.saturating_add(1);
        let batch = Batch {
            id,
            rung: self.rung,
            contracts: work.contracts.iter().filter_map(|contract| self.contracts.get(*contract).copied()).collect(),
            fields: self.fields.get(work.fields.clone()).unwrap_or_default().to_vec(),
            call_gas,
            request_gas: self.limits.request_gas,
        };
        self.in_flight.insert(id, (work, self.rung));
        Some(batch)
    }

    /// Records the reader's answer to a batch.
    pub fn record_answer(&mut self, id: BatchId, answer: &Answer) -> Result<(), NotThisBatch> {
        let (work, _) = self.in_flight.get(&id).ok_or(NotThisBatch)?;
        let answered = answer.contracts_answered();
        if answer.fields() != work.fields.len() || answered > work.contracts.len() {
            return Err(NotThisBatch);
        }
        let calls = answered.saturating_mul(answer.fields());
        self.size.measure(calls, answer);
        let outcomes: Vec<Outcome> = answer.by_contract().flatten().copied().collect();
        self.settle(id, &outcomes)
    }

    /// Records the outcomes of all calls of a batch, in the order of [`Batch::calls`].
    pub fn record_outcomes(&mut self, id: BatchId, outcomes: &[Outcome]) -> Result<(), NotThisBatch> {
        let (work, _) = self.in_flight.get(&id).ok_or(NotThisBatch)?;
        if outcomes.len() != work.calls() {
            return Err(NotThisBatch);
        }
        self.settle(id, outcomes)
    }

    /// Records that a batch has no answer. An answer that was refused, such as one of another block, is [`Failure::Transport`].
    pub fn record_failure(&mut self, id: BatchId, failure: Failure) -> Result<(), NotThisBatch> {
        let (work, rung) = self.in_flight.remove(&id).ok_or(NotThisBatch)?;
        match failure {
            Failure::Reverted { data } if rung == Rung::Single => {
                self.in_flight.insert(id, (work, rung));
                return self.settle(id, &[Outcome::failed(&data)]);
            }
            // Multicall3 reverts when one of its calls used up the gas.
            Failure::Reverted { .. } if rung == Rung::Multicall3 => self.halve(work, Failure::Gas),
            // Even one call is refused. The reader keeps within its gas, so the provider refuses that much gas, whatever it is for.
            Failure::Gas if rung.is_reader() && work.calls() == 1 && self.limits.halve_request_gas() => {
                self.queue.push_front(work);
            }
            Failure::Gas | Failure::Size => self.halve(work, failure),
            Failure::Unsupported => self.descend(work, rung),
            Failure::Transport | Failure::RateLimited { .. } | Failure::UnknownBlock | Failure::Forbidden => {
                self.retry(work, failure);
            }
            // The reader never reverts, and there is no range in a call.
            Failure::Reverted { .. } | Failure::RangeTooLarge => self.retry(work, Failure::Transport),
        }
        Ok(())
    }

    /// Whether every call is read or given up.
    pub fn finished(&self) -> bool {
        self.queue.is_empty() && self.doubtful.is_empty() && self.in_flight.is_empty()
    }

    /// The rung of the next batch.
    pub fn rung(&self) -> Rung {
        self.rung
    }

    /// The readings of each contract, in the order of the fields; `None` where a call is not settled yet.
    pub fn readings(&self) -> impl Iterator<Item = (Address, &[Option<Reading>])> {
        self.contracts.iter().copied().zip(self.readings.chunks_exact(self.fields.len().max(1)))
    }

    /// The doubtful calls of one field, if there are any. They are asked when the queue is empty.
    fn second_attempt(&mut self) -> Option<Work> {
        let (field, contracts) = self.doubtful.pop_first()?;
        Some(Work { contracts, fields: field..field.saturating_add(1), attempts: 0, is_second: true })
    }

    /// Stores the outcomes of the first contracts of a batch, and queues what they leave open.
    fn settle(&mut self, id: BatchId, outcomes: &[Outcome]) -> Result<(), NotThisBatch> {
        let (mut work, rung) = self.in_flight.remove(&id).ok_or(NotThisBatch)?;
        let is_doubtful = |status| match status {
            Status::FailedEmpty => true,
            Status::Reverted => rung == Rung::Multicall3,
            Status::Returned | Status::ReturnedShort => false,
        };
        let by_contract = outcomes.chunks_exact(work.fields.len().max(1));
        let answered = by_contract.len().min(work.contracts.len());
        for (contract, outcomes) in work.contracts.iter().zip(by_contract) {
            for (field, outcome) in work.fields.clone().zip(outcomes) {
                if is_doubtful(outcome.status) && !work.is_second {
                    self.doubtful.entry(field).or_default().push(*contract);
                } else {
                    self.put(*contract, field, Reading::Read(*outcome));
                }
            }
        }
        if answered == work.contracts.len() {
            self.size.grow(answered);
        } else if answered == 0 {
            self.halve(work, Failure::Gas);
        } else {
            work.contracts.drain(..answered);
            self.queue.push_front(work);
        }
        Ok(())
    }

    /// Asks for half of the work at a time. A single call that is still too large is given up.
    fn halve(&mut self, mut work: Work, failure: Failure) {
        let (contracts, fields) = (work.contracts.len(), work.fields.len());
        if contracts > 1 {
            let rest = work.contracts.split_off(contracts.div_ceil(2));
            self.size.shrink(work.contracts.len());
            self.queue.push_front(Work { contracts: rest, ..work.clone() });
            self.queue.push_front(work);
        } else if fields > 1 {
            let middle = work.fields.start.saturating_add(fields.div_ceil(2));
            self.queue.push_front(Work { fields: middle..work.fields.end, ..work.clone() });
            work.fields.end = middle;
            self.queue.push_front(work);
        } else {
            self.give_up(&work, &failure);
        }
    }

    fn retry(&mut self, mut work: Work, failure: Failure) {
        work.attempts = work.attempts.saturating_add(1);
        if work.attempts < self.limits.attempts {
            self.queue.push_back(work);
        } else {
            self.give_up(&work, &failure);
        }
    }

    fn descend(&mut self, work: Work, failed: Rung) {
        // Batches that were in flight at an earlier rung do not lead further down.
        if failed == self.rung {
            let Some(next) = self.rung.next() else { return self.give_up(&work, &Failure::Unsupported) };
            self.rung = next;
        }
        self.queue.push_front(work);
    }

    fn give_up(&mut self, work: &Work, failure: &Failure) {
        for contract in &work.contracts {
            for field in work.fields.clone() {
                self.put(*contract, field, Reading::Unread(failure.clone()));
            }
        }
    }

    fn put(&mut self, contract: usize, field: usize, reading: Reading) {
        let at = contract.saturating_mul(self.fields.len()).saturating_add(field);
        if let Some(slot) = self.readings.get_mut(at) {
            *slot = Some(reading);
        }
    }
}

#[cfg(test)]
mod tests;
