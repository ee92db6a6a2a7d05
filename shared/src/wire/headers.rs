//! Header names, in the one spelling every host uses (lower case: HTTP/2 and the Fetch standard want it).

/// Correlates an answer with the service's logs; equals `error.request_id`.
pub const REQUEST_ID: &str = "x-request-id";
/// How the edge came by this answer: see [`XCache`].
pub const X_CACHE: &str = "x-cache";
/// RFC 9211: the same in the standard's words.
pub const CACHE_STATUS: &str = "cache-status";
/// Set to `111` on a stale copy served because a fresh read failed.
pub const WARNING: &str = "warning";
/// The catalog version an answer was made from.
pub const DATA_VERSION: &str = "x-data-version";
/// Versions of tags ([`crate::route::TagVersions`]): in the origin's answer those it was made from, in the edge's request
/// those it must not be older than. Never forwarded to the caller.
pub const TAGS: &str = "x-service-tags";
/// RFC 9213: how long the edge may hold an answer; never forwarded to the caller.
pub const CDN_CACHE_CONTROL: &str = "cdn-cache-control";
/// The edge's signature over a request to the origin.
pub const ASSERTION: &str = "x-service-assertion";
/// The origin's signature over an answer to the edge.
pub const ANSWER: &str = "x-service-answer";
/// The caller as the edge identified it; covered by the assertion.
pub const PRINCIPAL: &str = "x-service-principal";
/// The names of parameters that the route does not have, which were ignored ([`crate::route::unknown`]).
pub const IGNORED_PARAMETERS: &str = "x-service-ignored-parameters";
/// Chains, protocols and curators in filters that nobody knows, as `parameter=value`.
pub const UNKNOWN_VALUES: &str = "x-service-unknown-values";
/// Requests a window, of the budget that a request was charged to.
pub const RATE_LIMIT: &str = "x-ratelimit-limit";
/// Requests left in the window.
pub const RATE_REMAINING: &str = "x-ratelimit-remaining";
/// Unix time at which the window ends and the whole allowance returns.
pub const RATE_RESET: &str = "x-ratelimit-reset";
/// The window's length, such as `60s`.
pub const RATE_WINDOW: &str = "x-ratelimit-window";
/// On shared keys: the client's requests a window.
pub const SUBCLIENT_LIMIT: &str = "x-ratelimit-subclient-limit";
/// On shared keys: the client's requests left in the window.
pub const SUBCLIENT_REMAINING: &str = "x-ratelimit-subclient-remaining";
/// On shared keys: which of the holder's clients a request is for.
pub const SUBCLIENT: &str = "x-service-subclient";
/// Names a creation, so that repeating it makes nothing new.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The end viewer whom a keyed relay serves; without a key, the caller's address in the edge's words.
pub const CLIENT_IP: &str = "x-service-client-ip";
/// The last cursor that a reconnecting client was given.
pub const LAST_EVENT_ID: &str = "last-event-id";
/// Keeps proxies from collecting a stream.
pub const ACCEL_BUFFERING: &str = "x-accel-buffering";
/// `Cache-Control` of a stream: nobody keeps it, nobody packs it.
pub const NO_STORE_NO_TRANSFORM: &str = "no-store, no-transform";
/// A stream's media type.
pub const EVENT_STREAM: &str = "text/event-stream";
/// The platform's fail-safe mode, when it is not normal.
pub const FAIL_SAFE_MODE: &str = "x-service-failsafe-mode";
/// On a webhook delivery: `t=<unix seconds>,v1=<hex>`, one `v1` a secret.
pub const SIGNATURE: &str = "x-service-signature";
/// On a webhook delivery: what receivers deduplicate on.
pub const EVENT_ID: &str = "x-service-event-id";
/// On a webhook delivery: the attempt's number, from 1.
pub const DELIVERY_ATTEMPT: &str = "x-service-delivery-attempt";
/// Standard Webhooks: the event's id.
pub const WEBHOOK_ID: &str = "webhook-id";
/// Standard Webhooks: the attempt's unix seconds.
pub const WEBHOOK_TIMESTAMP: &str = "webhook-timestamp";
/// Standard Webhooks: `v1,<base64>`, one a secret.
pub const WEBHOOK_SIGNATURE: &str = "webhook-signature";
/// RFC 8288: where to go from what was withdrawn, and where to read of what will be.
pub const LINK: &str = "link";
/// RFC 9745: since when something in the answer is deprecated.
pub const DEPRECATION: &str = "deprecation";
/// RFC 8594: when it will be gone.
pub const SUNSET: &str = "sunset";
/// A body's media type.
pub const CONTENT_TYPE: &str = "content-type";
/// Who sends.
pub const USER_AGENT: &str = "user-agent";

/// `X-Cache`. Source: interface, "Common behaviors", 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XCache {
    /// A fresh copy.
    Hit,
    /// Read from the origin for this request.
    Miss,
    /// This route is never cached.
    Bypass,
    /// The last good copy, because a fresh read failed.
    StaleError,
}

impl XCache {
    /// The header's value.
    pub const fn as_str(self) -> &'static str {
        match self {
            XCache::Hit => "HIT",
            XCache::Miss => "MISS",
            XCache::Bypass => "BYPASS",
            XCache::StaleError => "STALE-ERROR",
        }
    }
}

/// `Warning` on a stale copy. RFC 9111 retired the header; the interface keeps it.
pub const WARNING_STALE: &str = "111 - \"Revalidation Failed\"";
/// Every JSON answer's media type.
pub const JSON: &str = "application/json";
/// What an error carries, so that nobody keeps it.
pub const NO_STORE: &str = "no-store";
