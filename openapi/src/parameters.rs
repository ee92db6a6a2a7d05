//! Parameters of the path, the query and the headers, generated from the route table.

use crate::examples::Example;
use crate::responses::is_conditional;
use rds_shared::model::spelling;
use rds_shared::route::bounds::{IDEMPOTENCY_KEY_BYTES, LIST_NAMES, SUBCLIENT_BYTES};
use rds_shared::route::param::{Default, Kind, OnInvalid, OnOverflow, Param};
use rds_shared::route::unknown::STRICT;
use rds_shared::route::{Access, Method, PathParam, Route};
use rds_shared::wire::ErrorCode;
use serde_json::{Map, Value, json};

/// The `parameters` of a route; headers are references to [`components`].
pub fn of(route: &Route, example: Option<&Example>) -> Vec<Value> {
    let mut all: Vec<Value> = route.path_params().map(|param| path(param, example)).collect();
    for param in route.query {
        all.push(query(param, example));
    }
    all.push(json!({"$ref": "#/components/parameters/Strict"}));
    all.extend(headers(route).into_iter().map(|name| json!({"$ref": format!("#/components/parameters/{name}")})));
    all
}

/// Request headers that a route uses.
fn headers(route: &Route) -> Vec<&'static str> {
    let mut names = Vec::new();
    if is_conditional(route) {
        names.push("IfNoneMatch");
    }
    if route.method == Method::Post && route.errors.contains(&ErrorCode::IdempotencyKeyReused) {
        names.push("IdempotencyKey");
    }
    if route.streams() {
        names.extend(["LastEventId", "ClientIp"]);
    }
    if route.access != Access::Index {
        names.push("Subclient");
    }
    names
}

/// `components.parameters`: the headers, and the parameter common to all routes.
pub fn components() -> Value {
    let header = |name: &str, about: &str, schema: Value| json!({"name": name, "in": "header", "description": about, "schema": schema});
    json!({
        "Strict": {"name": STRICT.name, "in": "query", "description": STRICT.about, "schema": {"type": "boolean", "default": false}},
        "IfNoneMatch": header("If-None-Match", "The ETag of the response that you have. \
            If it is still current, the response is 304 without a body.", json!({"type": "string"})),
        "IdempotencyKey": header(
            "Idempotency-Key",
            &format!(
                "A key that you choose for this creation, at most {IDEMPOTENCY_KEY_BYTES} visible ASCII characters. If the same key is sent \
                 again within a day, nothing new is created; with a different body the response is 409."
            ),
            json!({"type": "string", "pattern": format!("^[!-~]{{1,{IDEMPOTENCY_KEY_BYTES}}}$")}),
        ),
        "LastEventId": header("Last-Event-ID", "The last `id` that you received from the stream. It takes precedence over `since`. \
            An invalid cursor is answered with a `gap` frame.", json!({"type": "string"})),
        "ClientIp": header(
            "X-Service-Client-Ip",
            "The IP address of the end viewer, sent by a relay with a key: streams are also limited per viewer.",
            json!({"anyOf": [{"type": "string", "format": "ipv4"}, {"type": "string", "format": "ipv6"}]}),
        ),
        // No `maxLength`: the header is ignored unless the key is shared, so any value is accepted.
        "Subclient": header(
            "X-Service-Subclient",
            &format!(
                "With a shared key, your identifier of the client that makes the request, at most {SUBCLIENT_BYTES} bytes: each client may use a \
                 quarter of the key's limit. With any other key, or without a key, the header is ignored."
            ),
            json!({"type": "string"}),
        ),
    })
}

fn query(param: &Param, example: Option<&Example>) -> Value {
    let (schema, hint) = schema_of(param);
    let mut about = param.about.to_owned();
    for more in [hint, names(param)].into_iter().flatten() {
        about = format!("{about} {more}");
    }
    let mut out = Map::from_iter([
        ("name".to_owned(), param.name.into()),
        ("in".to_owned(), "query".into()),
        ("description".to_owned(), about.into()),
        ("schema".to_owned(), schema),
    ]);
    if !param.aliases.is_empty() {
        out.insert("x-also-known-as".into(), json!(param.aliases));
    }
    if param.default == Default::Required {
        out.insert("required".into(), true.into());
    }
    if matches!(param.kind, Kind::Choices(_) | Kind::Names) {
        out.insert("style".into(), "form".into());
        out.insert("explode".into(), false.into());
    }
    if let Some(value) = example.and_then(|example| example.query.get(param.name)) {
        out.insert("example".into(), value.clone());
    }
    out.into()
}

/// The sentence about a parameter's other names. They are not parameters of their own in the document: a generated client
/// would send both names, and such a request is refused.
fn names(param: &Param) -> Option<String> {
    let listed: Vec<String> = param.aliases.iter().map(|name| format!("`{name}`")).collect();
    let others = match param.aliases {
        [] => return None,
        [_] => format!("{} is another name of this parameter", listed.join(" and ")),
        _ => format!("{} are other names of this parameter", listed.join(" and ")),
    };
    let former = if param.former.is_empty() { "" } else { ", deprecated" };
    Some(format!("{others}{former}; send only one."))
}

/// The sentence for parameters whose values may have any letter case.
const ANY_CASE: &str = "Letter case is ignored.";

/// A parameter's schema, and a sentence for the rules that the schema cannot express.
///
/// A number that is clamped to its bound is not refused, so the bound is not a `maximum`: it is stated in the description
/// and, for programs, in `x-clamped-to`. Likewise, where invalid values are ignored or match nothing, the schema takes any text.
fn schema_of(param: &Param) -> (Value, Option<String>) {
    let (mut schema, hint) = match param.kind {
        Kind::Int { min, max, above: OnOverflow::Clamp } if max >= i64::from(u32::MAX) => {
            (json!({"type": "integer", "minimum": min}), None)
        }
        Kind::Int { min, max, above: OnOverflow::Clamp } => {
            (json!({"type": "integer", "minimum": min, "x-clamped-to": max}), Some(format!("From {min} to {max}.")))
        }
        Kind::Int { min, max, above: OnOverflow::Reject } => {
            (json!({"type": "integer", "minimum": min, "maximum": max}), None)
        }
        Kind::Decimal { .. } if param.on_invalid != OnInvalid::Reject => (json!({"type": "string"}), None),
        Kind::Decimal { min, max } => (json!({"type": "number", "minimum": min, "maximum": max}), None),
        Kind::Flag => (json!({"type": "boolean"}), None),
        Kind::Choice(words) | Kind::Word(words) if param.on_invalid != OnInvalid::Reject => {
            (json!({"type": "string", "examples": words}), None)
        }
        Kind::Choice(words) => (json!({"type": "string", "enum": words}), None),
        Kind::Word(words) => (json!({"type": "string", "enum": words}), Some(ANY_CASE.to_owned())),
        Kind::Choices(words) => {
            (json!({"type": "array", "items": {"type": "string", "enum": words}}), Some(ANY_CASE.to_owned()))
        }
        Kind::Names => (
            json!({"type": "array", "items": {"type": "string", "pattern": spelling::TEXT}, "maxItems": LIST_NAMES}),
            Some(format!("At most {LIST_NAMES} different values.")),
        ),
        Kind::Text { .. } if param.on_invalid != OnInvalid::Reject => (json!({"type": "string"}), None),
        Kind::Text { max } if param.pattern == Some(spelling::CHANGE_CURSOR) => {
            let cursor = json!({"type": "string", "pattern": spelling::CHANGE_CURSOR, "maxLength": max});
            let instants = ["date-time", "date"].map(|format| json!({"type": "string", "format": format}));
            let [instant, day] = instants;
            return (json!({"anyOf": [instant, day, cursor]}), None);
        }
        Kind::Text { max } => {
            (json!({"type": "string", "maxLength": max, "pattern": param.pattern.unwrap_or(spelling::TEXT)}), None)
        }
        Kind::Verbatim => (json!({"type": "string"}), None),
        Kind::Instant => (json!({"type": "string", "format": "date-time"}), None),
    };
    let default = match param.default {
        Default::Absent | Default::Required => None,
        Default::Int(number) => Some(json!(number)),
        Default::Choice(word) => Some(json!(word)),
    };
    if let (Some(default), Some(members)) = (default, schema.as_object_mut()) {
        members.insert("default".into(), default);
    }
    (schema, hint)
}

/// A path parameter.
fn path(param: PathParam, example: Option<&Example>) -> Value {
    let schema = match param.pattern {
        Some(pattern) => json!({"type": "string", "pattern": pattern}),
        None => json!({"type": "string", "minLength": 1}),
    };
    let mut out =
        json!({"name": param.name, "in": "path", "required": true, "description": param.about, "schema": schema});
    if let (Some(value), Some(members)) =
        (example.and_then(|example| example.path.get(param.name)), out.as_object_mut())
    {
        members.insert("example".into(), value.clone());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::{ROUTES, RouteId};

    fn named(id: RouteId, name: &str) -> Value {
        of(id.route(), None).into_iter().find(|it| it["name"] == name).unwrap()
    }

    #[test]
    fn every_parameter_of_every_route_has_a_description() {
        for route in ROUTES {
            for parameter in of(route, None) {
                let described =
                    parameter.get("$ref").is_some() || parameter["description"].as_str().is_some_and(|it| it.len() > 8);
                assert!(described, "{} {parameter}", route.path);
            }
        }
    }

    #[test]
    fn a_clamped_bound_is_not_a_maximum() {
        let limit = named(RouteId::VaultList, "limit");
        assert_eq!(limit["schema"], json!({"type": "integer", "minimum": 1, "x-clamped-to": 100, "default": 20}));
        assert!(limit["description"].as_str().unwrap().ends_with("From 1 to 100."));
        assert_eq!(named(RouteId::VaultList, "minRiskScore")["schema"]["maximum"], 10.0);
    }

    #[test]
    fn parameters_whose_invalid_values_are_ignored_take_any_text() {
        assert!(named(RouteId::LossBoard, "minLossUsd")["schema"].get("minimum").is_none());
        assert!(named(RouteId::SecurityEventList, "severity")["schema"].get("enum").is_none());
    }

    #[test]
    fn other_names_and_required_parameters_are_documented() {
        let min_score = named(RouteId::VaultList, "minRiskScore");
        assert!(!of(RouteId::VaultList.route(), None).iter().any(|it| it["name"] == "min_score"));
        assert_eq!(min_score["x-also-known-as"], json!(["minScore", "min_score"]));
        let aliases = "`minScore` and `min_score` are other names of this parameter, deprecated; send only one.";
        assert!(min_score["description"].as_str().unwrap().ends_with(aliases), "{min_score}");
        let points = named(RouteId::VaultDetail, "points");
        assert!(
            points["description"]
                .as_str()
                .unwrap()
                .ends_with("`resolution` is another name of this parameter; send only one.")
        );
        assert_eq!(named(RouteId::VaultChanges, "since")["required"], true);
        let idempotency = json!({"$ref": "#/components/parameters/IdempotencyKey"});
        assert!(of(RouteId::WebhookCreate.route(), None).contains(&idempotency));
        assert!(!of(RouteId::VaultBatch.route(), None).contains(&idempotency));
    }
}
