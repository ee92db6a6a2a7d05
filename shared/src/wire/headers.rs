//! Header names in lower case: HTTP/2 requires it (RFC 9113, section 8.2), and the Fetch standard lists headers that way.

/// The id of the request in the service's logs; equals `error.request_id`.
pub const REQUEST_ID: &str = "x-request-id";
/// The trace of a request (W3C Trace Context), read by [`super::traceparent`]. The origin reads it only from the edge's signed head.
pub const TRACEPARENT: &str = "traceparent";
/// How the edge obtained the answer; [`XCache`] lists the values.
pub const X_CACHE: &str = "x-cache";
/// The same as `x-cache`, in the standard's form (RFC 9211).
pub const CACHE_STATUS: &str = "cache-status";
/// Set to `111` on a stale response that is served because a fresh read failed.
pub const WARNING: &str = "warning";
/// The catalog version that an answer was made from.
pub const DATA_VERSION: &str = "x-data-version";
/// Tag versions ([`crate::route::TagVersions`]): a request of the edge contains the oldest acceptable versions, an answer of the origin
/// the versions that it was made from. Never forwarded to the caller.
pub const TAGS: &str = "x-service-tags";
/// How long the edge may cache an answer (RFC 9213). Never forwarded to the caller.
pub const CDN_CACHE_CONTROL: &str = "cdn-cache-control";
/// The edge assertion: the edge's signature over a request to the origin.
pub const ASSERTION: &str = "x-service-assertion";
/// The answer signature: the origin's signature over an answer to the edge.
pub const ANSWER: &str = "x-service-answer";
/// The caller as the edge identified it; covered by the assertion.
pub const PRINCIPAL: &str = "x-service-principal";
/// Names of the parameters that were ignored because the route does not have them ([`crate::route::unknown`]).
pub const IGNORED_PARAMETERS: &str = "x-service-ignored-parameters";
/// Unknown chains, protocols and curators in filters, as `parameter=value`.
pub const UNKNOWN_VALUES: &str = "x-service-unknown-values";
/// Requests per window of the budget that the request was charged to.
pub const RATE_LIMIT: &str = "x-ratelimit-limit";
/// Requests left in the window.
pub const RATE_REMAINING: &str = "x-ratelimit-remaining";
/// Unix time, in seconds, at which the full limit is available again.
pub const RATE_RESET: &str = "x-ratelimit-reset";
/// The window's length, such as `60s`.
pub const RATE_WINDOW: &str = "x-ratelimit-window";
/// On shared keys: the client's requests per window.
pub const SUBCLIENT_LIMIT: &str = "x-ratelimit-subclient-limit";
/// On shared keys: the client's requests left in the window.
pub const SUBCLIENT_REMAINING: &str = "x-ratelimit-subclient-remaining";
/// On shared keys: the key holder's client for which the request is made.
pub const SUBCLIENT: &str = "x-service-subclient";
/// A key that the client chooses for a creating request, so that a repetition of the request creates nothing new.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The address of the viewer that a keyed relay serves; without a key, the caller's address as determined by the edge.
pub const CLIENT_IP: &str = "x-service-client-ip";
/// The last cursor that a reconnecting client received.
pub const LAST_EVENT_ID: &str = "last-event-id";
/// The value `no` makes proxies such as nginx forward a stream without buffering.
pub const ACCEL_BUFFERING: &str = "x-accel-buffering";
/// `Cache-Control` of a stream: it must not be stored, nor compressed on the way.
pub const NO_STORE_NO_TRANSFORM: &str = "no-store, no-transform";
/// A stream's media type.
pub const EVENT_STREAM: &str = "text/event-stream";
/// The platform's fail-safe mode; absent in normal operation.
pub const FAIL_SAFE_MODE: &str = "x-service-failsafe-mode";
/// On a webhook delivery: `t=<unix seconds>,v1=<hex>`, with one `v1` for each secret.
pub const SIGNATURE: &str = "x-service-signature";
/// On a webhook delivery: the event's id, for deduplication by receivers.
pub const EVENT_ID: &str = "x-service-event-id";
/// On a webhook delivery: the attempt's number, from 1.
pub const DELIVERY_ATTEMPT: &str = "x-service-delivery-attempt";
/// Standard Webhooks: the event's id.
pub const WEBHOOK_ID: &str = "webhook-id";
/// Standard Webhooks: the attempt's time in Unix seconds.
pub const WEBHOOK_TIMESTAMP: &str = "webhook-timestamp";
/// Standard Webhooks: `v1,<base64>`, one for each secret.
pub const WEBHOOK_SIGNATURE: &str = "webhook-signature";
/// Links to the successor of a withdrawn resource, or to the documentation of a planned withdrawal (RFC 8288).
pub const LINK: &str = "link";
/// Time since which something in the answer is deprecated (RFC 9745).
pub const DEPRECATION: &str = "deprecation";
/// Time at which the deprecated part will be removed (RFC 8594).
pub const SUNSET: &str = "sunset";
/// The media type of a body.
pub const CONTENT_TYPE: &str = "content-type";
/// Name of the software that sends the request.
pub const USER_AGENT: &str = "user-agent";

/// Values of `X-Cache`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XCache {
    /// A fresh cached response.
    Hit,
    /// Read from the origin for this request.
    Miss,
    /// The route is never cached.
    Bypass,
    /// A stale cached response, served because a fresh read failed (stale-if-error).
    StaleError,
}

impl XCache {
    pub const fn as_str(self) -> &'static str {
        match self {
            XCache::Hit => "HIT",
            XCache::Miss => "MISS",
            XCache::Bypass => "BYPASS",
            XCache::StaleError => "STALE-ERROR",
        }
    }
}

/// Value of `Warning` on a stale response. RFC 9111 made the header obsolete; the API keeps it.
pub const WARNING_STALE: &str = "111 - \"Revalidation Failed\"";
/// The media type of JSON answers.
pub const JSON: &str = "application/json";
/// `Cache-Control` of an error, so that it is not cached.
pub const NO_STORE: &str = "no-store";
