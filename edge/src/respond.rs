//! Builds every response; the only place that sets response headers.

use crate::mcp::message::Outgoing;
use crate::origin_link::signed_call::ReadHeaders;
use crate::{openapi, pages};
use rds_docs::{Asset, Document};
use rds_shared::access::budget::Verdict;
use rds_shared::access::{cors, gate};
use rds_shared::model::health::FailSafeMode;
use rds_shared::route::{Route, RouteId, TagVersions};
use rds_shared::wire::headers::{self, XCache};
use rds_shared::wire::{ApiError, RequestId, etag};
use std::borrow::Cow;
use std::rc::Rc;

/// Browsers revalidate with the ETag each time: the edge is near, and a browser that did not would show a score that has been revised.
const REVALIDATE: &str = "public, max-age=0, must-revalidate";

/// As [`REVALIDATE`], for responses that only callers with a key may get.
const PRIVATE: &str = "private, max-age=0, must-revalidate";

/// The result of the pipeline.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A CORS preflight; grants access only to first-party origins.
    Preflight,
    /// The origin's answer, fresh or cached.
    Content(Content),
    /// Headers of the origin's stream; the host keeps its body.
    Stream(ReadHeaders),
    /// A page of the documentation.
    Document(&'static Document),
    /// The documentation's page for a missing page, with status 404.
    NoPage(&'static Document),
    /// The OpenAPI document, for its route.
    OpenApi(&'static Route),
    /// A short text written by the edge, or a redirect.
    Plain(Plain),
    /// The response to a message of the MCP server.
    Message(Outgoing),
    /// An error raised by the edge.
    Error(ApiError),
    /// The answer to an accepted message about a key.
    Done,
    /// The answer to an accepted message about tags: every tag version that this edge knows.
    Known(TagVersions),
}

impl Answer {
    /// Filter values that the origin found in no registry.
    pub fn unknown_values(&self) -> Option<&str> {
        match self {
            Answer::Content(content) if content.status < 400 => content.headers.get(headers::UNKNOWN_VALUES),
            _ => None,
        }
    }
}

/// A text written by the edge, or a redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    status: u16,
    content_type: &'static str,
    location: Option<&'static str>,
    body: String,
}

impl Plain {
    pub fn text(content_type: &'static str, body: String) -> Self {
        Plain { status: 200, content_type, location: None, body }
    }

    /// A redirect to `target`.
    pub fn redirect(target: &'static str) -> Self {
        let body = format!("See {target}\n");
        Plain { status: 302, content_type: "text/plain; charset=utf-8", location: Some(target), body }
    }
}

/// Which callers may share a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheScope {
    /// All callers.
    Public,
    /// Callers of one content class; the same URL may give another caller a different response.
    PerClass,
    /// Callers with a key only: shared caches must not store it.
    PerCaller,
}

/// The origin's answer.
#[derive(Debug, Clone)]
pub struct Content {
    pub status: u16,
    /// Headers passed on to the caller.
    pub headers: ReadHeaders,
    pub body: Rc<[u8]>,
    /// The source of the response.
    pub served: Served,
}

/// The source of a response.
#[derive(Debug, Clone)]
pub struct Served {
    /// Value of `X-Cache`.
    pub x_cache: XCache,
    /// Seconds since the origin last confirmed it; only for cached responses.
    pub age: Option<u64>,
    /// Value of `Cache-Status` (RFC 9211).
    pub cache_status: String,
    /// Whether the response lacks a change that this isolate knows of. Only a stale response can.
    pub is_outdated: bool,
}

/// The properties of a request that its response depends on.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    pub request_id: RequestId,
    /// The configured first-party origin that sent the request, if any.
    pub own_origin: Option<&'a str>,
    pub head: bool,
    /// The request's `If-None-Match`.
    pub if_none_match: Option<&'a str>,
    /// The rate-limit verdict, if the request was metered.
    pub verdict: Option<&'a Verdict>,
    /// Which callers may share the response.
    pub privacy: CacheScope,
    /// The route, if one matched.
    pub route: Option<&'static Route>,
    /// Unknown parameters, as text for the response header.
    pub ignored: Option<&'a str>,
    /// The fail-safe mode, if it applies to the route and this isolate knows it.
    pub fail_safe: Option<FailSafeMode>,
}

/// A finished response as plain data.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    /// Every header, by lower-case name.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// `None` for a response without a body.
    pub body: Option<ReplyBody>,
}

/// The body of a response.
#[derive(Debug, Clone)]
pub enum ReplyBody {
    Bytes(Rc<[u8]>),
    /// A file of the deployment, loaded and kept by the host.
    Asset(&'static Asset),
    /// The origin's stream, kept by the host.
    Stream,
}

impl ReplyBody {
    /// Its size in bytes, unless it is a stream.
    fn size(&self) -> Option<usize> {
        match self {
            ReplyBody::Bytes(bytes) => Some(bytes.len()),
            ReplyBody::Asset(asset) => Some(asset.size),
            ReplyBody::Stream => None,
        }
    }
}

impl From<Vec<u8>> for ReplyBody {
    fn from(bytes: Vec<u8>) -> Self {
        ReplyBody::Bytes(bytes.into())
    }
}

/// Builds the response.
pub fn finish(answer: Answer, exchange: Exchange<'_>) -> Reply {
    let mut reply = match answer {
        Answer::Preflight => preflight(exchange),
        Answer::Content(content) => represent(content, exchange),
        Answer::Stream(headers) => stream(&headers),
        Answer::Document(document) => pages::represent(document, exchange.if_none_match),
        Answer::NoPage(document) => no_page(document),
        Answer::OpenApi(route) => openapi::represent(route, exchange.if_none_match),
        Answer::Plain(plain) => plain_reply(plain),
        Answer::Message(outgoing) => message(outgoing),
        Answer::Error(error) => refuse(&error, exchange),
        Answer::Done => Reply { status: 204, headers: Vec::new(), body: None },
        Answer::Known(versions) => {
            let headers = vec![(headers::TAGS, Cow::Owned(versions.to_text()))];
            Reply { status: 204, headers, body: None }
        }
    };
    reply.put(headers::REQUEST_ID, exchange.request_id.to_string());
    // `Vary: Origin` is also set without an Origin: a cache must not give a first-party page a response that lacks the CORS headers.
    // The same applies to Authorization where responses depend on it.
    // A page of the documentation has a Markdown twin at the same path.
    let is_page = exchange.route.is_some_and(|route| matches!(route.id, RouteId::Docs | RouteId::DocsFile));
    reply.put(
        "vary",
        match exchange.privacy {
            CacheScope::Public if is_page => "Origin, Accept",
            CacheScope::Public => "Origin",
            CacheScope::PerClass | CacheScope::PerCaller => "Origin, Authorization",
        },
    );
    if let Some(verdict) = exchange.verdict {
        for (name, value) in gate::rate_limit_headers(verdict) {
            reply.put(name, value);
        }
    }
    put_route_headers(&mut reply, exchange);
    reply.put("x-content-type-options", "nosniff");
    if let Some(origin) = exchange.own_origin {
        reply.put("access-control-allow-origin", origin.to_owned());
        reply.put("access-control-expose-headers", cors::EXPOSED_HEADERS);
    }
    if exchange.head
        && let Some(size) = reply.body.take().and_then(|body| body.size())
    {
        reply.put("content-length", size.to_string());
    }
    reply
}

/// Headers about the route, for any status: the fail-safe mode if not normal, ignored query parameters, and deprecated
/// fields.
fn put_route_headers(reply: &mut Reply, exchange: Exchange<'_>) {
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

/// The documentation's page for a missing page, with status 404. It is not cacheable, because the path may exist later.
fn no_page(document: &'static Document) -> Reply {
    let mut reply = pages::represent(document, None);
    reply.status = 404;
    reply.headers.retain(|(name, _)| !matches!(*name, "etag" | "cache-control"));
    reply.put("cache-control", headers::NO_STORE);
    reply
}

/// Builds a short text or a redirect. The response is not cacheable, because the root's response depends on `Accept`.
fn plain_reply(plain: Plain) -> Reply {
    let Plain { status, content_type, location, body } = plain;
    let mut reply = Reply { status, headers: Vec::new(), body: Some(body.into_bytes().into()) };
    reply.put("content-type", content_type);
    reply.put("cache-control", headers::NO_STORE);
    if let Some(target) = location {
        reply.put("location", target);
    }
    reply
}

/// A JSON-RPC response; an accepted notification has no body.
fn message(outgoing: Outgoing) -> Reply {
    let Outgoing { status, body } = outgoing;
    let mut reply = Reply { status, headers: Vec::new(), body: body.map(|body| body.into_bytes().into()) };
    if reply.body.is_some() {
        reply.put("content-type", headers::JSON);
    }
    reply.put("cache-control", headers::NO_STORE);
    reply
}

fn preflight(exchange: Exchange<'_>) -> Reply {
    let mut reply = Reply { status: 204, headers: Vec::new(), body: None };
    if exchange.own_origin.is_some() {
        reply.put("access-control-allow-methods", cors::ALLOWED_METHODS);
        reply.put("access-control-allow-headers", cors::ALLOWED_HEADERS);
        reply.put("access-control-max-age", cors::PREFLIGHT_SECONDS);
    }
    reply
}

fn refuse(error: &ApiError, exchange: Exchange<'_>) -> Reply {
    let body = error.to_json(exchange.request_id).into_bytes();
    let mut reply = Reply { status: error.status(), headers: Vec::new(), body: Some(body.into()) };
    reply.put("content-type", headers::JSON);
    reply.put("cache-control", headers::NO_STORE);
    if let Some(seconds) = error.retry_after {
        reply.put("retry-after", seconds.to_string());
    }
    if let Some(methods) = error.allow {
        reply.put("allow", methods);
    }
    if error.status() == 401 {
        // RFC 9110, section 11.6.1: a 401 names the accepted scheme.
        reply.put("www-authenticate", "Bearer");
    }
    reply
}

fn represent(content: Content, exchange: Exchange<'_>) -> Reply {
    let Content { status, headers: passed, body, served } = content;
    let unchanged = status == 200
        && exchange.if_none_match.zip(passed.get("etag")).is_some_and(|(given, ours)| etag::if_none_match(given, ours));
    let mut reply = match unchanged {
        true => Reply { status: 304, headers: Vec::new(), body: None },
        false => Reply { status, headers: Vec::new(), body: Some(ReplyBody::Bytes(body)) },
    };
    for (name, value) in passed.iter() {
        // RFC 9110, section 15.4.5: a 304 carries the headers that a cache needs and none that describe a body.
        let belongs = match name {
            "cache-control" => false,
            "content-type" => !unchanged,
            // The mode in a cached response is the one at the time when the origin made it, which may have changed since.
            headers::FAIL_SAFE_MODE => served.age.is_none(),
            _ => true,
        };
        if belongs {
            reply.put(name, value.to_owned());
        }
    }
    let cache_control = match (status, served.x_cache, passed.get("cache-control")) {
        (400.., _, _) => Cow::Borrowed(headers::NO_STORE),
        (_, XCache::Hit | XCache::Miss | XCache::StaleError, _) if exchange.privacy == CacheScope::PerCaller => {
            Cow::Borrowed(PRIVATE)
        }
        // A stale response may have been withdrawn at the origin, so browsers must revalidate it.
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

/// A stream is not cacheable and must not be buffered.
fn stream(passed: &ReadHeaders) -> Reply {
    let mut reply = Reply { status: 200, headers: Vec::new(), body: Some(ReplyBody::Stream) };
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

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_ref())
    }
}
