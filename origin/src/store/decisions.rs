//! Signed decisions.

use super::{At, Db, StoreError, Tx};
use rds_shared::graph::evidence::Record;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::decision::IssuedDecision;
use rds_shared::wire::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row};

/// A decision that was signed and is not kept yet.
#[derive(Debug, Clone)]
pub struct Signed<'a> {
    /// Whose it is.
    pub org: i64,
    /// What was decided, by its hash.
    pub subject: ContentHash,
    /// What it was decided on.
    pub snapshot_id: ContentHash,
    /// When.
    pub created_at: Timestamp,
    /// How often that had been decided before.
    pub attempt: i32,
    /// The decision itself.
    pub decision: &'a IssuedDecision,
}

/// The latest decision that an organisation has on a subject.
#[derive(Debug, Clone)]
pub struct Kept {
    /// How often it had been decided before.
    pub attempt: i32,
    /// Whether the registry lets its signer sign at its time. What was in force may become void, never the other way round.
    pub in_force: bool,
    /// The decision itself.
    pub decision: IssuedDecision,
}

/// The latest decision that an organisation has on `subject`.
pub async fn find(db: impl PgExecutor<'_>, org: i64, subject: ContentHash) -> Result<Option<Kept>, StoreError> {
    let sql = "
        -- find_decision
        select d.decision_id, s.address, d.key_id, d.signature, d.envelope, d.attempt,
               s.activated_at <= d.created_at and (s.retired_at is null or d.created_at < s.retired_at) as in_force
        from decision d join decision_signer s using (key_id)
        where d.org_id = $1 and d.subject = $2 order by d.attempt desc limit 1";
    let row = sqlx::query(sql).bind(org).bind(subject.to_hex()).fetch_optional(db).await?;
    row.as_ref().map(kept).transpose()
}

/// Keeps a decision. `false` when the organisation has one of this attempt already: that one stays.
pub async fn insert(tx: &mut Tx<'_>, signed: &Signed<'_>) -> Result<bool, StoreError> {
    let sql = "
        -- insert_decision
        insert into decision (org_id, subject, attempt, decision_id, snapshot_id, key_id, envelope, signature, created_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (org_id, subject, attempt) do nothing";
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

/// What lies under a decision's id, whoever's it is: two organisations' rows of one id are the same.
pub async fn record(db: &Db, id: ContentHash) -> Result<Option<Record>, StoreError> {
    let sql =
        "/* decision_record */ select envelope, signature from decision where decision_id = $1 order by org_id limit 1";
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
        let schema = include_str!("../../../migrations/20261121002200_decisions.sql");
        assert!(schema.contains(&format!("check (octet_length(envelope) <= {MAX_ENVELOPE})")));
    }
}
