//! What enough operators answered to the questions of adapters, with the evidence of each answer.

use super::observed::{self, AgreedCall};
use rds_chain::Block;
use rds_chain::adapt::governance::{self, Answer};
use rds_chain::adapt::question::{Answers, Question};
use rds_chain::failure::Failure;
use rds_rpc::agree::Reader;
use std::collections::{BTreeMap, BTreeSet};

/// Questions that were asked at one block.
#[derive(Debug, Default)]
pub(super) struct Asked {
    answers: Answers,
    seen: BTreeMap<Question, AgreedCall>,
    known: BTreeSet<Question>,
    disputed: BTreeSet<Question>,
    /// How often each operator answered otherwise than the others.
    pub dissent: BTreeMap<String, u64>,
}

impl Asked {
    /// Asks those of the questions that were not asked before.
    pub async fn ask(&mut self, reader: &Reader, block: &Block, questions: Vec<Question>) {
        let new: BTreeSet<Question> = questions.into_iter().filter(|it| !self.known.contains(it)).collect();
        let new: Vec<Question> = new.into_iter().collect();
        let calls: Vec<governance::Question> =
            new.iter().map(|it| governance::Question::Call { contract: it.contract(), data: it.calldata() }).collect();
        if calls.is_empty() {
            return;
        }
        let answers = reader.answers(block, &calls).await;
        for ((question, call), answer) in new.into_iter().zip(&calls).zip(answers) {
            for operator in &answer.dissenters {
                *self.dissent.entry(operator.clone()).or_default() += 1;
            }
            if answer.agreed == 0 && !answer.dissenters.is_empty() {
                self.disputed.insert(question.clone());
            }
            if let Some(seen) = observed::question(call, &answer) {
                self.seen.insert(question.clone(), seen);
            }
            let result = match answer.answer {
                Answer::Call(result) => result,
                Answer::Failed(failure) => Err(failure),
                // An answer has the kind of its question.
                Answer::Code(_) | Answer::Storage(_) | Answer::RoleGrants(_) => Err(Failure::Transport),
            };
            self.answers.insert(question.clone(), result);
            self.known.insert(question);
        }
    }

    /// The answers, for adapters.
    pub fn answers(&self) -> &Answers {
        &self.answers
    }

    /// The calls behind these questions, in their order and none twice. Questions without an agreed answer are left out: no value stands on
    /// them.
    pub fn evidence<'a>(&self, questions: impl IntoIterator<Item = &'a Question>) -> Vec<AgreedCall> {
        let mut listed = BTreeSet::new();
        let first = questions.into_iter().filter(|question| listed.insert(*question));
        first.filter_map(|question| self.seen.get(question).cloned()).collect()
    }

    /// Whether the operators contradict each other about one of these questions.
    pub fn is_disputed<'a>(&self, questions: impl IntoIterator<Item = &'a Question>) -> bool {
        questions.into_iter().any(|question| self.disputed.contains(question))
    }
}
