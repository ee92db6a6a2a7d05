//! The product that a deployment belongs to, according to reviewers' signed mappings. Their signatures, which ingest has verified, are
//! verified again.

use crate::attestation::proven;
use rds_shared::rules::rwa_totals::{Deployment, IdentityStatus};
use rds_store::assets::attestations::SignedRow;
use rds_store::assets::rwa::DeploymentRow;
use std::collections::{BTreeSet, HashMap};

/// The deployments with their identity status. `mappings` holds the newest signed mapping of every asset and reviewer.
///
/// If all reviewers agree, the identity is verified; if they disagree, the deployment has no product. A mapping whose signature does not
/// verify is ignored.
pub fn deployments(rows: &[DeploymentRow], mappings: &[SignedRow]) -> Vec<Deployment> {
    let mut signed: HashMap<&str, BTreeSet<String>> = HashMap::new();
    for mapping in mappings {
        if let Some(product) = proven(mapping).and_then(|attestation| attestation.product_id) {
            signed.entry(&mapping.subject.asset_id).or_default().insert(product);
        }
    }
    let of = |row: &DeploymentRow| {
        let products = signed.get(row.id.as_str());
        let (identity, product_id) = match products.map_or(0, BTreeSet::len) {
            0 if row.product_candidate.is_some() => (IdentityStatus::Candidate, None),
            0 => (IdentityStatus::Unmapped, None),
            1 => (IdentityStatus::Verified, products.and_then(BTreeSet::first).cloned()),
            _ => (IdentityStatus::Disputed, None),
        };
        Deployment {
            asset: row.number,
            chain_id: row.chain_id.unsigned_abs(),
            category: row.category.clone(),
            identity,
            product_id,
        }
    };
    rows.iter().map(of).collect()
}
