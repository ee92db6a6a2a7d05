//! The responses of a route: success, 304, and every error with its codes, each with its headers.

use crate::answers::{self, Success};
use crate::examples::Examples;
use crate::schemas::published;
use crate::{mcp, push};
use rds_shared::route::deprecation::Place;
use rds_shared::route::param::Default;
use rds_shared::route::{Access, ROUTES, RateLimitClass, Route, RouteId, is_graph_path};
use rds_shared::wire::error::legacy;
use rds_shared::wire::{ErrorCode, headers};
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Error codes by status.
type Codes = BTreeMap<u16, BTreeSet<ErrorCode>>;

/// The route properties that determine the headers of a response, besides its status. Routes of equal kind share response
/// components.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    /// Whether requests count against a rate limit, so that responses carry the rate-limit headers.
    metered: bool,
    /// Whether responses report the fail-safe mode if it is not normal.
    tells_mode: bool,
}

impl Kind {
    fn of(route: &Route) -> Self {
        Kind { metered: route.rate_limit_class != RateLimitClass::Unmetered, tells_mode: route.states_fail_safe_mode() }
    }

    /// Suffix of the names of the response components of this kind.
    fn suffix(self) -> &'static str {
        match (self.metered, self.tells_mode) {
            (true, false) => "",
            (true, true) => ".mode",
            (false, false) => ".unmetered",
            (false, true) => ".unmetered.mode",
        }
    }
}

/// The rate-limit headers of a metered response.
const BUDGET: [&str; 6] = [
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-RateLimit-Window",
    "X-RateLimit-Subclient-Limit",
    "X-RateLimit-Subclient-Remaining",
];

/// The `responses` of a route.
pub fn of(route: &Route, generator: &mut SchemaGenerator, examples: &Examples) -> Value {
    let mut all = Map::new();
    let success = answers::of(route.id, generator);
    all.insert("200".into(), success_of(route, &success, examples));
    if is_conditional(route) {
        all.insert("304".into(), json!({"$ref": format!("#/components/responses/{}", name_of_304(route))}));
    }
    let kind = Kind::of(route);
    for (status, codes) in codes(route) {
        let answer = match (status, &success) {
            // These routes report a failure in their own response type; if they cannot, the edge answers with an error.
            (503, Success::Json(own)) if matches!(route.id, RouteId::Health | RouteId::Ready) => {
                let either = json!({"anyOf": [published(own.clone()), {"$ref": "#/components/schemas/Error"}]});
                let words: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
                json!({
                    "x-codes": words,
                    "description": "The database does not answer: the same object, as far as it is known, or an error if it is not available.",
                    "headers": header_refs(headers_of_error(status, &codes, kind)),
                    "content": {headers::JSON: {"schema": either}},
                })
            }
            // For a missing page, browsers get an HTML page and other clients a JSON error.
            (404, Success::Files(_)) if route.id == RouteId::DocsFile => {
                let mut answer = error(status, &codes, kind, examples);
                if let Some(content) = answer["content"].as_object_mut() {
                    content.insert("text/html".into(), file("text/html"));
                }
                answer
            }
            (400, Success::JsonRpc) => mcp::refused(error(status, &codes, kind, examples)),
            _ => json!({"$ref": format!("#/components/responses/{}", name_of(status, &codes, kind))}),
        };
        all.insert(status.to_string(), answer);
    }
    if route.id == RouteId::Mcp {
        all.extend(mcp::other_responses());
    }
    all.into()
}

/// `components.responses`: one 304 for each set of headers, and one response for each set of codes and headers in use.
pub fn components(examples: &Examples) -> Value {
    let mut all = Map::new();
    for route in ROUTES {
        if is_conditional(route) {
            let answer = json!({"description": "Not modified: the ETag in `If-None-Match` is still current.",
                "headers": header_refs(headers_of_success(route))});
            all.insert(name_of_304(route), answer);
        }
        let kind = Kind::of(route);
        for (status, codes) in codes(route) {
            // Routes with their own error response have it inline.
            if !matches!(
                (status, route.id),
                (503, RouteId::Health | RouteId::Ready) | (404, RouteId::DocsFile) | (400, RouteId::Mcp)
            ) {
                all.insert(name_of(status, &codes, kind), error(status, &codes, kind, examples));
            }
        }
    }
    all.into()
}

/// `components.schemas.Error`: the envelope of every error.
pub fn envelope(generator: &mut SchemaGenerator) -> Value {
    let code = generator.subschema_for::<ErrorCode>();
    let detail = generator.subschema_for::<rds_shared::wire::error::Detail>();
    published(json!({
        "type": "object", "required": ["error"],
        "description": "An error. `code` determines the status.",
        "properties": {"error": {
            "type": "object", "description": "The error. There is one per response, even if the request has several faults.",
            "required": ["code", "message", "request_id"],
            "properties": {
                "code": code,
                "message": {"type": "string", "description": "A text for people; its wording may change."},
                "request_id": {"type": "string", "pattern": "^[0-9a-f]{32}$",
                    "description": "Identifies the request in the service's logs; equals the header `X-Request-Id`."},
                "legacy_code": {"type": "string", "enum": legacy::ALL, "description": "The former lower-case code, if there was one."},
                "details": {"type": "array", "items": detail,
                    "description": "The faults of the request, if the request caused the error; at most the first 20."},
                "detail_count": {"type": "integer", "minimum": 21, "description": "Total number of faults, present if `details` does not list all."},
                "successor": {"type": "string", "description": "The version that replaces a retired one."},
            },
        }},
    }))
}

/// Whether the route supports `If-None-Match`.
pub(crate) fn is_conditional(route: &Route) -> bool {
    route.cache.is_kept() || route.cache.beyond.is_some() || is_file(route)
}

/// Whether the route serves files of the documentation, which are part of the release.
fn is_file(route: &Route) -> bool {
    matches!(route.id, RouteId::Docs | RouteId::DocsFile)
}

/// Headers of a successful response and of its 304.
fn headers_of_success(route: &Route) -> Vec<&'static str> {
    let mut names = vec!["X-Request-Id", "Cache-Control", "X-Service-Ignored-Parameters"];
    if has_registered_names(route) {
        names.push("X-Service-Unknown-Values");
    }
    if !is_file(route) && route.id != RouteId::Mcp {
        // `/ready` is also served by the origin's listeners directly, which do not cache.
        let is_edges = route.rate_limit_class != RateLimitClass::Unmetered;
        names.extend([if is_edges { "X-Cache" } else { "X-Cache-If-Asked" }, "Cache-Status"]);
    }
    match route.id {
        // An unknown decision may be issued later, so its response has no ETag.
        RouteId::DecisionVerify => names.push("ETag-If-Found"),
        _ if is_conditional(route) => names.push("ETag"),
        _ => {}
    }
    if route.cache.is_kept() {
        names.extend(["Age", "Warning", "X-Data-Version"]);
    }
    if route.rate_limit_class != RateLimitClass::Unmetered {
        names.extend(BUDGET);
    }
    if route.streams() {
        names.push("X-Accel-Buffering");
    }
    if route.states_fail_safe_mode() {
        names.push("X-Service-FailSafe-Mode");
    }
    if has_deprecated_fields(route) {
        names.extend(["Deprecation", "Link"]);
    }
    names
}

/// Whether a filter's names are looked up in a registry, so that unknown names are reported.
fn has_registered_names(route: &Route) -> bool {
    route.query.iter().any(|param| param.registry.is_some())
}

fn has_deprecated_fields(route: &Route) -> bool {
    route.deprecated.iter().any(|field| field.place == Place::Answer)
}

fn success_of(route: &Route, success: &Success, examples: &Examples) -> Value {
    let media = match success {
        Success::Json(schema) => vec![(headers::JSON, json!({"schema": published(schema.clone())}))],
        Success::Stream => vec![(headers::EVENT_STREAM, push::stream_media(examples))],
        Success::Document => {
            vec![(headers::JSON, json!({"schema": {"type": "object", "description": "OpenAPI 3.1."}}))]
        }
        Success::JsonRpc => vec![(headers::JSON, json!({"schema": mcp::response()}))],
        Success::Files(kinds) => kinds.iter().map(|kind| (*kind, file(kind))).collect(),
    };
    let response = examples.of(route.id).and_then(|example| example.response.as_ref());
    let media = media.into_iter().map(|(media_type, mut media)| {
        if let (headers::JSON, Some(response), Some(members)) = (media_type, response, media.as_object_mut()) {
            members.insert("example".into(), response.clone());
        }
        (media_type.to_owned(), media)
    });
    let content: Map<String, Value> = media.collect();
    json!({"description": route.about, "headers": header_refs(headers_of_success(route)), "content": content})
}

fn file(media_type: &str) -> Value {
    match media_type {
        // JSON Schema does not describe binary content.
        "application/wasm" => json!({}),
        "application/schema+json" => json!({"schema": {"type": "object"}}),
        _ => json!({"schema": {"type": "string"}}),
    }
}

/// The error codes of a route, by status: those in its row of the route table, those of every route, and those that follow from its access,
/// parameters and path.
pub fn codes(route: &Route) -> Codes {
    let mut all: BTreeSet<ErrorCode> = route.errors.iter().copied().collect();
    all.extend([ErrorCode::InternalError, ErrorCode::ServiceUnavailable, ErrorCode::DeadlineExceeded]);
    all.insert(ErrorCode::UriTooLong);
    if route.scores {
        all.insert(ErrorCode::FailClosed);
    }
    // `strict` is a parameter of every route.
    all.insert(ErrorCode::InvalidParameter);
    if route.query.iter().any(|param| param.default == Default::Required) {
        all.insert(ErrorCode::MissingParameter);
    }
    // Unmetered routes can answer these errors, too: a request with an invalid credential counts against the general rate limit of the
    // caller's address.
    all.extend([ErrorCode::Unauthorized, ErrorCode::RateLimited, ErrorCode::DailyLimitExceeded]);
    if matches!(route.access, Access::Data | Access::Decisioning) {
        all.insert(ErrorCode::Forbidden);
    }
    if route.path.contains('{') || is_graph_path(route.path) {
        all.insert(ErrorCode::NotFound);
    }
    let mut by_status = Codes::new();
    for code in all {
        by_status.entry(code.status()).or_default().insert(code);
    }
    by_status
}

/// The name of a response component: the status, the codes and the kind, so that equal responses share a component.
fn name_of(status: u16, codes: &BTreeSet<ErrorCode>, kind: Kind) -> String {
    let words: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    format!("{status}.{}{}", words.join("."), kind.suffix())
}

fn name_of_304(route: &Route) -> String {
    let mut name = format!("NotModified{}", Kind::of(route).suffix());
    for (applies, suffix) in [
        (!route.cache.is_kept(), ".built-in"),
        (has_deprecated_fields(route), ".deprecated"),
        (route.id == RouteId::DecisionVerify, ".found"),
        (has_registered_names(route), ".filtered"),
    ] {
        if applies {
            name.push_str(suffix);
        }
    }
    name
}

fn headers_of_error(status: u16, codes: &BTreeSet<ErrorCode>, kind: Kind) -> Vec<&'static str> {
    let mut names =
        vec!["X-Request-Id", "Cache-Control", "X-Service-Ignored-Parameters", "X-Cache-If-Asked", "Cache-Status"];
    if codes.iter().any(|code| code.retry_after().is_some()) {
        names.push("Retry-After");
    }
    match status {
        401 => names.push("WWW-Authenticate"),
        410 => names.push("Link"),
        _ => {}
    }
    // On every route, a request with an invalid credential counts against the rate limit of the caller's address.
    if kind.metered || matches!(status, 401 | 429) {
        names.extend(BUDGET);
    }
    if kind.tells_mode || codes.contains(&ErrorCode::FailClosed) {
        names.push("X-Service-FailSafe-Mode");
    }
    names
}

fn error(status: u16, codes: &BTreeSet<ErrorCode>, kind: Kind, examples: &Examples) -> Value {
    let words: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    let lines: Vec<String> = codes.iter().map(|code| format!("- `{}`: {}", code.as_str(), code.about())).collect();
    // One schema for all errors: a schema per set of codes would make client generators write a model for each operation.
    let mut media = json!({"schema": {"$ref": "#/components/schemas/Error"}});
    let recorded =
        words.iter().filter_map(|word| Some(((*word).to_owned(), json!({"value": examples.of_error(word)?}))));
    let recorded: Map<String, Value> = recorded.collect();
    if let (false, Some(members)) = (recorded.is_empty(), media.as_object_mut()) {
        members.insert("examples".into(), recorded.into());
    }
    json!({
        "description": lines.join("\n"),
        "x-codes": words,
        "headers": header_refs(headers_of_error(status, codes, kind)),
        "content": {headers::JSON: media},
    })
}

/// References to the header components `names`, by header. `X-Cache-If-Asked` and `ETag-If-Found` are components of the headers `X-Cache`
/// and `ETag`, for responses that have the header only in some cases.
fn header_refs(names: Vec<&str>) -> Value {
    let refs = names.into_iter().map(|name| {
        let header = match name {
            "X-Cache-If-Asked" => "X-Cache",
            "ETag-If-Found" => "ETag",
            name => name,
        };
        (header.to_owned(), json!({"$ref": format!("#/components/headers/{name}")}))
    });
    Value::Object(refs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statuses(id: RouteId) -> Vec<u16> {
        codes(id.route()).into_keys().collect()
    }

    #[test]
    fn a_route_has_the_errors_of_its_kind_and_its_own() {
        assert_eq!(statuses(RouteId::Ready), [400, 401, 414, 429, 500, 503, 504]);
        assert_eq!(statuses(RouteId::Chains), [400, 401, 414, 429, 500, 503, 504]);
        assert!(statuses(RouteId::VaultDetail).contains(&404) && statuses(RouteId::VaultScores).contains(&403));
        assert!(statuses(RouteId::BasketVersion).contains(&410) && statuses(RouteId::WebhookCreate).contains(&409));
    }

    #[test]
    fn every_response_to_a_metered_request_has_rate_limit_headers() {
        let answers = |id: RouteId| of(id.route(), &mut crate::schemas::generator(), &Examples::default());
        let all = components(&Examples::default());
        let has_rate_limit = |id: RouteId, status: &str| {
            let answer = answers(id)[status].clone();
            let name = answer["$ref"].as_str().and_then(|target| target.rsplit('/').next()).map(str::to_owned);
            name.map_or(answer, |name| all[name].clone())["headers"].get("X-RateLimit-Subclient-Limit").is_some()
        };
        for status in answers(RouteId::VaultList).as_object().unwrap().keys() {
            assert!(has_rate_limit(RouteId::VaultList, status), "{status}");
        }
        for (status, expected) in [("200", false), ("304", false), ("404", false), ("401", true), ("429", true)] {
            assert_eq!(has_rate_limit(RouteId::DocsFile, status), expected, "{status}");
        }
    }

    #[test]
    fn every_error_uses_the_error_schema_and_lists_its_codes() {
        for (name, response) in components(&Examples::default()).as_object().unwrap() {
            if name.starts_with("NotModified") {
                continue;
            }
            assert_eq!(
                response["content"]["application/json"]["schema"],
                json!({"$ref": "#/components/schemas/Error"})
            );
            let words: Vec<&str> = response["x-codes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert!(
                !words.is_empty() && words.iter().all(|word| response["description"].to_string().contains(word)),
                "{name}"
            );
        }
    }

    #[test]
    fn routes_with_required_parameters_answer_missing_parameter() {
        for id in [RouteId::LookThrough, RouteId::IncidentExposure, RouteId::VaultChanges] {
            assert!(codes(id.route())[&400].contains(&ErrorCode::MissingParameter), "{}", id.name());
        }
        assert!(!codes(RouteId::VaultList.route())[&400].contains(&ErrorCode::MissingParameter));
    }

    #[test]
    fn responses_that_allow_a_retry_have_retry_after() {
        for (name, response) in components(&Examples::default()).as_object().unwrap() {
            let retry = ["429.", "503.", "504."].iter().any(|status| name.starts_with(status));
            assert_eq!(response["headers"].get("Retry-After").is_some(), retry, "{name}");
        }
    }
}
