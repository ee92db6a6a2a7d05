//! Answers about assets, and signatures on sets of answers.

use crate::{At, StoreError, decode_enum};
use rds_facts::AssetAnswer;
use rds_facts::fact::Kind;
use rds_shared::scoring::tables::rubric::RUBRIC_VERSION;
use sqlx::{FromRow, PgExecutor};
use std::collections::BTreeMap;

/// A row of `asset_answer`.
#[derive(FromRow)]
struct Row {
    asset_id: String,
    dimension: String,
    question: String,
    answer: String,
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
    fn answer(self) -> Result<AssetAnswer, StoreError> {
        Ok(AssetAnswer {
            kind: Kind,
            observed_at: self.observed_at,
            source: self.source,
            asset_id: self.asset_id,
            dimension: decode_enum("asset_answer.dimension", &self.dimension)?,
            question: self.question,
            answer: self.answer,
            as_of: self.as_of,
            source_title: self.source_title,
            source_url: self.source_url,
            source_kind: decode_enum("asset_answer.source_kind", &self.source_kind)?,
            note: self.note,
            withdrawn: self.withdrawn,
            rubric_version: self.rubric_version,
        })
    }
}

/// A reviewer's signature on a set of answers. Ingest has verified it.
#[derive(Debug, Clone, FromRow)]
pub struct AttestedSet {
    pub asset_id: String,
    pub reviewer_id: String,
    /// Content hash of the signed set, in hex.
    pub answers_hash: String,
}

const ANSWERS: &str = "SELECT asset_id, dimension, question, answer, as_of, source_title, source_url, source_kind, note, withdrawn, \
                              rubric_version, source, observed_at FROM asset_answer";

/// The answers to the questionnaire in force, by asset.
pub async fn all(db: impl PgExecutor<'_>) -> Result<BTreeMap<String, Vec<AssetAnswer>>, StoreError> {
    let sql = format!("{ANSWERS} WHERE rubric_version = $1");
    let rows: Vec<Row> = sqlx::query_as(&sql).bind(RUBRIC_VERSION).fetch_all(db).await?;
    let mut by_asset: BTreeMap<String, Vec<AssetAnswer>> = BTreeMap::new();
    for row in rows {
        let answer = row.answer()?;
        by_asset.entry(answer.asset_id.clone()).or_default().push(answer);
    }
    Ok(by_asset)
}

/// The answers about one asset to the questionnaire in force, in no particular order.
pub async fn of_asset(db: impl PgExecutor<'_>, asset_id: &str) -> Result<Vec<AssetAnswer>, StoreError> {
    let sql = format!("{ANSWERS} WHERE asset_id = $1 AND rubric_version = $2");
    let rows: Vec<Row> = sqlx::query_as(&sql).bind(asset_id).bind(RUBRIC_VERSION).fetch_all(db).await?;
    rows.into_iter().map(Row::answer).collect()
}

/// The signatures on sets of answers, of one asset or of all.
pub async fn attested(db: impl PgExecutor<'_>, asset_id: Option<&str>) -> Result<Vec<AttestedSet>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT asset_id, reviewer_id, answers_hash FROM answer_attestation \
         WHERE $1::text IS NULL OR asset_id = $1 ORDER BY asset_id, reviewer_id, answers_hash",
    )
    .bind(asset_id)
    .fetch_all(db)
    .await?)
}
