//! Questions about who controls a contract, asked of every operator at one block.
//!
//! The questions to one provider travel in batches of JSON-RPC. A batch saves requests and round trips, and each answer is, to the byte, the
//! one that anybody gets who asks the question alone: with the same caller, the same gas, and the contract's own reason for a revert. Through
//! Multicall3 or the reader it would not be, because a contract sees another caller there and shares its gas with others.
//!
//! A provider may ignore the hash of the block and answer of its newest one. Each batch therefore contains a call of the reader without
//! calls of its own, which says at which block it ran: see [`Witness`].
//!
//! Simulations, which are calls with overrides, are asked only of providers that make the reader's calls by an override. Each batch of them
//! counts only if its own witness shows that the overrides took effect.

use crate::agree::Reader;
use crate::events::logs_of;
use crate::gather::{gather, is_settled};
use crate::meters::Kind;
use crate::provider::{MAX_BODY, Provider};
use crate::read::At;
use crate::units::Method;
use futures_util::stream::{self, StreamExt};
use rds_chain::abi::{Event, Word, keccak256};
use rds_chain::adapt::deposit_gate;
use rds_chain::adapt::governance::{Answer, Code, Question};
use rds_chain::failure::Failure;
use rds_chain::logs::{BlockRange, Log, Parameters};
use rds_chain::plan::Rung;
use rds_chain::quorum::{Answers, Verdict, decide};
use rds_chain::reader::{self, AnswerError, HeaderField, Request};
use rds_chain::{Address, Block, body, result};
use serde_json::value::RawValue;

/// Batches, or questions about logs, that are asked of one provider at the same time.
const IN_FLIGHT: usize = 4;
/// Questions of one batch. Answers of this many contracts of the largest size fit into a response.
const QUESTIONS_A_BATCH: usize = 40;

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
        let mut asked = Vec::new();
        let at = At { chain_id: self.chain_id(), block, number_source: self.number_source() };
        for (provider, rung) in self.rungs() {
            let witness = Witness { at, rung };
            asked.push((provider, async move {
                Answers {
                    operator: provider.operator().to_owned(),
                    block: block.id.hash,
                    values: ask_all(provider, witness, questions).await,
                }
            }));
        }
        let (quorum, hash, values) = (self.quorum(), block.id.hash, questions.len());
        let answers = gather(asked, |answers, open| is_settled(quorum, hash, values, answers, open)).await;
        let verdicts = decide(quorum, hash, values, &answers);
        self.meters().judge(&verdicts);
        questions.iter().zip(verdicts).map(|(question, verdict)| agreed(question, verdict)).collect()
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

/// The answer in the form that the question expects. A node answers a question only in this form: see [`node_answer`].
fn understood(question: &Question, answer: NodeAnswer) -> Answer {
    match (question, answer) {
        (Question::Code(_), NodeAnswer::Bytes(code)) => Answer::Code(Code::of(&code)),
        (Question::Storage { .. }, NodeAnswer::Bytes(word)) => {
            <[u8; 32]>::try_from(word).map_or(Answer::Failed(Failure::Transport), |word| Answer::Storage(Word(word)))
        }
        (Question::Call { .. } | Question::Simulation(_), NodeAnswer::Bytes(bytes)) => Answer::Call(Ok(bytes)),
        (Question::Call { .. } | Question::Simulation(_), NodeAnswer::Reverted(data)) => {
            Answer::Call(Err(Failure::Reverted { data }))
        }
        (Question::RoleGrants(_), NodeAnswer::Grants(grants)) => Answer::RoleGrants(grants),
        _ => Answer::Failed(Failure::Transport),
    }
}

/// Evidence of the block at which a batch was answered: a call of the reader that the provider serves, in the same batch.
#[derive(Debug, Clone, Copy)]
struct Witness<'a> {
    at: At<'a>,
    rung: Rung,
}

impl Witness<'_> {
    /// `None` if the provider does not run the reader: then there is no evidence.
    fn body(self, id: u64) -> Option<String> {
        if !self.rung.is_reader() {
            return None;
        }
        body::self_test(id, self.rung, self.at.number_source, self.at.block.id.hash)
    }

    /// In which way the answer is not the one of the question's block. An answer that does not come from the reader shows nothing.
    fn contradiction(self, answer: &Result<Box<RawValue>, Failure>) -> Option<Kind> {
        // The reader never reverts.
        if matches!(answer, Err(Failure::Reverted { .. })) {
            return Some(Kind::Damaged);
        }
        let data = result::bytes(answer.as_ref().ok()?, MAX_BODY)?;
        let request = Request::header_only(self.at.number_source);
        match reader::Answer::decode(&request, self.at.block, self.at.chain_id, &data) {
            Err(AnswerError::WrongBlock(HeaderField::Chain)) => Some(Kind::OtherChain),
            Err(AnswerError::WrongBlock(_)) => Some(Kind::OtherBlock),
            Ok(_) | Err(_) => None,
        }
    }

    /// Whether the answer is the reader's, at the question's block: then the provider serves overrides.
    fn is_served(self, answer: &Result<Box<RawValue>, Failure>) -> bool {
        let request = Request::header_only(self.at.number_source);
        let data = answer.as_ref().ok().and_then(|answer| result::bytes(answer, MAX_BODY));
        data.is_some_and(|data| reader::Answer::decode(&request, self.at.block, self.at.chain_id, &data).is_ok())
    }

    /// Asks for the reader alone, of a provider that serves no batches.
    async fn ask(self, provider: &Provider) -> bool {
        if self.body(0).is_none() {
            return false;
        }
        let answer = provider.call(Method::Call, |id| self.body(id).unwrap_or_default()).await;
        if let Some(kind) = self.contradiction(&answer) {
            provider.count(kind);
        }
        self.is_served(&answer)
    }
}

/// What one provider answers to the questions, in their order.
async fn ask_all(provider: &Provider, witness: Witness<'_>, questions: &[Question]) -> Vec<Option<NodeAnswer>> {
    let mut answers: Vec<Option<NodeAnswer>> = vec![None; questions.len()];
    let (mut simulated, mut others, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for (place, question) in questions.iter().enumerate() {
        match question {
            Question::RoleGrants(_) => open.push(vec![place]),
            // The other providers are not asked, because their answers would not be the simulation's.
            Question::Simulation(_) if witness.rung != Rung::Override => {}
            Question::Simulation(_) => simulated.push(place),
            Question::Code(_) | Question::Storage { .. } | Question::Call { .. } => others.push(place),
        }
    }
    let batches = [others, simulated];
    open.extend(batches.iter().flat_map(|places| places.chunks(QUESTIONS_A_BATCH)).map(<[usize]>::to_vec));
    while !open.is_empty() {
        // A list instead of an iterator: a closure over references would tie the future to one lifetime.
        let mut asked = Vec::with_capacity(open.len());
        for places in open.drain(..) {
            asked.push(ask_some(provider, witness, questions, places));
        }
        let rounds: Vec<Asked> = stream::iter(asked).buffer_unordered(IN_FLIGHT).collect().await;
        for asked in rounds {
            for (place, answer) in asked.answered {
                if let Some(slot) = answers.get_mut(place) {
                    *slot = answer;
                }
            }
            open.extend(asked.again);
        }
    }
    answers
}

/// What a batch of questions gave.
#[derive(Default)]
struct Asked {
    /// By place of the question; `None` where the provider failed.
    answered: Vec<(usize, Option<NodeAnswer>)>,
    /// Questions to ask again, in smaller batches.
    again: Vec<Vec<usize>>,
}

/// Asks the questions at these places in a batch, or one by one.
async fn ask_some(provider: &Provider, witness: Witness<'_>, questions: &[Question], mut places: Vec<usize>) -> Asked {
    let block = witness.at.block;
    let asked: Vec<&Question> = places.iter().filter_map(|place| questions.get(*place)).collect();
    let of_logs = |question: &&Question| matches!(question, Question::RoleGrants(_));
    let is_batch = provider.serves_batches() && !asked.iter().any(of_logs);
    // Such a batch has nothing else: see `ask_all`.
    let is_simulated = asked.iter().any(|question| matches!(question, Question::Simulation(_)));
    if let (false, [place], [question]) = (is_batch, places.as_slice(), asked.as_slice()) {
        let is_served = !is_simulated || witness.ask(provider).await;
        let answer = if is_served { ask(provider, block, question).await.ok() } else { None };
        return Asked { answered: vec![(*place, answer)], again: Vec::new() };
    }
    let one_by_one = |places: &[usize]| places.iter().map(|place| vec![*place]).collect();
    if !is_batch {
        return Asked { answered: Vec::new(), again: one_by_one(&places) };
    }
    let mut methods: Vec<Method> = asked.iter().map(|question| method(question)).collect();
    if witness.body(0).is_some() {
        methods.push(Method::Call);
    }
    let body = |place: usize, id| match asked.get(place) {
        Some(question) => body(id, question, block),
        None => witness.body(id).unwrap_or_default(),
    };
    let failed = |places: &[usize]| places.iter().map(|place| (*place, None)).collect();
    match provider.batch(&methods, body).await {
        Ok(results) => {
            let shown = results.get(asked.len());
            if let Some(kind) = shown.and_then(|answer| witness.contradiction(answer)) {
                provider.count(kind);
                return Asked { answered: failed(&places), again: Vec::new() };
            }
            if is_simulated && !shown.is_some_and(|answer| witness.is_served(answer)) {
                return Asked { answered: failed(&places), again: Vec::new() };
            }
            let answered = places
                .iter()
                .zip(asked.iter().zip(results))
                .map(|(place, (question, result))| (*place, node_answer(provider, question, result).ok()));
            Asked { answered: answered.collect(), again: Vec::new() }
        }
        // One long answer must not keep the others out.
        Err(Failure::Size) if places.len() > 1 => {
            let rest = places.split_off(places.len() / 2);
            Asked { answered: Vec::new(), again: vec![places, rest] }
        }
        Err(Failure::Unsupported) => Asked { answered: Vec::new(), again: one_by_one(&places) },
        Err(_) => Asked { answered: failed(&places), again: Vec::new() },
    }
}

fn method(question: &Question) -> Method {
    match question {
        Question::Code(_) => Method::Code,
        Question::Storage { .. } => Method::Storage,
        Question::Call { .. } | Question::Simulation(_) => Method::Call,
        Question::RoleGrants(_) => Method::Logs,
    }
}

/// The request of a question that is one request: all but those about logs.
fn body(id: u64, question: &Question, block: &Block) -> String {
    let hash = block.id.hash;
    match question {
        Question::Code(contract) => body::code(id, *contract, hash),
        Question::Storage { contract, slot } => body::storage_at(id, *contract, *slot, hash),
        Question::Call { contract, data } => body::contract_call(id, *contract, data, body::QUESTION_GAS, hash),
        Question::Simulation(simulation) => body::simulation(id, simulation, hash),
        Question::RoleGrants(_) => String::new(),
    }
}

async fn ask(provider: &Provider, block: &Block, question: &Question) -> Result<NodeAnswer, Failure> {
    if let Question::RoleGrants(contract) = question {
        return grants(provider, block, *contract).await.map(NodeAnswer::Grants);
    }
    let result = provider.call(method(question), |id| body(id, question, block)).await;
    node_answer(provider, question, result)
}

fn node_answer(
    provider: &Provider,
    question: &Question,
    result: Result<Box<RawValue>, Failure>,
) -> Result<NodeAnswer, Failure> {
    let result = match (result, question) {
        (Err(Failure::Reverted { data }), Question::Call { .. } | Question::Simulation(_)) => {
            return Ok(NodeAnswer::Reverted(data));
        }
        (Err(failure @ Failure::Reverted { .. }), _) => {
            provider.count(Kind::Damaged);
            return Err(failure);
        }
        (result, _) => result?,
    };
    let is_word = matches!(question, Question::Storage { .. });
    let bytes = result::bytes(&result, MAX_BODY).filter(|bytes| !is_word || bytes.len() == 32);
    let Some(bytes) = bytes else {
        provider.count(Kind::Damaged);
        return Err(Failure::Transport);
    };
    if let Question::Simulation(simulation) = question
        && let Some(failure) = deposit_gate::failure_of(simulation, &bytes)
    {
        // Such an answer came with HTTP status 200.
        Kind::of(&failure, 200).into_iter().for_each(|kind| provider.count(kind));
        return Err(failure);
    }
    Ok(NodeAnswer::Bytes(bytes))
}

/// The grants of roles up to `block`, from the logs of the whole chain.
async fn grants(provider: &Provider, block: &Block, contract: Address) -> Result<Vec<(Word, Address)>, Failure> {
    let range = BlockRange::new(0, block.id.number).ok_or(Failure::Transport)?;
    let logs = logs_of(provider, &[contract], &[Event::RoleGranted.topic()], range).await?;
    let grant = |log: &Log| match log.parameters() {
        Ok(Parameters::RoleGranted { role, account, .. }) => Some((role, account)),
        // An event of another shape grants no role of OpenZeppelin's access control.
        _ => None,
    };
    Ok(logs.iter().filter_map(grant).collect())
}
