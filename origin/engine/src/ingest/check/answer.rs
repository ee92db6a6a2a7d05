//! Checks of answers to the questionnaire: only permitted answers, each with a source that can be opened.

use super::fields::Check;
use rds_facts::AssetAnswer;
use rds_shared::scoring::tables::rubric::{RUBRIC_VERSION, questionnaire};

/// Maximum bytes of a source's address, which is part of the primary key; Postgres limits a key's size.
const MAX_SOURCE_URL: usize = 1_000;

impl Check {
    pub(super) fn asset_answer(&mut self, one: &AssetAnswer) {
        self.header(one.observed_at, &one.source);
        self.slug("asset_id", &one.asset_id);
        self.text("source_title", &one.source_title);
        self.url("source_url", Some(&one.source_url));
        if one.source_url.len() > MAX_SOURCE_URL {
            self.wrong("source_url", format!("must have at most {MAX_SOURCE_URL} bytes"));
        }
        self.optional_text("note", one.note.as_ref());
        if one.as_of > one.observed_at {
            self.wrong("as_of", "must not be after observed_at");
        }
        self.permitted(one);
    }

    /// Checks version, question, kind of source and answer against the questionnaire.
    fn permitted(&mut self, one: &AssetAnswer) {
        if one.rubric_version != RUBRIC_VERSION {
            let reason =
                format!("{:?} is not a known version; the current one is {RUBRIC_VERSION}", one.rubric_version);
            return self.wrong("rubric_version", reason);
        }
        let asked = questionnaire(one.dimension);
        let Some(question) = asked.question(&one.question) else {
            let known: Vec<_> = asked.questions.iter().map(|question| question.id).collect();
            let reason = format!(
                "{:?} is not a question of {}; its questions are {}",
                one.question,
                one.dimension,
                known.join(", ")
            );
            return self.wrong("question", reason);
        };
        if !question.evidence.contains(&one.source_kind) {
            let accepted: Vec<_> = question.evidence.iter().map(|kind| kind.as_str()).collect();
            self.wrong("source_kind", format!("must be one of {} for this question", accepted.join(", ")));
        }
        match question.answer(&one.answer) {
            None => {
                let permitted: Vec<_> = question.answers.iter().map(|answer| answer.id).collect();
                let reason = format!(
                    "{:?} is not an answer to {}; its answers are {}",
                    one.answer,
                    question.id,
                    permitted.join(", ")
                );
                self.wrong("answer", reason);
            }
            Some(answer) if answer.needs_search && one.note.is_none() => {
                self.wrong(
                    "note",
                    "must name the place that was searched, because the answer says that nothing was found",
                );
            }
            Some(_) => {}
        }
    }
}
