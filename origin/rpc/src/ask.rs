//! Questions about who controls a contract, asked of every operator at one block.

use crate::agree::Reader;
use crate::provider::{MAX_BODY, Provider};
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use rds_chain::abi::{Event, Word, keccak256};
use rds_chain::adapt::governance::{Answer, Code, Question};
use rds_chain::failure::Failure;
use rds_chain::logs::{self, Asked, BlockRange, Log, Parameters, Ranges};
use rds_chain::quorum::{Answers, Verdict, decide};
use rds_chain::{Address, Block, body, result};
use std::collections::{BTreeMap, BTreeSet};

/// Questions that are asked of one provider at the same time.
const IN_FLIGHT: usize = 8;
/// Blocks of one request for logs.
const LOG_SPAN: u64 = 10_000;
/// Most requests for the logs of one contract. A longer history is not read.
const MAX_LOG_REQUESTS: usize = 2_500;
/// Most logs of one request.
const MAX_LOGS: usize = 10_000;

/// What a node answered, in a form that can be compared with the answers of other nodes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeAnswer {
    /// What a call returned, the code of a contract, or the word in a slot.
    Bytes(Vec<u8>),
    /// The call reverted with this data.
    Reverted(Vec<u8>),
    /// Role and account of each grant, in the order of the chain.
    Grants(Vec<(Word, Address)>),
}

/// What the operators answered to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgreedAnswer {
    /// What enough operators answered alike; a failure if too few did.
    pub answer: Answer,
    /// The bytes of the answer, for evidence; of a contract's code its Keccak-256. `None` for a revert, for logs, and if nothing is agreed.
    pub bytes: Option<Vec<u8>>,
    /// Number of operators that gave the answer.
    pub agreed: usize,
    /// Operators that answered otherwise, or that contradict each other.
    pub dissenters: Vec<String>,
}

impl Reader {
    /// Asks every operator all `questions` at `block`. The answers are in the order of the questions.
    pub async fn answers(&self, block: &Block, questions: &[Question]) -> Vec<AgreedAnswer> {
        let of_providers = self.providers().map(async |provider| {
            // A list instead of an iterator: a closure over references would tie the future to one lifetime.
            let mut asked = Vec::with_capacity(questions.len());
            for question in questions {
                asked.push(ask(provider, block, question));
            }
            let values: Vec<_> = stream::iter(asked).buffered(IN_FLIGHT).collect().await;
            Answers {
                operator: provider.operator().to_owned(),
                block: block.id.hash,
                values: values.into_iter().map(Result::ok).collect(),
            }
        });
        let answers = join_all(of_providers).await;
        let verdicts = decide(self.quorum(), block.id.hash, questions.len(), &answers);
        questions.iter().zip(verdicts).map(|(question, verdict)| agreed(question, verdict)).collect()
    }
}

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
/// Contracts of one request for logs.
const CONTRACTS_A_REQUEST: usize = 500;

impl Reader {
    /// The contracts that emitted a `Deposit` event of ERC-4626 from block `since` on, up to `block`, each with the block of its first one. A
    /// contract that one operator names counts: what it is, is asked afterwards. `None` if no operator answers.
    pub async fn depositors(&self, block: &Block, since: u64) -> Option<BTreeMap<Address, u64>> {
        let Some(range) = BlockRange::new(since, block.id.number) else { return Some(BTreeMap::new()) };
        let asked = self.providers().map(|provider| logs_of(provider, &[], &[Event::Deposit], range));
        let answers = join_all(asked).await;
        if answers.iter().all(Result::is_err) {
            return None;
        }
        let mut first: BTreeMap<Address, u64> = BTreeMap::new();
        for log in answers.into_iter().flatten().flatten() {
            let number = first.entry(log.address).or_insert(log.block.number);
            *number = log.block.number.min(*number);
        }
        Some(first)
    }

    /// Those of `contracts` that emitted an event of a changed control from block `since` on, up to `block`. An event that one operator
    /// names counts: it only causes a reading. If no operator answers, all contracts count.
    pub async fn touched(&self, block: &Block, since: u64, contracts: &[Address]) -> BTreeSet<Address> {
        let Some(range) = BlockRange::new(since, block.id.number) else { return BTreeSet::new() };
        let mut touched = BTreeSet::new();
        for contracts in contracts.chunks(CONTRACTS_A_REQUEST) {
            let asked = self.providers().map(|provider| logs_of(provider, contracts, &CONTROL_EVENTS, range));
            let answers = join_all(asked).await;
            if answers.iter().all(Result::is_err) {
                touched.extend(contracts);
            }
            touched.extend(answers.into_iter().flatten().flatten().map(|log| log.address));
        }
        touched
    }
}

fn agreed(question: &Question, verdict: Verdict<String, NodeAnswer>) -> AgreedAnswer {
    let failed =
        |dissenters| AgreedAnswer { answer: Answer::Failed(Failure::Transport), bytes: None, agreed: 0, dissenters };
    match verdict {
        Verdict::Agreed { value, agreed_by, dissenters } => {
            let bytes = match (&value, question) {
                (NodeAnswer::Bytes(code), Question::Code(_)) => Some(keccak256(code).to_vec()),
                (NodeAnswer::Bytes(bytes), _) => Some(bytes.clone()),
                (NodeAnswer::Reverted(_) | NodeAnswer::Grants(_), _) => None,
            };
            AgreedAnswer { answer: understood(question, value), bytes, agreed: agreed_by.len(), dissenters }
        }
        Verdict::Disputed { values, inconsistent } => {
            failed(values.into_iter().flat_map(|(_, operators)| operators).chain(inconsistent).collect())
        }
        Verdict::Missing { .. } => failed(Vec::new()),
    }
}

/// The answer in the form that the question expects. A node answers a question only in this form: see [`ask`].
fn understood(question: &Question, answer: NodeAnswer) -> Answer {
    match (question, answer) {
        (Question::Code(_), NodeAnswer::Bytes(code)) => Answer::Code(Code::of(&code)),
        (Question::Storage { .. }, NodeAnswer::Bytes(word)) => {
            <[u8; 32]>::try_from(word).map_or(Answer::Failed(Failure::Transport), |word| Answer::Storage(Word(word)))
        }
        (Question::Call { .. }, NodeAnswer::Bytes(bytes)) => Answer::Call(Ok(bytes)),
        (Question::Call { .. }, NodeAnswer::Reverted(data)) => Answer::Call(Err(Failure::Reverted { data })),
        (Question::RoleGrants(_), NodeAnswer::Grants(grants)) => Answer::RoleGrants(grants),
        _ => Answer::Failed(Failure::Transport),
    }
}

async fn ask(provider: &Provider, block: &Block, question: &Question) -> Result<NodeAnswer, Failure> {
    let hash = block.id.hash;
    let answer = match question {
        Question::Code(contract) => provider.call(|id| body::code(id, *contract, hash)).await?,
        Question::Storage { contract, slot } => {
            let word = provider.call(|id| body::storage_at(id, *contract, *slot, hash)).await?;
            let word = result::bytes(&word, 32).filter(|word| word.len() == 32).ok_or(Failure::Transport)?;
            return Ok(NodeAnswer::Bytes(word));
        }
        Question::Call { contract, data } => {
            match provider.call(|id| body::contract_call(id, *contract, data, body::QUESTION_GAS, hash)).await {
                Err(Failure::Reverted { data }) => return Ok(NodeAnswer::Reverted(data)),
                answer => answer?,
            }
        }
        Question::RoleGrants(contract) => return grants(provider, block, *contract).await.map(NodeAnswer::Grants),
    };
    result::bytes(&answer, MAX_BODY).map(NodeAnswer::Bytes).ok_or(Failure::Transport)
}

/// The grants of roles up to `block`, from the logs of the whole chain.
async fn grants(provider: &Provider, block: &Block, contract: Address) -> Result<Vec<(Word, Address)>, Failure> {
    let range = BlockRange::new(0, block.id.number).ok_or(Failure::Transport)?;
    let logs = logs_of(provider, &[contract], &[Event::RoleGranted], range).await?;
    let grant = |log: &Log| match log.parameters() {
        Ok(Parameters::RoleGranted { role, account, .. }) => Some((role, account)),
        // An event of another shape grants no role of OpenZeppelin's access control.
        _ => None,
    };
    Ok(logs.iter().filter_map(grant).collect())
}

/// The logs of these events, in pieces that the provider serves.
async fn logs_of(
    provider: &Provider,
    contracts: &[Address],
    events: &[Event],
    range: BlockRange,
) -> Result<Vec<Log>, Failure> {
    let (mut ranges, mut found) = (Ranges::new(range, LOG_SPAN), Vec::new());
    let topics: Vec<Word> = events.iter().map(|event| event.topic()).collect();
    for _ in 0..MAX_LOG_REQUESTS {
        let Some(range) = ranges.next() else { return Ok(found) };
        let answer = match provider.call(|id| body::logs(id, contracts, events, range)).await {
            Err(Failure::RangeTooLarge) => {
                ranges.record_too_large().map_err(|_| Failure::RangeTooLarge)?;
                continue;
            }
            answer => answer?,
        };
        let asked = Asked { range, contracts, topics: &topics };
        found.extend(logs::decode(&answer, asked, MAX_LOGS).map_err(|_| Failure::Transport)?);
        ranges.record_read();
    }
    Err(Failure::RangeTooLarge)
}
