//! Error codes and the error envelope, shared by all hosts.
//!
//! A message is written for the caller; the internal cause is logged and never sent.

use super::TARGET_BYTES;
pub use super::details::{Details, MAX_DETAILS};
use super::details::{MESSAGE_BYTES, cut};
use super::request_id::RequestId;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde::{Serialize, Serializer};

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $variant:ident = $status:literal $text:literal $(retry $retry:literal)?;)*) => {
        /// Every code an answer can carry, with its status and its default `Retry-After`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ErrorCode { $($(#[doc = $doc])* $variant,)* }

        impl ErrorCode {
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$variant,)*];

            /// The code as written in `error.code`.
            pub const fn as_str(self) -> &'static str {
                match self { $(ErrorCode::$variant => $text,)* }
            }

            /// The meaning of the code, in one sentence.
            pub const fn about(self) -> &'static str {
                match self { $(ErrorCode::$variant => concat!($($doc),*).trim_ascii(),)* }
            }

            pub const fn status(self) -> u16 {
                match self { $(ErrorCode::$variant => $status,)* }
            }

            /// Default `Retry-After` in seconds, for errors that do not set their own.
            pub const fn retry_after(self) -> Option<u32> {
                match self { $(ErrorCode::$variant => codes!(@retry $($retry)?),)* }
            }
        }
    };
    (@retry) => { None };
    (@retry $seconds:literal) => { Some($seconds) };
}

codes! {
    /// A parameter is malformed or out of range.
    InvalidParameter = 400 "INVALID_PARAMETER";
    /// A required parameter is missing.
    MissingParameter = 400 "MISSING_PARAMETER";
    /// Not a valid address on any chain.
    InvalidAddress = 400 "INVALID_ADDRESS";
    /// The address belongs to another kind of chain than the one requested.
    AddressNamespaceMismatch = 400 "ADDRESS_NAMESPACE_MISMATCH";
    /// The cursor was not issued by this service, or belongs to another mode.
    InvalidCursor = 400 "INVALID_CURSOR";
    /// The body is not valid JSON, or does not have the structure that the route accepts.
    InvalidBody = 400 "INVALID_BODY";
    /// The request has more items than the route accepts at once.
    TooManyItems = 400 "TOO_MANY_ITEMS";
    /// Deliveries to this URL are not allowed.
    WebhookUrlRejected = 400 "WEBHOOK_URL_REJECTED";
    /// A required key or token is missing, or the one sent is not valid.
    Unauthorized = 401 "UNAUTHORIZED";
    /// The key is valid but does not include this request.
    Forbidden = 403 "FORBIDDEN";
    /// The resource or the route does not exist.
    NotFound = 404 "NOT_FOUND";
    /// The path does not accept this method; `Allow` lists the ones it does.
    MethodNotAllowed = 405 "METHOD_NOT_ALLOWED";
    /// The change conflicts with the current state.
    Conflict = 409 "CONFLICT";
    /// The `Idempotency-Key` was already used for a different request.
    IdempotencyKeyReused = 409 "IDEMPOTENCY_KEY_REUSED";
    /// The basket version is retired; the answer names its successor.
    VersionRetired = 410 "VERSION_RETIRED";
    /// The body is larger than the route accepts.
    PayloadTooLarge = 413 "PAYLOAD_TOO_LARGE";
    /// The URL is longer than the service accepts.
    UriTooLong = 414 "URI_TOO_LONG";
    /// The body must be sent as JSON.
    UnsupportedMediaType = 415 "UNSUPPORTED_MEDIA_TYPE";
    /// The rate limit of the current window is exhausted.
    RateLimited = 429 "RATE_LIMITED" retry 60;
    /// The daily limit of the caller's IP address or network is exhausted.
    DailyLimitExceeded = 429 "DAILY_LIMIT_EXCEEDED" retry 3600;
    /// Too many open streams for this key or viewer.
    StreamLimitReached = 429 "STREAM_LIMIT_REACHED" retry 10;
    /// An unexpected error occurred in the service.
    InternalError = 500 "INTERNAL_ERROR";
    /// A part of the service is unavailable; nothing was lost.
    ServiceUnavailable = 503 "SERVICE_UNAVAILABLE" retry 5;
    /// Scores are withheld on purpose, because they may be wrong.
    FailClosed = 503 "FAIL_CLOSED" retry 60;
    /// The data for this answer has not been built yet.
    MaterializationUnavailable = 503 "MATERIALIZATION_UNAVAILABLE" retry 600;
    /// This server is shutting down; a retry reaches another one.
    ShuttingDown = 503 "SHUTTING_DOWN" retry 1;
    /// The request took too long and was stopped.
    DeadlineExceeded = 504 "DEADLINE_EXCEEDED" retry 5;
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Former lower-case codes, sent as `error.legacy_code` for the first release after the codes became upper-case. No others are known.
pub mod legacy {
    /// The key that was sent is not valid: [`super::ErrorCode::Unauthorized`].
    pub const INVALID_API_KEY: &str = "invalid_api_key";
    /// A key is required but none was sent: [`super::ErrorCode::Unauthorized`].
    pub const TIER_REQUIRED: &str = "tier_required";
    pub const ALL: [&str; 2] = [INVALID_API_KEY, TIER_REQUIRED];
}

/// The part of the request that contains an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "FaultPlace"))]
#[serde(rename_all = "lowercase")]
pub enum In {
    /// A path segment.
    Path,
    /// A query parameter.
    Query,
    /// A request header.
    Header,
    /// A field of the JSON body, as a path such as `ids[3]`.
    Body,
}

/// One error in a request: an entry of `error.details`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ErrorDetail"))]
pub struct Detail {
    /// The part of the request that contains the error.
    #[serde(rename = "in")]
    pub location: In,
    /// Name of the parameter, header or body field.
    pub name: Cow<'static, str>,
    /// Description of the error, for people to read.
    pub reason: String,
    /// Smallest accepted value; absent without a lower bound.
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "bound")]
    pub minimum: Option<f64>,
    /// Greatest accepted value; absent without an upper bound.
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "bound")]
    pub maximum: Option<f64>,
    /// The accepted values; absent unless they form a short list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<&'static [&'static str]>,
}

/// Writes a whole-number bound as an integer: 100, not 100.0.
fn bound<S: Serializer>(bound: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match bound {
        Some(number) if *number as i64 as f64 == *number => serializer.serialize_i64(*number as i64),
        other => other.serialize(serializer),
    }
}

impl Detail {
    /// A detail without bounds.
    pub fn new(location: In, name: impl Into<Cow<'static, str>>, reason: impl Into<String>) -> Self {
        Detail { location, name: name.into(), reason: reason.into(), minimum: None, maximum: None, allowed: None }
    }
}

/// An error answer: the code, the message for the caller, and the values of its headers.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    /// Determines the HTTP status.
    pub code: ErrorCode,
    /// The message for the caller; never an internal cause.
    pub message: Cow<'static, str>,
    /// The former lower-case code, during the migration window.
    pub legacy_code: Option<&'static str>,
    /// The errors found in a request, on a 400.
    pub details: Details,
    /// Seconds for `Retry-After`.
    pub retry_after: Option<u32>,
    /// The methods for `Allow`, on a 405.
    pub allow: Option<&'static str>,
    /// The resource that replaces the withdrawn one, on a 410.
    pub successor: Option<Box<Successor>>,
}

/// The resource that replaces a withdrawn one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Successor {
    /// Sent as `error.successor`.
    pub id: String,
    /// The target of the `Link` header.
    pub path: String,
}

impl Successor {
    /// A basket version as successor.
    pub fn of_basket(basket_id: &str, version_id: String) -> Self {
        Successor { path: format!("/v1/baskets/{basket_id}/version/{version_id}"), id: version_id }
    }

    /// The value of `Link` (RFC 8288) with the relation `successor-version` (RFC 5829).
    pub fn link(&self) -> String {
        format!("<{}>; rel=\"successor-version\"", self.path)
    }
}

impl ApiError {
    /// An error with the code's default `Retry-After`.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        ApiError {
            code,
            message: message.into(),
            legacy_code: None,
            details: Details::default(),
            retry_after: code.retry_after(),
            allow: None,
            successor: None,
        }
    }

    /// An invalid request. The message is composed of the details, so it names every parameter.
    pub fn invalid(code: ErrorCode, details: Vec<Detail>) -> Self {
        let details = Details::from(details);
        let mut message = String::new();
        for detail in details.iter() {
            if !message.is_empty() {
                message.push_str("; ");
            }
            message.push_str(&detail.name);
            message.push(' ');
            message.push_str(&detail.reason);
        }
        let others = details.total().saturating_sub(details.len());
        if others > 0 {
            message.push_str(&format!("; and {others} more"));
        }
        ApiError { details, ..ApiError::new(code, message) }
    }

    /// An invalid request with a single wrong parameter.
    pub fn parameter(detail: Detail) -> Self {
        Self::invalid(ErrorCode::InvalidParameter, alloc::vec![detail])
    }

    /// A missing resource; `what` is a noun such as `vault`.
    pub fn not_found(what: &'static str) -> Self {
        let mut message = String::from("no such ");
        message.push_str(what);
        ApiError::new(ErrorCode::NotFound, message)
    }

    /// Sets `Retry-After`.
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub fn status(&self) -> u16 {
        self.code.status()
    }

    /// The error for a retired basket version.
    pub fn version_retired(successor: Successor) -> Self {
        let message = "this version is retired; `successor` is the version that replaces it";
        ApiError { successor: Some(Box::new(successor)), ..ApiError::new(ErrorCode::VersionRetired, message) }
    }

    /// The envelope: `{"error":{code, message, request_id[, legacy_code][, details][, detail_count][, successor]}}`. `detail_count` is
    /// the total number of details, present when not all are listed.
    pub fn to_json(&self, request_id: RequestId) -> String {
        #[derive(Serialize)]
        struct Envelope<'a> {
            error: Body<'a>,
        }
        #[derive(Serialize)]
        struct Body<'a> {
            code: ErrorCode,
            message: &'a str,
            request_id: RequestId,
            #[serde(skip_serializing_if = "Option::is_none")]
            legacy_code: Option<&'static str>,
            #[serde(skip_serializing_if = "<[Detail]>::is_empty")]
            details: &'a [Detail],
            #[serde(skip_serializing_if = "Option::is_none")]
            detail_count: Option<usize>,
            #[serde(skip_serializing_if = "Option::is_none")]
            successor: Option<&'a str>,
        }
        let cut_message = cut(&self.message, MESSAGE_BYTES);
        let envelope = Envelope {
            error: Body {
                code: self.code,
                message: cut_message.as_deref().unwrap_or(&self.message),
                request_id,
                legacy_code: self.legacy_code,
                details: &self.details,
                detail_count: Some(self.details.total()).filter(|total| *total > self.details.len()),
                successor: self.successor.as_ref().map(|successor| successor.id.as_str()),
            },
        };
        // Strings, numbers and an id always serialise, so the fallback is never used.
        serde_json::to_string(&envelope).unwrap_or_else(|_| String::from("{\"error\":{\"code\":\"INTERNAL_ERROR\"}}"))
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.status(), self.code.as_str(), self.message)
    }
}

impl core::error::Error for ApiError {}

impl From<ErrorCode> for ApiError {
    fn from(code: ErrorCode) -> Self {
        let message = match code {
            ErrorCode::InternalError => "internal error; quote the request id when you report it",
            ErrorCode::ServiceUnavailable => "a part of the service is not answering; try again shortly",
            ErrorCode::FailClosed => "scores are withheld on purpose until an operator has checked them",
            ErrorCode::ShuttingDown => "this server is shutting down; try again",
            ErrorCode::DeadlineExceeded => "the request took too long and was stopped",
            ErrorCode::UriTooLong => {
                return ApiError::new(code, format!("the URL is longer than {TARGET_BYTES} bytes"));
            }
            other => return ApiError::new(other, other.as_str().to_string()),
        };
        ApiError::new(code, message)
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
