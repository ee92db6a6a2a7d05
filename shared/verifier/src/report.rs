//! The steps of a verification and their overall outcome.

use crate::envelope::EnvelopeResult;
use rds_shared::graph::verification::{DecisionRecord, Verification};
use serde::Serialize;

/// The result of a verification.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub outcome: ProofOutcome,
    /// The outcome in a sentence.
    pub summary: String,
    /// The SHA-256 of the given envelope.
    pub decision_id: String,
    /// The content of the envelope; null if a step failed.
    pub decision: Option<DecisionRecord>,
    /// What `/v1/graph/decision/{id}/verify` would answer for this record and registry; null without a readable registry.
    pub verification: Option<Verification>,
    pub steps: Vec<Step>,
}

/// The outcome of all steps together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofOutcome {
    /// Signed by a signer that was active according to the registry, and no step failed.
    Genuine,
    /// No step failed, but an input that the proof needs is missing.
    Unproven,
    /// At least one step failed.
    Refuted,
}

/// The outcome of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// The check succeeded.
    Ok,
    /// The check failed.
    Failed,
    /// An input that the check needs is missing.
    Unchecked,
}

#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Stable name of the step.
    pub name: &'static str,
    /// The statement that is checked.
    pub title: &'static str,
    pub outcome: StepOutcome,
    /// Explanation of the outcome.
    pub said: String,
    /// The compared values.
    pub inputs: Vec<Input>,
}

/// A value that a step examined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Input {
    pub label: &'static str,
    pub value: String,
}

impl Step {
    pub fn new(name: &'static str, title: &'static str, outcome: StepOutcome, said: impl Into<String>) -> Self {
        Step { name, title, outcome, said: said.into(), inputs: Vec::new() }
    }

    /// A step that succeeded or failed, with the explanation.
    pub fn judged(name: &'static str, title: &'static str, judgement: Result<String, String>) -> Self {
        match judgement {
            Ok(said) => Self::new(name, title, StepOutcome::Ok, said),
            Err(said) => Self::new(name, title, StepOutcome::Failed, said),
        }
    }

    /// A step for which an input is missing.
    pub fn unchecked(name: &'static str, title: &'static str, said: impl Into<String>) -> Self {
        Self::new(name, title, StepOutcome::Unchecked, said)
    }

    /// Adds a value that the step examined.
    #[must_use]
    pub fn with_input(mut self, label: &'static str, value: impl Into<String>) -> Self {
        self.inputs.push(Input { label, value: value.into() });
        self
    }
}

impl Report {
    /// Combines the steps. `Genuine` also requires the service's own verification rule to hold.
    pub fn of(result: EnvelopeResult, steps: Vec<Step>) -> Self {
        let failed = steps.iter().filter(|step| step.outcome == StepOutcome::Failed).count();
        let proved = result.verification.as_ref().is_some_and(Verification::is_genuine);
        let (outcome, summary) = match (failed, proved) {
            (0, true) => (
                ProofOutcome::Genuine,
                "This decision is genuine: it was signed by a signer of the registry who was active at that time, and nothing you gave contradicts it.".to_owned(),
            ),
            (0, false) => (
                ProofOutcome::Unproven,
                "Nothing contradicts this decision, but it is not proved: see below what is missing.".to_owned(),
            ),
            (1, _) => (ProofOutcome::Refuted, "Do not rely on this: one step fails.".to_owned()),
            (more, _) => (ProofOutcome::Refuted, format!("Do not rely on this: {more} steps fail.")),
        };
        Report {
            outcome,
            summary,
            decision_id: result.hash.to_hex(),
            decision: result.decision.filter(|_| outcome != ProofOutcome::Refuted),
            verification: result.verification,
            steps,
        }
    }

    /// A step by its name.
    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name == name)
    }
}
