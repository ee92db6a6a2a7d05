//! Answers to the questionnaire about assets.

use super::At;
use super::fact::observations;
use rds_shared::scoring::asset::Dimension;
use rds_shared::scoring::rubric::{Answer, SourceKind, SourcedAnswer};
use rds_shared::scoring::tables::rubric::RUBRIC_VERSION;

fn current_version() -> String {
    RUBRIC_VERSION.to_owned()
}

observations! {
    /// What one source shows about one question on an asset.
    ///
    /// The content is the key, so different answers to one question are separate rows. A later observation of the same answer replaces
    /// the title, the kind and the note, and withdraws or restores the answer.
    AssetAnswer in "asset_answer" by [asset_id, dimension, question, answer, as_of, source_url] {
        asset_id: String,
        dimension: Dimension,
        /// Id of a question of the dimension.
        question: String,
        /// Id of one of the question's answers.
        answer: String,
        /// When the source showed the answer; midnight UTC if the source states only a day.
        as_of: At,
        source_title: String,
        source_url: String,
        source_kind: SourceKind,
        /// The place that was searched, if the answer is that a search found nothing.
        note: Option<String>,
        #[serde(default)]
        withdrawn: bool,
        /// Version of the questionnaire that was answered; the current one if absent.
        #[serde(default = "current_version")]
        rubric_version: String,
    }
}

impl AssetAnswer {
    /// The answer in the form that the questionnaire evaluates. A withdrawn answer counts as withdrawn from its last observation on.
    pub fn sourced(&self) -> SourcedAnswer<'_> {
        SourcedAnswer {
            dimension: self.dimension,
            answer: Answer {
                question: &self.question,
                answer: &self.answer,
                observed_at: self.as_of.0,
                source_kind: self.source_kind,
                withdrawn_at: self.withdrawn.then_some(self.observed_at.0),
            },
            source_title: &self.source_title,
            source_url: &self.source_url,
            note: self.note.as_deref().unwrap_or(""),
        }
    }
}
