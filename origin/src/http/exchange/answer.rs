//! The answer of a handler, and its conversion into an HTTP response.

use crate::http::exchange::response_cache::Page;
use crate::http::exchange::signing::{HashedBody, Unsigned};
use crate::metrics::Label;
use crate::stream::body::EventBody;
use axum::body::{Body, Bytes};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, ETAG, LINK, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use rds_docs::{Document, Library};
use rds_shared::access::budget::Verdict;
use rds_shared::access::gate::rate_limit_headers;
use rds_shared::model::health::FailSafeMode;
use rds_shared::route::{Field, ResponseHead, TagVersions};
use rds_shared::wire::{ApiError, ErrorCode, RequestId, headers};
use rds_store::StoreError;
use serde::Serialize;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Content type of Prometheus' text format.
pub const METRICS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Content type of bytes in a format of our own.
const OCTETS: &str = "application/octet-stream";

/// Usual number of response headers, including the `Date` and `Connection` that the server adds.
const HEADERS: usize = 10;

const REQUEST_ID: HeaderName = HeaderName::from_static(headers::REQUEST_ID);
const DATA_VERSION: HeaderName = HeaderName::from_static(headers::DATA_VERSION);
const TAGS: HeaderName = HeaderName::from_static(headers::TAGS);
const UNKNOWN_VALUES: HeaderName = HeaderName::from_static(headers::UNKNOWN_VALUES);
const IGNORED_PARAMETERS: HeaderName = HeaderName::from_static(headers::IGNORED_PARAMETERS);
const CDN_CACHE_CONTROL: HeaderName = HeaderName::from_static(headers::CDN_CACHE_CONTROL);

/// A successful answer.
#[derive(Debug)]
pub struct Answer {
    status: StatusCode,
    content_type: &'static str,
    body: Content,
    validators: Option<Validators>,
    tag_versions: TagVersions,
    unknown_values: Option<String>,
    retry_after: Option<u32>,
}

/// The body of an answer.
#[derive(Debug)]
enum Content {
    /// A complete body.
    HashedBody(HashedBody),
    /// A stream of events; `None` for HEAD, which opens no stream.
    Events(Option<EventBody>),
    /// A page of the documentation, which has its own headers.
    Document(&'static Document),
}

/// Validators of a cacheable answer.
#[derive(Debug)]
struct Validators {
    etag: String,
    /// The data version; `None` if the answer depends on no facts.
    version: Option<i64>,
}

impl Answer {
    /// JSON bytes, not cacheable.
    pub fn json(body: impl Into<Bytes>) -> Self {
        Answer {
            status: StatusCode::OK,
            content_type: headers::JSON,
            body: Content::HashedBody(HashedBody::from(body)),
            validators: None,
            tag_versions: TagVersions::default(),
            unknown_values: None,
            retry_after: None,
        }
    }

    /// A stream of events, or only its headers.
    pub fn events(body: Option<EventBody>) -> Self {
        Answer { content_type: headers::EVENT_STREAM, body: Content::Events(body), ..Self::json(Bytes::new()) }
    }

    /// A page of the documentation.
    pub fn document(document: &'static Document) -> Self {
        Answer { content_type: document.media_type, body: Content::Document(document), ..Self::json(Bytes::new()) }
    }

    /// 304 for a page of the documentation.
    pub fn document_unchanged(document: &'static Document) -> Self {
        Answer { status: StatusCode::NOT_MODIFIED, ..Self::document(document) }
    }

    /// A serialised value, not cacheable.
    pub fn value<T: Serialize>(value: &T) -> Result<Self, Failure> {
        Ok(Self::json(serde_json::to_vec(value)?))
    }

    /// Plain text, not cacheable.
    pub fn text(content_type: &'static str, body: String) -> Self {
        Answer { content_type, ..Self::json(body.into_bytes()) }
    }

    /// Bytes of a format of our own, not cacheable.
    pub fn octets(body: HashedBody) -> Self {
        Answer { content_type: OCTETS, body: Content::HashedBody(body), ..Self::json(Bytes::new()) }
    }

    /// JSON bytes with their ETag and the data version that they were made from.
    pub fn tagged(etag: String, version: i64, body: impl Into<HashedBody>) -> Self {
        Self::whole(etag, version, body.into())
    }

    /// JSON bytes with their ETag and data version, in a body that other answers may share.
    pub fn whole(etag: String, version: i64, body: HashedBody) -> Self {
        let validators = Some(Validators { etag, version: Some(version) });
        Answer { validators, body: Content::HashedBody(body), ..Self::json(Bytes::new()) }
    }

    /// 304: the caller's cached response is still current.
    pub fn not_modified(etag: String, version: i64) -> Self {
        Answer { status: StatusCode::NOT_MODIFIED, ..Self::tagged(etag, version, Bytes::new()) }
    }

    /// Content compiled into the program, which depends on no facts. 304 if `body` is `None`.
    pub fn built_in(etag: String, body: Option<&'static [u8]>) -> Self {
        let status = if body.is_some() { StatusCode::OK } else { StatusCode::NOT_MODIFIED };
        let body = Bytes::from_static(body.unwrap_or_default());
        Answer { status, validators: Some(Validators { etag, version: None }), ..Self::json(body) }
    }

    /// The answer as a page for the micro-cache, if it can be cached.
    pub fn page(&self) -> Option<Page> {
        let Some(Validators { etag, version: Some(version) }) = &self.validators else { return None };
        match &self.body {
            Content::HashedBody(body) if self.status == StatusCode::OK => {
                // Computed before the body is cloned, so that this answer and later ones share the digest.
                body.digest();
                let unknown_values = self.unknown_values.clone();
                Some(Page { etag: etag.clone(), version: *version, unknown_values, body: body.clone() })
            }
            _ => None,
        }
    }

    /// This answer, with the tag versions whose changes it includes.
    pub fn with_tag_versions(self, tags: TagVersions) -> Self {
        Answer { tag_versions: tags, ..self }
    }

    /// This answer, with a header that lists the filter values that are in no registry.
    pub fn with_unknown_values(self, unknown_values: Option<String>) -> Self {
        Answer { unknown_values, ..self }
    }

    /// 204, without a body.
    pub fn no_content() -> Self {
        Answer { status: StatusCode::NO_CONTENT, ..Self::json(Bytes::new()) }
    }

    /// This answer as 503 with `Retry-After`: for health and readiness, which report problems in their own format.
    pub fn unavailable(self, retry_after: u32) -> Self {
        Answer { status: StatusCode::SERVICE_UNAVAILABLE, retry_after: Some(retry_after), ..self }
    }
}

/// Why a request failed.
#[derive(Debug)]
pub enum Failure {
    /// A client error, or a service state that is reported to the caller.
    Api(Box<ApiError>),
    /// An error of the store; its cause goes to the log only.
    Store(StoreError),
    /// An internal error; its cause goes to the log only.
    Internal(String),
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Failure::Api(Box::new(error))
    }
}

impl From<ErrorCode> for Failure {
    fn from(code: ErrorCode) -> Self {
        ApiError::from(code).into()
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::Store(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Failure::Internal(error.to_string())
    }
}

impl Failure {
    /// The error for the caller. Internal causes are only logged, with the request's id.
    fn into_api_error(self, request_id: RequestId, label: Label) -> ApiError {
        let route = label.name();
        match self {
            Failure::Api(error) => *error,
            Failure::Store(error @ StoreError::Unavailable(_)) => {
                tracing::warn!(%request_id, route, %error, "the database is not available");
                ErrorCode::ServiceUnavailable.into()
            }
            Failure::Store(error) => {
                tracing::error!(%request_id, route, %error, "the store failed");
                ErrorCode::InternalError.into()
            }
            Failure::Internal(cause) => {
                tracing::error!(%request_id, route, cause, "a request failed");
                ErrorCode::InternalError.into()
            }
        }
    }
}

/// Adds the rate-limit headers of the allowance that the request was charged to.
pub fn add_rate_limit_headers(response: &mut Response, verdict: &Verdict) {
    for (name, value) in rate_limit_headers(verdict) {
        set(response, HeaderName::from_static(name), value);
    }
}

/// Adds the header with the fail-safe mode unless the mode is `normal`.
pub fn add_fail_safe_header(response: &mut Response, mode: FailSafeMode) {
    if mode != FailSafeMode::Normal {
        let value = HeaderValue::from_static(mode.as_str());
        response.headers_mut().insert(HeaderName::from_static(headers::FAIL_SAFE_MODE), value);
    }
}

/// Adds the header that lists the ignored query parameters.
pub fn add_ignored_header(response: &mut Response, ignored: String) {
    set(response, IGNORED_PARAMETERS, ignored);
}

/// The response with all its headers except the answer signature. HEAD keeps the headers, including `Content-Length`, and loses the
/// body.
pub fn respond(result: Result<Answer, Failure>, request_id: RequestId, label: Label, head_only: bool) -> Unsigned {
    let (mut response, body) = match result {
        Ok(answer) => good(answer, label),
        Err(failure) => bad(&failure.into_api_error(request_id, label), request_id),
    };
    if let Ok(id) = HeaderValue::from_bytes(&request_id.to_text()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    if !head_only {
        return Unsigned { response, body };
    }
    *response.body_mut() = Body::empty();
    Unsigned { response, body: body.map(|_| HashedBody::default()) }
}

/// The response to a successful answer, and its body unless the body is a stream.
fn good(answer: Answer, label: Label) -> (Response, Option<HashedBody>) {
    let Answer { status, content_type, body, validators, tag_versions, unknown_values, retry_after } = answer;
    let (mut response, body) = match body {
        Content::Document(document) => return documented(document, status),
        _ if matches!(status, StatusCode::NOT_MODIFIED | StatusCode::NO_CONTENT) => {
            (with_headers(Body::empty()), HashedBody::default())
        }
        Content::HashedBody(body) => (with_headers(Body::from(body.bytes().clone())), body),
        Content::Events(events) => return (streamed(events), None),
    };
    *response.status_mut() = status;
    let (etag, version) = validators.map_or((None, None), |it| (Some(it.etag), it.version));
    // 304 and 204 describe no body.
    let has_body = !matches!(status, StatusCode::NOT_MODIFIED | StatusCode::NO_CONTENT);
    let content = has_body.then(|| (content_type, body.bytes().len()));
    let head = ResponseHead { content, etag, version, tags: tag_versions, unknown_values };
    head.write(label.route(), |field, value| set(&mut response, name_of(field), value));
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    (response, Some(body))
}

/// The response with an event stream. It has no length, and intermediaries must not cache, compress or buffer it.
fn streamed(events: Option<EventBody>) -> Response {
    let mut response = with_headers(events.map_or_else(Body::empty, Body::new));
    let given = response.headers_mut();
    given.insert(CONTENT_TYPE, HeaderValue::from_static(headers::EVENT_STREAM));
    // The connection closes with the stream and takes no further request.
    given.insert(CONNECTION, HeaderValue::from_static("close"));
    given.insert(CACHE_CONTROL, HeaderValue::from_static(headers::NO_STORE_NO_TRANSFORM));
    given.insert(HeaderName::from_static(headers::ACCEL_BUFFERING), HeaderValue::from_static("no"));
    response
}

/// The documentation, unpacked when its first page is requested.
static LIBRARY: LazyLock<Library> = LazyLock::new(Library::open);

/// The response with a documentation page, which has its own caching and security headers.
fn documented(document: &'static Document, status: StatusCode) -> (Response, Option<HashedBody>) {
    let body = match status {
        StatusCode::NOT_MODIFIED => HashedBody::default(),
        _ => HashedBody::from(LIBRARY.body(document)),
    };
    let mut response = match status {
        StatusCode::NOT_MODIFIED => with_headers(Body::empty()),
        _ => with_body(document.media_type, &body),
    };
    *response.status_mut() = status;
    for (name, value) in document.headers() {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    // A page has a Markdown twin at the same path.
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    // The edge adds this header to all its responses; this listener may be used without the edge.
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    (response, Some(body))
}

fn bad(error: &ApiError, request_id: RequestId) -> (Response, Option<HashedBody>) {
    let body = HashedBody::from(error.to_json(request_id).into_bytes());
    let mut response = with_body(headers::JSON, &body);
    *response.status_mut() = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let given = response.headers_mut();
    given.insert(CACHE_CONTROL, HeaderValue::from_static(headers::NO_STORE));
    if let Some(seconds) = error.retry_after {
        given.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(allow) = error.allow {
        given.insert(ALLOW, HeaderValue::from_static(allow));
    }
    if error.code == ErrorCode::Unauthorized {
        given.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(successor) = &error.successor {
        set(&mut response, LINK, successor.link());
    }
    (response, Some(body))
}

fn with_body(content_type: &'static str, body: &HashedBody) -> Response {
    let length = HeaderValue::from(body.bytes().len());
    let mut response = with_headers(Body::from(body.bytes().clone()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CONTENT_LENGTH, length);
    response
}

/// A response with capacity for the usual headers, so that adding them does not reallocate.
fn with_headers(body: Body) -> Response {
    let mut response = Response::new(body);
    *response.headers_mut() = HeaderMap::with_capacity(HEADERS);
    response
}

fn set(response: &mut Response, name: HeaderName, value: impl Into<Cow<'static, str>>) {
    // The values are numbers, ETags, links and percent-encoded names, all of them visible ASCII, so the conversion does not fail.
    let value = match value.into() {
        Cow::Borrowed(text) => Ok(HeaderValue::from_static(text)),
        Cow::Owned(text) => HeaderValue::try_from(text),
    };
    if let Ok(value) = value {
        response.headers_mut().insert(name, value);
    }
}

const fn name_of(field: Field) -> HeaderName {
    match field {
        Field::ContentType => CONTENT_TYPE,
        Field::ContentLength => CONTENT_LENGTH,
        Field::CdnCacheControl => CDN_CACHE_CONTROL,
        Field::CacheControl => CACHE_CONTROL,
        Field::Etag => ETAG,
        Field::DataVersion => DATA_VERSION,
        Field::Tags => TAGS,
        Field::UnknownValues => UNKNOWN_VALUES,
    }
}

/// 405 with the methods that the path allows.
pub fn wrong_method(allow: &'static str) -> ApiError {
    ApiError {
        allow: Some(allow),
        ..ApiError::new(ErrorCode::MethodNotAllowed, format!("this route accepts only {allow}"))
    }
}
