//! The conversation with one endpoint: which chain it serves, whether it has the blocks, then every question once.

use super::evidence::{Call, Question};
use super::judge::{Judgement, NodeAnswer, Reason, judge};
use super::plan::Plan;
use rds_chain::failure::{self, Failure, Response};
use rds_chain::{Block, BlockHash, body, result};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::VecDeque;

/// Longest answer that is read, in bytes.
pub const MAX_ANSWER: usize = 4 << 20;
/// How often a request is sent again after the endpoint limited the rate, and after any other failure of the endpoint.
const MAX_RATE_RETRIES: u32 = 3;
const MAX_RETRIES: u32 = 1;
/// Milliseconds until a request is sent again, if the endpoint names no time: after a limit of the rate this doubles each time.
const RATE_WAIT: u32 = 1_000;
const RETRY_WAIT: u32 = 500;
/// Longest time that is waited for an endpoint, in milliseconds.
const MAX_WAIT: u32 = 10_000;
/// Requests in a row that may fail before the endpoint is given up.
const MAX_FAILURES: u32 = 4;

/// A request to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NextRequest {
    /// Names the request when its answer is recorded.
    pub id: u32,
    /// The body: JSON-RPC.
    pub body: String,
}

/// Why no answer arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    Timeout,
    /// No connection, or an answer that must not be read.
    Unreachable,
    TooLarge,
}

/// What a request asks for; blocks and questions by their position in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Chain,
    ByHash(usize),
    ByNumber(usize),
    Question(usize),
    /// The same question from the address that the service's reader calls from. Asked only if the answer was another.
    AsReader(usize),
}

#[derive(Clone, Copy, Debug)]
struct Ask {
    subject: Subject,
    sent: u32,
}

/// What the endpoint says about a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// It is part of the endpoint's chain, at the published number.
    Canonical,
    /// It is not; the words say what the endpoint has instead.
    Other(String),
    Unchecked(Reason),
}

/// The headers that the endpoint has for a block.
#[derive(Clone, Copy, Debug, Default)]
struct BlockAnswers {
    /// The number of the block with the hash.
    by_hash: Option<Result<u64, Reason>>,
    /// The hash of the block with the number.
    by_number: Option<Result<BlockHash, Reason>>,
}

#[derive(Clone, Debug, Default)]
struct QuestionAnswers {
    plain: Option<NodeAnswer>,
    as_reader: Option<NodeAnswer>,
}

/// One endpoint, with everything that it answered.
#[derive(Debug)]
pub struct Endpoint {
    /// How reports name it.
    pub name: String,
    queue: VecDeque<Ask>,
    /// The requests that were sent and not yet answered. Their number is the host's concurrency.
    open: Vec<(u32, Ask)>,
    last_id: u32,
    chain: Option<Result<u64, Reason>>,
    blocks: Vec<BlockAnswers>,
    questions: Vec<QuestionAnswers>,
    failures: u32,
    /// Why nothing more is asked.
    ended: Option<Reason>,
    finished: u32,
}

impl Endpoint {
    pub fn new(name: String, plan: &Plan) -> Self {
        Endpoint {
            name,
            queue: VecDeque::from([Ask { subject: Subject::Chain, sent: 0 }]),
            open: Vec::new(),
            last_id: 0,
            chain: None,
            blocks: vec![BlockAnswers::default(); plan.blocks().len()],
            questions: vec![QuestionAnswers::default(); plan.questions().len()],
            failures: 0,
            ended: None,
            finished: 0,
        }
    }

    /// The chain that the endpoint serves, if it said so.
    pub fn chain(&self) -> Option<u64> {
        self.chain?.ok()
    }

    /// Number of requests that are finished.
    pub fn finished(&self) -> u32 {
        self.finished
    }

    /// The next request to send. `None` while what follows depends on answers that are still missing, and at the end.
    pub fn next(&mut self, plan: &Plan) -> Option<NextRequest> {
        if self.ended.is_some() {
            return None;
        }
        let mut ask = self.queue.pop_front()?;
        ask.sent = ask.sent.saturating_add(1);
        let id = self.last_id.saturating_add(1);
        let body = body_of(ask.subject, id.into(), plan)?;
        self.last_id = id;
        self.open.push((id, ask));
        Some(NextRequest { id, body })
    }

    fn take(&mut self, id: u32) -> Option<Ask> {
        let place = self.open.iter().position(|(open, _)| *open == id)?;
        Some(self.open.swap_remove(place).1)
    }

    /// Records an answer to the request `id`. Returns the milliseconds to wait before anything more is sent.
    pub fn answered(&mut self, id: u32, status: u16, retry_after: Option<&str>, text: &str, plan: &Plan) -> u32 {
        let Some(ask) = self.take(id) else { return 0 };
        let answer = failure::read(Response { status, retry_after, body: text.as_bytes() }, id.into());
        if let Some(wait) = answer.as_ref().err().and_then(|failure| wait(failure, ask.sent)) {
            self.queue.push_front(ask);
            return wait;
        }
        let said = match (answer, ask.subject) {
            (Ok(answer), _) => Ok(answer),
            (Err(Failure::Reverted { data }), Subject::Question(place) | Subject::AsReader(place))
                // Only a call can revert.
                if plan.questions().get(place).is_some_and(|it| matches!(it.question, Question::Call { .. } | Question::Simulation(_))) =>
            {
                self.hear(ask.subject, NodeAnswer::Reverted(data), plan);
                return 0;
            }
            // A question is asked only at a block that the node has, so it is the block's state that is missing.
            (Err(Failure::UnknownBlock), Subject::Question(_) | Subject::AsReader(_)) => Err(Reason::NoState),
            (Err(failure), _) => Err(Reason::of(&failure, status)),
        };
        self.record(ask.subject, said, plan);
        0
    }

    /// Records that no answer to the request `id` arrived. Returns the milliseconds to wait before anything more is sent.
    pub fn failed(&mut self, id: u32, why: Silence, plan: &Plan) -> u32 {
        let Some(ask) = self.take(id) else { return 0 };
        if why != Silence::TooLarge && ask.sent <= MAX_RETRIES {
            self.queue.push_front(ask);
            return RETRY_WAIT;
        }
        let reason = match why {
            Silence::Timeout => Reason::Timeout,
            Silence::Unreachable => Reason::Unreachable,
            Silence::TooLarge => Reason::TooLarge,
        };
        self.record(ask.subject, Err(reason), plan);
        0
    }

    /// Records what came of a request in the end.
    fn record(&mut self, subject: Subject, said: Result<&RawValue, Reason>, plan: &Plan) {
        let block = |place: usize| plan.blocks().get(place).map(|block| block.id);
        let header = said.and_then(|said| result::block(said).ok_or(Reason::Damaged));
        let if_asked = |header: Block, is_asked: bool| if is_asked { Ok(header.id) } else { Err(Reason::Damaged) };
        let failure = match subject {
            Subject::Chain => {
                let id = said.and_then(|said| result::quantity(said).ok_or(Reason::Damaged));
                self.chain = Some(id);
                id.err()
            }
            Subject::ByHash(place) => {
                let asked = block(place).map(|id| id.hash);
                let found = header.and_then(|header| if_asked(header, asked == Some(header.id.hash)));
                if let Some(answers) = self.blocks.get_mut(place) {
                    answers.by_hash = Some(found.map(|id| id.number));
                }
                found.err()
            }
            Subject::ByNumber(place) => {
                let asked = block(place).map(|id| id.number);
                let found = header.and_then(|header| if_asked(header, asked == Some(header.id.number)));
                if let Some(answers) = self.blocks.get_mut(place) {
                    answers.by_number = Some(found.map(|id| id.hash));
                }
                found.err()
            }
            Subject::Question(_) | Subject::AsReader(_) => {
                let bytes = said.and_then(|said| result::bytes(said, MAX_ANSWER).ok_or(Reason::Damaged));
                self.hear(subject, bytes.map_or_else(NodeAnswer::Failed, NodeAnswer::Bytes), plan);
                return;
            }
        };
        self.go_on(subject, failure, plan);
    }

    /// Records the answer to a question.
    fn hear(&mut self, subject: Subject, said: NodeAnswer, plan: &Plan) {
        let (Subject::Question(place) | Subject::AsReader(place)) = subject else { return };
        let (Some(planned), Some(answers)) = (plan.questions().get(place), self.questions.get_mut(place)) else {
            return;
        };
        let failure = match said {
            NodeAnswer::Failed(reason) => Some(reason),
            NodeAnswer::Bytes(_) | NodeAnswer::Reverted(_) => None,
        };
        if subject == Subject::AsReader(place) {
            answers.as_reader = Some(said);
        } else {
            let differs = planned.calls().iter().any(|call| matches!(judge(call, &said), Judgement::Other(_)));
            if differs && matches!(planned.question, Question::Call { .. }) {
                self.queue.push_back(Ask { subject: Subject::AsReader(place), sent: 0 });
            }
            answers.plain = Some(said);
        }
        self.go_on(subject, failure, plan);
    }

    /// Counts a finished request, and adds what can be asked now.
    fn go_on(&mut self, subject: Subject, failure: Option<Reason>, plan: &Plan) {
        self.finished = self.finished.saturating_add(1);
        match failure {
            Some(reason) if reason.is_of_the_endpoint() => self.failures = self.failures.saturating_add(1),
            _ => self.failures = 0,
        }
        if self.failures >= MAX_FAILURES {
            self.ended = failure;
            return;
        }
        let ask = |subject| Ask { subject, sent: 0 };
        match subject {
            Subject::Chain => {
                let chain = self.chain();
                let of_chain = plan.blocks().iter().enumerate().filter(|(_, block)| Some(block.chain_id) == chain);
                for (place, _) in of_chain {
                    self.queue.extend([ask(Subject::ByHash(place)), ask(Subject::ByNumber(place))]);
                }
            }
            Subject::ByHash(block) | Subject::ByNumber(block) => {
                let is_known = self.blocks.get(block).is_some_and(|it| it.by_hash.is_some() && it.by_number.is_some());
                if is_known && self.block_state(block, plan) == BlockState::Canonical {
                    let at_block = plan.questions().iter().enumerate().filter(|(_, planned)| planned.block == block);
                    self.queue.extend(at_block.map(|(place, _)| ask(Subject::Question(place))));
                }
            }
            Subject::Question(_) | Subject::AsReader(_) => {}
        }
    }

    /// Why what was not asked was not.
    fn not_asked(&self) -> Reason {
        self.ended.unwrap_or(Reason::Stopped)
    }

    /// Whether the block is part of the endpoint's chain.
    pub fn block_state(&self, place: usize, plan: &Plan) -> BlockState {
        let (Some(block), Some(answers)) = (plan.blocks().get(place), self.blocks.get(place)) else {
            return BlockState::Unchecked(Reason::Stopped);
        };
        let not_asked = self.not_asked();
        match self.chain {
            Some(Ok(id)) if id == block.chain_id => {}
            Some(Ok(other)) => return BlockState::Unchecked(Reason::OtherChain(other)),
            Some(Err(reason)) => return BlockState::Unchecked(reason),
            None => return BlockState::Unchecked(not_asked),
        }
        let by_hash = answers.by_hash.unwrap_or(Err(not_asked));
        match (by_hash, answers.by_number.unwrap_or(Err(not_asked))) {
            (Ok(number), _) if number != block.id.number => BlockState::Other(format!(
                "The block with the published hash has the number {number}, not {}.",
                block.id.number
            )),
            (_, Ok(hash)) if hash != block.id.hash => BlockState::Other(format!(
                "The published block is not part of the endpoint's chain, which has {hash} at the number {}.",
                block.id.number
            )),
            (Ok(_), Ok(_)) => BlockState::Canonical,
            // One of the two answers names the block, the other says that there is none.
            (Err(Reason::UnknownBlock), Ok(_)) => BlockState::Unchecked(Reason::Damaged),
            (Err(reason), _) | (Ok(_), Err(reason)) => BlockState::Unchecked(reason),
        }
    }

    /// The judgement on a call at a canonical block by the position of its question, and whether the contract answers the service's reader
    /// otherwise than others.
    pub fn judge(&self, call: &Call, question: usize) -> (Judgement, bool) {
        let unchecked = (Judgement::Unchecked(self.not_asked()), false);
        let Some(answers) = self.questions.get(question) else { return unchecked };
        let Some(said) = &answers.plain else { return unchecked };
        let judgement = judge(call, said);
        if !matches!((&judgement, &call.question), (Judgement::Other(_), Question::Call { .. })) {
            return (judgement, false);
        }
        match answers.as_reader.as_ref().map(|said| judge(call, said)) {
            Some(Judgement::Same) => (Judgement::Same, true),
            Some(Judgement::Other(_)) => (judgement, false),
            Some(Judgement::Unchecked(reason)) => (Judgement::Unchecked(reason), false),
            None => unchecked,
        }
    }
}

fn body_of(subject: Subject, id: u64, plan: &Plan) -> Option<String> {
    let block = |place: usize| plan.blocks().get(place).map(|block| block.id);
    Some(match subject {
        Subject::Chain => body::chain_id(id),
        Subject::ByHash(place) => body::block_by_hash(id, block(place)?.hash),
        Subject::ByNumber(place) => body::block_by_number(id, body::Tag::Number(block(place)?.number)),
        Subject::Question(place) => {
            let planned = plan.questions().get(place)?;
            planned.question.body(id, block(planned.block)?.hash)
        }
        Subject::AsReader(place) => {
            let planned = plan.questions().get(place)?;
            let Question::Call { contract, data } = &planned.question else { return None };
            body::contract_call_of_reader(id, *contract, data, body::QUESTION_GAS, block(planned.block)?.hash)
        }
    })
}

/// Milliseconds until a request is sent again that failed for the `sent`th time; `None` if it is not sent again.
fn wait(failure: &Failure, sent: u32) -> Option<u32> {
    match failure {
        Failure::RateLimited { retry_after } if sent <= MAX_RATE_RETRIES => {
            let doubled = || RATE_WAIT.checked_shl(sent.saturating_sub(1)).unwrap_or(MAX_WAIT);
            let wait = retry_after.map_or_else(doubled, |seconds| seconds.saturating_mul(1_000));
            (wait <= MAX_WAIT).then_some(wait)
        }
        Failure::Transport if sent <= MAX_RETRIES => Some(RETRY_WAIT),
        _ => None,
    }
}
