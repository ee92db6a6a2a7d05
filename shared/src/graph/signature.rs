//! EIP-191 signatures over decision ids: deterministic signing, and recovery of the signer's address.
//!
//! The signed message is the id's 64 hex characters, framed as `personal_sign` does, so that any Ethereum library can verify it.
//!
//! Source: EIP-191 version 0x45; RFC 6979; EIP-2 (low s).

use crate::model::content_hash::ContentHash;
use crate::model::ids::Address;
use crate::wire::{hex, unhex};
use core::fmt;
use k256::ecdsa::{RecoveryId, Signature, SigningKey, VerifyingKey};
use serde::{Serialize, Serializer};
use sha3::{Digest, Keccak256};

/// Prefix that `personal_sign` puts before a message of 64 bytes.
const FRAME: &[u8] = b"\x19Ethereum Signed Message:\n64";
/// The lower of the two values of `v`.
const FIRST_V: u8 = 27;

/// A secret key that signs decisions. `Debug` prints only its address.
#[derive(Clone)]
pub struct DecisionKey(SigningKey);

impl DecisionKey {
    /// From 32 bytes; `None` for 0 and for values not below the group order.
    pub fn from_bytes(secret: &[u8]) -> Option<Self> {
        SigningKey::from_slice(secret).ok().map(DecisionKey)
    }

    /// From 64 hex characters, with or without `0x`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        Self::from_bytes(&unhex(text.strip_prefix("0x").unwrap_or(text))?)
    }

    /// The address recovered from its signatures.
    pub fn address(&self) -> Address {
        address_of(self.0.verifying_key())
    }

    /// Signs a decision. The same key and decision give the same signature (RFC 6979), with the lower s.
    ///
    /// `None` only if the x coordinate of the signature's point is not below the group order; the probability is about 2⁻¹²⁸.
    pub fn sign(&self, decision_id: ContentHash) -> Option<DecisionSignature> {
        let (signature, recovery) = self.0.sign_prehash_recoverable(&digest(decision_id));
        let v = recovery.to_byte().checked_add(FIRST_V).filter(|_| !recovery.is_x_reduced())?;
        let mut bytes = [v; 65];
        for (slot, byte) in bytes.iter_mut().zip(signature.to_bytes()) {
            *slot = byte;
        }
        Some(DecisionSignature(bytes))
    }
}

impl fmt::Debug for DecisionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecisionKey({})", self.address())
    }
}

/// A signature: r, s and v, 65 bytes; written as `0x` and hex.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DecisionSignature([u8; 65]);

impl DecisionSignature {
    /// Reads `0x` and 130 hex characters.
    pub fn parse(text: &str) -> Option<Self> {
        unhex(text.strip_prefix("0x")?)?.try_into().ok().map(DecisionSignature)
    }

    /// The address that made this signature of the decision; `None` if the signature is invalid.
    pub fn signer(&self, decision_id: ContentHash) -> Option<Address> {
        self.recover_signer(decision_id).ok()
    }

    /// Like [`Self::signer`], with the reason for a refusal.
    pub fn recover_signer(&self, decision_id: ContentHash) -> Result<Address, SignatureFault> {
        let Parts { signature, recovery } = self.parts()?;
        let key = VerifyingKey::recover_from_prehash(&digest(decision_id), &signature, recovery);
        key.map(|key| address_of(&key)).map_err(|_| SignatureFault::NoKey)
    }

    /// Checks the form of the signature, independent of signer and message.
    pub fn well_formed(&self) -> Result<(), SignatureFault> {
        self.parts().map(drop)
    }

    fn parts(&self) -> Result<Parts, SignatureFault> {
        let Some((&v, rs)) = self.0.split_last() else { return Err(SignatureFault::OutOfRange) };
        let recovery = v.checked_sub(FIRST_V).and_then(RecoveryId::from_byte);
        let Some(recovery) = recovery.filter(|recovery| !recovery.is_x_reduced()) else {
            return Err(SignatureFault::RecoveryByte(v));
        };
        let signature = Signature::from_slice(rs).map_err(|_| SignatureFault::OutOfRange)?;
        if signature.normalize_s() == signature {
            Ok(Parts { signature, recovery })
        } else {
            Err(SignatureFault::HigherS)
        }
    }
}

/// A well-formed signature and its recovery id.
struct Parts {
    signature: Signature,
    recovery: RecoveryId,
}

/// Why a signature is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureFault {
    /// v is neither 27 nor 28; carries v.
    RecoveryByte(u8),
    /// r or s is zero or not below the group order.
    OutOfRange,
    /// s is in the upper half. Anyone can derive this second form from a valid signature without the key.
    HigherS,
    /// No public key can be recovered from this signature and decision.
    NoKey,
}

impl fmt::Display for SignatureFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignatureFault::RecoveryByte(v) => write!(f, "its last byte (v) must be 27 or 28, but is {v}"),
            SignatureFault::OutOfRange => f.write_str("r and s must be above zero and below the group's order"),
            SignatureFault::HigherS => {
                f.write_str("s is in the upper half: anyone can derive such a signature from the genuine one")
            }
            SignatureFault::NoKey => f.write_str("no public key can be recovered from it"),
        }
    }
}

impl core::error::Error for SignatureFault {}

impl fmt::Display for DecisionSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{}", hex(&self.0))
    }
}

impl fmt::Debug for DecisionSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for DecisionSignature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The signed hash: Keccak-256 of the framed id.
pub fn digest(decision_id: ContentHash) -> [u8; 32] {
    Keccak256::new().chain_update(FRAME).chain_update(decision_id.to_hex()).finalize().into()
}

/// An Ethereum address: the last 20 bytes of the Keccak-256 of the public key's two coordinates.
fn address_of(key: &VerifyingKey) -> Address {
    let point = key.to_sec1_point(false);
    let coordinates = point.as_bytes().get(1..).unwrap_or_default();
    let hash: [u8; 32] = Keccak256::digest(coordinates).into();
    let mut address = [0; 20];
    for (slot, byte) in address.iter_mut().zip(hash.into_iter().skip(12)) {
        *slot = byte;
    }
    Address::from_evm_bytes(address)
}
