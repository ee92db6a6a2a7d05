//! What a route answers: its success, 304, and every error with its codes; and the headers that come along.

use crate::answers::{self, Success};
use crate::examples::Examples;
use crate::push;
use crate::schemas::published;
use rds_shared::route::deprecation::Place;
use rds_shared::route::{Access, Family, ROUTES, Route, RouteId, is_of_graph};
use rds_shared::wire::error::legacy;
use rds_shared::wire::{ErrorCode, headers};
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Codes by their status.
type Codes = BTreeMap<u16, BTreeSet<ErrorCode>>;

/// `responses` of a route.
pub fn of(route: &Route, generator: &mut SchemaGenerator, examples: &Examples) -> Value {
    let mut all = Map::new();
    let success = answers::of(route.id, generator);
    all.insert("200".into(), success_of(route, &success, examples));
    if is_conditional(route) {
        all.insert("304".into(), json!({"$ref": "#/components/responses/NotModified"}));
    }
    for (status, codes) in codes(route) {
        let answer = match (status, &success) {
            // They report trouble in their own shape where they can, and the edge in its own where they cannot.
            (503, Success::Json(own)) if matches!(route.id, RouteId::Health | RouteId::Ready) => {
                let either = json!({"anyOf": [published(own.clone()), {"$ref": "#/components/schemas/Error"}]});
                json!({
                    "description": "The database does not answer: the same record, as far as it is known. An error where not even that can be had.",
                    "headers": header_refs(&["X-Request-Id", "Cache-Control", "Retry-After"]),
                    "content": {headers::JSON: {"schema": either}},
                })
            }
            _ => json!({"$ref": format!("#/components/responses/{}", name_of(status, &codes))}),
        };
        all.insert(status.to_string(), answer);
    }
    all.into()
}

/// `components.responses`: 304, and one response for each set of codes that some route has.
pub fn components() -> Value {
    let mut all = Map::new();
    all.insert(
        "NotModified".into(),
        json!({
            "description": "The copy that `If-None-Match` names still holds.",
            "headers": header_refs(&["X-Request-Id", "ETag", "Cache-Control", "X-Cache"]),
        }),
    );
    for (status, codes) in ROUTES.iter().flat_map(codes) {
        all.insert(name_of(status, &codes), error(status, &codes));
    }
    all.into()
}

/// `components.headers`.
pub fn header_components() -> Value {
    let text = |about: &str| json!({"description": about, "schema": {"type": "string"}});
    let always = |about: &str| json!({"description": about, "required": true, "schema": {"type": "string"}});
    let whole = |about: &str| json!({"description": about, "schema": {"type": "integer", "minimum": 0}});
    json!({
        "X-Request-Id": {"description": "Names this request in our logs; in an error it equals `error.request_id`.", "required": true,
            "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"}},
        "Cache-Control": always("How long caches on the way may keep the answer. Errors and what is never kept say `no-store`."),
        "ETag": always("Names what the answer says. Sent back as `If-None-Match` it saves the body."),
        "X-Cache": {"description": "How the edge came by the answer: a fresh copy (`HIT`), the origin (`MISS`), a route that is never kept (`BYPASS`), \
            or the last good copy because a fresh read failed (`STALE-ERROR`).", "required": true,
            "schema": {"type": "string", "enum": ["HIT", "MISS", "BYPASS", "STALE-ERROR"]}},
        "Cache-Status": text("The same in the words of RFC 9211."),
        "Age": whole("Seconds since the origin vouched for the copy; on copies only."),
        "Warning": text("`111` on a copy that is served because a fresh read failed."),
        "X-Data-Version": whole("The version of the facts that the answer was made from."),
        "X-RateLimit-Limit": whole("Requests a window, of the budget that this request was charged to."),
        "X-RateLimit-Remaining": whole("Requests left in the window."),
        "X-RateLimit-Reset": whole("Unix time in seconds at which the window ends and the whole allowance returns."),
        "X-RateLimit-Window": text("The window's length: `60s`."),
        "X-RateLimit-Subclient-Limit": whole("On shared keys: the client's requests a window."),
        "X-RateLimit-Subclient-Remaining": whole("On shared keys: the client's requests left in the window."),
        "Retry-After": {"description": "Seconds after which a retry makes sense.", "required": true, "schema": {"type": "integer", "minimum": 0}},
        "WWW-Authenticate": text("The scheme that would do: `Bearer`."),
        "Link": text("Where to go from what was retired (`rel=\"successor-version\"`), and where to read of what is deprecated (`rel=\"deprecation\"`)."),
        "Deprecation": text("RFC 9745: since when a field of the answer is deprecated, as `@` and unix seconds."),
        "X-Service-FailSafe-Mode": text("The platform's fail-safe mode, where it is not `normal`."),
    })
}

/// `components.schemas.Error`: the envelope of every error.
pub fn envelope(generator: &mut SchemaGenerator) -> Value {
    let code = generator.subschema_for::<ErrorCode>();
    let detail = generator.subschema_for::<rds_shared::wire::error::Detail>();
    published(json!({
        "type": "object", "required": ["error"],
        "description": "What went wrong. Its status follows from `code`.",
        "properties": {"error": {
            "type": "object", "description": "The one error, also where a request has several faults.", "required": ["code", "message", "request_id"],
            "properties": {
                "code": code,
                "message": {"type": "string", "description": "For a person to read; it may be worded differently tomorrow."},
                "request_id": {"type": "string", "pattern": "^[0-9a-f]{32}$", "description": "Names the request in our logs; equals the header `X-Request-Id`."},
                "legacy_code": {"type": "string", "enum": legacy::ALL, "description": "The former lower-case code, where there was one."},
                "details": {"type": "array", "items": detail, "description": "Each fault of the request, where it is the request's."},
                "successor": {"type": "string", "description": "The version to go on with, of a retired one."},
            },
        }},
    }))
}

/// Whether a copy of the caller's can be confirmed.
fn is_conditional(route: &Route) -> bool {
    route.cache.is_kept() || route.cache.beyond.is_some()
}

fn success_of(route: &Route, success: &Success, examples: &Examples) -> Value {
    let mut names = vec!["X-Request-Id", "Cache-Control", "X-Cache"];
    if route.family == Family::Unmetered {
        // Answered by the origin's own door too, which keeps nothing.
        names.truncate(2);
    }
    if is_conditional(route) {
        names.extend(["ETag", "Cache-Status", "Age", "Warning", "X-Data-Version"]);
    }
    if route.family != Family::Unmetered {
        names.extend(["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Window"]);
        names.extend(["X-RateLimit-Subclient-Limit", "X-RateLimit-Subclient-Remaining"]);
    }
    if route.tells_fail_safe() {
        names.push("X-Service-FailSafe-Mode");
    }
    if route.deprecated.iter().any(|field| field.place == Place::Answer) {
        names.extend(["Deprecation", "Link"]);
    }
    let (media_type, mut media) = match success {
        Success::Json(schema) => (headers::JSON, json!({"schema": published(schema.clone())})),
        Success::Stream => (headers::EVENT_STREAM, push::stream_media(examples)),
        Success::Page => ("text/html", json!({"schema": {"type": "string"}})),
        Success::Document => (headers::JSON, json!({"schema": {"type": "object", "description": "OpenAPI 3.1."}})),
    };
    if let (Some(response), Some(members)) =
        (examples.of(route.id).and_then(|example| example.response.as_ref()), media.as_object_mut())
    {
        members.insert("example".into(), response.clone());
    }
    json!({"description": route.about, "headers": header_refs(&names), "content": {media_type: media}})
}

/// The errors a route can answer, by status: its own, and those that every route of its kind has.
pub fn codes(route: &Route) -> Codes {
    let mut all: BTreeSet<ErrorCode> = route.errors.iter().copied().collect();
    all.extend([ErrorCode::InternalError, ErrorCode::ServiceUnavailable, ErrorCode::DeadlineExceeded]);
    all.insert(ErrorCode::UriTooLong);
    if route.scores {
        all.insert(ErrorCode::FailClosed);
    }
    if !route.query.is_empty() {
        all.insert(ErrorCode::InvalidParameter);
    }
    if route.family != Family::Unmetered {
        all.extend([ErrorCode::Unauthorized, ErrorCode::RateLimited, ErrorCode::DailyLimitExceeded]);
    }
    if matches!(route.access, Access::Data | Access::Decisioning) {
        all.insert(ErrorCode::Forbidden);
    }
    if !matches!(route.access, Access::Public | Access::Index) {
        // The header that names a client of a shared key.
        all.insert(ErrorCode::InvalidParameter);
    }
    if route.path.contains('{') || is_of_graph(route.path) {
        all.insert(ErrorCode::NotFound);
    }
    let mut by_status = Codes::new();
    for code in all {
        by_status.entry(code.status()).or_default().insert(code);
    }
    by_status
}

/// The name of a response component: the status in words and the codes, so that equal answers are one component.
fn name_of(status: u16, codes: &BTreeSet<ErrorCode>) -> String {
    let words: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    format!("{status}.{}", words.join("."))
}

fn error(status: u16, codes: &BTreeSet<ErrorCode>) -> Value {
    let mut names = vec!["X-Request-Id", "Cache-Control"];
    if codes.iter().any(|code| code.retry_after().is_some()) {
        names.push("Retry-After");
    }
    match status {
        401 => names.push("WWW-Authenticate"),
        410 => names.push("Link"),
        429 => names.extend(["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Window"]),
        503 => names.push("X-Service-FailSafe-Mode"),
        _ => {}
    }
    let words: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    let lines: Vec<String> = codes.iter().map(|code| format!("- `{}`: {}", code.as_str(), code.about())).collect();
    let narrowed =
        json!({"type": "object", "properties": {"error": {"type": "object", "properties": {"code": {"enum": words}}}}});
    json!({
        "description": lines.join("\n"),
        "headers": header_refs(&names),
        "content": {headers::JSON: {"schema": {"allOf": [{"$ref": "#/components/schemas/Error"}, narrowed]}}},
    })
}

fn header_refs(names: &[&str]) -> Value {
    let refs = names.iter().map(|name| ((*name).to_owned(), json!({"$ref": format!("#/components/headers/{name}")})));
    Value::Object(refs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statuses(id: RouteId) -> Vec<u16> {
        codes(id.route()).into_keys().collect()
    }

    #[test]
    fn errors_follow_from_what_a_route_is() {
        assert_eq!(statuses(RouteId::Ready), [414, 500, 503, 504]);
        assert_eq!(statuses(RouteId::Chains), [401, 414, 429, 500, 503, 504]);
        assert!(statuses(RouteId::VaultDetail).contains(&404) && statuses(RouteId::VaultScores).contains(&403));
        assert!(statuses(RouteId::BasketVersion).contains(&410) && statuses(RouteId::WebhookCreate).contains(&409));
    }

    #[test]
    fn whoever_may_retry_is_told_when() {
        for (name, response) in components().as_object().unwrap() {
            let retry = ["429.", "503.", "504."].iter().any(|status| name.starts_with(status));
            assert_eq!(response["headers"].get("Retry-After").is_some(), retry, "{name}");
        }
    }
}
