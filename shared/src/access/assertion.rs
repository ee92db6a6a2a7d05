//! The edge's word to the origin: an HMAC over the whole request and its caller.
//!
//! The edge did authentication and limits; the origin believes exactly what is signed here. Method, target, body and principal are
//! bound, a clock bounds its life to [`MAX_SKEW_SECONDS`], and the nonce lets the origin refuse a second use.

use crate::wire::hex::{hex, push_hex, unhex_array};
use crate::wire::page::write_u64;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// SHA-256 of an empty body, as hex: most requests are reads.
const OF_NOTHING: &[u8] = b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// How far the two clocks may lie apart, in seconds, either way.
pub const MAX_SKEW_SECONDS: i64 = 30;

/// A shared secret with a name, so that two can be valid while one replaces the other.
#[derive(Clone)]
pub struct AssertionKey {
    id: String,
    /// HMAC with the secret taken in: every request begins from here.
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

    /// Reads a comma-separated list: the first signs, all verify.
    pub fn parse_list(text: &str) -> Option<Vec<Self>> {
        let keys: Option<Vec<_>> = text.split(',').map(Self::parse).collect();
        keys.filter(|keys| !keys.is_empty())
    }

    /// The key's name; it travels in the clear.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn mac(&self, request: &SignedRequest<'_>, seconds: i64, nonce: &str) -> Hmac<Sha256> {
        let SignedRequest { method, target, body, principal } = request;
        let mut text = Vec::with_capacity(method.len() + target.len() + principal.len() + 160);
        for line in ["v1", method, target] {
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
        match body {
            [] => text.extend_from_slice(OF_NOTHING),
            body => push_hex(&Sha256::digest(body), &mut text),
        }
        text.push(b'\n');
        text.extend_from_slice(principal.as_bytes());
        let mut mac = self.keyed.clone();
        mac.update(&text);
        mac
    }
}

impl fmt::Debug for AssertionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AssertionKey({})", self.id)
    }
}

/// What is signed: everything the origin acts upon.
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

/// A signature as it travels: `v1;<key id>;<unix seconds>;<nonce>;<hex>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion<'a> {
    key_id: Cow<'a, str>,
    seconds: i64,
    nonce: Cow<'a, str>,
    signature: [u8; 32],
}

/// Why an assertion does not hold; for the log, never for the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssertionError {
    /// Not of the form.
    Malformed,
    /// Signed with a key that is not, or no longer, known.
    UnknownKey,
    /// Signed too long ago, or in the future.
    Expired,
    /// The signature does not match the request.
    Mismatch,
}

impl<'a> Assertion<'a> {
    /// Signs `request` at `seconds` (unix time, the wall's, never a test clock's) with a fresh random `nonce`.
    pub fn sign(key: &'a AssertionKey, request: &SignedRequest<'_>, seconds: i64, nonce: [u8; 16]) -> Self {
        let nonce = hex(&nonce);
        let signature = key.mac(request, seconds, &nonce).finalize().into_bytes().into();
        Assertion { key_id: Cow::Borrowed(&key.id), seconds, nonce: Cow::Owned(nonce), signature }
    }

    /// The header's value.
    pub fn to_header(&self) -> String {
        format!("v1;{};{};{};{}", self.key_id, self.seconds, self.nonce, hex(&self.signature))
    }

    /// Reads the header's value.
    pub fn parse(header: &'a str) -> Result<Self, AssertionError> {
        let mut parts = header.split(';');
        let mut next = || parts.next().ok_or(AssertionError::Malformed);
        let (version, key_id, seconds, nonce, signature) = (next()?, next()?, next()?, next()?, next()?);
        let well_formed = version == "v1" && parts.next().is_none() && unhex_array::<16>(nonce).is_some();
        let seconds = seconds.parse().map_err(|_| AssertionError::Malformed)?;
        let signature = unhex_array(signature).ok_or(AssertionError::Malformed)?;
        if !well_formed {
            return Err(AssertionError::Malformed);
        }
        Ok(Assertion { key_id: Cow::Borrowed(key_id), seconds, nonce: Cow::Borrowed(nonce), signature })
    }

    /// Checks the signature, in constant time, and its age against the verifier's wall clock.
    pub fn verify(
        &self,
        keys: &[AssertionKey],
        request: &SignedRequest<'_>,
        now_seconds: i64,
    ) -> Result<(), AssertionError> {
        let key = keys.iter().find(|key| key.id == self.key_id).ok_or(AssertionError::UnknownKey)?;
        if now_seconds.saturating_sub(self.seconds).unsigned_abs() > MAX_SKEW_SECONDS.unsigned_abs() {
            return Err(AssertionError::Expired);
        }
        key.mac(request, self.seconds, &self.nonce).verify_slice(&self.signature).map_err(|_| AssertionError::Mismatch)
    }

    /// Unique to one request; a second use is a replay.
    pub fn nonce(&self) -> &str {
        &self.nonce
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    const NEXT: &str = "k2:ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    const NOW: i64 = 1_795_219_200;

    fn request<'a>() -> SignedRequest<'a> {
        SignedRequest { method: "POST", target: "/v1/vaults/batch", body: b"{}", principal: "{\"kind\":\"anonymous\"}" }
    }

    fn signed() -> String {
        let key = AssertionKey::parse(SECRET).unwrap();
        Assertion::sign(&key, &request(), NOW, [9; 16]).to_header()
    }

    fn verified(keys: &[AssertionKey], request: &SignedRequest<'_>, now_seconds: i64) -> Result<(), AssertionError> {
        Assertion::parse(&signed()).unwrap().verify(keys, request, now_seconds)
    }

    #[test]
    fn the_origin_believes_what_the_edge_signed() {
        let keys = AssertionKey::parse_list(&std::format!("{NEXT},{SECRET}")).unwrap();
        assert_eq!(verified(&keys, &request(), NOW + 30), Ok(()));
        assert_eq!(verified(&keys, &request(), NOW - 30), Ok(()));
    }

    #[test]
    fn nothing_of_the_request_can_be_changed() {
        let keys = AssertionKey::parse_list(SECRET).unwrap();
        for other in [
            SignedRequest { method: "GET", ..request() },
            SignedRequest { target: "/v1/vaults/batch?x=1", ..request() },
            SignedRequest { body: b"{} ", ..request() },
            SignedRequest { principal: "{\"kind\":\"first_party\",\"origin\":\"https://x\"}", ..request() },
        ] {
            assert_eq!(verified(&keys, &other, NOW), Err(AssertionError::Mismatch));
        }
    }

    #[test]
    fn an_assertion_lives_half_a_minute_and_dies_with_its_key() {
        let keys = AssertionKey::parse_list(SECRET).unwrap();
        assert_eq!(verified(&keys, &request(), NOW + 31), Err(AssertionError::Expired));
        assert_eq!(verified(&keys, &request(), NOW - 31), Err(AssertionError::Expired));
        assert_eq!(
            verified(&AssertionKey::parse_list(NEXT).unwrap(), &request(), NOW),
            Err(AssertionError::UnknownKey)
        );
    }

    #[test]
    fn what_is_signed_is_the_text_that_the_module_says() {
        let key = AssertionKey::parse(SECRET).unwrap();
        for (seconds, body) in [(NOW, "{}"), (0, ""), (-7, "x")] {
            let request = SignedRequest { body: body.as_bytes(), ..request() };
            let signed = Assertion::sign(&key, &request, seconds, [9; 16]);
            let body = hex(&Sha256::digest(body));
            let text = std::format!(
                "v1\nPOST\n/v1/vaults/batch\n{seconds}\n{}\n{body}\n{{\"kind\":\"anonymous\"}}",
                hex(&[9; 16])
            );
            let secret = unhex_array::<32>(SECRET.strip_prefix("k1:").unwrap()).unwrap();
            let mac = Hmac::<Sha256>::new_from_slice(&secret).unwrap().chain_update(text).finalize().into_bytes();
            assert_eq!(signed.signature.as_slice(), mac.as_slice());
        }
    }

    #[test]
    fn a_secret_never_shows_in_debug_output() {
        assert_eq!(std::format!("{:?}", AssertionKey::parse(SECRET).unwrap()), "AssertionKey(k1)");
    }

    #[test]
    fn a_short_or_nameless_secret_is_refused() {
        for bad in ["", ":00", "k1:00", "k1", "k 1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"] {
            assert!(AssertionKey::parse(bad).is_none(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_header_breaks_the_parser(header in "\\PC{0,120}") {
            let _ = Assertion::parse(&header);
        }
    }
}
