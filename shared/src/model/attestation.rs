//! Reviewers and their attestations.
//!
//! An attestation carries the exact text that was signed, so that anybody can verify it with any Ed25519 library (RFC 8032). The API
//! specification leaves the shape of `GET /v1/reviewers` open.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use crate::wire::time::Micros;

/// Name of the only signature algorithm, as served.
pub const ALGORITHM: &str = "Ed25519";

/// A reviewer's signature on one version of a review.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attestation {
    /// Id of the attestation: a number, as text.
    pub attestation_id: String,
    /// Id of the review version that was signed.
    pub asset_version_id: String,
    /// Id of the reviewer who signed.
    pub reviewer_id: String,
    /// Name of the reviewer, for display.
    pub reviewer_name: String,
    /// Id of the reviewer's key that signed.
    pub key_id: String,
    /// Signature algorithm, always `Ed25519`.
    pub algorithm: &'static str,
    /// Public key that verifies `signature`: 32 bytes in hex.
    pub public_key: String,
    /// Instant of the signature; part of the signed text.
    pub signed_at: Micros,
    /// Id of the product that the reviewer maps the deployment to; null if there is none.
    pub product_id: Option<String>,
    /// The signed text: canonical JSON (RFC 8785) of the review version. The signature covers its UTF-8 bytes.
    pub message: String,
    /// Ed25519 signature of `message`: 64 bytes in hex.
    pub signature: String,
    /// Always true: the signature is verified for each response, and attestations that fail are left out.
    pub signature_valid: bool,
}

/// A row of `GET /v1/reviewers`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewerRow {
    /// Id of the reviewer.
    pub reviewer_id: String,
    /// Name, for display.
    pub name: String,
    /// Organisation of the reviewer; null if it is the same as `name` or unknown.
    pub organisation: Option<String>,
    /// URL of the website; null if unknown.
    pub website_url: Option<String>,
    /// True if at least one of the reviewer's keys is valid now.
    pub is_active: bool,
    /// All keys of the reviewer, including expired ones, which verify older signatures.
    pub keys: Vec<ReviewerKey>,
    /// Number of the reviewer's recorded attestations.
    pub attestation_count: u64,
    /// Instant of the reviewer's newest signature; null if there is none.
    pub last_attested_at: Option<Micros>,
}

/// A key that a reviewer signs with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewerKey {
    /// Id of the key, unique within the reviewer.
    pub key_id: String,
    /// Signature algorithm, always `Ed25519`.
    pub algorithm: &'static str,
    /// Ed25519 public key: 32 bytes in hex.
    pub public_key: String,
    /// Start of the validity, inclusive; earlier signatures are not accepted.
    pub valid_from: Micros,
    /// End of the validity, exclusive; later signatures are not accepted. Null means no end.
    pub valid_until: Option<Micros>,
}
