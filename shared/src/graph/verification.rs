//! Verification of a decision from its stored record and the signer registry, without any further request.

use super::check::Verdict;
use super::decision::Envelope;
use super::signature::DecisionSignature;
use crate::model::content_hash::ContentHash;
use crate::model::ids::Address;
use crate::wire::time::Timestamp;
use alloc::string::String;
use serde::Serialize;

/// A decision as stored.
#[derive(Clone, Copy, Debug)]
pub struct StoredDecision<'a> {
    /// The envelope's text, byte for byte as it was hashed.
    pub envelope: &'a str,
    /// `0x` and 130 hex characters.
    pub signature: &'a str,
}

/// A row of the signer registry: a key and its signing period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredSigner {
    pub address: Address,
    pub key_id: String,
    /// Start of the signing period, inclusive.
    pub activated_at: Timestamp,
    /// End of the signing period, exclusive; `None` while the key is active.
    pub retired_at: Option<Timestamp>,
}

impl RegisteredSigner {
    pub fn is_active_at(&self, instant: Timestamp) -> bool {
        self.activated_at <= instant && self.retired_at.is_none_or(|retired_at| instant < retired_at)
    }
}

/// The five verification results and the verified decision. A result is true only if the stored record and the registry prove it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// True if a decision is stored under this id.
    pub found: bool,
    /// True if the stored envelope is canonical and its SHA-256 is this id.
    pub envelope_intact: bool,
    /// True if the signature over the stored envelope was made by the signer that the envelope names.
    pub signature_valid: bool,
    /// True if the registry lists the signer's address under the envelope's key id.
    pub signer_recognized: bool,
    /// True if the signer was active at the envelope's `createdAt`. Also false while the registry is known to have changed but cannot
    /// be read.
    pub signer_active_at_issuance: bool,
    /// The content of the envelope; null when the envelope is not intact, because its content is then unproven.
    pub decision: Option<DecisionRecord>,
}

/// The content of a verified envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DecisionRecord {
    /// The decision's id: the SHA-256 of the envelope, 64 hex characters.
    pub id: ContentHash,
    /// The caller's reference for the portfolio, from the check's request.
    pub portfolio_ref: String,
    /// Id of the exposure graph snapshot that the portfolio was checked against.
    pub snapshot_id: ContentHash,
    /// The verdict of the check.
    pub verdict: Verdict,
    /// The part of the methodology that was applied.
    pub methodology_scope: String,
    /// The version of the methodology.
    pub methodology_version: String,
    /// Address of the signer.
    pub signer_address: Address,
    /// Id of the signer's key in the registry.
    pub key_id: String,
    /// Time of the decision.
    pub created_at: Timestamp,
}

impl Verification {
    /// The result when no decision is stored under the id.
    pub const NOT_FOUND: Self = Verification {
        found: false,
        envelope_intact: false,
        signature_valid: false,
        signer_recognized: false,
        signer_active_at_issuance: false,
        decision: None,
    };

    /// The result when the registry has changed and the change is not known yet. Signers are never removed, so a listed signer is
    /// still listed; whether the signer was active is no longer proven.
    #[must_use]
    pub fn with_outdated_registry(self) -> Self {
        Verification { signer_active_at_issuance: false, ..self }
    }

    /// Whether all five results are true: the decision is genuine.
    pub const fn is_genuine(&self) -> bool {
        self.found
            && self.envelope_intact
            && self.signature_valid
            && self.signer_recognized
            && self.signer_active_at_issuance
    }
}

/// Verifies the record found under `id`.
///
/// The signature is checked over the hash of the stored envelope, not over `id`, so a changed envelope also invalidates its
/// signature.
pub fn verify(id: ContentHash, record: Option<StoredDecision<'_>>, registry: &[RegisteredSigner]) -> Verification {
    let Some(record) = record else { return Verification::NOT_FOUND };
    let stored_hash = ContentHash::of_text(record.envelope);
    let Some(envelope) = Envelope::parse(record.envelope) else {
        return Verification { found: true, ..Verification::NOT_FOUND };
    };
    let signer = DecisionSignature::parse(record.signature).and_then(|signature| signature.signer(stored_hash));
    let known = |row: &&RegisteredSigner| row.address == envelope.signer_address && row.key_id == envelope.key_id;
    let envelope_intact = stored_hash == id;
    Verification {
        found: true,
        envelope_intact,
        signature_valid: signer.as_ref() == Some(&envelope.signer_address),
        signer_recognized: registry.iter().any(|row| known(&row)),
        signer_active_at_issuance: registry.iter().filter(known).any(|row| row.is_active_at(envelope.created_at)),
        decision: envelope_intact.then(|| DecisionRecord::of(id, envelope)),
    }
}

impl DecisionRecord {
    fn of(id: ContentHash, envelope: Envelope) -> Self {
        let Envelope { subject, signer_address, key_id, created_at } = envelope;
        DecisionRecord {
            id,
            portfolio_ref: subject.portfolio_ref,
            snapshot_id: subject.snapshot_id,
            verdict: subject.verdict,
            methodology_scope: subject.methodology_scope,
            methodology_version: subject.methodology_version,
            signer_address,
            key_id,
            created_at,
        }
    }
}
