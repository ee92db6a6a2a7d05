//! Reviewers, and their signatures under reviews.

use super::At;
use super::fact::observations;
use serde::{Deserialize, Serialize};

observations! {
    /// Somebody who signs reviews.
    Reviewer in "reviewer" by [id] {
        /// Slug.
        id: String,
        /// For display.
        name: String,
        /// The organisation, where it differs from the name.
        organisation: Option<String>,
        /// Site.
        website_url: Option<String>,
        /// Every key, past ones included.
        keys: Vec<ReviewerKey>,
    }

    /// A signature under one version of a review; the text that is signed is `rds_shared::rules::attestation`.
    Attestation in "attestation" by [asset_id, reviewed_at, reviewer_id] {
        /// The asset.
        asset_id: String,
        /// The version: the `observed_at` of its review.
        reviewed_at: At,
        /// Who signed.
        reviewer_id: String,
        /// With which key.
        key_id: String,
        /// The product that the reviewer maps the deployment to.
        product_id: Option<String>,
        /// When it was signed.
        signed_at: At,
        /// Ed25519, 64 bytes in hex.
        signature: String,
    }
}

/// A key that a reviewer signs with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewerKey {
    /// Unique among the reviewer's.
    pub key_id: String,
    /// Ed25519, 32 bytes in hex.
    pub public_key: String,
    /// Signatures count from here …
    pub valid_from: At,
    /// … up to, not including, here.
    pub valid_until: Option<At>,
}

impl ReviewerKey {
    /// Whether a signature of this instant counts.
    pub fn counts_at(&self, signed_at: At) -> bool {
        self.valid_from <= signed_at && self.valid_until.is_none_or(|until| signed_at < until)
    }
}
