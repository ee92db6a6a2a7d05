//! What has to be asked: every block once, and every question once at each block.

use super::document::Document;
use super::evidence::{Call, Question};
use crate::input::{Unreadable, unreadable};
use rds_chain::BlockId;
use std::collections::BTreeMap;

/// Most questions of one document.
pub const MAX_QUESTIONS: usize = 5_000;

/// A block of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChainBlock {
    pub chain_id: u64,
    pub id: BlockId,
}

/// A question at a block.
#[derive(Debug)]
pub struct Planned {
    /// Position of the block in the plan.
    pub block: usize,
    pub question: Question,
    /// The published calls that ask it: more than one if inputs state different answers.
    calls: Vec<Call>,
}

/// Where an input was read.
#[derive(Debug)]
pub struct InputPlan {
    /// Position of the block in the plan.
    pub block: usize,
    /// Position of the question of each call in the plan.
    pub questions: Vec<usize>,
}

/// The blocks and their questions.
#[derive(Debug)]
pub struct Plan {
    blocks: Vec<ChainBlock>,
    questions: Vec<Planned>,
    /// In the order of the document; `None` if the evidence cannot be read.
    inputs: Vec<Option<InputPlan>>,
}

impl Plan {
    pub fn new(document: &Document) -> Result<Self, Unreadable> {
        let mut plan = Plan { blocks: Vec::new(), questions: Vec::new(), inputs: Vec::new() };
        let mut known: BTreeMap<(usize, &Question), usize> = BTreeMap::new();
        for input in &document.read {
            let Ok(evidence) = &input.evidence else {
                plan.inputs.push(None);
                continue;
            };
            let block = plan.add(ChainBlock { chain_id: evidence.chain_id, id: evidence.block });
            let mut questions = Vec::with_capacity(evidence.calls.len());
            for call in &evidence.calls {
                let place = *known.entry((block, &call.question)).or_insert(plan.questions.len());
                if place == plan.questions.len() {
                    plan.questions.push(Planned { block, question: call.question.clone(), calls: Vec::new() });
                }
                if let Some(planned) = plan.questions.get_mut(place)
                    && !planned.calls.contains(call)
                {
                    planned.calls.push(call.clone());
                }
                questions.push(place);
            }
            plan.inputs.push(Some(InputPlan { block, questions }));
        }
        if plan.questions.len() > MAX_QUESTIONS {
            return unreadable(format!("The answer has more than {MAX_QUESTIONS} different calls."));
        }
        Ok(plan)
    }

    /// The position of the block, which is added if it is new. A score has few blocks.
    fn add(&mut self, block: ChainBlock) -> usize {
        let known = self.blocks.iter().position(|other| *other == block);
        known.unwrap_or_else(|| {
            self.blocks.push(block);
            self.blocks.len().saturating_sub(1)
        })
    }

    pub fn blocks(&self) -> &[ChainBlock] {
        &self.blocks
    }

    pub fn questions(&self) -> &[Planned] {
        &self.questions
    }

    /// An input, by its position in the document.
    pub fn input(&self, place: usize) -> Option<&InputPlan> {
        self.inputs.get(place)?.as_ref()
    }

    /// Number of requests to an endpoint that has every block.
    pub fn requests(&self) -> u32 {
        let all = self.blocks.len().saturating_mul(2).saturating_add(self.questions.len()).saturating_add(1);
        u32::try_from(all).unwrap_or(u32::MAX)
    }
}

impl Planned {
    /// The published calls that ask this.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }
}
