//! A check as its caller is told of it, with the decision that was issued.
//!
//! Source: interface, "Graph structures" (check result); contracts, "Formats" (decision).

use super::content_hash::ContentHash;
use crate::graph::check::CheckOutcome;
use crate::graph::evidence::{Record, Signer};
use crate::wire::Timestamp;
use alloc::string::String;
use serde::Serialize;

/// `POST /v1/graph/check`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CheckResult<'a> {
    /// The snapshot that was checked against.
    pub snapshot_id: ContentHash,
    /// When that was built.
    pub built_at: Timestamp,
    /// What the check came to.
    #[serde(flatten)]
    pub outcome: &'a CheckOutcome,
    /// The decision, where one was asked for and there is a key to sign it with; null otherwise.
    pub decision: Option<IssuedDecision>,
}

/// A signed decision, with all that anyone needs to verify it alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IssuedDecision {
    /// The SHA-256 of `envelope`; 64 hex characters.
    pub decision_id: String,
    /// Address of the key that signed.
    pub signer_address: String,
    /// With which key of the registry.
    pub key_id: String,
    /// Whether this check made it; false when it was made before.
    pub inserted: bool,
    /// EIP-191 `personal_sign` over the text of `decision_id`: `0x` and 130 hex characters.
    pub signature: String,
    /// The canonical text that was hashed.
    pub envelope: String,
}

/// `GET /v1/graph/decision/{id}`: what its holder was given, for whoever has the id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SealedDecision {
    /// The SHA-256 of `envelope`; 64 hex characters.
    pub decision_id: ContentHash,
    /// EIP-191 `personal_sign` over the text of `decision_id`: `0x` and 130 hex characters.
    pub signature: String,
    /// The canonical text that was hashed.
    pub envelope: String,
}

impl SealedDecision {
    /// The record that lies under `id`.
    pub fn of(id: ContentHash, record: Record) -> Self {
        SealedDecision { decision_id: id, signature: record.signature, envelope: record.envelope }
    }
}

/// A row of `GET /v1/graph/signers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PublishedSigner {
    /// The key's address: what its signatures lead back to.
    pub address: String,
    /// The key's name, as decisions carry it.
    pub key_id: String,
    /// From when it may sign, that instant included.
    pub activated_at: Timestamp,
    /// From when it may no longer; null while it may.
    pub retired_at: Option<Timestamp>,
}

impl From<Signer> for PublishedSigner {
    fn from(Signer { address, key_id, activated_at, retired_at }: Signer) -> Self {
        PublishedSigner { address, key_id, activated_at, retired_at }
    }
}
