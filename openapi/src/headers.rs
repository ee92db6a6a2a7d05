//! Headers of answers, each described once.

use rds_shared::access::budget::WINDOW_SECONDS;
use serde_json::{Value, json};

/// `components.headers`.
pub fn components() -> Value {
    let text = |about: &str| json!({"description": about, "schema": {"type": "string"}});
    let always = |about: &str| json!({"description": about, "required": true, "schema": {"type": "string"}});
    let whole = |about: &str| json!({"description": about, "schema": {"type": "integer", "minimum": 0}});
    json!({
        "X-Request-Id": {"description": "Names this request in our logs; in an error it equals `error.request_id`.", "required": true,
            "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"}},
        "Cache-Control": always("How long caches on the way may keep the answer. Errors and what is never kept say `no-store`."),
        "ETag": always("Names what the answer says. Sent back as `If-None-Match` it saves the body."),
        "ETag-If-Found": text("As elsewhere; what is not found has none."),
        "X-Cache": {"description": "How the edge came by the answer: a fresh copy (`HIT`), the origin (`MISS`), a route that is never kept (`BYPASS`), \
            or the last good copy because a fresh read failed (`STALE-ERROR`).", "required": true,
            "schema": {"type": "string", "enum": ["HIT", "MISS", "BYPASS", "STALE-ERROR"]}},
        "X-Cache-If-Asked": {"description": "How the edge came by the answer, where it asked the origin. What it refuses by itself has none, and what the origin answers at its own door.",
            "schema": {"type": "string", "enum": ["MISS", "BYPASS"]}},
        "Cache-Status": text("The same in the words of RFC 9211."),
        "Age": whole("Seconds since the origin vouched for the copy; on copies only."),
        "Warning": text("`111` on a copy that is served because a fresh read failed."),
        "X-Data-Version": whole("The version of the facts that the answer was made from."),
        "X-RateLimit-Limit": whole("Requests a window, of the budget that this request was charged to."),
        "X-RateLimit-Remaining": whole("Requests left in the window."),
        "X-RateLimit-Reset": whole("Unix time in seconds at which the window ends and the whole allowance returns."),
        "X-RateLimit-Window": text(&format!("The window's length: `{WINDOW_SECONDS}s`.")),
        "X-RateLimit-Subclient-Limit": whole("On shared keys: the client's requests a window."),
        "X-RateLimit-Subclient-Remaining": whole("On shared keys: the client's requests left in the window."),
        "Retry-After": {"description": "Seconds after which a retry makes sense.", "required": true, "schema": {"type": "integer", "minimum": 0}},
        "WWW-Authenticate": text("The scheme that would do: `Bearer`."),
        "Link": text("Where to go from what was retired (`rel=\"successor-version\"`), and where to read of what is deprecated (`rel=\"deprecation\"`)."),
        "Deprecation": text("RFC 9745: since when a field of the answer is deprecated, as `@` and unix seconds."),
        "X-Accel-Buffering": text("`no`: keeps proxies from collecting the stream."),
        "X-Service-Ignored-Parameters": text("Parameters of the request that the route does not have, which were ignored: their names, percent-encoded, at most ten, then `...`. With `strict=true` they are refused."),
        "X-Service-Unknown-Values": text("Chains, protocols and curators in the request's filters that nobody knows, as `parameter=value`, percent-encoded, at most ten, then `...`. With `strict=true` they are refused."),
        "X-Service-FailSafe-Mode": text("The platform's fail-safe mode, where it is not `normal`."),
    })
}
