//! Reviewers and their signatures on reviews.

use super::At;
use super::fact::observations;
use serde::{Deserialize, Serialize};

observations! {
    /// A person or organisation that signs reviews.
    Reviewer in "reviewer" by [id] {
        /// Slug that identifies the reviewer.
        id: String,
        /// Display name.
        name: String,
        /// The reviewer's organisation, if it differs from `name`.
        organisation: Option<String>,
        website_url: Option<String>,
        /// All keys, including expired ones.
        keys: Vec<ReviewerKey>,
    }

    /// A signature on one version of a review. `rds_shared::rules::attestation` builds the signed text.
    Attestation in "attestation" by [asset_id, reviewed_at, reviewer_id] {
        asset_id: String,
        /// `observed_at` of the signed version of the review.
        reviewed_at: At,
        reviewer_id: String,
        key_id: String,
        /// Product to which the reviewer maps the deployment.
        product_id: Option<String>,
        signed_at: At,
        /// Ed25519 signature, 64 bytes in hex.
        signature: String,
    }
}

/// A key that a reviewer signs with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewerKey {
    /// Unique within the reviewer.
    pub key_id: String,
    /// Ed25519 public key, 32 bytes in hex.
    pub public_key: String,
    /// Start of validity, inclusive.
    pub valid_from: At,
    /// End of validity, exclusive; null means no end.
    pub valid_until: Option<At>,
}

impl ReviewerKey {
    /// Whether the key was valid at `signed_at`.
    pub fn counts_at(&self, signed_at: At) -> bool {
        self.valid_from <= signed_at && self.valid_until.is_none_or(|until| signed_at < until)
    }
}
