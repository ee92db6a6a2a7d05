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
        /// Link to the website.
        website_url: Option<String>,
        /// All keys, including expired ones.
        keys: Vec<ReviewerKey>,
    }

    // `rds_shared::rules::attestation` builds the signed text.
    /// A reviewer's signature on one version of a review.
    Attestation in "attestation" by [asset_id, reviewed_at, reviewer_id] {
        /// Slug of the asset.
        asset_id: String,
        /// `observed_at` of the signed version of the review.
        reviewed_at: At,
        /// Slug of the reviewer.
        reviewer_id: String,
        /// Name of the reviewer's key.
        key_id: String,
        /// Product to which the reviewer maps the deployment.
        product_id: Option<String>,
        /// When the reviewer signed.
        signed_at: At,
        /// Ed25519 signature, 64 bytes in hex.
        signature: String,
    }
}

/// A key that a reviewer signs with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
