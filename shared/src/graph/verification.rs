//! Verification: what can be said of a decision from its stored record and the signer registry, asking nobody.
//!
//! Source: interface, "Graph structures" (verification result).

use super::check::Verdict;
use super::decision::Envelope;
use super::signature::DecisionSignature;
use crate::model::content_hash::ContentHash;
use crate::model::ids::Address;
use crate::wire::time::Timestamp;
use alloc::string::String;
use serde::Serialize;

/// A decision as it was stored.
#[derive(Clone, Copy, Debug)]
pub struct StoredDecision<'a> {
    /// The envelope's text, as it was hashed.
    pub envelope: &'a str,
    /// `0x` and 130 hex characters.
    pub signature: &'a str,
}

/// A row of the signer registry: a key and the time in which it may sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredSigner {
    /// The key's address.
    pub address: Address,
    /// The key's name.
    pub key_id: String,
    /// From when it may sign, that instant included.
    pub activated_at: Timestamp,
    /// From when it may no longer; null while it may.
    pub retired_at: Option<Timestamp>,
}

impl RegisteredSigner {
    /// Whether it may sign then.
    pub fn is_active_at(&self, instant: Timestamp) -> bool {
        self.activated_at <= instant && self.retired_at.is_none_or(|retired_at| instant < retired_at)
    }
}

/// The five answers, each true only on what was shown, and the decision that they are about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// There is a record under this id.
    pub found: bool,
    /// Its envelope is the one text that hashes to this id.
    pub envelope_intact: bool,
    /// Its signature is that of the signer the envelope names, over this envelope.
    pub signature_valid: bool,
    /// The signer the envelope names is in the registry, under that key id.
    pub signer_recognized: bool,
    /// The registry lets that signer sign at the time the envelope was made. False also while the registry is known to have changed
    /// and cannot be read.
    pub signer_active_at_issuance: bool,
    /// What was decided; null when the envelope is not intact: what is not proved is not repeated.
    pub decision: Option<DecisionRecord>,
}

/// What a verified envelope says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DecisionRecord {
    /// The decision's id.
    pub id: ContentHash,
    /// The customer's name for the portfolio.
    pub portfolio_ref: String,
    /// The snapshot it was checked against.
    pub snapshot_id: ContentHash,
    /// What the check came to.
    pub verdict: Verdict,
    /// Which part of the methodology decided.
    pub methodology_scope: String,
    /// In which version.
    pub methodology_version: String,
    /// Who signed.
    pub signer_address: Address,
    /// With which key of the registry.
    pub key_id: String,
    /// When.
    pub created_at: Timestamp,
}

impl Verification {
    /// The answer where there is no record.
    pub const NOT_FOUND: Self = Verification {
        found: false,
        envelope_intact: false,
        signature_valid: false,
        signer_recognized: false,
        signer_active_at_issuance: false,
        decision: None,
    };

    /// The same where the registry has changed in a way that is not known yet: whoever was in it still is, for it forgets nobody, but
    /// that the signer might sign is shown no longer.
    #[must_use]
    pub fn under_a_former_registry(self) -> Self {
        Verification { signer_active_at_issuance: false, ..self }
    }

    /// Whether all five answers are yes: the decision is ours and as we made it.
    pub const fn holds(&self) -> bool {
        self.found
            && self.envelope_intact
            && self.signature_valid
            && self.signer_recognized
            && self.signer_active_at_issuance
    }
}

/// Verifies the record found under `id`.
///
/// The signature is checked over the envelope as it lies there, not over the id that was asked for: an envelope that was
/// changed loses its signature with its hash.
pub fn verify(id: ContentHash, record: Option<StoredDecision<'_>>, registry: &[RegisteredSigner]) -> Verification {
    let Some(record) = record else { return Verification::NOT_FOUND };
    let lying_there = ContentHash::of_text(record.envelope);
    let Some(envelope) = Envelope::parse(record.envelope) else {
        return Verification { found: true, ..Verification::NOT_FOUND };
    };
    let signer = DecisionSignature::parse(record.signature).and_then(|signature| signature.signer(lying_there));
    let known = |row: &&RegisteredSigner| row.address == envelope.signer_address && row.key_id == envelope.key_id;
    let envelope_intact = lying_there == id;
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
