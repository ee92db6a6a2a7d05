//! The edge assertion: an HMAC over a whole request and its caller, made by the edge and verified by the origin.
//!
//! The edge authenticates callers and enforces limits; the origin trusts only what is signed here. An assertion is valid for
//! [`MAX_SKEW_SECONDS`], and its nonce lets the origin refuse a second use.
//!
//! Format v2 travels as `v2;<key id>;<unix seconds>;<nonce>;<sha256 hex of the body>;<hex mac>`. The MAC covers method, target,
//! seconds, nonce, the body's digest, the principal and every forwarded header ([`super::forwarded`]), but not the body itself. So the
//! origin checks format, key, age, MAC and nonce before it reads a byte of the body ([`Assertion::verify_head`]), and afterwards
//! compares the body with the signed digest ([`VerifiedHead::check_body`]).
//!
//! Format v1 covers no forwarded header and can be verified only together with the body. It is accepted for one release, because
//! during a rollout a Worker of the previous release runs beside new origins (the Worker is deployed last). The origin still signs its
//! own messages with v1, because that Worker reads no other format. Release 1.1 removes [`Assertion::sign`] and everything marked "v1"
//! here.

use super::Salt;
use super::forwarded::{self, ForwardedHeaders};
use crate::wire::hex::{hex, push_hex, unhex_array};
use crate::wire::page::write_u64;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The SHA-256 of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyDigest([u8; 32]);

impl BodyDigest {
    /// The digest of an empty body, precomputed because most requests are reads.
    pub const EMPTY: BodyDigest = BodyDigest([
        0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae,
        0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
    ]);

    pub fn of(body: &[u8]) -> Self {
        if body.is_empty() { BodyDigest::EMPTY } else { BodyDigest(Sha256::digest(body).into()) }
    }

    /// Wraps a SHA-256 that was computed elsewhere, for example by the hash function of the Workers runtime.
    pub const fn from_bytes(digest: [u8; 32]) -> Self {
        BodyDigest(digest)
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Largest difference between the time of signing and the verifier's clock, in seconds, either way.
pub const MAX_SKEW_SECONDS: i64 = 30;

/// A shared secret with an id, so that the old and the new key are both valid during a rotation.
#[derive(Clone)]
pub struct AssertionKey {
    id: String,
    /// HMAC state after the secret was absorbed; cloned for each MAC.
    keyed: Hmac<Sha256>,
}

impl AssertionKey {
    /// Reads `<id>:<64 hex characters>`.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.trim().split_once(':')?;
        let named =
            !id.is_empty() && id.len() <= 32 && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        let secret = unhex_array::<32>(secret)?;
        let keyed = Hmac::<Sha256>::new_from_slice(&secret).ok()?;
        named.then(|| AssertionKey { id: String::from(id), keyed })
    }

    /// Reads a comma-separated list: the first key signs, and every key verifies.
    pub fn parse_list(text: &str) -> Option<Vec<Self>> {
        let keys: Option<Vec<_>> = text.split(',').map(Self::parse).collect();
        keys.filter(|keys| !keys.is_empty())
    }

    /// The key's id, sent in plain text.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Derives a separate secret for `purpose`: the MAC of a text that starts with `salt`. Signed requests and answers start with another
    /// line, so a derived secret never equals one of their MACs.
    pub fn salt(&self, purpose: &str) -> Salt {
        let mac = self.keyed.clone().chain_update("salt\n").chain_update(purpose);
        Salt::new(mac.finalize().into_bytes().into())
    }

    /// The MAC over `text`, not yet finalised.
    pub(crate) fn keyed(&self, text: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        mac.update(text);
        mac
    }

    /// The MAC over a head and the digest of its body. In v1 the forwarded headers are not covered.
    fn mac(
        &self,
        version: Version,
        head: &SignedHead<'_>,
        body: &BodyDigest,
        seconds: i64,
        nonce: &str,
    ) -> Hmac<Sha256> {
        let SignedHead { method, target, principal, forwarded } = head;
        let mut text = Vec::with_capacity(method.len() + target.len() + principal.len() + 400);
        for line in [version.as_str(), method, target] {
            text.extend_from_slice(line.as_bytes());
            text.push(b'\n');
        }
        if seconds < 0 {
            text.push(b'-');
        }
        write_u64(seconds.unsigned_abs(), &mut text);
        text.push(b'\n');
        text.extend_from_slice(nonce.as_bytes());
        text.push(b'\n');
        push_hex(body.as_bytes(), &mut text);
        text.push(b'\n');
        text.extend_from_slice(principal.as_bytes());
        if version == Version::V2 {
            text.push(b'\n');
            forwarded::write_lines(forwarded, &mut text);
        }
        self.keyed(&text)
    }
}

impl fmt::Debug for AssertionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AssertionKey({})", self.id)
    }
}

/// The head of a request: everything that the origin uses before it reads the body.
#[derive(Debug, Clone, Copy)]
pub struct SignedHead<'a> {
    /// The HTTP method.
    pub method: &'a str,
    /// Path and query, as sent.
    pub target: &'a str,
    /// The caller, as JSON.
    pub principal: &'a str,
    /// The headers of [`forwarded::FORWARDED`] that the request has, in any order.
    pub forwarded: &'a ForwardedHeaders<'a>,
}

/// A request with its body and without forwarded headers, as v1 signs it. The origin's messages to the edge have this form.
#[derive(Debug, Clone, Copy)]
pub struct SignedRequest<'a> {
    /// The HTTP method.
    pub method: &'a str,
    /// Path and query, as sent.
    pub target: &'a str,
    /// The body; empty on reads.
    pub body: &'a [u8],
    /// The caller, as JSON.
    pub principal: &'a str,
}

impl<'a> SignedRequest<'a> {
    fn head(&self) -> SignedHead<'a> {
        SignedHead { method: self.method, target: self.target, principal: self.principal, forwarded: &[] }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

impl Version {
    const fn as_str(self) -> &'static str {
        match self {
            Version::V1 => "v1",
            Version::V2 => "v2",
        }
    }
}

/// A parsed or new assertion; the module's documentation shows its header formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion<'a> {
    key_id: Cow<'a, str>,
    seconds: i64,
    nonce: Cow<'a, str>,
    /// The digest of the body, signed in v2; `None` in v1.
    body: Option<BodyDigest>,
    signature: [u8; 32],
}

/// Why an assertion is invalid; logged, never sent to callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssertionError {
    /// Not in format v1 or v2.
    Malformed,
    /// Signed with a key that is not, or no longer, configured.
    UnknownKey,
    /// Signed more than [`MAX_SKEW_SECONDS`] before or after the verifier's time.
    Expired,
    /// The signature does not match the request.
    Mismatch,
}

impl<'a> Assertion<'a> {
    /// Signs `head` and the digest of its body in format v2, at `seconds` (Unix time of the wall clock, never of a test clock) and with
    /// a fresh random `nonce`.
    pub fn sign_head(
        key: &'a AssertionKey,
        head: &SignedHead<'_>,
        body: BodyDigest,
        seconds: i64,
        nonce: [u8; 16],
    ) -> Self {
        let nonce = hex(&nonce);
        let signature = key.mac(Version::V2, head, &body, seconds, &nonce).finalize().into_bytes().into();
        Assertion { key_id: Cow::Borrowed(&key.id), seconds, nonce: Cow::Owned(nonce), body: Some(body), signature }
    }

    /// Signs `request` in format v1, for a host of the previous release.
    pub fn sign(key: &'a AssertionKey, request: &SignedRequest<'_>, seconds: i64, nonce: [u8; 16]) -> Self {
        let (nonce, body) = (hex(&nonce), BodyDigest::of(request.body));
        let signature = key.mac(Version::V1, &request.head(), &body, seconds, &nonce).finalize().into_bytes().into();
        Assertion { key_id: Cow::Borrowed(&key.id), seconds, nonce: Cow::Owned(nonce), body: None, signature }
    }

    pub fn to_header(&self) -> String {
        let (key_id, seconds, nonce, signature) = (&self.key_id, self.seconds, &self.nonce, hex(&self.signature));
        match &self.body {
            Some(body) => format!("v2;{key_id};{seconds};{nonce};{};{signature}", hex(body.as_bytes())),
            None => format!("v1;{key_id};{seconds};{nonce};{signature}"),
        }
    }

    /// Reads the header's value.
    pub fn parse(header: &'a str) -> Result<Self, AssertionError> {
        let mut parts = header.split(';');
        let mut next = || parts.next().ok_or(AssertionError::Malformed);
        let (version, key_id, seconds, nonce) = (next()?, next()?, next()?, next()?);
        let body = match version {
            "v1" => None,
            "v2" => Some(BodyDigest(unhex_array(next()?).ok_or(AssertionError::Malformed)?)),
            _ => return Err(AssertionError::Malformed),
        };
        let signature = unhex_array(next()?).ok_or(AssertionError::Malformed)?;
        let seconds = seconds.parse().map_err(|_| AssertionError::Malformed)?;
        if parts.next().is_some() || unhex_array::<16>(nonce).is_none() {
            return Err(AssertionError::Malformed);
        }
        Ok(Assertion { key_id: Cow::Borrowed(key_id), seconds, nonce: Cow::Borrowed(nonce), body, signature })
    }

    /// Checks everything that needs no body: the key, the age against the verifier's wall clock, and in v2 the MAC, in constant time.
    pub fn verify_head<'b>(
        &'b self,
        keys: &'b [AssertionKey],
        head: SignedHead<'b>,
        now_seconds: i64,
    ) -> Result<VerifiedHead<'b>, AssertionError> {
        let key = self.key(keys)?;
        if now_seconds.saturating_sub(self.seconds).unsigned_abs() > MAX_SKEW_SECONDS.unsigned_abs() {
            return Err(AssertionError::Expired);
        }
        self.verify_mac(key, &head)?;
        Ok(VerifiedHead { assertion: self, key, head })
    }

    /// The key that signed `head`, whatever the assertion's age; `None` for v1, which cannot be verified without the body. An origin
    /// whose clock is wrong signs its refusal with this key.
    pub fn signer<'b>(&self, keys: &'b [AssertionKey], head: &SignedHead<'_>) -> Option<&'b AssertionKey> {
        let key = self.key(keys).ok()?;
        self.body?;
        self.verify_mac(key, head).ok().map(|()| key)
    }

    /// Checks a message of the origin to the edge: a request with its body and without forwarded headers.
    pub fn verify(
        &self,
        keys: &[AssertionKey],
        request: &SignedRequest<'_>,
        now_seconds: i64,
    ) -> Result<(), AssertionError> {
        self.verify_head(keys, request.head(), now_seconds)?.check_body(request.body)
    }

    fn key<'b>(&self, keys: &'b [AssertionKey]) -> Result<&'b AssertionKey, AssertionError> {
        keys.iter().find(|key| key.id == self.key_id).ok_or(AssertionError::UnknownKey)
    }

    /// Verifies the MAC in v2. A v1 MAC can be verified only with the body.
    fn verify_mac(&self, key: &AssertionKey, head: &SignedHead<'_>) -> Result<(), AssertionError> {
        let Some(body) = &self.body else { return Ok(()) };
        let mac = key.mac(Version::V2, head, body, self.seconds, &self.nonce);
        mac.verify_slice(&self.signature).map_err(|_| AssertionError::Mismatch)
    }

    /// Unique to one request: an assertion whose nonce was seen before is a replay.
    pub fn nonce(&self) -> &str {
        &self.nonce
    }
}

/// A verified head whose body is still to be checked.
#[derive(Debug)]
pub struct VerifiedHead<'a> {
    assertion: &'a Assertion<'a>,
    key: &'a AssertionKey,
    head: SignedHead<'a>,
}

impl<'a> VerifiedHead<'a> {
    /// Whether the MAC is already verified, so that the nonce may be recorded as used. False for v1, whose MAC is verified by
    /// [`VerifiedHead::check_body`].
    pub const fn is_proven(&self) -> bool {
        self.assertion.body.is_some()
    }

    /// Checks the body against the signed digest; in v1, verifies the MAC with it.
    pub fn check_body(&self, body: &[u8]) -> Result<(), AssertionError> {
        let came = BodyDigest::of(body);
        match self.assertion.body {
            Some(signed) if signed == came => Ok(()),
            Some(_) => Err(AssertionError::Mismatch),
            None => {
                let Assertion { seconds, nonce, signature, .. } = self.assertion;
                let mac = self.key.mac(Version::V1, &self.head, &came, *seconds, nonce);
                mac.verify_slice(signature).map_err(|_| AssertionError::Mismatch)
            }
        }
    }

    /// The key that signed the request; the answer is signed with it, too.
    pub const fn key(&self) -> &'a AssertionKey {
        self.key
    }

    pub const fn assertion(&self) -> &'a Assertion<'a> {
        self.assertion
    }
}

#[cfg(test)]
#[path = "assertion_tests.rs"]
mod tests;
