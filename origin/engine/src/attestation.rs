//! Ed25519 signatures: verifies those of reviewers, and signs for the reviewers of the simulation.
//!
//! Verification is strict (RFC 8032, with small-order keys refused), so that all verifiers agree about a signature.

use crate::dimensions::stored_dimensions;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use rds_shared::model::attestation::{ALGORITHM, Attestation};
use rds_shared::rules::attestation::Statement;
use rds_shared::wire::hex;
use rds_shared::wire::time::Micros;
use rds_store::assets::attestations::{SignedRow, Subject};
use rds_store::{At, StoreError, decode_enum};

/// Reads lower-case hex of exactly `N` bytes.
pub fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let nibble = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    if text.len() != 2 * N {
        return None;
    }
    let mut out = [0; N];
    for (byte, pair) in out.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = nibble(*pair.first()?)? << 4 | nibble(*pair.last()?)?;
    }
    Some(out)
}

/// Whether the text is an Ed25519 public key that verifies signatures: canonical lower-case hex, not of small order.
pub fn is_public_key(text: &str) -> bool {
    public_key(text).is_some()
}

fn public_key(text: &str) -> Option<VerifyingKey> {
    VerifyingKey::from_bytes(&bytes(text)?).ok().filter(|key| !key.is_weak())
}

/// Whether `signature` is `key`'s signature of `message`; key and signature are lower-case hex.
pub fn verifies(key: &str, message: &str, signature: &str) -> bool {
    let Some((key, signature)) = public_key(key).zip(bytes(signature)) else { return false };
    key.verify_strict(message.as_bytes(), &Signature::from_bytes(&signature)).is_ok()
}

/// The text that a reviewer signs to attest the asset version `subject`.
pub fn message(
    subject: &Subject,
    product_id: Option<&str>,
    reviewer_id: &str,
    signed_at: At,
) -> Result<String, StoreError> {
    let statement = Statement {
        asset: &subject.asset_id,
        chain_id: subject.chain_id.unsigned_abs(),
        address: subject.address.as_deref(),
        recorded_at: subject.recorded_at.0,
        review_status: decode_enum("asset_version.review_status", &subject.review_status)?,
        dimensions: &stored_dimensions(&subject.dimensions),
        product_id,
        reviewer_id,
        signed_at: signed_at.0,
    };
    Ok(statement.message())
}

/// The attestation as served. `None` if the key was not valid at the time of signing, or if the signature does not verify for the message
/// rebuilt from the stored rows.
pub fn proven(row: &SignedRow) -> Option<Attestation> {
    let key = row.keys.iter().find(|key| key.key_id == row.key_id && key.counts_at(row.signed_at))?;
    let message = message(&row.subject, row.product_id.as_deref(), &row.reviewer_id, row.signed_at).ok()?;
    verifies(&key.public_key, &message, &row.signature).then(|| Attestation {
        attestation_id: row.number.to_string(),
        asset_version_id: row.version_number.to_string(),
        reviewer_id: row.reviewer_id.clone(),
        reviewer_name: row.reviewer_name.clone(),
        key_id: row.key_id.clone(),
        algorithm: ALGORITHM,
        public_key: key.public_key.clone(),
        signed_at: Micros(row.signed_at.0),
        product_id: row.product_id.clone(),
        message,
        signature: row.signature.clone(),
        signature_valid: true,
    })
}

/// A reviewer's private key. It exists only in the simulation; production stores public keys only.
#[derive(Debug)]
pub struct ReviewerSecret(SigningKey);

impl ReviewerSecret {
    pub fn from_seed(seed: [u8; 32]) -> Self {
        ReviewerSecret(SigningKey::from_bytes(&seed))
    }

    /// The public key in hex.
    pub fn public_key(&self) -> String {
        hex(self.0.verifying_key().as_bytes())
    }

    /// The signature of `message` in hex.
    pub fn sign(&self, message: &str) -> String {
        hex(&self.0.sign(message.as_bytes()).to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_test_vector_of_rfc_8032_verifies() {
        // RFC 8032, section 7.1, test 2: one byte, 0x72, which is the letter r.
        let secret = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
        let key = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
        let signature = "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";
        let secret = ReviewerSecret::from_seed(bytes(secret).unwrap());
        assert_eq!((secret.public_key().as_str(), secret.sign("r").as_str()), (key, signature));
        assert!(verifies(key, "r", signature));
    }

    #[test]
    fn a_weak_key_and_odd_spellings_are_refused() {
        let weak = "0100000000000000000000000000000000000000000000000000000000000000";
        assert!(!is_public_key(weak) && !is_public_key("") && !is_public_key(&"g".repeat(64)));
        let key = ReviewerSecret::from_seed([7; 32]);
        assert!(is_public_key(&key.public_key()) && !is_public_key(&key.public_key().to_uppercase()));
    }

    proptest! {
        #[test]
        fn only_the_signed_text_under_the_signing_key_verifies(
            seed in any::<[u8; 32]>(), other in any::<[u8; 32]>(), text in ".{0,40}", changed in ".{0,40}", bit in 0usize..512,
        ) {
            prop_assume!(seed != other);
            let (key, stranger) = (ReviewerSecret::from_seed(seed), ReviewerSecret::from_seed(other));
            let signature = key.sign(&text);
            prop_assert!(verifies(&key.public_key(), &text, &signature));
            prop_assert!(!verifies(&stranger.public_key(), &text, &signature));
            prop_assert_eq!(verifies(&key.public_key(), &changed, &signature), changed == text);
            let mut broken: [u8; 64] = bytes(&signature).unwrap();
            broken[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!verifies(&key.public_key(), &text, &hex(&broken)));
        }
    }
}
