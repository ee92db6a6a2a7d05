//! Signed decisions.

use crate::store::{At, Db, StoreError, Tx};
use rds_shared::graph::evidence::Record;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::decision::IssuedDecision;
use rds_shared::wire::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row};

/// A signed decision to be stored.
#[derive(Debug, Clone)]
pub struct Signed<'a> {
    /// The owning organisation.
    pub org: i64,
    /// Hash of the decided subject.
    pub subject: ContentHash,
    /// The exposure graph snapshot it is based on.
    pub snapshot_id: ContentHash,
    pub created_at: Timestamp,
    /// Number of earlier decisions on the same subject.
    pub attempt: i32,
    pub decision: &'a IssuedDecision,
}

/// An organisation's latest decision on a subject.
#[derive(Debug, Clone)]
pub struct Kept {
    /// Number of earlier decisions on the same subject.
    pub attempt: i32,
    /// Whether its signer was valid when it was made. A retirement can turn true into false; false never becomes true.
    pub in_force: bool,
    pub decision: IssuedDecision,
}

/// An organisation's latest decision on `subject`.
pub async fn find(db: impl PgExecutor<'_>, org: i64, subject: ContentHash) -> Result<Option<Kept>, StoreError> {
    let sql = "
        -- find_decision
        SELECT d.decision_id, s.address, d.key_id, d.signature, d.envelope, d.attempt,
               s.activated_at <= d.created_at AND (s.retired_at IS NULL OR d.created_at < s.retired_at) AS in_force
        FROM decision d JOIN decision_signer s USING (key_id)
        WHERE d.org_id = $1 AND d.subject = $2 ORDER BY d.attempt DESC LIMIT 1";
    let row = sqlx::query(sql).bind(org).bind(subject.to_hex()).fetch_optional(db).await?;
    row.as_ref().map(kept).transpose()
}

/// Inserts a decision. Returns `false` and changes nothing if the organisation already has one for this attempt.
pub async fn insert(tx: &mut Tx<'_>, signed: &Signed<'_>) -> Result<bool, StoreError> {
    let sql = "
        -- insert_decision
        INSERT INTO decision (org_id, subject, attempt, decision_id, snapshot_id, key_id, envelope, signature, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (org_id, subject, attempt) DO NOTHING";
    let IssuedDecision { decision_id, key_id, envelope, signature, .. } = signed.decision;
    let done = sqlx::query(sql)
        .bind(signed.org)
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
    let row = sqlx::query(sql).bind(id.to_hex()).fetch_optional(&db.pool).await?;
    row.map(|row| Ok(Record { envelope: row.try_get("envelope")?, signature: row.try_get("signature")? })).transpose()
}

fn kept(row: &PgRow) -> Result<Kept, StoreError> {
    Ok(Kept {
        attempt: row.try_get("attempt")?,
        in_force: row.try_get("in_force")?,
        decision: IssuedDecision {
            decision_id: row.try_get("decision_id")?,
            signer_address: row.try_get("address")?,
            key_id: row.try_get("key_id")?,
            inserted: false,
            signature: row.try_get("signature")?,
            envelope: row.try_get("envelope")?,
        },
    })
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
