//! Who signed a basket's version.
//!
//! Source: interface, "Versioning", 3, which names the key; the signature beside it is ours, so that the name proves something.

use crate::graph::signature::DecisionKey;
use crate::model::content_hash::ContentHash;
use alloc::string::{String, ToString};
use serde::Serialize;

/// Who signed a version, in three fields that are null together: where the service had no key when it made the version, or none
/// that the registry of signers let sign.
///
/// What is signed are the 64 hex characters of the content hash, as a decision's are of its id: any Ethereum library verifies it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VersionSignature {
    /// The registry's name for the key.
    pub signing_key_id: Option<String>,
    /// Where the signature leads: `0x` and 40 hex characters.
    pub signer_address: Option<String>,
    /// EIP-191 `personal_sign`: r, s and v as `0x` and 130 hex characters.
    pub signature: Option<String>,
}

impl VersionSignature {
    /// A version's content signed with `key`, which the registry calls `key_id`.
    pub fn of(content: ContentHash, key: &DecisionKey, key_id: String) -> Self {
        let Some(signature) = key.sign(content) else { return VersionSignature::default() };
        VersionSignature {
            signing_key_id: Some(key_id),
            signer_address: Some(key.address().as_str().into()),
            signature: Some(signature.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::signature::DecisionSignature;

    #[test]
    fn a_signature_leads_from_the_content_hash_to_its_signer() {
        let (content, key) = (ContentHash::of_text("{}"), DecisionKey::from_bytes(&[0x11; 32]).unwrap());
        let signed = VersionSignature::of(content, &key, "k-1".into());
        let signature = DecisionSignature::parse(signed.signature.as_deref().unwrap()).unwrap();
        let signer = |content| signature.signer(content).map(|address| address.as_str().to_string());
        assert_eq!((signer(content), signed.signing_key_id.as_deref()), (signed.signer_address.clone(), Some("k-1")));
        assert_ne!(signer(ContentHash::of_text("[]")), signed.signer_address);
    }
}
