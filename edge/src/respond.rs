//! The one place that puts headers on a response.

use crate::origin::Passed;
use crate::pages;
use rds_docs::Document;
use rds_shared::access::budget::Verdict;
use rds_shared::access::{cors, gate};
use rds_shared::model::health::FailSafeMode;
use rds_shared::route::{Route, TagVersions};
use rds_shared::wire::headers::{self, XCache};
use rds_shared::wire::{ApiError, RequestId, etag};
use std::borrow::Cow;
use std::rc::Rc;

/// A browser asks again with the ETag each time: the edge is near, and a copy of its own would outlive a revised score.
const REVALIDATE: &str = "public, max-age=0, must-revalidate";

/// The same for what only holders of keys may have.
const PRIVATE: &str = "private, max-age=0, must-revalidate";

/// What the pipeline found.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Leave to send a cross-origin request, or none, without a word about it.
    Preflight,
    /// The origin's words, fresh or kept.
    Content(Content),
    /// The origin's stream, whose body the host holds: these are its headers.
    Stream(Passed),
    /// A page of the documentation.
    Document(&'static Document),
    /// The page that says that there is none, with status 404.
    NoPage(&'static Document),
    /// A short text of the edge's own, or the way to elsewhere.
    Plain(Plain),
    /// An error of the edge's own.
    Error(ApiError),
    /// A message that was taken.
    Done,
    /// A message about facts that was taken, with every version that is known.
    Known(TagVersions),
}

impl Answer {
    /// The names in filters that the origin found in no registry.
    pub fn unknown_values(&self) -> Option<&str> {
        match self {
            Answer::Content(content) if content.status < 400 => content.headers.get(headers::UNKNOWN_VALUES),
            _ => None,
        }
    }
}

/// A text of the edge's own, or a redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    status: u16,
    content_type: &'static str,
    location: Option<&'static str>,
    body: String,
}

impl Plain {
    /// A text.
    pub fn text(content_type: &'static str, body: String) -> Self {
        Plain { status: 200, content_type, location: None, body }
    }

    /// The way to `target`.
    pub fn redirect(target: &'static str) -> Self {
        let body = format!("See {target}\n");
        Plain { status: 302, content_type: "text/plain; charset=utf-8", location: Some(target), body }
    }
}

/// Whose an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// The same for everybody.
    Nobodys,
    /// That of everybody in the caller's class; the next caller may be of another.
    Classed,
    /// For holders of keys: no cache on the way may share it.
    Theirs,
}

/// The origin's words.
#[derive(Debug, Clone)]
pub struct Content {
    /// The status.
    pub status: u16,
    /// The headers that reach the caller.
    pub headers: Passed,
    /// The body.
    pub body: Rc<[u8]>,
    /// How the edge came by it.
    pub served: Served,
}

/// How the edge came by an answer.
#[derive(Debug, Clone)]
pub struct Served {
    /// The service's word for it.
    pub x_cache: XCache,
    /// Seconds since the origin vouched for it; on copies only.
    pub age: Option<u64>,
    /// RFC 9211: the standard's words.
    pub cache_status: String,
    /// Whether a change is known that it does not have: it stands in for an answer that could not be read.
    pub is_outdated: bool,
}

/// What of the request shapes the response.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    /// The request's name.
    pub request_id: RequestId,
    /// The configured origin whose page is asking, if one is.
    pub own_origin: Option<&'a str>,
    /// Whether it was a HEAD.
    pub head: bool,
    /// The request's `If-None-Match`.
    pub if_none_match: Option<&'a str>,
    /// What the budget said that the request was charged to.
    pub verdict: Option<&'a Verdict>,
    /// Whose the answer is.
    pub privacy: Privacy,
    /// The route that was asked, if there is one.
    pub route: Option<&'static Route>,
    /// The names of parameters that the route does not have, as the caller is told of them.
    pub ignored: Option<&'a str>,
    /// The platform's fail-safe mode, where that concerns the route and is known here.
    pub fail_safe: Option<FailSafeMode>,
}

/// A finished response, as plain data.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Every header, by lower-case name.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body; `None` for a response that has none.
    pub body: Option<Rc<[u8]>>,
    /// Whether the body is the stream that the host holds.
    pub streams: bool,
}

/// Makes a response of an answer.
pub fn finish(answer: Answer, exchange: Exchange<'_>) -> Reply {
    let mut reply = match answer {
        Answer::Preflight => preflight(exchange),
        Answer::Content(content) => represent(content, exchange),
        Answer::Stream(headers) => stream(&headers, exchange),
        Answer::Document(document) => pages::represent(document, exchange.if_none_match),
        Answer::NoPage(document) => no_page(document),
        Answer::Plain(plain) => plainly(plain),
        Answer::Error(error) => refuse(&error, exchange),
        Answer::Done => Reply { status: 204, headers: Vec::new(), body: None, streams: false },
        Answer::Known(versions) => {
            let headers = vec![(headers::TAGS, Cow::Owned(versions.to_text()))];
            Reply { status: 204, headers, body: None, streams: false }
        }
    };
    reply.put(headers::REQUEST_ID, exchange.request_id.to_string());
    // Answers differ by Origin for everybody, also where no Origin was sent: a copy without the grant must not be
    // handed to a page of ours. The same goes for the credential where answers depend on it.
    reply.put("vary", if exchange.privacy == Privacy::Nobodys { "Origin" } else { "Origin, Authorization" });
    if let Some(verdict) = exchange.verdict {
        for (name, value) in gate::metered_headers(verdict) {
            reply.put(name, value);
        }
    }
    tell_of_route(&mut reply, exchange);
    reply.put("x-content-type-options", "nosniff");
    if let Some(origin) = exchange.own_origin {
        reply.put("access-control-allow-origin", origin.to_owned());
        reply.put("access-control-expose-headers", cors::EXPOSED_HEADERS);
    }
    if exchange.head
        && let Some(body) = reply.body.take()
    {
        reply.put("content-length", body.len().to_string());
    }
    reply
}

/// What is said of a route whatever its answer is: the platform's mode when that is not normal, which of the request's parameters it
/// does not have, and which of its fields are on their way out.
fn tell_of_route(reply: &mut Reply, exchange: Exchange<'_>) {
    let mode = exchange.fail_safe.filter(|mode| *mode != FailSafeMode::Normal);
    if let Some(mode) = mode
        && reply.header(headers::FAIL_SAFE_MODE).is_none()
    {
        reply.put(headers::FAIL_SAFE_MODE, mode.as_str());
    }
    if let Some(ignored) = exchange.ignored {
        reply.put(headers::IGNORED_PARAMETERS, ignored.to_owned());
    }
    if let Some(route) = exchange.route.filter(|_| reply.status < 400) {
        for (name, value) in route.deprecation_headers() {
            reply.put(name, value);
        }
    }
}

/// The page under 404. What is not there today may be there tomorrow, so nobody keeps that.
fn no_page(document: &'static Document) -> Reply {
    let mut reply = pages::represent(document, None);
    reply.status = 404;
    reply.headers.retain(|(name, _)| !matches!(*name, "etag" | "cache-control"));
    reply.put("cache-control", headers::NO_STORE);
    reply
}

/// What the root answers depends on `Accept`, so nobody keeps it.
fn plainly(plain: Plain) -> Reply {
    let Plain { status, content_type, location, body } = plain;
    let mut reply = Reply { status, headers: Vec::new(), body: Some(body.into_bytes().into()), streams: false };
    reply.put("content-type", content_type);
    reply.put("cache-control", headers::NO_STORE);
    if let Some(target) = location {
        reply.put("location", target);
    }
    reply
}

fn preflight(exchange: Exchange<'_>) -> Reply {
    let mut reply = Reply { status: 204, headers: Vec::new(), body: None, streams: false };
    if exchange.own_origin.is_some() {
        reply.put("access-control-allow-methods", cors::ALLOWED_METHODS);
        reply.put("access-control-allow-headers", cors::ALLOWED_HEADERS);
        reply.put("access-control-max-age", cors::PREFLIGHT_SECONDS);
    }
    reply
}

fn refuse(error: &ApiError, exchange: Exchange<'_>) -> Reply {
    let body = error.to_json(exchange.request_id).into_bytes();
    let mut reply = Reply { status: error.status(), headers: Vec::new(), body: Some(body.into()), streams: false };
    reply.put("content-type", headers::JSON);
    reply.put("cache-control", headers::NO_STORE);
    if let Some(seconds) = error.retry_after {
        reply.put("retry-after", seconds.to_string());
    }
    if let Some(methods) = error.allow {
        reply.put("allow", methods);
    }
    if error.status() == 401 {
        // RFC 9110, section 11.6.1: a 401 names the scheme that would do.
        reply.put("www-authenticate", "Bearer");
    }
    reply
}

fn represent(content: Content, exchange: Exchange<'_>) -> Reply {
    let Content { status, headers: passed, body, served } = content;
    let unchanged = status == 200
        && exchange.if_none_match.zip(passed.get("etag")).is_some_and(|(given, ours)| etag::if_none_match(given, ours));
    let mut reply = match unchanged {
        true => Reply { status: 304, headers: Vec::new(), body: None, streams: false },
        false => Reply { status, headers: Vec::new(), body: Some(body), streams: false },
    };
    for (name, value) in passed.iter() {
        // RFC 9110, section 15.4.5: a 304 carries what a cache needs, and nothing that describes a body.
        let belongs = match name {
            "cache-control" => false,
            "content-type" => !unchanged,
            // A copy's is that of when it was made.
            headers::FAIL_SAFE_MODE => served.age.is_none(),
            _ => true,
        };
        if belongs {
            reply.put(name, value.to_owned());
        }
    }
    let cache_control = match (status, served.x_cache, passed.get("cache-control")) {
        (400.., _, _) => Cow::Borrowed(headers::NO_STORE),
        (_, XCache::Hit | XCache::Miss | XCache::StaleError, _) if exchange.privacy == Privacy::Theirs => {
            Cow::Borrowed(PRIVATE)
        }
        // What nobody confirmed may have been withdrawn: it is not to be kept for as long as its route's answers are.
        (_, XCache::StaleError, _) => Cow::Borrowed(REVALIDATE),
        (_, _, Some(given)) => Cow::Owned(given.to_owned()),
        (_, XCache::Bypass, None) => Cow::Borrowed(headers::NO_STORE),
        (_, _, None) => Cow::Borrowed(REVALIDATE),
    };
    reply.put("cache-control", cache_control);
    reply.put(headers::X_CACHE, served.x_cache.as_str());
    reply.put(headers::CACHE_STATUS, served.cache_status);
    if let Some(age) = served.age {
        reply.put("age", age.to_string());
    }
    if served.x_cache == XCache::StaleError {
        reply.put(headers::WARNING, headers::WARNING_STALE);
    }
    reply
}

/// A stream is nobody's copy, and nothing on its way may collect it.
fn stream(passed: &Passed, exchange: Exchange<'_>) -> Reply {
    let mut reply = Reply { status: 200, headers: Vec::new(), body: None, streams: !exchange.head };
    for (name, value) in passed.iter() {
        reply.put(name, value.to_owned());
    }
    if passed.get("cache-control").is_none() {
        reply.put("cache-control", headers::NO_STORE_NO_TRANSFORM);
    }
    reply.put(headers::ACCEL_BUFFERING, "no");
    reply.put(headers::X_CACHE, XCache::Bypass.as_str());
    reply
}

impl Reply {
    fn put(&mut self, name: &'static str, value: impl Into<Cow<'static, str>>) {
        self.headers.push((name, value.into()));
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_ref())
    }
}
