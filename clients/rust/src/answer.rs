//! An answer: its content, and what its headers tell.

use crate::error::Error;
use http::HeaderMap;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The content of an answer, with what its headers tell. It dereferences to the content.
///
/// ```
/// # rds_recorded::run(async |client| {
/// let answer = client.stats().get().await?;
/// println!("{:?} {:?}", answer.info().request_id, answer.info().rate_limit);
/// // Members that this version of the library does not know are in the JSON.
/// println!("{}", answer.json()?["data"]);
/// let content = answer.into_inner();
/// # _ = content; Ok(()) })
/// ```
#[derive(Clone, Debug)]
pub struct Answer<T> {
    content: T,
    info: AnswerInfo,
    text: Arc<str>,
}

impl<T> Answer<T> {
    pub(crate) fn new(content: T, info: AnswerInfo, text: Arc<str>) -> Self {
        Answer { content, info, text }
    }

    /// What the headers tell.
    pub fn info(&self) -> &AnswerInfo {
        &self.info
    }

    /// The body as it was received.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The body as JSON, with the members that the content leaves out.
    ///
    /// # Errors
    /// None for answers of this library, whose text was read before.
    pub fn json(&self) -> Result<Value, Error> {
        serde_json::from_str(&self.text).map_err(|error| Error::Decoding(error.to_string()))
    }

    /// The content alone.
    pub fn into_inner(self) -> T {
        self.content
    }
}

impl<T> Deref for Answer<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.content
    }
}

/// What the headers of an answer tell.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AnswerInfo {
    /// The HTTP status; 200 if the content came from the ETag cache.
    pub status: u16,
    /// Identifies the request in the service's logs.
    pub request_id: Option<String>,
    /// The rate limit that leaves you the fewest requests.
    pub rate_limit: Option<RateLimit>,
    /// On shared keys: limit and remaining requests of the client that made the request.
    pub subclient_limit: Option<(u64, u64)>,
    /// The data version that the answer was computed from.
    pub data_version: Option<u64>,
    /// `HIT`, `MISS`, `BYPASS` or `STALE-ERROR`.
    pub cache: Option<String>,
    /// Time since a cached answer was last confirmed.
    pub age: Option<Duration>,
    /// The fail-safe mode of the platform, if it is not `normal`.
    pub fail_safe_mode: Option<String>,
    /// Parameters that the service does not know and ignored.
    pub ignored_parameters: Vec<String>,
    /// Unknown chains, protocols and curators in filters, as `parameter=value`.
    pub unknown_values: Vec<String>,
    /// Whether the service confirmed with 304 what the client had kept.
    pub from_etag_cache: bool,
    /// How often the request was sent.
    pub tries: u32,
    /// All headers.
    pub headers: HeaderMap,
}

impl AnswerInfo {
    /// Whether this is an older answer because a fresh read failed.
    pub fn is_stale(&self) -> bool {
        self.cache.as_deref() == Some("STALE-ERROR")
    }

    pub(crate) fn read(status: u16, headers: HeaderMap, from_etag_cache: bool, tries: u32) -> Self {
        let limit = number(&headers, "x-ratelimit-subclient-limit");
        AnswerInfo {
            status: if from_etag_cache { 200 } else { status },
            request_id: text(&headers, "x-request-id"),
            rate_limit: RateLimit::read(&headers),
            subclient_limit: limit.zip(number(&headers, "x-ratelimit-subclient-remaining")),
            data_version: number(&headers, "x-data-version"),
            cache: text(&headers, "x-cache"),
            age: number(&headers, "age").map(Duration::from_secs),
            fail_safe_mode: text(&headers, "x-service-failsafe-mode"),
            ignored_parameters: list(&headers, "x-service-ignored-parameters"),
            unknown_values: list(&headers, "x-service-unknown-values"),
            from_etag_cache,
            tries,
            headers,
        }
    }
}

/// The state of the rate limit that a request counted against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimit {
    /// Requests per window.
    pub limit: u64,
    /// Requests left in the window.
    pub remaining: u64,
    /// When the window ends and the full limit is available again.
    pub reset: SystemTime,
}

impl RateLimit {
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let reset = Duration::from_secs(number(headers, "x-ratelimit-reset")?);
        Some(RateLimit {
            limit: number(headers, "x-ratelimit-limit")?,
            remaining: number(headers, "x-ratelimit-remaining")?,
            reset: SystemTime::UNIX_EPOCH.checked_add(reset)?,
        })
    }
}

/// A header's value, if it is text.
pub(crate) fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|it| it.to_str().ok()).map(str::to_owned)
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// Percent-encoded names, separated by commas.
fn list(headers: &HeaderMap, name: &str) -> Vec<String> {
    let text = text(headers, name).unwrap_or_default();
    let parts = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    parts.map(|it| percent_decode_str(it).decode_utf8().map_or_else(|_| it.to_owned(), Into::into)).collect()
}
