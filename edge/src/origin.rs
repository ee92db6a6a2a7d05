//! The signed call to the origin: what goes out, what may come back, and what an answer means.

use crate::cache::entry::Headers;
use rds_shared::access::answer_signature::SIGNED;
use rds_shared::access::{AnswerError, AnswerHead, Assertion, AssertionKey, BodyDigest, SignedHead, forwarded, link};
use rds_shared::route::{Method, TagVersions};
use rds_shared::wire::{RequestId, Timestamp, headers};

/// Response headers that reach the caller. Everything else the origin, or a proxy before it, may say ends here.
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

/// Response headers that are read at all: those that the origin signs.
pub const READ: [&str; 10] = SIGNED;

/// One question to the origin before it is signed. It is signed anew for each attempt.
#[derive(Debug, Clone)]
pub struct Question {
    method: Method,
    target: String,
    principal: String,
    /// Headers of [`forwarded::FORWARDED`], each of which has passed its filter.
    forwarded: Vec<(&'static str, String)>,
    body: Vec<u8>,
    digest: BodyDigest,
    streams: bool,
    /// Whether asking twice does no more than asking once.
    pub is_repeatable: bool,
}

impl Question {
    /// A question for `target`. `principal` is the JSON of whom it is asked for.
    pub fn new(method: Method, target: &str, body: Vec<u8>, principal: String, request_id: RequestId) -> Self {
        let question = Question {
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

    /// Whether the origin is there: a question that depends on no caller.
    pub fn alive(request_id: RequestId) -> Self {
        Question::new(Method::Get, link::ALIVE, Vec::new(), link::EDGE.to_owned(), request_id)
    }

    /// The same with a forwarded header in place of what it said before; a value that the filter does not pass is left out.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(Some(value)) = forwarded::filter(name, value) {
            self.forwarded.retain(|(known, _)| *known != name);
            self.forwarded.push((name, value.into_owned()));
        }
        self
    }

    /// The same for an answer that may be "unchanged": `etag` is that of our own copy, never the caller's.
    pub fn unless(self, etag: Option<&str>) -> Self {
        match etag {
            Some(etag) => self.with("if-none-match", etag),
            None => self,
        }
    }

    /// The same for a stream.
    pub fn streaming(self) -> Self {
        Question { streams: true, ..self.with("accept", headers::EVENT_STREAM) }
    }

    /// The same for an answer that has every change up to `known`.
    pub fn not_older_than(self, known: &TagVersions) -> Self {
        if known.is_empty() { self } else { self.with(headers::TAGS, &known.to_text()) }
    }

    /// The question as it is sent, signed with `key` and `seal`.
    pub fn sign(&self, key: &AssertionKey, seal: Seal) -> Call {
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

/// One request to the origin, complete: the headers listed are the only ones it is sent with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// GET for GET and HEAD.
    pub method: Method,
    /// Path and query in their one spelling.
    pub target: String,
    /// All of its headers.
    pub headers: Vec<(&'static str, String)>,
    /// Empty on reads.
    pub body: Vec<u8>,
    /// Whether a stream is asked for: its body is handed through as it comes.
    pub streams: bool,
    /// The assertion's nonce, which the answer's signature repeats.
    pub nonce: String,
}

/// What makes one attempt unlike every other.
#[derive(Debug, Clone, Copy)]
pub struct Seal {
    /// The wall clock; the origin takes half a minute of difference.
    pub now: Timestamp,
    /// Fresh random bytes; the origin takes them once.
    pub nonce: [u8; 16],
}

/// What came back, with the headers of [`READ`] only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OriginAnswer {
    /// The status.
    pub status: u16,
    /// The headers, by lower-case name.
    pub headers: Vec<(&'static str, String)>,
    /// The whole body; of a stream none, for that stays with the host until the answer goes out.
    pub body: Vec<u8>,
    /// The origin's signature, if there is one: [`headers::ANSWER`].
    pub signature: Option<String>,
    /// The body's digest, as the host computed it; `None` for a stream.
    pub digest: Option<BodyDigest>,
}

/// What an answer of the origin's means for the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A success, or an error that is the caller's own: authoritative.
    Word,
    /// The copy we named is still good.
    Unchanged,
    /// The origin is there and cannot answer; its envelope may say when it can.
    Unable,
    /// Nothing that this edge understands, such as a redirect.
    Unclear,
}

impl OriginAnswer {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Whether it is a stream, whose body the host holds.
    pub fn is_stream(&self) -> bool {
        let essence = self.header("content-type").and_then(|given| given.split(';').next());
        self.status == 200 && essence.is_some_and(|essence| essence.trim() == headers::EVENT_STREAM)
    }

    /// The versions it says it was made from; none where it says nothing.
    pub fn tags(&self) -> TagVersions {
        self.header(headers::TAGS).map(TagVersions::parse).unwrap_or_default()
    }

    /// Whether the body is JSON.
    pub fn is_json(&self) -> bool {
        self.header("content-type").is_some_and(is_json)
    }

    /// Checks that the origin gave this answer, to `call` and no other, signed with `key`.
    pub fn verify(&self, key: &AssertionKey, call: &Call) -> Result<(), AnswerError> {
        let head = AnswerHead { nonce: &call.nonce, status: self.status, header: |name| self.header(name) };
        key.verify_answer(self.signature.as_deref(), &head, self.digest.as_ref())
    }

    /// What it means, once its signature holds; `asked` tells whether the call named a copy of ours.
    pub fn meaning(&self, asked: bool) -> Meaning {
        match self.status {
            304 if asked => Meaning::Unchanged,
            200..=299 | 400..=499 => Meaning::Word,
            500..=599 => Meaning::Unable,
            _ => Meaning::Unclear,
        }
    }
}

/// Whether a `Content-Type` says JSON, whatever its parameters.
pub fn is_json(content_type: &str) -> bool {
    content_type.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case(headers::JSON))
}

/// The origin's headers that reach the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Passed(Vec<(&'static str, String)>);

impl Passed {
    /// Reads the allowed headers, and no others.
    pub fn read(header: impl Fn(&'static str) -> Option<String>) -> Self {
        Passed(PASSED.into_iter().filter_map(|name| header(name).map(|value| (name, value))).collect())
    }

    /// A header's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The headers.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// The same with another entity tag.
    pub fn tagged(mut self, etag: String) -> Self {
        self.0.retain(|(name, _)| *name != "etag");
        self.0.push(("etag", etag));
        self
    }
}

impl Headers for Passed {
    /// These headers, with those of a 304 in place of the ones they repeat. The body's type stays.
    fn updated(&self, fresher: Passed) -> Self {
        let kept = |name: &str| name == "content-type" || fresher.get(name).is_none();
        let mut all: Vec<_> = self.0.iter().filter(|(name, _)| kept(name)).cloned().collect();
        all.extend(fresher.0.into_iter().filter(|(name, _)| *name != "content-type"));
        Passed(all)
    }

    /// They are few and short.
    fn weight(&self) -> usize {
        0
    }
}

impl From<&OriginAnswer> for Passed {
    fn from(answer: &OriginAnswer) -> Self {
        Passed::read(|name| answer.header(name).map(str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    #[test]
    fn only_the_origins_answer_to_this_very_call_is_believed() {
        let key = AssertionKey::parse(KEY).unwrap();
        let question = Question::alive(RequestId::from_random([7; 16]));
        let seal = |nonce| Seal { now: Timestamp::from_seconds(0), nonce };
        let call = question.sign(&key, seal([1; 16]));
        let mut answer = OriginAnswer { status: 404, digest: Some(BodyDigest::of(b"{}")), ..OriginAnswer::default() };
        assert_eq!(answer.verify(&key, &call), Err(AnswerError::Unsigned), "a proxy's page");
        let head = AnswerHead { nonce: &call.nonce, status: 404, header: |_| None };
        answer.signature = Some(key.sign_answer(&head, Some(&BodyDigest::of(b"{}"))));
        assert_eq!(answer.verify(&key, &call), Ok(()));
        let other = question.sign(&key, seal([2; 16]));
        assert_eq!(answer.verify(&key, &other), Err(AnswerError::Mismatch), "an answer to another call");
        answer.status = 200;
        assert_eq!(answer.verify(&key, &call), Err(AnswerError::Mismatch));
    }

    #[test]
    fn a_question_forwards_what_passes_the_filter_and_nothing_else() {
        let question =
            Question::new(Method::Get, "/v1/x", Vec::new(), "{}".to_owned(), RequestId::from_random([7; 16]))
                .with(headers::LAST_EVENT_ID, "v2:1\u{1}")
                .with("if-none-match", "\u{7f}")
                .with("cookie", "a=b")
                .streaming();
        let names: Vec<_> = question.forwarded.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(names[1..], [(headers::LAST_EVENT_ID, "invalid"), ("accept", headers::EVENT_STREAM)]);
    }

    #[test]
    fn a_304_renews_the_headers_and_not_the_bodys_type() {
        let passed = |pairs: &[(&str, &str)]| {
            Passed::read(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
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
