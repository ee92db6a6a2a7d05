//! Signs the result of a check. A check has one decision in force, however many processes evaluate it concurrently.

use rds_shared::graph::decision::{Envelope, Subject};
use rds_shared::graph::signature::DecisionKey;
use rds_shared::model::decision::IssuedDecision;
use rds_shared::scoring::canonical::Canonicalize;
use rds_shared::wire::Timestamp;
use rds_store::graph::decisions as table;
use rds_store::graph::decisions::{Signed, StoredDecision};
use rds_store::graph::signers;
use rds_store::{Db, StoreError};

/// Why a decision was not signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsigned {
    /// According to the registry the key may not sign, so its signature would not be recognised.
    KeyNotActive,
    /// Signing failed.
    Failed,
}

/// The organisation's decision on `subject`: the one in force, or a new one that `key` signs at `now`.
///
/// A decision stays in force until its signer is retired with effect from the decision's creation or earlier. After that the decision stays
/// verifiable under its id, and the check is decided again. If no decision is in force and none can be signed, the error says why.
pub async fn issue(
    db: &Db,
    key: &DecisionKey,
    org: i64,
    subject: &Subject,
    now: Timestamp,
) -> Result<Result<IssuedDecision, Unsigned>, StoreError> {
    let name = subject.key();
    if let Some(StoredDecision { in_force: true, decision, .. }) = table::find(&db.pool, org, name).await? {
        return Ok(Ok(decision));
    }
    // Rounded to the envelope's precision, so that the registry is queried for exactly the signed instant.
    let created_at = Timestamp::from_millis(now.as_millis());
    db.run_tx("issue decision", |tx| {
        let (key, subject) = (key.clone(), subject.clone());
        Box::pin(async move {
            let snapshot_id = subject.snapshot_id;
            let Some(key_id) = signers::lock_active(tx, key.address().as_str(), created_at).await? else {
                return Ok(Err(Unsigned::KeyNotActive));
            };
            let Some(ours) = sign(&key, key_id, subject, created_at) else { return Ok(Err(Unsigned::Failed)) };
            loop {
                let attempt = match table::find(&mut **tx, org, name).await? {
                    Some(StoredDecision { in_force: true, decision, .. }) => return Ok(Ok(decision)),
                    Some(void) => void.attempt.saturating_add(1),
                    None => 0,
                };
                let signed = Signed { org, subject: name, snapshot_id, created_at, attempt, decision: &ours };
                if table::insert(tx, &signed).await? {
                    return Ok(Ok(ours));
                }
                // Another process committed a decision first; the next iteration returns it.
            }
        })
    })
    .await
}

fn sign(key: &DecisionKey, key_id: String, subject: Subject, created_at: Timestamp) -> Option<IssuedDecision> {
    let envelope = Envelope { subject, signer_address: key.address(), key_id, created_at };
    let id = envelope.decision_id();
    Some(IssuedDecision {
        decision_id: id.to_hex(),
        signer_address: envelope.signer_address.as_str().to_owned(),
        key_id: envelope.key_id.clone(),
        inserted: true,
        signature: key.sign(id)?.to_string(),
        envelope: envelope.canonical().to_string(),
    })
}
