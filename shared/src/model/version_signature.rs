//! The signature of a basket version. The interface specification names only the signing key; signer address and signature are additions,
//! so that clients can verify the signer.

use crate::graph::signature::DecisionKey;
use crate::model::content_hash::ContentHash;
use alloc::string::{String, ToString};
use serde::Serialize;

/// The signature of a basket version. All three fields are null if the service had no signing key when it made the version, or if the
/// registry of signers did not allow that key to sign.
///
/// The signed message is the content hash as 64 hex characters, so any Ethereum library can verify the signature. Decisions are signed in
/// the same way, over their id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VersionSignature {
    /// Id of the signing key in the registry of signers; null if the version is not signed.
    pub signing_key_id: Option<String>,
    /// Address of the signer, which the signature recovers to: `0x` and 40 hex characters; null if the version is not signed.
    pub signer_address: Option<String>,
    /// EIP-191 `personal_sign` signature: r, s and v as `0x` and 130 hex characters; null if the version is not signed.
    pub signature: Option<String>,
}

impl VersionSignature {
    /// Signs the content hash of a version with `key`. `key_id` is the key's id in the registry of signers.
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
    fn the_signer_is_recovered_from_content_hash_and_signature() {
        let (content, key) = (ContentHash::of_text("{}"), DecisionKey::from_bytes(&[0x11; 32]).unwrap());
        let signed = VersionSignature::of(content, &key, "k-1".into());
        let signature = DecisionSignature::parse(signed.signature.as_deref().unwrap()).unwrap();
        let signer = |content| signature.signer(content).map(|address| address.as_str().to_string());
        assert_eq!((signer(content), signed.signing_key_id.as_deref()), (signed.signer_address.clone(), Some("k-1")));
        assert_ne!(signer(ContentHash::of_text("[]")), signed.signer_address);
    }
}
