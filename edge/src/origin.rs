//! The signed call to the origin: what goes out, what may come back, and what an answer means.

use crate::cache::entry::Headers;
use crate::config::Config;
use rds_shared::access::{Assertion, SignedRequest};
use rds_shared::route::{Method, TagVersions};
use rds_shared::wire::{RequestId, Timestamp, headers};

/// Response headers that reach the caller. Everything else the origin, or a proxy before it, may say ends here.
const PASSED: [&str; 7] = [
    "content-type",
    "cache-control",
    "etag",
    "retry-after",
    headers::LINK,
    headers::DATA_VERSION,
    headers::FAIL_SAFE_MODE,
];

/// Response headers that are read at all: those, and what only the edge acts upon.
pub const READ: [&str; 9] = {
    let [a, b, c, d, e, f, g] = PASSED;
    [a, b, c, d, e, f, g, headers::CDN_CACHE_CONTROL, headers::TAGS]
};

/// Longest error body that is handed on, in bytes.
const MAX_ERROR: usize = 64 << 10;

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
}

impl Call {
    /// The call for `target`, signed with the `seal`. `principal` is the JSON of whom it is made for; `etag` is that of our
    /// own copy, never the caller's.
    pub fn new(
        config: &Config,
        method: Method,
        target: &str,
        body: Vec<u8>,
        principal: String,
        etag: Option<&str>,
        seal: Seal,
    ) -> Self {
        let signed = SignedRequest { method: method.as_str(), target, body: &body, principal: &principal };
        let assertion = Assertion::sign(&config.assertion_key, &signed, seal.now.as_seconds(), seal.nonce);
        let mut out = vec![
            ("accept", headers::JSON.to_owned()),
            (headers::REQUEST_ID, seal.request_id.to_string()),
            (headers::ASSERTION, assertion.to_header()),
            (headers::PRINCIPAL, principal),
        ];
        if method == Method::Post {
            out.push(("content-type", headers::JSON.to_owned()));
        }
        out.extend(etag.map(|etag| ("if-none-match", etag.to_owned())));
        Call { method, target: target.to_owned(), headers: out, body, streams: false }
    }

    /// The same call for a stream, with what the caller says about it.
    pub fn streaming(mut self, said: Vec<(&'static str, String)>) -> Self {
        self.headers.retain(|(name, _)| *name != "accept");
        self.headers.push(("accept", headers::EVENT_STREAM.to_owned()));
        self.headers.extend(said);
        self.streams = true;
        self
    }

    /// The same call for an answer that has every change up to `known`. Not signed: it can only make the origin wait a moment.
    pub fn not_older_than(mut self, known: &TagVersions) -> Self {
        if !known.is_empty() {
            self.headers.push((headers::TAGS, known.to_text()));
        }
        self
    }

    /// The same with the caller's name for what it creates. The signature does not cover it: whoever could change it on the way
    /// could as well send the request twice.
    pub fn named(mut self, idempotency_key: Option<&str>) -> Self {
        self.headers.extend(idempotency_key.map(|key| (headers::IDEMPOTENCY_KEY, key.to_owned())));
        self
    }
}

/// What makes one call unlike every other.
#[derive(Debug, Clone, Copy)]
pub struct Seal {
    /// The wall clock; the origin takes half a minute of difference.
    pub now: Timestamp,
    /// Fresh random bytes; the origin takes them once.
    pub nonce: [u8; 16],
    /// The request that the call is made for.
    pub request_id: RequestId,
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
}

/// What an answer means for the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A success, or an error that is the caller's own: authoritative.
    Word,
    /// The copy we named is still good.
    Unchanged,
    /// The origin is there and cannot answer; its envelope may say when it can.
    Unable,
    /// Not the origin's words: a proxy's page, a redirect, or a refusal of our assertion.
    Foreign,
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

    /// What it means; `asked` tells whether the call named a copy of ours.
    pub fn meaning(&self, asked: bool) -> Meaning {
        match self.status {
            304 if asked => Meaning::Unchanged,
            200..=299 => Meaning::Word,
            // The edge's own assertion was refused; that is our fault and not the caller's.
            401 => Meaning::Foreign,
            400..=499 if self.is_json() => Meaning::Word,
            500 | 502..=504 if self.is_json() => Meaning::Unable,
            _ => Meaning::Foreign,
        }
    }

    /// Whether an error body may be handed on: JSON of a sane size, and an envelope which names this very request. Only
    /// readiness and health, at 503, report trouble in a shape of their own; any other JSON is some proxy's.
    pub fn speaks_of(&self, request_id: RequestId) -> bool {
        let names_it = || memchr::memmem::find(&self.body, request_id.to_string().as_bytes()).is_some();
        let is_ours = match self.body.starts_with(b"{\"error\"") {
            true => names_it(),
            false => self.status == 503,
        };
        self.is_json() && self.body.len() <= MAX_ERROR && is_ours
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

    fn answer(status: u16, content_type: &str, body: &str) -> OriginAnswer {
        OriginAnswer {
            status,
            headers: vec![("content-type", content_type.to_owned())],
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn a_proxys_page_is_not_taken_for_the_origins_word() {
        assert_eq!(answer(502, "text/html", "<h1>Bad Gateway").meaning(false), Meaning::Foreign);
        assert_eq!(answer(404, "text/html", "<h1>Not here").meaning(false), Meaning::Foreign);
        assert_eq!(answer(301, "text/html", "").meaning(false), Meaning::Foreign);
        assert_eq!(answer(304, "", "").meaning(false), Meaning::Foreign, "we named no copy");
        assert_eq!(answer(304, "", "").meaning(true), Meaning::Unchanged);
        assert_eq!(answer(404, "application/json", "{}").meaning(true), Meaning::Word);
        assert_eq!(answer(503, "application/json; charset=utf-8", "{}").meaning(true), Meaning::Unable);
    }

    #[test]
    fn a_refused_assertion_is_never_the_callers_401() {
        assert_eq!(answer(401, "application/json", "{}").meaning(false), Meaning::Foreign);
    }

    #[test]
    fn an_envelope_of_another_request_is_not_handed_on() {
        let id = RequestId::from_random([7; 16]);
        let envelope =
            |id: &str| format!("{{\"error\":{{\"code\":\"NOT_FOUND\",\"message\":\"\",\"request_id\":\"{id}\"}}}}");
        assert!(answer(404, "application/json", &envelope(&id.to_string())).speaks_of(id));
        assert!(!answer(404, "application/json", &envelope("07")).speaks_of(id));
        assert!(
            answer(503, "application/json", "{\"status\":\"not_ready\"}").speaks_of(id),
            "readiness is no envelope"
        );
        assert!(!answer(503, "text/plain", "").speaks_of(id));
        assert!(!answer(403, "application/json", "{\"message\":\"Forbidden\"}").speaks_of(id), "a gateway's");
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
