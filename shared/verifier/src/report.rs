//! The steps of a verification, and what they come to.

use crate::seal::Sealed;
use rds_shared::graph::verification::{DecisionRecord, Verification};
use serde::Serialize;

/// Everything that was found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// What it comes to.
    pub outcome: Outcome,
    /// The same in a sentence.
    pub summary: String,
    /// The SHA-256 of the envelope as it was given.
    pub decision_id: String,
    /// What the envelope says; null where something contradicts it.
    pub decision: Option<DecisionRecord>,
    /// What the service's route would answer on this record and registry; null without a registry.
    pub verification: Option<Verification>,
    /// Each step, in order.
    pub steps: Vec<Step>,
}

/// What all steps together come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Signed by a signer that the registry lets sign, and nothing contradicts it.
    Genuine,
    /// Nothing contradicts it, but something that the proof needs is not there.
    Unproven,
    /// Something contradicts it.
    Refuted,
}

/// What one step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// It holds.
    Ok,
    /// It does not.
    Failed,
    /// There was nothing to check it with.
    Unchecked,
}

/// One step.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Its name; stable.
    pub name: &'static str,
    /// What it asks.
    pub title: &'static str,
    /// What it came to.
    pub outcome: StepOutcome,
    /// Why.
    pub said: String,
    /// What was compared.
    pub inputs: Vec<Input>,
}

/// A value that a step looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Input {
    /// What it is.
    pub label: &'static str,
    /// The value itself.
    pub value: String,
}

impl Step {
    /// A step that came to `outcome`.
    pub fn new(name: &'static str, title: &'static str, outcome: StepOutcome, said: impl Into<String>) -> Self {
        Step { name, title, outcome, said: said.into(), inputs: Vec::new() }
    }

    /// A step that holds, or says why it does not.
    pub fn judged(name: &'static str, title: &'static str, judgement: Result<String, String>) -> Self {
        match judgement {
            Ok(said) => Self::new(name, title, StepOutcome::Ok, said),
            Err(said) => Self::new(name, title, StepOutcome::Failed, said),
        }
    }

    /// A step for which something is missing.
    pub fn unchecked(name: &'static str, title: &'static str, said: impl Into<String>) -> Self {
        Self::new(name, title, StepOutcome::Unchecked, said)
    }

    /// The same with a value that it looked at.
    #[must_use]
    pub fn looking_at(mut self, label: &'static str, value: impl Into<String>) -> Self {
        self.inputs.push(Input { label, value: value.into() });
        self
    }
}

impl Report {
    /// Puts the steps together. Whether the proof is whole is asked of the service's own rule, not of the steps.
    pub fn of(sealed: Sealed, steps: Vec<Step>) -> Self {
        let failed = steps.iter().filter(|step| step.outcome == StepOutcome::Failed).count();
        let proved = sealed.verification.as_ref().is_some_and(Verification::holds);
        let (outcome, summary) = match (failed, proved) {
            (0, true) => (
                Outcome::Genuine,
                "This decision is genuine: signed by a signer of the registry while it was allowed to, and nothing that you gave contradicts it.".to_owned(),
            ),
            (0, false) => (
                Outcome::Unproven,
                "Nothing contradicts this decision, but it is not proved: what is missing is told below.".to_owned(),
            ),
            (1, _) => (Outcome::Refuted, "Do not rely on this: one step fails.".to_owned()),
            (more, _) => (Outcome::Refuted, format!("Do not rely on this: {more} steps fail.")),
        };
        Report {
            outcome,
            summary,
            decision_id: sealed.hash.to_hex(),
            decision: sealed.decision.filter(|_| outcome != Outcome::Refuted),
            verification: sealed.verification,
            steps,
        }
    }

    /// A step by its name.
    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name == name)
    }
}
