//! Evidence: a stored decision and the signer registry, as the origin sends them to the edge, which verifies the decision itself.
//!
//! Evidence is the unverified content of the store. Unknown fields are ignored, because edge and origin are deployed one after
//! the other.

use super::verification::{RegisteredSigner, StoredDecision, Verification, verify};
use crate::model::content_hash::ContentHash;
use crate::model::ids::{Address, Namespace};
use crate::wire::time::Timestamp;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Maximum number of signers in the registry, including retired ones.
pub const MAX_SIGNERS: usize = 256;
/// Maximum length of an envelope in bytes. The database refuses a longer one; `POST /v1/graph/check` never produces one.
pub const MAX_ENVELOPE: usize = 8 * 1_024;
/// Maximum size of evidence in bytes: a full registry and the longest envelope with every byte escaped.
pub const MAX_EVIDENCE: usize = 128 * 1_024;

/// The stored record of one decision and the registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The stored decision; `None` when there is none with the requested id.
    pub record: Option<Record>,
    /// The whole registry, in the order of activation.
    pub signers: Vec<Signer>,
}

/// A stored decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The envelope's text, byte for byte as it was hashed.
    pub envelope: String,
    /// `0x` and 130 hex characters.
    pub signature: String,
}

/// A row of the signer registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signer {
    pub address: String,
    pub key_id: String,
    /// Start of the signing period, inclusive; whole milliseconds.
    pub activated_at: Timestamp,
    /// End of the signing period, exclusive; `None` while the key is active.
    pub retired_at: Option<Timestamp>,
}

impl Evidence {
    /// Parses evidence. `None` if it is malformed or exceeds [`MAX_EVIDENCE`] or [`MAX_SIGNERS`].
    pub fn parse(body: &[u8]) -> Option<Self> {
        if body.len() > MAX_EVIDENCE {
            return None;
        }
        let evidence: Evidence = serde_json::from_slice(body).ok()?;
        (evidence.signers.len() <= MAX_SIGNERS).then_some(evidence)
    }

    /// Verifies the decision `id`. Registry rows with an invalid address are ignored.
    pub fn verify(&self, id: ContentHash) -> Verification {
        let registry: Vec<_> = self.signers.iter().filter_map(Signer::registered).collect();
        let record = self.record.as_ref();
        verify(id, record.map(|it| StoredDecision { envelope: &it.envelope, signature: &it.signature }), &registry)
    }
}

impl Signer {
    fn registered(&self) -> Option<RegisteredSigner> {
        Some(RegisteredSigner {
            address: Address::parse(Namespace::Evm, &self.address).ok()?,
            key_id: self.key_id.clone(),
            activated_at: self.activated_at,
            retired_at: self.retired_at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::{format, vec};

    const VECTORS: &str = include_str!("../../../fixtures/decisions/verifications.jsonl");

    #[test]
    fn evidence_verifies_like_its_parts_and_parses_back() {
        let mut verdicts = vec![];
        for line in VECTORS.lines() {
            let vector: serde_json::Value = serde_json::from_str(line).unwrap();
            let given = &vector["in"];
            let text = format!(
                r#"{{"record":{{"envelope":{},"signature":{},"later":1}},"signers":{},"as_of":7}}"#,
                given["envelope"], given["signature"], given["registry"]
            );
            let evidence = Evidence::parse(text.as_bytes()).unwrap();
            let id = ContentHash::parse(given["id"].as_str().unwrap()).unwrap();
            let said = evidence.verify(id);
            let five = [
                said.found,
                said.envelope_intact,
                said.signature_valid,
                said.signer_recognized,
                said.signer_active_at_issuance,
            ];
            assert_eq!(serde_json::json!(five), vector["out"], "{}", vector["name"]);
            assert_eq!(Evidence::parse(&serde_json::to_vec(&evidence).unwrap()), Some(evidence));
            verdicts.push(said.is_genuine());
        }
        assert!(verdicts.contains(&true) && verdicts.contains(&false));
    }

    #[test]
    fn a_missing_record_is_not_found() {
        let evidence = Evidence { record: None, signers: vec![] };
        assert_eq!(evidence.verify(ContentHash::from_bytes([1; 32])), Verification::NOT_FOUND);
    }

    #[test]
    fn the_largest_possible_evidence_is_accepted_and_anything_larger_refused() {
        let signer = Signer {
            address: "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a".to_string(),
            key_id: "k".repeat(64),
            activated_at: Timestamp::default(),
            retired_at: Some(Timestamp::default()),
        };
        let record = Record { envelope: "\u{1}".repeat(MAX_ENVELOPE), signature: "f".repeat(132) };
        let mut evidence = Evidence { record: Some(record), signers: vec![signer.clone(); MAX_SIGNERS] };
        let written = serde_json::to_vec(&evidence).unwrap();
        assert!(written.len() <= MAX_EVIDENCE, "{}", written.len());
        assert!(Evidence::parse(&written).is_some());
        evidence.signers.push(signer);
        assert_eq!(Evidence::parse(&serde_json::to_vec(&evidence).unwrap()), None);
        assert_eq!(Evidence::parse(&vec![b' '; MAX_EVIDENCE + 1]), None);
        assert_eq!(Evidence::parse(b"{\"data\":[]}"), None);
    }
}
