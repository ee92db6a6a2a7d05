//! Signed calls to the origin: the request sent, the answers accepted, and their meaning.

use rds_shared::access::{
    AnswerError, AnswerHead, Assertion, AssertionKey, BodyDigest, SIGNED, SignedHead, forwarded, link,
};
use rds_shared::route::{Method, TagVersions};
use rds_shared::wire::{RequestId, Timestamp, headers};

/// Response headers passed on to the caller; all others from the origin or a proxy are dropped.
const PASSED: [&str; 8] = [
    "content-type",
    "cache-control",
    "etag",
    "retry-after",
    headers::LINK,
    headers::DATA_VERSION,
    headers::FAIL_SAFE_MODE,
    headers::UNKNOWN_VALUES,
];

/// Response headers that are read: only those that the origin signs.
pub const READ: [&str; 10] = SIGNED;

/// An unsigned request to the origin. Each attempt is signed separately.
#[derive(Debug, Clone)]
pub struct UnsignedCall {
    method: Method,
    target: String,
    principal: String,
    /// Headers of [`forwarded::FORWARDED`], each validated by its filter.
    forwarded: Vec<(&'static str, String)>,
    body: Vec<u8>,
    digest: BodyDigest,
    streams: bool,
    /// Whether sending the request twice has the same effect as sending it once.
    pub is_repeatable: bool,
}

impl UnsignedCall {
    /// A request for `target`. `principal` is the caller as JSON.
    pub fn new(method: Method, target: &str, body: Vec<u8>, principal: String, request_id: RequestId) -> Self {
        let question = UnsignedCall {
            method,
            target: target.to_owned(),
            principal,
            forwarded: Vec::with_capacity(4),
            digest: BodyDigest::of(&body),
            body,
            streams: false,
            is_repeatable: method == Method::Get,
        };
        let question = question
            .with("accept", headers::JSON)
            .with(headers::REQUEST_ID, core::str::from_utf8(&request_id.to_text()).unwrap_or_default());
        match method {
            Method::Post => question.with(headers::CONTENT_TYPE, headers::JSON),
            Method::Get | Method::Delete => question,
        }
    }

    /// The probe: a request that depends on no caller.
    pub fn alive(request_id: RequestId) -> Self {
        UnsignedCall::new(Method::Get, link::ALIVE, Vec::new(), link::EDGE.to_owned(), request_id)
    }

    /// Sets a forwarded header; a value that the filter rejects is dropped.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(Some(value)) = forwarded::filter(name, value) {
            self.forwarded.retain(|(known, _)| *known != name);
            self.forwarded.push((name, value.into_owned()));
        }
        self
    }

    /// Makes the request conditional. `etag` is that of the edge's cached response, never the caller's.
    pub fn unless(self, etag: Option<&str>) -> Self {
        match etag {
            Some(etag) => self.with("if-none-match", etag),
            None => self,
        }
    }

    /// Makes this a request for an event stream.
    pub fn streaming(self) -> Self {
        UnsignedCall { streams: true, ..self.with("accept", headers::EVENT_STREAM) }
    }

    /// Requires the answer to include every change up to `known`.
    pub fn not_older_than(self, known: &TagVersions) -> Self {
        if known.is_empty() { self } else { self.with(headers::TAGS, &known.to_text()) }
    }

    /// The complete request, signed with `key` and `seal`.
    pub fn sign(&self, key: &AssertionKey, seal: CallStamp) -> Call {
        let forwarded: Vec<_> = self.forwarded.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let head = SignedHead {
            method: self.method.as_str(),
            target: &self.target,
            principal: &self.principal,
            forwarded: &forwarded,
        };
        let assertion = Assertion::sign_head(key, &head, self.digest, seal.now.as_seconds(), seal.nonce);
        let mut headers = self.forwarded.clone();
        headers.push((headers::ASSERTION, assertion.to_header()));
        headers.push((headers::PRINCIPAL, self.principal.clone()));
        Call {
            method: self.method,
            target: self.target.clone(),
            headers,
            body: self.body.clone(),
            streams: self.streams,
            nonce: assertion.nonce().to_owned(),
        }
    }
}

/// A complete request to the origin: no headers other than these are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The method sent to the origin; a caller's HEAD is sent as GET.
    pub method: Method,
    /// Canonical path and query.
    pub target: String,
    pub headers: Vec<(&'static str, String)>,
    /// Empty on reads.
    pub body: Vec<u8>,
    /// Whether a stream is requested; its body is passed on as it arrives.
    pub streams: bool,
    /// The assertion's nonce, which the answer's signature repeats.
    pub nonce: String,
}

/// Time and nonce of one attempt.
#[derive(Debug, Clone, Copy)]
pub struct CallStamp {
    /// Wall-clock time; the origin accepts a difference of 30 seconds to its own clock.
    pub now: Timestamp,
    /// Random bytes; the origin accepts each nonce once.
    pub nonce: [u8; 16],
}

/// The origin's answer, with the headers of [`READ`] only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OriginAnswer {
    pub status: u16,
    /// Headers by lower-case name.
    pub headers: Vec<(&'static str, String)>,
    /// The whole body; empty for a stream, whose body the host keeps until the reply is sent.
    pub body: Vec<u8>,
    /// The origin's signature ([`headers::ANSWER`]), if present.
    pub signature: Option<String>,
    /// The body's digest, computed by the host; `None` for a stream.
    pub digest: Option<BodyDigest>,
}

/// The meaning of an origin answer for the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseKind {
    /// Authoritative: a success, or an error caused by the request.
    Authoritative,
    /// The cached response is still valid (304).
    NotModified,
    /// The origin is alive but failed (5xx).
    OriginError,
    /// A status that this edge does not handle, such as a redirect.
    Unexpected,
}

impl OriginAnswer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Whether this is an event stream. Its `body` is empty: the host passes the body on to the caller.
    pub fn is_stream(&self) -> bool {
        let essence = self.header("content-type").and_then(|given| given.split(';').next());
        self.status == 200 && essence.is_some_and(|essence| essence.trim() == headers::EVENT_STREAM)
    }

    /// The tag versions that the answer was made from; empty if it states none.
    pub fn tags(&self) -> TagVersions {
        self.header(headers::TAGS).map(TagVersions::parse).unwrap_or_default()
    }

    pub fn is_json(&self) -> bool {
        self.header("content-type").is_some_and(is_json)
    }

    /// Verifies that the origin gave this answer to `call`, signed with `key`.
    pub fn verify(&self, key: &AssertionKey, call: &Call) -> Result<(), AnswerError> {
        let head =
            AnswerHead { nonce: &call.nonce, status: self.status, headers: SIGNED.map(|name| self.header(name)) };
        key.verify_answer(self.signature.as_deref(), &head, self.digest.as_ref())
    }

    /// The meaning of a verified answer; `asked` is whether the call was conditional.
    pub fn meaning(&self, asked: bool) -> ResponseKind {
        match self.status {
            304 if asked => ResponseKind::NotModified,
            200..=299 | 400..=499 => ResponseKind::Authoritative,
            500..=599 => ResponseKind::OriginError,
            _ => ResponseKind::Unexpected,
        }
    }
}

/// Whether a `Content-Type` is JSON, with any parameters.
pub fn is_json(content_type: &str) -> bool {
    content_type.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case(headers::JSON))
}

/// The origin's headers that are passed on to the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadHeaders(Vec<(&'static str, String)>);

impl ReadHeaders {
    /// Reads the allowed headers, and no others.
    pub fn read(header: impl Fn(&'static str) -> Option<String>) -> Self {
        ReadHeaders(PASSED.into_iter().filter_map(|name| header(name).map(|value| (name, value))).collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// Replaces the entity tag.
    pub fn tagged(mut self, etag: String) -> Self {
        self.0.retain(|(name, _)| *name != "etag");
        self.0.push(("etag", etag));
        self
    }

    /// These headers, updated with those of a 304 except the content type.
    pub fn updated(&self, fresher: ReadHeaders) -> Self {
        let kept = |name: &str| name == "content-type" || fresher.get(name).is_none();
        let mut all: Vec<_> = self.0.iter().filter(|(name, _)| kept(name)).cloned().collect();
        all.extend(fresher.0.into_iter().filter(|(name, _)| *name != "content-type"));
        ReadHeaders(all)
    }
}

impl From<&OriginAnswer> for ReadHeaders {
    fn from(answer: &OriginAnswer) -> Self {
        ReadHeaders::read(|name| answer.header(name).map(str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    #[test]
    fn only_the_origins_answer_to_this_call_is_accepted() {
        let key = AssertionKey::parse(KEY).unwrap();
        let question = UnsignedCall::alive(RequestId::from_random([7; 16]));
        let seal = |nonce| CallStamp { now: Timestamp::from_seconds(0), nonce };
        let call = question.sign(&key, seal([1; 16]));
        let mut answer = OriginAnswer { status: 404, digest: Some(BodyDigest::of(b"{}")), ..OriginAnswer::default() };
        assert_eq!(answer.verify(&key, &call), Err(AnswerError::Unsigned), "a proxy's page");
        let head = AnswerHead { nonce: &call.nonce, status: 404, headers: Default::default() };
        answer.signature = Some(key.sign_answer(&head, Some(&BodyDigest::of(b"{}"))));
        assert_eq!(answer.verify(&key, &call), Ok(()));
        let other = question.sign(&key, seal([2; 16]));
        assert_eq!(answer.verify(&key, &other), Err(AnswerError::Mismatch), "an answer to another call");
        answer.status = 200;
        assert_eq!(answer.verify(&key, &call), Err(AnswerError::Mismatch));
    }

    #[test]
    fn a_request_forwards_only_headers_that_pass_the_filter() {
        let question =
            UnsignedCall::new(Method::Get, "/v1/x", Vec::new(), "{}".to_owned(), RequestId::from_random([7; 16]))
                .with(headers::LAST_EVENT_ID, "v2:1\u{1}")
                .with("if-none-match", "\u{7f}")
                .with("cookie", "a=b")
                .streaming();
        let names: Vec<_> = question.forwarded.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(names[1..], [(headers::LAST_EVENT_ID, "invalid"), ("accept", headers::EVENT_STREAM)]);
    }

    #[test]
    fn a_304_renews_the_headers_but_not_the_content_type() {
        let passed = |pairs: &[(&str, &str)]| {
            ReadHeaders::read(|name| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let before = passed(&[("content-type", "application/json"), ("etag", "W/\"a\""), (headers::DATA_VERSION, "7")]);
        let after = before.updated(passed(&[
            ("content-type", "text/plain"),
            (headers::DATA_VERSION, "8"),
            ("set-cookie", "x=1"),
        ]));
        assert_eq!(after.get("content-type"), Some("application/json"));
        assert_eq!((after.get("etag"), after.get(headers::DATA_VERSION)), (Some("W/\"a\""), Some("8")));
        assert_eq!(after.iter().count(), 3);
    }
}
