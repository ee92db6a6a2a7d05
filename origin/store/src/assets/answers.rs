//! Answers about assets, and signatures on sets of answers.

use crate::{At, StoreError, Tx, decode_enum};
use rds_facts::AssetAnswer;
use rds_facts::fact::Kind;
use rds_shared::scoring::provenance::ChainEvidence;
use rds_shared::scoring::tables::rubric::RUBRIC_VERSION;
use sqlx::types::Json;
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
    evidence: Option<Json<ChainEvidence>>,
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
            evidence: self.evidence.map(|Json(evidence)| evidence),
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
                              rubric_version, source, observed_at, evidence FROM asset_answer";

/// The answers to the questionnaire in force, by asset.
pub async fn all(db: impl PgExecutor<'_>) -> Result<BTreeMap<String, Vec<AssetAnswer>>, StoreError> {
    let sql = format!("{ANSWERS} WHERE rubric_version = $1");
    by_asset(sqlx::query_as(&sql).bind(RUBRIC_VERSION).fetch_all(db).await?)
}

fn by_asset(rows: Vec<Row>) -> Result<BTreeMap<String, Vec<AssetAnswer>>, StoreError> {
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

/// The answers about these assets to the questionnaire in force, by asset.
pub async fn of_assets(
    db: impl PgExecutor<'_>,
    asset_ids: &[&str],
) -> Result<BTreeMap<String, Vec<AssetAnswer>>, StoreError> {
    let sql = format!("{ANSWERS} WHERE asset_id = ANY($1) AND rubric_version = $2");
    by_asset(sqlx::query_as(&sql).bind(asset_ids).bind(RUBRIC_VERSION).fetch_all(db).await?)
}

/// The answers that were read on the chain from block `from_block` on and are not withdrawn.
pub async fn read_since(
    db: impl PgExecutor<'_>,
    chain_id: i64,
    from_block: i64,
) -> Result<Vec<AssetAnswer>, StoreError> {
    let sql = format!(
        "{ANSWERS} WHERE (evidence->>'chain_id')::bigint = $1 AND (evidence->>'block_number')::bigint >= $2 AND NOT withdrawn"
    );
    let rows: Vec<Row> = sqlx::query_as(&sql).bind(chain_id).bind(from_block).fetch_all(db).await?;
    rows.into_iter().map(Row::answer).collect()
}

/// Deletes read answers about these assets that repeat the one before and the one after them, if they are more than a week older than the
/// newest and these two are less than 30 days apart. An unchanged answer is read every day, and one a month shows as much.
pub async fn thin_read(tx: &mut Tx<'_>, asset_ids: &[String]) -> Result<(), StoreError> {
    let sql = "DELETE FROM asset_answer a USING ( \
                   SELECT asset_id, dimension, question, answer, as_of, source_url, max(as_of) OVER same AS newest, \
                          lag(as_of) OVER in_order AS before, lead(as_of) OVER in_order AS after \
                   FROM asset_answer WHERE asset_id = ANY($1) AND evidence IS NOT NULL AND NOT withdrawn \
                   WINDOW same AS (PARTITION BY asset_id, dimension, question, answer, rubric_version), \
                          in_order AS (PARTITION BY asset_id, dimension, question, answer, rubric_version ORDER BY as_of)) r \
               WHERE a.asset_id = r.asset_id AND a.dimension = r.dimension AND a.question = r.question AND a.answer = r.answer \
                   AND a.as_of = r.as_of AND a.source_url = r.source_url AND a.evidence IS NOT NULL \
                   AND r.after - r.before < interval '30 days' AND r.as_of < r.newest - interval '7 days'";
    sqlx::query(sql).bind(asset_ids).execute(&mut **tx).await?;
    Ok(())
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
