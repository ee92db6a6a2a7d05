//! What was found, compared with what a behaviour expects.

use risk_data_client::{AnswerInfo, Client, Error, ErrorCode, RateLimit};
use serde_json::{Value, json};
use std::time::SystemTime;

/// Fails unless `found` has everything that `wanted` names.
pub fn contains(found: &Value, wanted: &Value, place: &str) {
    match wanted {
        Value::Array(items) => {
            let list = found.as_array().unwrap_or_else(|| panic!("{place} is no array: {found}"));
            assert_eq!(list.len(), items.len(), "{place}: {found}");
            for (at, (found, wanted)) in list.iter().zip(items).enumerate() {
                contains(found, wanted, &format!("{place}[{at}]"));
            }
        }
        Value::Object(members) => {
            assert!(found.is_object(), "{place} is {found}");
            for (name, wanted) in members {
                contains(&found[name], wanted, &format!("{place}.{name}"));
            }
        }
        Value::Number(_) => assert_eq!(found.as_f64(), wanted.as_f64(), "{place}"),
        other => assert_eq!(found, other, "{place}"),
    }
}

/// `wanted` without what a typed row cannot have: members that it does not know, and null where a value was promised.
pub fn typed_part(found: &Value, wanted: &Value) -> Value {
    match (found, wanted) {
        (Value::Object(known), Value::Object(members)) => {
            let kept = members.iter().filter(|(name, value)| known.contains_key(*name) && !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), typed_part(&known[name], value))).collect())
        }
        (Value::Array(items), Value::Array(all)) if items.len() == all.len() => {
            items.iter().zip(all).map(|(found, wanted)| typed_part(found, wanted)).collect()
        }
        _ => wanted.clone(),
    }
}

pub fn info(info: &AnswerInfo, client: &Client) -> Value {
    let limit = |it: Option<RateLimit>| {
        it.map(|it| {
            let reset = it.reset.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
            json!({"limit": it.limit, "remaining": it.remaining, "reset": reset})
        })
    };
    json!({
        "request_id": info.request_id,
        "status": info.status,
        "rate_limit": limit(info.rate_limit),
        "client_rate_limit": limit(client.rate_limit()),
        "data_version": info.data_version,
        "cache": info.cache,
        "is_stale": info.is_stale(),
        "ignored_parameters": info.ignored_parameters,
        "unknown_values": info.unknown_values,
        "from_etag_cache": info.from_etag_cache,
    })
}

pub fn error(found: &Error, wanted: &Value) {
    let kind = match found {
        Error::Api(_) => "api",
        Error::Connection(_) => "connection",
        Error::Timeout(_) => "timeout",
        Error::Decoding(_) => "decoding",
        other => panic!("{other}"),
    };
    let mut told = json!({"kind": kind});
    if let Error::Api(it) = found {
        told = json!({
            "kind": kind,
            "code": it.code.as_str(),
            "status": it.status,
            "request_id": it.request_id,
            "retry_after": it.retry_after.map(|it| it.as_secs_f64()),
            "details": it.details,
            "legacy_code": it.legacy_code,
            "successor": it.successor,
        });
    }
    let mut wanted = wanted.clone();
    // The class of a code is its variant.
    let class = wanted.as_object_mut().unwrap().remove("class");
    contains(&told, &wanted, "error");
    let code = found.code();
    match class {
        None => {}
        Some(Value::String(name)) => {
            assert_eq!(code.map(ErrorCode::as_str), Some(name.as_str()));
            assert!(!matches!(code, Some(ErrorCode::Unrecognized(_))), "{name} has no variant");
        }
        Some(_) => assert!(matches!(code, Some(ErrorCode::Unrecognized(_))), "{code:?}"),
    }
}

pub fn requests(seen: &Value, wanted: &Value) {
    let (found, wanted) = (seen.as_array().unwrap(), wanted.as_array().unwrap());
    assert_eq!(found.len(), wanted.len(), "requests: {seen}");
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        for (name, value) in wanted.as_object().unwrap() {
            match name.as_str() {
                "headers" => headers(&found["headers"], value, at),
                "body" => {
                    let body: Value = serde_json::from_str(found["body"].as_str().unwrap()).unwrap();
                    assert!(same(&body, value), "request {at}: body {body}");
                }
                name => assert_eq!(&found[name], value, "request {at}: {name}"),
            }
        }
    }
}

/// Equality in which 1 and 1.0 are the same number.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, it)| other.get(name).is_some_and(|other| same(it, other)))
        }
        _ => one == other,
    }
}

fn headers(found: &Value, wanted: &Value, at: usize) {
    for (name, value) in wanted.as_object().unwrap() {
        let header = &found[name.to_lowercase()];
        if value == "*" {
            assert!(header.as_str().is_some_and(|it| !it.is_empty()), "request {at}: no {name}");
        } else {
            assert_eq!(header, value, "request {at}: {name}");
        }
    }
}
