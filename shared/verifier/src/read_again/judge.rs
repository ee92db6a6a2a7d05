//! Whether a node's answer to a call is the published one.
//!
//! Only an answer of the node about the chain can contradict. A failure of the node leaves a call unchecked.

use super::evidence::{Call, Question};
use rds_chain::abi::keccak256;
use rds_chain::adapt::deposit_gate;
use rds_chain::failure::Failure;
use rds_chain::hex;

/// What a node said to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeAnswer {
    /// What a call returned, the word in a slot, or the code of a contract.
    Bytes(Vec<u8>),
    /// The contract reverted with this data.
    Reverted(Vec<u8>),
    /// No answer.
    Failed(Reason),
}

/// Why something is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The endpoint is a node of another chain, with this id.
    OtherChain(u64),
    UnknownBlock,
    /// The node has the block, but no longer its state.
    NoState,
    RateLimited,
    Timeout,
    /// No connection, or the browser was not allowed to read the answer.
    Unreachable,
    TooLarge,
    Gas,
    Unsupported,
    Forbidden,
    /// The endpoint answered with this HTTP status, but not in JSON-RPC, or with an error of its own.
    NotAnswered(u16),
    /// The answer does not have the form of the method's result, or contradicts itself.
    Damaged,
    /// The user stopped before this was asked.
    Stopped,
}

impl Reason {
    /// Of a failure to answer with the HTTP status `status`.
    pub fn of(failure: &Failure, status: u16) -> Self {
        match failure {
            Failure::RateLimited { .. } => Reason::RateLimited,
            Failure::Gas => Reason::Gas,
            Failure::Size | Failure::RangeTooLarge => Reason::TooLarge,
            Failure::UnknownBlock => Reason::UnknownBlock,
            Failure::Unsupported => Reason::Unsupported,
            Failure::Forbidden => Reason::Forbidden,
            Failure::Transport | Failure::Reverted { .. } => Reason::NotAnswered(status),
        }
    }

    /// Whether other requests to the endpoint will probably fail as well.
    pub fn is_of_the_endpoint(self) -> bool {
        matches!(
            self,
            Reason::RateLimited
                | Reason::Timeout
                | Reason::Unreachable
                | Reason::Unsupported
                | Reason::Forbidden
                | Reason::NotAnswered(_)
        )
    }

    /// Stable name, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Reason::OtherChain(_) => "other_chain",
            Reason::UnknownBlock => "unknown_block",
            Reason::NoState => "no_state",
            Reason::RateLimited => "rate_limited",
            Reason::Timeout => "timeout",
            Reason::Unreachable => "unreachable",
            Reason::TooLarge => "too_large",
            Reason::Gas => "gas",
            Reason::Unsupported => "unsupported",
            Reason::Forbidden => "forbidden",
            Reason::NotAnswered(_) => "not_answered",
            Reason::Damaged => "damaged",
            Reason::Stopped => "stopped",
        }
    }

    /// The reason in a sentence.
    pub fn said(self) -> String {
        match self {
            Reason::OtherChain(id) => return format!("The endpoint is a node of another chain: its id is {id}."),
            Reason::NotAnswered(status) => {
                return format!("The endpoint gave no answer of JSON-RPC to the call, or an error of its own (HTTP {status}).");
            }
            Reason::UnknownBlock => "The node does not have this block.",
            Reason::NoState => "The node no longer has the state of this block: ask an archive node.",
            Reason::RateLimited => "The endpoint limits the rate of requests.",
            Reason::Timeout => "The endpoint did not answer in time.",
            Reason::Unreachable => {
                "The endpoint cannot be reached. In a browser this also means that it does not allow pages to read its answers (CORS)."
            }
            Reason::TooLarge => "The answer is larger than this verifier or the endpoint allows.",
            Reason::Gas => "The endpoint allows less gas than the call needs.",
            Reason::Unsupported => "The endpoint does not serve this method, or not at a block that is named by its hash (EIP-1898), or not with overrides of code and storage.",
            Reason::Forbidden => "The endpoint refuses the request: its address may need a key.",
            Reason::Damaged => "The endpoint's answer contradicts itself, or does not have the form of the method's result.",
            Reason::Stopped => "This was stopped before everything was asked.",
        }
        .to_owned()
    }
}

/// The result of comparing one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    Same,
    /// The node's answer, in words or as hex.
    Other(String),
    Unchecked(Reason),
}

/// Compares the published answer of `call` with the node's.
pub fn judge(call: &Call, node: &NodeAnswer) -> Judgement {
    let bytes = match node {
        NodeAnswer::Failed(reason) => return Judgement::Unchecked(*reason),
        NodeAnswer::Reverted(data) => {
            return match call.answer {
                None => Judgement::Same,
                Some(_) => Judgement::Other(match data.as_slice() {
                    [] => "the contract reverted".to_owned(),
                    data => format!("the contract reverted with {}", hex::encode(data)),
                }),
            };
        }
        NodeAnswer::Bytes(bytes) => bytes,
    };
    // What a node answers that does not make the call as published says nothing about the chain.
    if let Question::Simulation(simulation) = &call.question
        && call.answer.as_ref() != Some(bytes)
        && let Some(failure) = deposit_gate::failure_of(simulation, bytes)
    {
        return Judgement::Unchecked(Reason::of(&failure, 200));
    }
    match (&call.question, &call.answer) {
        (Question::Code(_), Some(hash)) => {
            let found = keccak256(bytes);
            if found.as_slice() == hash.as_slice() { Judgement::Same } else { Judgement::Other(hex::encode(&found)) }
        }
        (Question::Call { .. } | Question::Simulation(_), Some(answer)) if is_same(answer, bytes) => Judgement::Same,
        // The service takes a call that returned less than a word for one that gave no answer.
        (Question::Call { .. } | Question::Simulation(_), None) if bytes.len() < 32 => Judgement::Same,
        (Question::Storage { .. }, Some(word)) if word == bytes => Judgement::Same,
        _ => Judgement::Other(hex::encode(bytes)),
    }
}

/// Of a function with one result, the service keeps the first word: decoders ignore what follows it.
fn is_same(published: &[u8], returned: &[u8]) -> bool {
    published == returned || (published.len() == 32 && returned.starts_with(published))
}
