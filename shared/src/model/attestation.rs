//! Reviewers, and what they have signed.
//!
//! Source: interface, "Enriched asset", `attestation_history`; `GET /v1/reviewers` is named there without a shape. An
//! attestation carries the exact text that was signed, so that anybody can check it with any Ed25519 library.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use crate::wire::time::Micros;

/// The one signature algorithm, by its name on the wire.
pub const ALGORITHM: &str = "Ed25519";

/// A reviewer's signature under one version of a review.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attestation {
    /// A number, as text.
    pub attestation_id: String,
    /// The version that was signed.
    pub asset_version_id: String,
    /// Id of the reviewer who signed.
    pub reviewer_id: String,
    /// Name of the reviewer, for display.
    pub reviewer_name: String,
    /// Which of the reviewer's keys.
    pub key_id: String,
    /// Signature algorithm, always `Ed25519`.
    pub algorithm: &'static str,
    /// 32 bytes in hex.
    pub public_key: String,
    /// When it was signed.
    pub signed_at: Micros,
    /// The product that the reviewer maps the deployment to, if any.
    pub product_id: Option<String>,
    /// The text whose UTF-8 bytes were signed: canonical JSON of the version.
    pub message: String,
    /// 64 bytes in hex.
    pub signature: String,
    /// Checked while this answer was made: others are not listed.
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
    /// The organisation, where it differs from the name.
    pub organisation: Option<String>,
    /// URL of the website; null if unknown.
    pub website_url: Option<String>,
    /// Whether a key of theirs can sign now.
    pub is_active: bool,
    /// Every key, past ones included: old signatures are checked with them.
    pub keys: Vec<ReviewerKey>,
    /// Attestations that are on record.
    pub attestation_count: u64,
    /// The newest of them.
    pub last_attested_at: Option<Micros>,
}

/// A key that a reviewer signs with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewerKey {
    /// Its name; unique among the reviewer's.
    pub key_id: String,
    /// Signature algorithm, always `Ed25519`.
    pub algorithm: &'static str,
    /// 32 bytes in hex.
    pub public_key: String,
    /// Signatures count from here …
    pub valid_from: Micros,
    /// … up to, not including, here; null is open.
    pub valid_until: Option<Micros>,
}
