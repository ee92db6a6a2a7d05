//! Which product a deployment is: what reviewers signed, checked here once more.

use crate::attestation::proven;
use crate::store::assets::attestations::SignedRow;
use crate::store::assets::rwa::DeploymentRow;
use rds_shared::rules::canonical_aum::{Deployment, IdentityStatus};
use std::collections::{BTreeSet, HashMap};

/// The deployments with their standing. `mappings` holds of every asset and reviewer the newest signed mapping.
///
/// Reviewers who agree verify; reviewers who do not leave the deployment without a product. A signature that no longer
/// verifies says nothing.
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
