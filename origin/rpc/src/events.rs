//! Logs of contracts, read from every operator.
//!
//! Where an event only causes a reading, it counts if one operator names it. Where a fact follows from the events themselves, as the holders
//! of a token or the protocol of a vault, enough operators must list the very same ones. A log that is missing cannot be seen in an answer,
//! so too few operators are no answer, and who leaves out what the others agree on is counted.

use crate::agree::Reader;
use crate::gather::{gather, is_settled};
use crate::meters::Kind;
use crate::provider::Provider;
use crate::units::Method;
use rds_chain::abi::{Creation, Event, Word};
use rds_chain::failure::Failure;
use rds_chain::logs::{self, Asked, BlockRange, Log, Ranges};
use rds_chain::quorum::{Answers, Verdict, decide};
use rds_chain::{Address, Block, body};
use std::collections::{BTreeMap, BTreeSet};

/// Blocks of one request for logs.
const LOG_SPAN: u64 = 10_000;
/// Most requests for the logs of one range: 25 million blocks. A longer history is not read.
const MAX_LOG_REQUESTS: u64 = 2_500;
/// Most logs of one request.
const MAX_LOGS: usize = 10_000;
/// Contracts of one request for logs.
const CONTRACTS_A_REQUEST: usize = 500;

/// Events that change who controls a contract.
const CONTROL_EVENTS: [Event; 9] = [
    Event::Upgraded,
    Event::AdminChanged,
    Event::OwnershipTransferred,
    Event::RoleGranted,
    Event::RoleRevoked,
    Event::MinDelayChange,
    Event::AddedOwner,
    Event::RemovedOwner,
    Event::ChangedThreshold,
];

impl Reader {
    /// The contracts that emitted a `Deposit` or a `Withdraw` event of ERC-4626 from block `since` on, up to `block`, each with the block of
    /// its first one. A contract that one operator names counts: what it is, is asked afterwards. `None` if fewer operators answer than the
    /// quorum needs.
    pub async fn used_vaults(&self, block: &Block, since: u64) -> Option<BTreeMap<Address, u64>> {
        let Some(range) = BlockRange::new(since, block.id.number) else { return Some(BTreeMap::new()) };
        let mut first: BTreeMap<Address, u64> = BTreeMap::new();
        for log in self.logs(block, &[], &topics(&[Event::Deposit, Event::Withdraw]), range).await? {
            let number = first.entry(log.address).or_insert(log.block.number);
            *number = log.block.number.min(*number);
        }
        Some(first)
    }

    /// The vaults that these factories made from block `since` on, up to `block`: each with its factory and its block, in the order of the
    /// chain. `None` unless enough operators list the very same events, because the factory says to which protocol a vault belongs.
    pub async fn created_vaults(
        &self,
        block: &Block,
        since: u64,
        factories: &[Address],
    ) -> Option<Vec<(Address, Address, u64)>> {
        let Some(range) = BlockRange::new(since, block.id.number) else { return Some(Vec::new()) };
        let topics: Vec<Word> = Creation::ALL.iter().map(|event| event.topic()).collect();
        let mut created = Vec::new();
        for factories in factories.chunks(CONTRACTS_A_REQUEST) {
            let (_, verdict) = self.lists(block, factories, &topics, range).await;
            let Some(Verdict::Agreed { value: logs, .. }) = verdict else { return None };
            // A contract may emit what it likes: an event of another shape tells of no vault.
            let told = logs.iter().filter_map(|log| Some((log.created().ok()?, log.address, log.block.number)));
            created.extend(told);
        }
        created.sort_by_key(|(_, _, number)| *number);
        Some(created)
    }

    /// Those of `contracts` that emitted an event of a changed control from block `since` on, up to `block`. An event that one operator
    /// names counts: it only causes a reading. If fewer operators answer than the quorum needs, all contracts count.
    pub async fn touched(&self, block: &Block, since: u64, contracts: &[Address]) -> BTreeSet<Address> {
        let Some(range) = BlockRange::new(since, block.id.number) else { return BTreeSet::new() };
        let mut touched = BTreeSet::new();
        for contracts in contracts.chunks(CONTRACTS_A_REQUEST) {
            match self.logs(block, contracts, &topics(&CONTROL_EVENTS), range).await {
                Some(logs) => touched.extend(logs.iter().map(|log| log.address)),
                None => touched.extend(contracts),
            }
        }
        touched
    }

    /// The `Transfer` logs of these tokens from block `since` on, up to `block`, in the order of the chain. `None` unless enough operators
    /// list the very same ones: a node that lags behind leaves some out.
    pub async fn transfers(&self, block: &Block, since: u64, tokens: &[Address]) -> Option<Vec<Log>> {
        let range = BlockRange::new(since, block.id.number)?;
        let (_, verdict) = self.lists(block, tokens, &topics(&[Event::Transfer]), range).await;
        match verdict? {
            Verdict::Agreed { value, .. } => Some(value),
            Verdict::Disputed { .. } | Verdict::Missing { .. } => None,
        }
    }

    /// Every log that an operator names; `None` if fewer answer than the quorum needs.
    async fn logs(&self, block: &Block, contracts: &[Address], topics: &[Word], range: BlockRange) -> Option<Vec<Log>> {
        let (answers, _) = self.lists(block, contracts, topics, range).await;
        let answered: BTreeSet<&str> =
            answers.iter().filter(|it| it.values.iter().any(Option::is_some)).map(|it| it.operator.as_str()).collect();
        let is_enough = answered.len() >= self.quorum().needed();
        is_enough.then(|| answers.into_iter().flat_map(|it| it.values).flatten().flatten().collect())
    }

    /// The list of every operator, and the verdict on the lists as a whole. Counts who lists others than those that are agreed.
    async fn lists(
        &self,
        block: &Block,
        contracts: &[Address],
        topics: &[Word],
        range: BlockRange,
    ) -> (Vec<Answers<String, Vec<Log>>>, Option<Verdict<String, Vec<Log>>>) {
        let mut asked = Vec::new();
        for provider in self.providers() {
            asked.push((provider, async move {
                Answers {
                    operator: provider.operator().to_owned(),
                    block: block.id.hash,
                    values: vec![logs_of(provider, contracts, topics, range).await.ok()],
                }
            }));
        }
        let (quorum, hash) = (self.quorum(), block.id.hash);
        let answers = gather(asked, |answers, open| is_settled(quorum, hash, 1, answers, open)).await;
        let verdict = decide(quorum, hash, 1, &answers).pop();
        match &verdict {
            Some(Verdict::Agreed { dissenters, .. }) => {
                dissenters.iter().for_each(|operator| self.meters().count(operator, Kind::OtherLogs));
            }
            Some(disputed @ Verdict::Disputed { .. }) => self.meters().judge(std::slice::from_ref(disputed)),
            Some(Verdict::Missing { .. }) | None => {}
        }
        (answers, verdict)
    }
}

fn topics(events: &[Event]) -> Vec<Word> {
    events.iter().map(|event| event.topic()).collect()
}

/// The logs of these contracts that have one of `topics` first, in pieces that the provider serves.
pub(crate) async fn logs_of(
    provider: &Provider,
    contracts: &[Address],
    topics: &[Word],
    range: BlockRange,
) -> Result<Vec<Log>, Failure> {
    // Known before the first request, so that none is made in vain.
    if range.last().saturating_sub(range.first()) >= LOG_SPAN.saturating_mul(MAX_LOG_REQUESTS) {
        return Err(Failure::RangeTooLarge);
    }
    let (mut ranges, mut found) = (Ranges::new(range, LOG_SPAN), Vec::new());
    for _ in 0..MAX_LOG_REQUESTS {
        let Some(range) = ranges.next() else { return Ok(found) };
        let answer = match provider.call(Method::Logs, |id| body::logs(id, contracts, topics, range)).await {
            Err(Failure::RangeTooLarge) => {
                ranges.record_too_large().map_err(|_| Failure::RangeTooLarge)?;
                continue;
            }
            answer => answer?,
        };
        let asked = Asked { range, contracts, topics };
        found.extend(logs::decode(&answer, asked, MAX_LOGS).map_err(|_| {
            provider.count(Kind::Damaged);
            Failure::Transport
        })?);
        ranges.record_read();
    }
    Err(Failure::RangeTooLarge)
}
