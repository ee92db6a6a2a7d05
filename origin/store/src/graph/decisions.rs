//! Signed decisions of organisations, and the evidence (envelope and signature) with which a decision can be verified.

use crate::shared_row::{Shared, shared_row};
use crate::{At, Db, StoreError, Tx};
use rds_shared::graph::evidence::Record;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::decision::IssuedDecision;
use rds_shared::wire::Timestamp;
use sqlx::{FromRow, PgExecutor};

/// A signed decision to be stored.
#[derive(Debug, Clone)]
pub struct Signed<'a> {
    /// Id of the owning organisation.
    pub org: i64,
    /// Hash of the decided subject.
    pub subject: ContentHash,
    /// Id of the exposure graph snapshot that the decision is based on.
    pub snapshot_id: ContentHash,
    pub created_at: Timestamp,
    /// Number of earlier decisions on the same subject.
    pub attempt: i32,
    pub decision: &'a IssuedDecision,
}

/// An organisation's latest decision on a subject.
#[derive(Debug, Clone, FromRow)]
pub struct StoredDecision {
    /// Number of earlier decisions on the same subject.
    pub attempt: i32,
    /// Whether the signer was valid when the decision was made. Retiring the signer can turn true into false; false never becomes true.
    pub in_force: bool,
    #[sqlx(flatten, try_from = "Shared<IssuedDecision>")]
    pub decision: IssuedDecision,
}

shared_row! { IssuedDecision { decision_id, signer_address, key_id, inserted, signature, envelope } }
shared_row! { Record { envelope, signature } }

/// An organisation's latest decision on `subject`.
pub async fn find(
    db: impl PgExecutor<'_>,
    org: i64,
    subject: ContentHash,
) -> Result<Option<StoredDecision>, StoreError> {
    let sql = "
        -- find_decision
        SELECT d.decision_id, s.address AS signer_address, d.key_id, false AS inserted, d.signature, d.envelope, d.attempt,
               s.activated_at <= d.created_at AND (s.retired_at IS NULL OR d.created_at < s.retired_at) AS in_force
        FROM decision d JOIN decision_signer s USING (key_id)
        WHERE d.org_id = $1 AND d.subject = $2 ORDER BY d.attempt DESC LIMIT 1";
    Ok(sqlx::query_as(sql).bind(org).bind(subject.to_hex()).fetch_optional(db).await?)
}

/// Inserts a decision. Returns `false` and changes nothing if the organisation already has one for this attempt.
pub async fn insert(tx: &mut Tx<'_>, signed: &Signed<'_>) -> Result<bool, StoreError> {
    let sql = "
        -- insert_decision
        INSERT INTO decision (org_id, subject, attempt, decision_id, snapshot_id, key_id, envelope, signature, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (org_id, subject, attempt) DO NOTHING";
    let IssuedDecision { decision_id, key_id, envelope, signature, .. } = signed.decision;
    let done = sqlx::query(sql)
        .bind(signed.org) // $1 org_id
        .bind(signed.subject.to_hex())
        .bind(signed.attempt)
        .bind(decision_id)
        .bind(signed.snapshot_id.to_hex())
        .bind(key_id)
        .bind(envelope)
        .bind(signature)
        .bind(At(signed.created_at))
        .execute(&mut **tx);
    Ok(done.await?.rows_affected() == 1)
}

/// The evidence of a decision. Rows of different organisations with the same decision id have equal evidence.
pub async fn record(db: &Db, id: ContentHash) -> Result<Option<Record>, StoreError> {
    let sql =
        "/* decision_record */ SELECT envelope, signature FROM decision WHERE decision_id = $1 ORDER BY org_id LIMIT 1";
    let row = sqlx::query_as(sql).bind(id.to_hex()).fetch_optional(&db.pool).await?;
    Ok(row.map(|Shared(record)| record))
}

#[cfg(test)]
mod tests {
    use rds_shared::graph::evidence::MAX_ENVELOPE;

    #[test]
    fn the_database_keeps_no_longer_envelope_than_the_edge_reads() {
        let schema = include_str!("../../../../migrations/20261121002200_decisions.sql");
        assert!(schema.contains(&format!("check (octet_length(envelope) <= {MAX_ENVELOPE})")));
    }
}
