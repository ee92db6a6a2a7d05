//! `GET /v1/reviewers`: who signs reviews, and with which keys.

use super::answer::{Answer, Failure};
use super::call::Call;
use super::encoded;
use crate::app::App;
use crate::store::At;
use rds_shared::model::attestation::{ALGORITHM, ReviewerKey, ReviewerRow};
use rds_shared::wire::Data;
use rds_shared::wire::time::Micros;

/// Every reviewer, by id.
pub fn list(app: &App, call: &Call) -> Result<Answer, Failure> {
    let catalog = app.catalog.get()?;
    let row = |facts: &crate::store::attestations::ReviewerFacts| ReviewerRow {
        reviewer_id: facts.id.clone(),
        name: facts.name.clone(),
        organisation: facts.organisation.clone(),
        website_url: facts.website_url.clone(),
        is_active: facts.keys.iter().any(|key| key.counts_at(At(call.now))),
        keys: facts.keys.iter().map(key).collect(),
        attestation_count: facts.attestations.unsigned_abs(),
        last_attested_at: facts.last_attested_at.map(|at| Micros(at.0)),
    };
    let rows: Vec<ReviewerRow> = catalog.assets.reviewers.iter().map(row).collect();
    encoded::value(call, catalog.version, &rows, || Data { data: &rows })
}

fn key(stored: &crate::ingest::kinds::ReviewerKey) -> ReviewerKey {
    ReviewerKey {
        key_id: stored.key_id.clone(),
        algorithm: ALGORITHM,
        public_key: stored.public_key.clone(),
        valid_from: Micros(stored.valid_from.0),
        valid_until: stored.valid_until.map(|at| Micros(at.0)),
    }
}
