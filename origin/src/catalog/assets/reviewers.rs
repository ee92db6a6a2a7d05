//! Reviewers of the catalog, encoded twice: with an active key and without one.

use rds_facts as facts;
use rds_shared::model::EncodedRow;
use rds_shared::model::attestation::{ALGORITHM, ReviewerKey, ReviewerRow};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Micros;
use rds_store::At;
use rds_store::assets::attestations::ReviewerFacts;

/// An encoded reviewer.
#[derive(Debug)]
pub struct Reviewer {
    keys: Vec<facts::ReviewerKey>,
    active: EncodedRow,
    inactive: EncodedRow,
}

impl Reviewer {
    /// Encodes both rows.
    pub fn new(facts: ReviewerFacts) -> Result<Self, serde_json::Error> {
        let row = |is_active| EncodedRow::encode(&row(&facts, is_active), None);
        let (active, inactive) = (row(true)?, row(false)?);
        Ok(Reviewer { keys: facts.keys.0, active, inactive })
    }

    /// The row that applies at `now`.
    pub fn at(&self, now: Timestamp) -> &EncodedRow {
        let is_active = self.keys.iter().any(|key| key.counts_at(At(now)));
        if is_active { &self.active } else { &self.inactive }
    }
}

fn row(facts: &ReviewerFacts, is_active: bool) -> ReviewerRow {
    ReviewerRow {
        reviewer_id: facts.id.clone(),
        name: facts.name.clone(),
        organisation: facts.organisation.clone(),
        website_url: facts.website_url.clone(),
        is_active,
        keys: facts.keys.iter().map(key).collect(),
        attestation_count: facts.attestations.unsigned_abs(),
        last_attested_at: facts.last_attested_at.map(|at| Micros(at.0)),
    }
}

fn key(stored: &facts::ReviewerKey) -> ReviewerKey {
    ReviewerKey {
        key_id: stored.key_id.clone(),
        algorithm: ALGORITHM,
        public_key: stored.public_key.clone(),
        valid_from: Micros(stored.valid_from.0),
        valid_until: stored.valid_until.map(|at| Micros(at.0)),
    }
}
