//! Response headers, each described once.

use rds_shared::access::budget::WINDOW_SECONDS;
use serde_json::{Value, json};

/// The document's `components.headers`.
pub fn components() -> Value {
    let text = |about: &str| json!({"description": about, "schema": {"type": "string"}});
    let always = |about: &str| json!({"description": about, "required": true, "schema": {"type": "string"}});
    let whole = |about: &str| json!({"description": about, "schema": {"type": "integer", "minimum": 0}});
    json!({
        "X-Request-Id": {"description": "Identifies this request in the service's logs; in an error it equals `error.request_id`.", "required": true,
            "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"}},
        "Cache-Control": always("How long clients and intermediate caches may store the response. \
            Errors and responses that must not be stored have `no-store`."),
        "ETag": always("Identifies the content of the response. Send it back as `If-None-Match` to get 304 without a body while the content is unchanged."),
        "ETag-If-Found": text("Identifies the content of the response, for `If-None-Match`. Absent if the decision was not found."),
        "X-Cache": {"description": "Where the response came from: a fresh cached response (`HIT`), made for this request (`MISS`), \
            the origin for a route that is never cached (`BYPASS`), \
            or the last good cached response because a fresh read failed (`STALE-ERROR`).", "required": true,
            "schema": {"type": "string", "enum": ["HIT", "MISS", "BYPASS", "STALE-ERROR"]}},
        "X-Cache-If-Asked": {"description": "Present if the response came from the origin through the edge: \
            `MISS`, or `BYPASS` on a route that is never cached. Absent if the edge refused the request \
            itself or the origin was called directly.",
            "schema": {"type": "string", "enum": ["MISS", "BYPASS"]}},
        "Cache-Status": text("The same information as `X-Cache`, as RFC 9211 defines it."),
        "Age": whole("Seconds since the origin produced or revalidated the cached response; on cached responses only."),
        "Warning": text("`111` on a cached response that is served because a fresh read failed."),
        "X-Data-Version": whole("The data version that the response was computed from."),
        "X-RateLimit-Limit": whole("Requests per window in the rate limit that this request counts against."),
        "X-RateLimit-Remaining": whole("Requests left in the current window."),
        "X-RateLimit-Reset": whole("Unix time in seconds at which the window ends and the full limit is available again."),
        "X-RateLimit-Window": text(&format!("Length of the window: `{WINDOW_SECONDS}s`.")),
        "X-RateLimit-Subclient-Limit": whole("On shared keys: the client's requests per window."),
        "X-RateLimit-Subclient-Remaining": whole("On shared keys: the client's requests left in the current window."),
        "Retry-After": {"description": "Seconds to wait before a retry.", "required": true, "schema": {"type": "integer", "minimum": 0}},
        "WWW-Authenticate": text("The accepted authentication scheme: `Bearer`."),
        "Link": text("The successor of a retired version (`rel=\"successor-version\"`), and the page about deprecated fields (`rel=\"deprecation\"`)."),
        "Deprecation": text("RFC 9745: the time since which a field of the response is deprecated, as `@` and Unix seconds."),
        "X-Accel-Buffering": text("`no`: tells proxies not to buffer the stream."),
        "X-Service-Ignored-Parameters": text("Names of ignored parameters, which the route does not have: percent-encoded, \
            at most ten, then `...`. With `strict=true` the request is refused instead."),
        "X-Service-Unknown-Values": text("Unknown chains, protocols and curators in the request's filters, \
            as `parameter=value`, percent-encoded, at most ten, then `...`. With `strict=true` the request is refused instead."),
        "X-Service-FailSafe-Mode": text("The platform's fail-safe mode, if it is not `normal`."),
    })
}
