//! What a caller may put into the path, the query and the headers, from the table's own rows.

use crate::examples::Example;
use crate::responses::is_conditional;
use rds_shared::model::spelling;
use rds_shared::route::bounds::{IDEMPOTENCY_KEY_BYTES, LIST_NAMES, SUBCLIENT_BYTES};
use rds_shared::route::param::{Default, Kind, OnInvalid, OnOverflow, Param};
use rds_shared::route::unknown::STRICT;
use rds_shared::route::{Access, Method, Route};
use rds_shared::wire::ErrorCode;
use serde_json::{Map, Value, json};

/// `parameters` of a route, its headers as references to [`components`].
pub fn of(route: &Route, example: Option<&Example>) -> Vec<Value> {
    let in_path = route.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let mut all: Vec<Value> = in_path.map(|name| path(route, name, example)).collect();
    for param in route.query {
        all.push(query(param, example));
    }
    all.push(json!({"$ref": "#/components/parameters/Strict"}));
    all.extend(headers(route).into_iter().map(|name| json!({"$ref": format!("#/components/parameters/{name}")})));
    all
}

/// Request headers that mean something on a route.
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

/// `components.parameters`: the headers, and the parameter that every route has.
pub fn components() -> Value {
    let header = |name: &str, about: &str, schema: Value| json!({"name": name, "in": "header", "description": about, "schema": schema});
    json!({
        "Strict": {"name": STRICT.name, "in": "query", "description": STRICT.about, "schema": {"type": "boolean", "default": false}},
        "IfNoneMatch": header("If-None-Match", "The ETag of the copy that you have. If it still holds, the answer is 304 without a body.", json!({"type": "string"})),
        "IdempotencyKey": header(
            "Idempotency-Key",
            &format!(
                "Your name for this creation, at most {IDEMPOTENCY_KEY_BYTES} visible ASCII characters. Sent again with the same body \
                 within a day it makes nothing new; with another body it is 409."
            ),
            json!({"type": "string", "pattern": format!("^[!-~]{{1,{IDEMPOTENCY_KEY_BYTES}}}$")}),
        ),
        "LastEventId": header("Last-Event-ID", "The last `id` that the stream gave you. It comes before `since`. What is no cursor is answered by a `gap` frame.", json!({"type": "string"})),
        "ClientIp": header(
            "X-Service-Client-Ip",
            "From a relay with a key, the address of the end viewer whom it serves: streams are counted by viewer too.",
            json!({"anyOf": [{"type": "string", "format": "ipv4"}, {"type": "string", "format": "ipv6"}]}),
        ),
        // No `maxLength`: keys that are not shared may send whatever they like.
        "Subclient": header(
            "X-Service-Subclient",
            &format!(
                "With a shared key, your name for the client that the request is for, at most {SUBCLIENT_BYTES} bytes: each client may use a \
                 quarter of the key's limit. With any other key, and without one, the header is ignored."
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

/// The other names of a parameter. They are none of their own in the document: two names of one parameter in one request are refused,
/// and a client that was generated would send both.
fn names(param: &Param) -> Option<String> {
    let listed: Vec<String> = param.aliases.iter().map(|name| format!("`{name}`")).collect();
    let others = match param.aliases {
        [] => return None,
        [_] => format!("{} is another name of it", listed.join(" and ")),
        _ => format!("{} are other names of it", listed.join(" and ")),
    };
    let former = if param.former.is_empty() { "" } else { ", deprecated" };
    Some(format!("{others}{former}; send only one."))
}

/// A parameter's schema, and what of its rule the schema cannot say.
///
/// A number that counts as the maximum where it is greater is not refused, so its bound is no `maximum`: it stands in words, and
/// for programs in `x-clamped-to`. The same goes for words that are ignored or match nothing: the schema takes any text.
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
        Kind::Decimal { .. } if param.misfit != OnInvalid::Reject => (json!({"type": "string"}), None),
        Kind::Decimal { min, max } => (json!({"type": "number", "minimum": min, "maximum": max}), None),
        Kind::Flag => (json!({"type": "boolean"}), None),
        Kind::Choice(words) | Kind::Word(words) if param.misfit != OnInvalid::Reject => {
            (json!({"type": "string", "examples": words}), None)
        }
        Kind::Choice(words) => (json!({"type": "string", "enum": words}), None),
        Kind::Word(words) => (json!({"type": "string", "enum": words}), Some("In any case.".to_owned())),
        Kind::Choices(words) => {
            (json!({"type": "array", "items": {"type": "string", "enum": words}}), Some("In any case.".to_owned()))
        }
        Kind::Names => (
            json!({"type": "array", "items": {"type": "string", "pattern": spelling::TEXT}, "maxItems": LIST_NAMES}),
            Some(format!("At most {LIST_NAMES} different ones.")),
        ),
        Kind::Text { .. } if param.misfit != OnInvalid::Reject => (json!({"type": "string"}), None),
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

/// A parameter of the path: what it names depends on where it stands.
fn path(route: &Route, name: &'static str, example: Option<&Example>) -> Value {
    let text = json!({"type": "string", "minLength": 1});
    let hash = json!({"type": "string", "pattern": "^[0-9a-fA-F]{64}$"});
    let number = json!({"type": "string", "pattern": "^[0-9]+$"});
    let account = json!({"type": "string", "pattern": spelling::ADDRESS});
    let token = json!({"type": "string", "pattern": spelling::ADDRESS_OR_NATIVE});
    let under = |prefix: &str| route.path.starts_with(prefix);
    let (about, schema) = match name {
        "network" | "chain" => ("The chain's slug, as `/v1/chains` lists it.", text),
        "chain_id" => ("The chain, as its number or slug.", text),
        "address" if under("/v1/portfolio") => {
            ("The account: `0x` and 40 hex digits in any case, or base58 of 32 bytes with its case.", account)
        }
        "address" if under("/v1/oracle") => {
            ("The feed's contract, as its chain writes addresses: of another chain's kind it is 400.", account)
        }
        "address" if under("/v1/assets") => (
            "The token, as its chain writes addresses, of another chain's kind it is 400; `native` is the chain's own coin.",
            token,
        ),
        "address" => (
            "The vault's share token, as its chain writes addresses: `0x` and 40 hex digits in any case on EVM chains, base58 of 32 bytes with its case on Solana. One of the other kind is 400.",
            account,
        ),
        "symbol" if under("/v1/rates") => ("The deposit asset's symbol, in any case.", text),
        "symbol" => ("The symbol, exact but for its case. A slash in it is written `%2F`.", text),
        "asset_id" => ("The asset's number, as the lists give it.", text),
        "file" => ("The page's name, as its links give it.", text),
        "groupKey" => ("The group's key, as events carry it in `group_key`.", text),
        "versionId" => ("The version, as `/v1/baskets/{id}/versions` lists it.", text),
        "whId" => ("The subscription's number.", number),
        "id" if under("/v1/graph/decision") => ("The decision: the SHA-256 of its envelope, 64 hex characters.", hash),
        "id" if under("/v1/graph/snapshot") => ("The snapshot: 64 hex characters.", hash),
        "id" if under("/v1/vaults") => ("The vault's id: `{protocol_id}-{chain_id}-{address}`.", text),
        "id" if under("/v1/markets") => ("The market's id, as the list gives it; case does not matter.", text),
        "id" if under("/v1/baskets") => ("The basket's slug.", text),
        "id" if under("/v1/indices") => ("The index: the slug of its basket.", text),
        "id" if under("/v1/webhooks") => ("The subscription's number.", number),
        "id" if under("/v1/events") => ("The event's id.", text),
        "id" if under("/v1/signals") => ("The signal's number.", text),
        "id" if under("/v1/protocols") => ("The protocol's id.", text),
        "id" if under("/v1/curators") => ("The curator's id.", text),
        _ => ("", text),
    };
    let mut out = json!({"name": name, "in": "path", "required": true, "description": about, "schema": schema});
    if let (Some(value), Some(members)) = (example.and_then(|example| example.path.get(name)), out.as_object_mut()) {
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
    fn every_parameter_of_every_route_says_what_it_is() {
        for route in ROUTES {
            for parameter in of(route, None) {
                let described =
                    parameter.get("$ref").is_some() || parameter["description"].as_str().is_some_and(|it| it.len() > 8);
                assert!(described, "{} {parameter}", route.path);
            }
        }
    }

    #[test]
    fn what_is_clamped_is_not_said_to_be_refused() {
        let limit = named(RouteId::VaultList, "limit");
        assert_eq!(limit["schema"], json!({"type": "integer", "minimum": 1, "x-clamped-to": 100, "default": 20}));
        assert!(limit["description"].as_str().unwrap().ends_with("From 1 to 100."));
        assert_eq!(named(RouteId::VaultList, "minRiskScore")["schema"]["maximum"], 10.0);
    }

    #[test]
    fn what_is_ignored_takes_any_text() {
        assert!(named(RouteId::LossBoard, "minLossUsd")["schema"].get("minimum").is_none());
        assert!(named(RouteId::SecurityEventList, "severity")["schema"].get("enum").is_none());
    }

    #[test]
    fn aliases_and_required_parameters_are_told() {
        let least = named(RouteId::VaultList, "minRiskScore");
        assert!(!of(RouteId::VaultList.route(), None).iter().any(|it| it["name"] == "min_score"));
        assert_eq!(least["x-also-known-as"], json!(["minScore", "min_score"]));
        let told = "`minScore` and `min_score` are other names of it, deprecated; send only one.";
        assert!(least["description"].as_str().unwrap().ends_with(told), "{least}");
        let points = named(RouteId::VaultDetail, "points");
        assert!(
            points["description"].as_str().unwrap().ends_with("`resolution` is another name of it; send only one.")
        );
        assert_eq!(named(RouteId::VaultChanges, "since")["required"], true);
        let idempotency = json!({"$ref": "#/components/parameters/IdempotencyKey"});
        assert!(of(RouteId::WebhookCreate.route(), None).contains(&idempotency));
        assert!(!of(RouteId::VaultBatch.route(), None).contains(&idempotency));
    }
}
