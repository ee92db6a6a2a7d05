//! Signed decisions, verified on this machine: nothing is asked of the service.

use crate::generated::types::{IssuedDecision, PublishedSigner, SealedDecision, Verdict};
use jiff::Timestamp;
use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sha3::Keccak256;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A decision as `graph().decision(…)` and `graph().check(…)` answer it.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The decision's id, 64 hex characters.
    pub decision_id: &'a str,
    /// The envelope, byte for byte.
    pub envelope: &'a str,
    /// `0x` and 130 hex characters.
    pub signature: &'a str,
}

/// A row of the registry of signers, as `graph().signers()` answers it. Keep a copy: it is what a verification rests on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Signer {
    /// The signer's address.
    pub address: String,
    /// The id of its key.
    pub key_id: String,
    /// Start of the signing period, inclusive.
    pub activated_at: String,
    /// End of the signing period, exclusive; `None` while the key is active.
    pub retired_at: Option<String>,
}

/// The content of an envelope.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Envelope {
    // In the order of their names, which is the canonical one.
    /// Time of the decision.
    pub created_at: String,
    /// Hash of the findings.
    pub findings_hash: String,
    /// Id of the signer's key.
    pub key_id: String,
    /// Limits in millionths of the portfolio.
    pub limits: BTreeMap<String, u32>,
    /// The part of the methodology that was applied.
    pub methodology_scope: String,
    /// Its version.
    pub methodology_version: String,
    /// The caller's reference for the portfolio.
    pub portfolio_ref: String,
    /// Hash of the positions.
    pub positions_hash: String,
    /// Address of the signer.
    pub signer_address: String,
    /// Id of the exposure graph that the portfolio was checked against.
    pub snapshot_id: String,
    /// Version of the envelope's format: 1.
    pub v: u32,
    /// The verdict.
    pub verdict: Verdict,
}

/// The results. The decision is genuine only if all are true.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecisionResult {
    /// The envelope is canonical, and its SHA-256 is the decision's id.
    pub envelope_intact: bool,
    /// The signature is that of the signer whom the envelope names.
    pub signature_valid: bool,
    /// The registry lists that signer under the envelope's key id.
    pub signer_recognized: bool,
    /// That signer might sign at the time of the decision.
    pub signer_active_at_issuance: bool,
    /// The content; `None` if the envelope is not intact.
    pub decision: Option<Envelope>,
}

impl DecisionResult {
    /// Whether the decision is genuine: all results are true.
    pub fn is_genuine(&self) -> bool {
        self.envelope_intact && self.signature_valid && self.signer_recognized && self.signer_active_at_issuance
    }
}

impl<'a> From<&'a SealedDecision> for Evidence<'a> {
    fn from(it: &'a SealedDecision) -> Self {
        Evidence { decision_id: &it.decision_id, envelope: &it.envelope, signature: &it.signature }
    }
}

impl<'a> From<&'a IssuedDecision> for Evidence<'a> {
    fn from(it: &'a IssuedDecision) -> Self {
        Evidence { decision_id: &it.decision_id, envelope: &it.envelope, signature: &it.signature }
    }
}

impl From<&PublishedSigner> for Signer {
    fn from(it: &PublishedSigner) -> Self {
        Signer {
            address: it.address.clone(),
            key_id: it.key_id.clone(),
            activated_at: it.activated_at.clone(),
            retired_at: it.retired_at.clone(),
        }
    }
}

/// Verifies a decision against a registry of signers.
///
/// ```
/// # rds_recorded::run(async |client| {
/// use risk_data_client::decisions::{Signer, verify};
/// use risk_data_client::types::SignerListParams;
/// let sealed = client.graph().decision("0".repeat(64)).await?;
/// let rows = client.graph().signers(SignerListParams::default()).rows().collect().await?;
/// let signers: Vec<Signer> = rows.iter().map(Signer::from).collect();
/// let result = verify((&sealed.data).into(), &signers);
/// println!("{} {:?}", result.is_genuine(), result.decision.map(|it| it.verdict));
/// # Ok(()) })
/// ```
pub fn verify(evidence: Evidence<'_>, signers: &[Signer]) -> DecisionResult {
    let Some((envelope, created_at)) = parsed(evidence.envelope) else { return DecisionResult::default() };
    // The signature is verified over the hash of this envelope and not over the stated id, so an altered envelope fails twice.
    let hash = hex(&Sha256::digest(evidence.envelope));
    let is_named =
        |it: &&Signer| it.address.eq_ignore_ascii_case(&envelope.signer_address) && it.key_id == envelope.key_id;
    let is_active = |it: &Signer| {
        let retired = it.retired_at.as_deref().map(str::parse::<Timestamp>);
        it.activated_at.parse::<Timestamp>().is_ok_and(|from| from <= created_at)
            && retired.is_none_or(|until| until.is_ok_and(|until| created_at < until))
    };
    let envelope_intact = hash == evidence.decision_id;
    DecisionResult {
        envelope_intact,
        signature_valid: signer(evidence.signature, &hash).is_some_and(|it| it == envelope.signer_address),
        signer_recognized: signers.iter().any(|it| is_named(&it)),
        signer_active_at_issuance: signers.iter().filter(is_named).any(is_active),
        decision: envelope_intact.then_some(envelope),
    }
}

/// The envelope and its time, if the text is its canonical form byte for byte.
fn parsed(text: &str) -> Option<(Envelope, Timestamp)> {
    let it: Envelope = serde_json::from_str(text).ok()?;
    let created_at: Timestamp = it.created_at.parse().ok()?;
    let is_valid = it.v == 1
        && [&it.positions_hash, &it.snapshot_id, &it.findings_hash].iter().all(|it| it.len() == 64 && is_hex(it))
        && it.signer_address.strip_prefix("0x").is_some_and(|it| it.len() == 40 && is_hex(it))
        && Verdict::KNOWN.contains(&it.verdict.as_str())
        && format!("{created_at:.3}") == it.created_at
        && it.limits.iter().all(|(name, value)| is_limit(name) && *value <= 1_000_000);
    let is_canonical = serde_json::to_string(&it).is_ok_and(|canonical| canonical == text);
    (is_valid && is_canonical).then_some((it, created_at))
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

/// `maxSharePer` and a dimension, which a newer server may add.
fn is_limit(name: &str) -> bool {
    let dimension = name.strip_prefix("maxSharePer").unwrap_or_default();
    dimension.starts_with(|it: char| it.is_ascii_uppercase()) && dimension.bytes().all(|it| it.is_ascii_alphabetic())
}

/// The address that signed the id's 64 characters as `personal_sign` does; `None` if the signature is malformed.
fn signer(signature: &str, id: &str) -> Option<String> {
    let digits = signature.strip_prefix("0x").filter(|it| it.len() == 130 && it.is_ascii())?;
    let pairs = digits.as_bytes().chunks(2).map(|it| std::str::from_utf8(it).ok());
    let is_digits = digits.bytes().all(|it| it.is_ascii_hexdigit());
    let bytes: Option<Vec<u8>> = pairs.map(|it| u8::from_str_radix(it?, 16).ok()).collect();
    let bytes = bytes.filter(|_| is_digits)?;
    let (v, parts) = bytes.split_last()?;
    let recovery = v.checked_sub(27).and_then(RecoveryId::from_byte).filter(|it| !it.is_x_reduced())?;
    let parts = Signature::from_slice(parts).ok()?;
    // Anybody can derive the form with the higher s from a genuine signature.
    if parts.normalize_s() != parts {
        return None;
    }
    let message = Keccak256::digest(format!("\x19Ethereum Signed Message:\n64{id}"));
    let key = VerifyingKey::recover_from_prehash(&message, &parts, recovery).ok()?;
    let point = key.to_sec1_point(false);
    let hash = Keccak256::digest(point.as_bytes().get(1..)?);
    Some(format!("0x{}", hex(hash.get(12..)?)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}
