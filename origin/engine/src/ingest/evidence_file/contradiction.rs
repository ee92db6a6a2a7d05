//! Questions whose newest answers differ.

use super::{Asked, EvidenceFile};
use rds_shared::scoring::rubric::{PartState, ProtocolPart, evaluate};
use rds_shared::wire::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

/// A question whose newest answers differ; the weakest of them counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contradiction {
    #[serde(flatten)]
    pub asked: Asked,
    /// Id of the answer that counts, or the value of the input; lists of dependencies count together.
    pub counts: Value,
    /// The other answers of the same day.
    pub also_given: Vec<Value>,
}

impl EvidenceFile {
    /// The questions whose newest answers differ at `now`, about assets first.
    pub fn contradictions(&self, now: Timestamp) -> Vec<Contradiction> {
        let mut found = Vec::new();
        for ((asset, dimension), answers) in self.by_dimension() {
            for part in evaluate(dimension, &answers, now).parts {
                let (PartState::Contradicted, Some(counts)) = (part.state, part.answer) else { continue };
                let question = part.question.id.to_owned();
                found.push(Contradiction {
                    asked: Asked::Asset { asset: asset.to_owned(), dimension, question },
                    counts: counts.id.into(),
                    also_given: part.also_given.iter().map(|answer| answer.id.into()).collect(),
                });
            }
        }
        for ((subject, input), answers) in self.by_input() {
            let part = ProtocolPart::new(input, &answers, now);
            let (PartState::Contradicted, Some(counts)) = (part.state, part.value) else { continue };
            let also_given = part.also_given.iter().map(|value| json!(value)).collect();
            found.push(Contradiction {
                asked: Asked::of_subject(subject, input),
                counts: json!(counts.value),
                also_given,
            });
        }
        found
    }
}
