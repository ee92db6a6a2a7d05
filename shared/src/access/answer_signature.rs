//! The answer signature: it proves to the edge that an answer comes from the origin and belongs to the edge's request.
//!
//! The header [`headers::ANSWER`] reads `v1;<key id>;<sha256 hex of the body, or - for a stream>;<hex mac>`. The MAC covers the
//! request's nonce, the status, the body's digest and every header of [`SIGNED`]. The origin signs with the key that signed the request.

use super::assertion::{AssertionKey, BodyDigest};
use crate::wire::headers;
use crate::wire::hex::{push_hex, unhex_array};
use crate::wire::page::write_u64;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use hmac::Mac;

/// Response headers that the signature covers, in the order in which the signed text lists them. The edge reads no other header.
///
/// Proxies between origin and edge must not change them, except that a strong `etag` may become weak, as compressing proxies do.
pub const SIGNED: [&str; 10] = [
    headers::CONTENT_TYPE,
    "cache-control",
    headers::CDN_CACHE_CONTROL,
    "etag",
    headers::LINK,
    "retry-after",
    headers::DATA_VERSION,
    headers::FAIL_SAFE_MODE,
    headers::TAGS,
    headers::UNKNOWN_VALUES,
];

/// First line of the signed text. The signed text of a request starts with `v1` or `v2` instead ([`super::assertion`]), so the MAC of a
/// request is never valid for an answer, nor the MAC of an answer for a request.
const CONTEXT: &str = "answer-v1";

/// What the signature of an answer covers besides the digest of its body.
#[derive(Debug, Clone, Copy)]
pub struct AnswerHead<'a> {
    /// The nonce of the request's assertion.
    pub nonce: &'a str,
    pub status: u16,
    /// The values of the headers of [`SIGNED`], in that order.
    pub headers: SignedHeaders<'a>,
}

/// The values of the headers of [`SIGNED`], in that order; `None` for a header that the answer does not have.
pub type SignedHeaders<'a> = [Option<&'a str>; SIGNED.len()];

/// Picks the signed headers out of an answer's headers, given with lower-case names. The first text value of a header is used; values
/// that are not text are ignored.
pub fn signed_headers<'a, 'n>(all: impl IntoIterator<Item = (&'n str, Option<&'a str>)>) -> SignedHeaders<'a> {
    let mut signed = SignedHeaders::default();
    for (name, value) in all {
        let slot = SIGNED.iter().zip(&mut signed).find(|(known, _)| **known == name).map(|(_, slot)| slot);
        if let (Some(slot @ None), Some(value)) = (slot, value) {
            *slot = Some(value);
        }
    }
    signed
}

/// Why an answer is not accepted as the origin's; logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerError {
    /// The answer has no signature: an intermediary wrote it, the origin's HTTP layer refused the request, or the origin runs a release
    /// that does not sign answers.
    Unsigned,
    /// The signature header is not in the expected format.
    Malformed,
    /// The answer is signed with another key than the request.
    OtherKey,
    /// The signature belongs to another answer, or to the answer to another request.
    Mismatch,
    /// The head is the origin's, but the body does not match its signed digest.
    OtherBody,
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AnswerError::Unsigned => "no signature of the origin",
            AnswerError::Malformed => "a malformed signature",
            AnswerError::OtherKey => "a signature of another key",
            AnswerError::Mismatch => "a signature that does not match",
            AnswerError::OtherBody => "a body that does not match its signed digest",
        })
    }
}

impl AssertionKey {
    /// The header that signs an answer; `body` is `None` for a stream.
    pub fn sign_answer(&self, answer: &AnswerHead<'_>, body: Option<&BodyDigest>) -> String {
        let mut header = Vec::with_capacity(HEADER_BYTES + self.id().len());
        header.extend_from_slice(b"v1;");
        header.extend_from_slice(self.id().as_bytes());
        header.push(b';');
        let before = header.len();
        match body {
            Some(body) => push_hex(body.as_bytes(), &mut header),
            None => header.extend_from_slice(STREAM.as_bytes()),
        }
        let digest = header.get(before..).unwrap_or_default();
        let mac = self.keyed(&text(answer, digest)).finalize().into_bytes();
        header.push(b';');
        push_hex(&mac, &mut header);
        // The key's id, hex and separators are ASCII, so this cannot fail.
        String::from_utf8(header).unwrap_or_default()
    }

    /// Checks the header that signs `answer`, in constant time. `body` is the digest of the received body, `None` for a stream.
    pub fn verify_answer(
        &self,
        header: Option<&str>,
        answer: &AnswerHead<'_>,
        body: Option<&BodyDigest>,
    ) -> Result<(), AnswerError> {
        let header = header.ok_or(AnswerError::Unsigned)?;
        let mut parts = header.split(';');
        let mut next = || parts.next().ok_or(AnswerError::Malformed);
        let (version, key_id, digest, mac) = (next()?, next()?, next()?, next()?);
        let mac = unhex_array::<32>(mac).ok_or(AnswerError::Malformed)?;
        if version != "v1" || parts.next().is_some() {
            return Err(AnswerError::Malformed);
        }
        if key_id != self.id() {
            return Err(AnswerError::OtherKey);
        }
        self.keyed(&text(answer, digest.as_bytes())).verify_slice(&mac).map_err(|_| AnswerError::Mismatch)?;
        let is_body = match body {
            None => digest == STREAM,
            Some(body) => unhex_array::<32>(digest).as_ref() == Some(body.as_bytes()),
        };
        if is_body { Ok(()) } else { Err(AnswerError::OtherBody) }
    }
}

/// Replaces the body's digest in the header of a stream.
const STREAM: &str = "-";

/// Length of the header without the key's id.
const HEADER_BYTES: usize = "v1;;;".len() + 64 + 64;

/// The text that the MAC covers: context, nonce, status, digest and the headers that are present, one per line. The `W/` of a weak `etag`
/// is left out, because a compressing proxy may have added it.
fn text(answer: &AnswerHead<'_>, digest: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(512);
    for line in [CONTEXT, answer.nonce] {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    write_u64(answer.status.into(), &mut text);
    text.push(b'\n');
    text.extend_from_slice(digest);
    text.push(b'\n');
    for (name, value) in SIGNED.into_iter().zip(answer.headers) {
        let Some(value) = value else { continue };
        let value = if name == "etag" { value.strip_prefix("W/").unwrap_or(value) } else { value };
        text.extend_from_slice(name.as_bytes());
        text.push(b':');
        text.extend_from_slice(value.as_bytes());
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    const NONCE: &str = "09090909090909090909090909090909";
    const BODY: &[u8] = b"{\"data\":[]}";

    type Pairs = &'static [(&'static str, &'static str)];
    const HEADERS: Pairs = &[("content-type", "application/json"), ("etag", "W/\"a\""), ("x-data-version", "7")];

    fn head(nonce: &str, status: u16, pairs: Pairs) -> AnswerHead<'_> {
        AnswerHead { nonce, status, headers: signed_headers(pairs.iter().map(|(name, value)| (*name, Some(*value)))) }
    }

    #[test]
    fn the_first_text_value_of_a_header_is_signed() {
        let all = [("etag", None), ("x-other", Some("a")), ("etag", Some("b")), ("etag", Some("c"))];
        let signed: Vec<_> = SIGNED.into_iter().zip(signed_headers(all)).filter(|(_, value)| value.is_some()).collect();
        assert_eq!(signed, [("etag", Some("b"))]);
    }

    #[test]
    fn only_the_signed_answer_is_accepted_as_the_origins() {
        let key = AssertionKey::parse(KEY).unwrap();
        let body = BodyDigest::of(BODY);
        let signed = key.sign_answer(&head(NONCE, 200, HEADERS), Some(&body));
        let verify = |nonce, status, pairs, body: &[u8]| {
            key.verify_answer(Some(&signed), &head(nonce, status, pairs), Some(&BodyDigest::of(body)))
        };
        assert_eq!(verify(NONCE, 200, HEADERS, BODY), Ok(()));
        assert_eq!(verify("08080808080808080808080808080808", 200, HEADERS, BODY), Err(AnswerError::Mismatch));
        assert_eq!(verify(NONCE, 503, HEADERS, BODY), Err(AnswerError::Mismatch));
        assert_eq!(verify(NONCE, 200, &[("content-type", "application/json")], BODY), Err(AnswerError::Mismatch));
        assert_eq!(verify(NONCE, 200, HEADERS, b"{\"data\":[1]}"), Err(AnswerError::OtherBody));
        assert_eq!(key.verify_answer(Some(&signed), &head(NONCE, 200, HEADERS), None), Err(AnswerError::OtherBody));
        assert_eq!(key.verify_answer(None, &head(NONCE, 200, HEADERS), Some(&body)), Err(AnswerError::Unsigned));
        let weakened: Pairs = &[("content-type", "application/json"), ("etag", "\"a\""), ("x-data-version", "7")];
        assert_eq!(verify(NONCE, 200, weakened, BODY), Ok(()), "a proxy that compresses weakens the tag");
    }

    #[test]
    fn the_signature_of_a_stream_covers_its_head_only() {
        let key = AssertionKey::parse(KEY).unwrap();
        let signed = key.sign_answer(&head(NONCE, 200, HEADERS), None);
        assert_eq!(key.verify_answer(Some(&signed), &head(NONCE, 200, HEADERS), None), Ok(()));
        let whole = key.verify_answer(Some(&signed), &head(NONCE, 200, HEADERS), Some(&BodyDigest::EMPTY));
        assert_eq!(whole, Err(AnswerError::OtherBody));
    }

    #[test]
    fn a_signature_of_another_key_or_in_another_format_is_rejected() {
        let key = AssertionKey::parse(KEY).unwrap();
        let other = AssertionKey::parse(&KEY.replace("k1:", "k2:")).unwrap();
        let (head, body) = (head(NONCE, 200, HEADERS), BodyDigest::EMPTY);
        let signed = other.sign_answer(&head, Some(&body));
        assert_eq!(key.verify_answer(Some(&signed), &head, Some(&body)), Err(AnswerError::OtherKey));
        for bad in ["", "v1", "v1;k1;-", "v1;k1;-;00", "v2;k1;-;00", &std::format!("{signed};x")] {
            assert_eq!(key.verify_answer(Some(bad), &head, Some(&body)), Err(AnswerError::Malformed), "{bad}");
        }
    }
}
