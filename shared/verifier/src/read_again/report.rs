//! The verdict on each input, and on all of them together.

use super::Session;
use super::document::ReadInput;
use super::endpoint::{BlockState, Endpoint};
use super::evidence::{Call, Evidence};
use super::judge::{Judgement, Reason};
use super::plan::InputPlan;
use super::value::{Derived, derive};
use crate::report::Step;
use rds_chain::hex;
use serde::Serialize;

/// Most characters of a value in a report.
const MAX_SHOWN: usize = 2_000;

/// The outcome of reading an input again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every endpoint gave every published answer.
    Confirmed,
    /// At least one call was not repeated, and no endpoint contradicts.
    NotChecked,
    /// An endpoint answers otherwise.
    Contradicted,
}

/// The result of reading a vault's inputs, or the answers about an asset, again.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadReport {
    pub outcome: Outcome,
    /// The outcome in a sentence.
    pub summary: String,
    pub inputs: Vec<InputReport>,
    /// Number of inputs that a source stated, which no chain can confirm.
    pub stated: u32,
    pub endpoints: Vec<EndpointReport>,
    /// Whether the published scores follow from the published inputs; null for answers about an asset.
    pub score: Option<Step>,
}

/// The verdict on one input.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputReport {
    /// Group and name, as in `control.timelock_seconds`.
    pub name: String,
    /// The value, as JSON.
    pub value: String,
    pub source: Option<String>,
    pub observed_at: Option<String>,
    pub outcome: Outcome,
    /// The outcome in a sentence.
    pub said: String,
    /// Where the input was read; null if its evidence cannot be read.
    pub read_at: Option<ReadAt>,
    /// What differs, and what was not checked, with the reason.
    pub findings: Vec<Finding>,
}

/// Where the service read an input.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadAt {
    pub chain_id: u64,
    pub block_number: u64,
    pub block_hash: String,
    pub calls: usize,
    /// How many of the calls were simulated: made as if accounts had other code or storage.
    pub simulated: usize,
    /// Number of operators that gave these answers to the service, and of those that it asked.
    pub agreed: u32,
    pub asked: u32,
}

/// Something that keeps an input from being confirmed by an endpoint, or a remark on a call that is confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub outcome: Outcome,
    /// Name of the endpoint; null if no endpoint was needed for it.
    pub endpoint: Option<String>,
    /// Why something is not checked, or what the evidence contradicts by itself, as a stable name.
    pub reason: Option<&'static str>,
    pub said: String,
    /// The call, if one is concerned.
    pub call: Option<CallReport>,
}

/// A call with both answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallReport {
    /// Position in the `calls` of the evidence.
    pub place: usize,
    pub method: &'static str,
    pub contract: String,
    pub data: Option<String>,
    /// The published answer; null if the contract gave none.
    pub published: Option<String>,
    /// What the node said; null if it said nothing, or the same.
    pub node: Option<String>,
}

/// An endpoint, as it was found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointReport {
    pub name: String,
    /// The chain that it serves; null if it did not say so.
    pub chain_id: Option<u64>,
    /// Number of requests that it was sent, without those that were repeated.
    pub requests: u32,
}

impl ReadReport {
    pub fn of(session: &Session) -> Self {
        let inputs: Vec<InputReport> =
            session.document.read.iter().enumerate().map(|(place, input)| of_input(session, place, input)).collect();
        let count = |outcome| inputs.iter().filter(|input| input.outcome == outcome).count();
        let (contradicted, open) = (count(Outcome::Contradicted), count(Outcome::NotChecked));
        let (outcome, summary) = match (inputs.len(), contradicted, open) {
            (0, ..) => (Outcome::NotChecked, "Nothing in this states where it was read on a chain.".to_owned()),
            (all, 0, 0) => (Outcome::Confirmed, format!("{} {}.", confirming(session.endpoints.len()), counted(all))),
            (all, 0, open) => (
                Outcome::NotChecked,
                format!("Of {}, {open} could not be checked; nothing contradicts them.", counted(all)),
            ),
            (all, wrong, _) => {
                let are = if wrong == 1 { "is" } else { "are" };
                let summary = format!("Do not rely on this: of {}, {wrong} {are} contradicted.", counted(all));
                (Outcome::Contradicted, summary)
            }
        };
        let endpoint =
            |it: &Endpoint| EndpointReport { name: it.name.clone(), chain_id: it.chain(), requests: it.finished() };
        ReadReport {
            outcome,
            summary,
            inputs,
            stated: session.document.stated,
            endpoints: session.endpoints.iter().map(endpoint).collect(),
            score: session.score.clone(),
        }
    }
}

fn counted(inputs: usize) -> String {
    if inputs == 1 {
        "the 1 input that was read on a chain".to_owned()
    } else {
        format!("the {inputs} inputs that were read on a chain")
    }
}

fn confirming(endpoints: usize) -> String {
    if endpoints == 1 { "The endpoint confirms".to_owned() } else { format!("All {endpoints} endpoints confirm") }
}

fn of_input(session: &Session, place: usize, input: &ReadInput) -> InputReport {
    let (mut findings, mut derived) = (Vec::new(), Derived::Unknown);
    let read_at = match (&input.evidence, session.plan.input(place)) {
        (Ok(evidence), Some(planned)) => {
            for endpoint in &session.endpoints {
                findings.extend(of_endpoint(session, endpoint, evidence, planned));
            }
            derived = derive(&input.name, &input.value, evidence);
            findings.extend(of_service(session, evidence, &derived));
            Some(read_at(evidence))
        }
        (evidence, _) => {
            let why = evidence.as_ref().err().map(ToString::to_string).unwrap_or_default();
            findings.push(Finding {
                outcome: Outcome::NotChecked,
                endpoint: None,
                reason: Some("unreadable_evidence"),
                said: format!("The evidence cannot be repeated: {why}."),
                call: None,
            });
            None
        }
    };
    let outcome = findings.iter().map(|finding| finding.outcome).max().unwrap_or(Outcome::Confirmed);
    let first = findings.iter().find(|finding| finding.outcome == outcome);
    let calls = read_at.as_ref().map_or(0, |it| it.calls);
    let said = match (outcome, first) {
        (Outcome::Confirmed, _) if derived == Derived::Follows => {
            format!("All {calls} calls have the published answers, and the value follows from them.")
        }
        (Outcome::Confirmed, _) if calls == 1 => "The call has the published answer.".to_owned(),
        (Outcome::Confirmed, _) => format!("All {calls} calls have the published answers."),
        (_, Some(finding)) => finding.said.clone(),
        (_, None) => String::new(),
    };
    InputReport {
        name: input.name.clone(),
        value: shortened(&input.value),
        source: input.source.clone(),
        observed_at: input.observed_at.clone(),
        outcome,
        said,
        read_at,
        findings,
    }
}

/// What is wrong with the evidence itself, whatever a node says.
fn of_service(session: &Session, evidence: &Evidence, derived: &Derived) -> Option<Finding> {
    let finding =
        |outcome, reason, said| Some(Finding { outcome, endpoint: None, reason: Some(reason), said, call: None });
    if let Derived::Other(other) = derived {
        let said = format!("From the published answers another value follows: {other}.");
        return finding(Outcome::Contradicted, "other_value", said);
    }
    let contract = session.document.contract?;
    // A simulation may have put other code there.
    if evidence.calls.iter().any(|call| !call.is_simulated() && call.question.contract() == contract) {
        return None;
    }
    finding(Outcome::NotChecked, "other_contract", format!("No call asks the contract itself, {contract}."))
}

fn read_at(evidence: &Evidence) -> ReadAt {
    ReadAt {
        chain_id: evidence.chain_id,
        block_number: evidence.block.number,
        block_hash: evidence.block.hash.to_string(),
        calls: evidence.calls.len(),
        simulated: evidence.calls.iter().filter(|call| call.is_simulated()).count(),
        agreed: evidence.agreed,
        asked: evidence.asked,
    }
}

/// What one endpoint says about the evidence of an input.
fn of_endpoint(session: &Session, endpoint: &Endpoint, evidence: &Evidence, planned: &InputPlan) -> Vec<Finding> {
    let finding =
        |outcome, said, call| Finding { outcome, endpoint: Some(endpoint.name.clone()), reason: None, said, call };
    match endpoint.block_state(planned.block, &session.plan) {
        BlockState::Other(said) => return vec![finding(Outcome::Contradicted, said, None)],
        BlockState::Unchecked(reason) => return vec![unchecked(endpoint, reason, None)],
        BlockState::Canonical => {}
    }
    let mut findings: Vec<Finding> = Vec::new();
    for (place, (call, question)) in evidence.calls.iter().zip(&planned.questions).enumerate() {
        match endpoint.judge(call, *question) {
            (Judgement::Same, false) => {}
            (Judgement::Same, true) => {
                let said =
                    "The contract answers the service's reader as published, and other callers otherwise.".to_owned();
                findings.push(finding(Outcome::Confirmed, said, Some(reported(place, call, None))));
            }
            (Judgement::Other(node), _) => {
                let said = format!(
                    "{} of {} (call {place}) has another answer than the published one.",
                    call.question.method(),
                    call.question.contract()
                );
                findings.push(finding(Outcome::Contradicted, said, Some(reported(place, call, Some(&node)))));
            }
            // Of many calls that fail for one reason the first is enough.
            (Judgement::Unchecked(reason), _) => {
                let open = unchecked(endpoint, reason, Some(reported(place, call, None)));
                if !findings.iter().any(|other| other.reason == open.reason) {
                    findings.push(open);
                }
            }
        }
    }
    findings
}

fn unchecked(endpoint: &Endpoint, reason: Reason, call: Option<CallReport>) -> Finding {
    Finding {
        outcome: Outcome::NotChecked,
        endpoint: Some(endpoint.name.clone()),
        reason: Some(reason.name()),
        said: reason.said(),
        call,
    }
}

fn reported(place: usize, call: &Call, node: Option<&str>) -> CallReport {
    CallReport {
        place,
        method: call.question.method(),
        contract: call.question.contract().to_string(),
        data: call.question.data().as_deref().map(shortened),
        published: call.answer.as_deref().map(|answer| shortened(&hex::encode(answer))),
        node: node.map(shortened),
    }
}

fn shortened(text: &str) -> String {
    if text.len() <= MAX_SHOWN {
        return text.to_owned();
    }
    let kept: String = text.chars().take(MAX_SHOWN).collect();
    format!("{kept}…")
}
