//! The result of a check, the decisions that were issued, and the keys that sign them.

use super::content_hash::ContentHash;
use crate::graph::check::CheckOutcome;
use crate::graph::evidence::{Record, Signer};
use crate::wire::Timestamp;
use alloc::string::String;
use serde::Serialize;

/// `data` of `POST /v1/graph/check`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CheckResult<'a> {
    /// Id of the exposure graph snapshot that was used, the SHA-256 of its manifest.
    pub snapshot_id: ContentHash,
    /// Instant at which the snapshot was built.
    pub built_at: Timestamp,
    /// Verdict, findings and exposures.
    #[serde(flatten)]
    pub outcome: &'a CheckOutcome,
    /// The signed decision; null if none was requested or the service cannot sign one.
    pub decision: Option<IssuedDecision>,
}

/// A signed decision with everything that is needed to verify it offline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IssuedDecision {
    /// The SHA-256 of `envelope`; 64 hex characters.
    pub decision_id: String,
    /// Address of the signing key, which `signature` recovers to: `0x` and 40 hex characters.
    pub signer_address: String,
    /// Id of the signing key in the registry of signers.
    pub key_id: String,
    /// True if this request issued the decision; false if an equal check of the same organisation had issued it before.
    pub inserted: bool,
    /// EIP-191 `personal_sign` signature of the text of `decision_id`: `0x` and 130 hex characters.
    pub signature: String,
    /// The canonical JSON that `decision_id` is the hash of.
    pub envelope: String,
}

/// `data` of `GET /v1/graph/decision/{id}`: an issued decision, for anyone who has its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SealedDecision {
    /// The SHA-256 of `envelope`; 64 hex characters.
    pub decision_id: ContentHash,
    /// EIP-191 `personal_sign` signature of the text of `decision_id`: `0x` and 130 hex characters.
    pub signature: String,
    /// The canonical JSON that `decision_id` is the hash of.
    pub envelope: String,
}

impl SealedDecision {
    /// The decision `id` from its stored record.
    pub fn of(id: ContentHash, record: Record) -> Self {
        SealedDecision { decision_id: id, signature: record.signature, envelope: record.envelope }
    }
}

/// A row of `GET /v1/graph/signers`: a key that may sign decisions, or could in the past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PublishedSigner {
    /// Address of the key, which its signatures recover to.
    pub address: String,
    /// Id of the key, as decisions state it.
    pub key_id: String,
    /// Start of the signing period, inclusive.
    pub activated_at: Timestamp,
    /// End of the signing period, exclusive; null while the key may sign.
    pub retired_at: Option<Timestamp>,
}

impl From<Signer> for PublishedSigner {
    fn from(Signer { address, key_id, activated_at, retired_at }: Signer) -> Self {
        PublishedSigner { address, key_id, activated_at, retired_at }
    }
}
