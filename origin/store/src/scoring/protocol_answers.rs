//! Answers about protocols and vaults.

use crate::{At, StoreError, decode_enum};
use rds_facts::ProtocolAnswer;
use rds_facts::fact::Kind;
use rds_shared::scoring::tables::rubric::RUBRIC_VERSION;
use serde_json::Value;
use sqlx::{FromRow, PgExecutor};
use std::collections::HashMap;

/// A row of `protocol_answer`.
#[derive(FromRow)]
struct Row {
    subject: String,
    input: String,
    value: Value,
    as_of: At,
    source_title: String,
    source_url: String,
    source_kind: String,
    note: Option<String>,
    withdrawn: bool,
    rubric_version: String,
    source: String,
    observed_at: At,
}

impl Row {
    fn answer(self) -> Result<ProtocolAnswer, StoreError> {
        Ok(ProtocolAnswer {
            kind: Kind,
            observed_at: self.observed_at,
            source: self.source,
            subject: self.subject,
            input: decode_enum("protocol_answer.input", &self.input)?,
            value: self.value,
            as_of: self.as_of,
            source_title: self.source_title,
            source_url: self.source_url,
            source_kind: decode_enum("protocol_answer.source_kind", &self.source_kind)?,
            note: self.note,
            withdrawn: self.withdrawn,
            rubric_version: self.rubric_version,
        })
    }
}

const ANSWERS: &str = "SELECT subject, input, value, as_of, source_title, source_url, source_kind, note, withdrawn, rubric_version, \
                              source, observed_at FROM protocol_answer WHERE rubric_version = $1";

/// The answers to the questionnaire in force, by subject.
pub async fn all(db: impl PgExecutor<'_>) -> Result<HashMap<String, Vec<ProtocolAnswer>>, StoreError> {
    let rows: Vec<Row> = sqlx::query_as(ANSWERS).bind(RUBRIC_VERSION).fetch_all(db).await?;
    let mut by_subject: HashMap<String, Vec<ProtocolAnswer>> = HashMap::new();
    for row in rows {
        let answer = row.answer()?;
        by_subject.entry(answer.subject.clone()).or_default().push(answer);
    }
    Ok(by_subject)
}

/// The answers about these subjects, by input and subject, newest first.
pub async fn of_subjects(db: impl PgExecutor<'_>, subjects: &[&str]) -> Result<Vec<ProtocolAnswer>, StoreError> {
    let sql = format!("{ANSWERS} AND subject = ANY($2) ORDER BY input, subject, as_of DESC, source_url, value::text");
    let rows: Vec<Row> = sqlx::query_as(&sql).bind(RUBRIC_VERSION).bind(subjects).fetch_all(db).await?;
    rows.into_iter().map(Row::answer).collect()
}
