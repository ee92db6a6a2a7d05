//! Checks against rows that the batch itself may have written: signatures verify, and published figures do not change.

use super::Fault;
use super::batch::Batch;
use crate::attestation::{message, verifies};
use rds_facts::{Attestation, ReviewerKey};
use rds_shared::rules::attestation::AnswersStatement;
use rds_store::assets::attestations::{self, Subject};
use rds_store::assets::rwa;
use rds_store::{At, StoreError, Tx};
use std::collections::{HashMap, HashSet};

/// The faults of the batch's attestations. Reviews and reviewers must have been written.
pub async fn faults(tx: &mut Tx<'_>, batch: &Batch) -> Result<Vec<Fault>, StoreError> {
    if batch.attestations.is_empty() && batch.answer_attestations.is_empty() {
        return Ok(Vec::new());
    }
    let asset_ids: Vec<&str> = batch.attestations.iter().map(|(_, one)| one.asset_id.as_str()).collect();
    let recorded_at: Vec<At> = batch.attestations.iter().map(|(_, one)| one.reviewed_at).collect();
    let subjects = attestations::subjects(&mut **tx, &asset_ids, &recorded_at).await?;
    let reviewers: HashMap<String, Vec<ReviewerKey>> =
        attestations::reviewers(&mut **tx).await?.into_iter().map(|it| (it.id, it.keys.0)).collect();
    let mut faults = Vec::new();
    for (line, signed) in &batch.attestations {
        let subject = subjects.get(&(signed.asset_id.clone(), signed.reviewed_at));
        if let Some((field, reason)) =
            complaint(signed, subject, reviewers.get(&signed.reviewer_id).map(Vec::as_slice))?
        {
            faults.push(Fault { line: *line, field: Some(field.to_owned()), reason });
        }
    }
    for (line, signed) in &batch.answer_attestations {
        let statement = AnswersStatement {
            asset: &signed.asset_id,
            answers_hash: &signed.answers_hash,
            reviewer_id: &signed.reviewer_id,
            signed_at: signed.signed_at.0,
        };
        let by = Signature {
            reviewer_id: &signed.reviewer_id,
            key_id: &signed.key_id,
            signed_at: signed.signed_at,
            signature: &signed.signature,
        };
        let keys = reviewers.get(&signed.reviewer_id).map(Vec::as_slice);
        if let Some((field, reason)) = unsigned(&by, keys, &statement.message()) {
            faults.push(Fault { line: *line, field: Some(field.to_owned()), reason });
        }
    }
    Ok(faults)
}

/// A signature and what it names.
struct Signature<'a> {
    reviewer_id: &'a str,
    key_id: &'a str,
    signed_at: At,
    signature: &'a str,
}

/// Why the signature does not prove `message`; `None` if it does.
fn unsigned(by: &Signature<'_>, keys: Option<&[ReviewerKey]>, message: &str) -> Option<(&'static str, String)> {
    let Some(keys) = keys else {
        return Some(("reviewer_id", format!("{:?} is not a known reviewer", by.reviewer_id)));
    };
    let Some(key) = keys.iter().find(|key| key.key_id == by.key_id) else {
        return Some(("key_id", format!("{:?} is not a key of {:?}", by.key_id, by.reviewer_id)));
    };
    if !key.counts_at(by.signed_at) {
        return Some(("signed_at", format!("must be within the validity of the key {:?}", key.key_id)));
    }
    (!verifies(&key.public_key, message, by.signature))
        .then(|| ("signature", format!("must be the signature of {:?} over {message}", key.key_id)))
}

/// The first fault of an attestation.
fn complaint(
    signed: &Attestation,
    subject: Option<&Subject>,
    keys: Option<&[ReviewerKey]>,
) -> Result<Option<(&'static str, String)>, StoreError> {
    let Some(subject) = subject else {
        return Ok(Some(("reviewed_at", format!("must be the instant of a review of {:?}", signed.asset_id))));
    };
    let message = message(subject, signed.product_id.as_deref(), &signed.reviewer_id, signed.signed_at)?;
    let by = Signature {
        reviewer_id: &signed.reviewer_id,
        key_id: &signed.key_id,
        signed_at: signed.signed_at,
        signature: &signed.signature,
    };
    Ok(unsigned(&by, keys, &message))
}

/// The faults of figures that contradict the stored figures, or those of another line, for the same publication.
pub async fn contradictions(tx: &mut Tx<'_>, batch: &Batch) -> Result<Vec<Fault>, StoreError> {
    if batch.rwa_observations.is_empty() {
        return Ok(Vec::new());
    }
    let fault = |line: u64, reason: &str| Fault {
        line,
        field: Some("publication_id".to_owned()),
        reason: format!("{reason}; publish a correction under another publication_id"),
    };
    let (mut first, mut faults) = (HashMap::new(), Vec::new());
    for (line, one) in &batch.rwa_observations {
        let key = (one.source_id.clone(), one.publication_id.clone(), one.asset_id.clone());
        let figures = [
            one.fund_aum_usd,
            one.global_issued_value_usd,
            one.deployment_circulating_value_usd,
            one.apy_7d_pct,
            one.apy_30d_pct,
            one.duration_days,
        ];
        let stated = (one.published_at, one.effective_at, figures);
        if *first.entry(key).or_insert(stated) != stated {
            faults.push(fault(*line, "has different figures on another line"));
        }
    }
    let statements = serde_json::json!(batch.rwa_observations.iter().map(|(_, one)| one).collect::<Vec<_>>());
    let on_record: HashSet<_> = rwa::contradicted(tx, &statements).await?.into_iter().collect();
    for (line, one) in &batch.rwa_observations {
        if on_record.contains(&(one.source_id.clone(), one.publication_id.clone(), one.asset_id.clone())) {
            faults.push(fault(*line, "is already stored with different figures"));
        }
    }
    Ok(faults)
}
