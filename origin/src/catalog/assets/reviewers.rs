//! Reviewers of the catalog, encoded twice: with an active key and without one.

use rds_facts as facts;
use rds_shared::model::attestation::{ALGORITHM, ReviewerKey, ReviewerRow};
use rds_shared::read_model::assets::{KeyPeriod, reviewer_row};
use rds_shared::replica::Row;
use rds_shared::wire::time::Micros;
use rds_store::assets::attestations::ReviewerFacts;

/// Encodes a reviewer.
pub fn encoded(facts: &ReviewerFacts) -> Result<Row, serde_json::Error> {
    let key_periods = facts.keys.iter().map(|key| (key.valid_from.0, key.valid_until.map(|until| until.0)));
    reviewer_row(&row(facts, true), &row(facts, false), &key_periods.collect::<Vec<KeyPeriod>>())
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
