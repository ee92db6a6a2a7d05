//! Signing secrets and the signatures of deliveries.
//!
//! Every delivery carries two signatures of the same body: this service's own signature (`t=<seconds>,v1=<hex>`, keyed with the whole text
//! of the secret) and the Standard Webhooks signature (`v1,<base64>`, keyed with the decoded Base64 part of the secret).
//! Source: Standard Webhooks 1.0, "Signature scheme".

use crate::wire::time::Timestamp;
use crate::wire::{hex, unhex};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use core::fmt::{self, Write};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Maximum difference between `t` and the receiver's clock, in seconds, in either direction.
pub const TOLERANCE_SECONDS: u64 = 300;
/// Maximum length of a header that is verified, in bytes; enough for a dozen signatures.
const MAX_HEADER: usize = 1_024;

/// Prefix of a secret.
const PREFIX: &str = "whsec_";
/// Number of hex digits after the prefix: 256 random bits.
const DIGITS: usize = 64;

/// A subscription's signing secret: `whsec_` and 64 lower-case hex digits. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Makes a secret from 32 random bytes.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Secret(format!("{PREFIX}{}", hex(&bytes)))
    }

    /// Parses a secret as it was issued.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let well_formed = digits.len() == DIGITS && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        well_formed.then(|| Secret(String::from(text)))
    }

    /// The whole text, for the creation response and for encrypted storage.
    pub fn expose(&self) -> &str {
        &self.0
    }

    fn ours(&self, seconds: &str, body: &[u8]) -> Hmac<Sha256> {
        mac(self.0.as_bytes(), &[seconds.as_bytes(), b".", body])
    }

    /// The HMAC of Standard Webhooks. The secret's 64 hex digits are also valid Base64 of 48 bytes, so a library accepts the secret
    /// unchanged.
    fn standard(&self, id: &str, seconds: &str, body: &[u8]) -> Hmac<Sha256> {
        let key = STANDARD.decode(self.0.strip_prefix(PREFIX).unwrap_or_default()).unwrap_or_default();
        mac(&key, &[id.as_bytes(), b".", seconds.as_bytes(), b".", body])
    }

    /// Verifies an `X-Service-Signature` header over the raw `body`, as a receiver does: any of its `v1` values may match.
    pub fn verify(&self, header: &str, body: &[u8], now: Timestamp) -> Result<(), SignatureError> {
        if header.len() > MAX_HEADER {
            return Err(SignatureError::Malformed);
        }
        let (mut seconds, mut signatures) = (None, Vec::new());
        for part in header.split(',') {
            match part.split_once('=').ok_or(SignatureError::Malformed)? {
                ("t", value) if seconds.is_none() => seconds = Some(value),
                ("t", _) => return Err(SignatureError::Malformed),
                ("v1", value) => signatures.extend(unhex(value)),
                _ => {}
            }
        }
        let seconds = seconds.ok_or(SignatureError::Malformed)?;
        within_tolerance(seconds, now)?;
        any_matches(&self.ours(seconds, body), &signatures)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why a signature is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureError {
    /// The header is malformed.
    Malformed,
    /// The time is more than [`TOLERANCE_SECONDS`] from the receiver's clock.
    OutsideTolerance,
    /// The signature was made with another secret or over other bytes.
    Mismatch,
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SignatureError::Malformed => "the signature header is malformed",
            SignatureError::OutsideTolerance => "the signature's time differs from the clock by more than five minutes",
            SignatureError::Mismatch => "no signature matches",
        })
    }
}

impl core::error::Error for SignatureError {}

fn mac(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    // HMAC accepts keys of any length; the fallback is never used, and would match nothing.
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap_or_else(|_| Hmac::<Sha256>::new(&Default::default()));
    for part in parts {
        mac.update(part);
    }
    mac
}

fn within_tolerance(seconds: &str, now: Timestamp) -> Result<(), SignatureError> {
    let seconds: i64 = seconds.parse().map_err(|_| SignatureError::Malformed)?;
    let away = now.as_seconds().saturating_sub(seconds).unsigned_abs();
    if away > TOLERANCE_SECONDS { Err(SignatureError::OutsideTolerance) } else { Ok(()) }
}

/// Compares `mac` with every signature in constant time; a match does not end the comparisons early.
fn any_matches(mac: &Hmac<Sha256>, signatures: &[Vec<u8>]) -> Result<(), SignatureError> {
    let matches = signatures.iter().filter(|signature| mac.clone().verify_slice(signature).is_ok()).count();
    if matches > 0 { Ok(()) } else { Err(SignatureError::Mismatch) }
}

/// Secrets that a subscription signs with: the current one, and during a rotation the previous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningSecrets {
    current: Secret,
    previous: Option<(Secret, Timestamp)>,
}

impl SigningSecrets {
    pub fn new(current: Secret) -> Self {
        SigningSecrets { current, previous: None }
    }

    /// Rotates the secret: `next` becomes current, and the previous secret also signs until `overlap_ends`, exclusive.
    pub fn rotated(self, next: Secret, overlap_ends: Timestamp) -> Self {
        SigningSecrets { current: next, previous: Some((self.current, overlap_ends)) }
    }

    /// The secret that was issued last.
    pub fn current(&self) -> &Secret {
        &self.current
    }

    /// The previous secret, and the end of its overlap.
    pub fn previous(&self) -> Option<(&Secret, Timestamp)> {
        self.previous.as_ref().map(|(secret, ends)| (secret, *ends))
    }

    /// The secrets that sign at `now`, current first.
    fn signing(&self, now: Timestamp) -> impl Iterator<Item = &Secret> {
        let overlapping = self.previous.as_ref().filter(|(_, ends)| now < *ends);
        core::iter::once(&self.current).chain(overlapping.map(|(secret, _)| secret))
    }

    /// Value of `X-Service-Signature` for `body`, signed at `now`. Every attempt is signed anew: a signature is valid for
    /// [`TOLERANCE_SECONDS`] only, and later retries are made after that time.
    pub fn sign(&self, body: &[u8], now: Timestamp) -> String {
        let seconds = format!("{}", now.as_seconds());
        let mut header = format!("t={seconds}");
        for secret in self.signing(now) {
            // Writing to a string cannot fail.
            let _ = write!(header, ",v1={}", hex(&secret.ours(&seconds, body).finalize().into_bytes()));
        }
        header
    }

    /// Value of `webhook-signature` (Standard Webhooks) over `id`, the Unix seconds of `now`, and `body`.
    pub fn sign_standard(&self, id: &str, body: &[u8], now: Timestamp) -> String {
        let seconds = format!("{}", now.as_seconds());
        let mut header = String::new();
        for secret in self.signing(now) {
            let signature = STANDARD.encode(secret.standard(id, &seconds, body).finalize().into_bytes());
            let _ = write!(header, "{}v1,{signature}", if header.is_empty() { "" } else { " " });
        }
        header
    }
}
