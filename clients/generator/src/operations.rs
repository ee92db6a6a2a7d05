//! One operation of the OpenAPI document: parameters, body, answer, retries, access.

use crate::model::{Answer, Body, Model, Operation, Parameter, Repeat, Shape};
use crate::names::{self, Sections};
use crate::paging;
use crate::shapes::{doc, reference, shape};
use serde_json::Value;

/// Reads an operation. `None` if it answers neither JSON nor a stream: pages for people are no part of a library. `None` also if it speaks a
/// protocol of its own (`x-protocol`), which has its own clients.
pub fn operation(
    document: &Value,
    model: &Model,
    sections: &Sections,
    (path, verb): (&str, &str),
    it: &Value,
) -> Option<(Vec<String>, Operation)> {
    if it.get("x-protocol").is_some() {
        return None;
    }
    let answer = answer(it)?;
    let text = |key: &str| it.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let given: Vec<(Option<&str>, &Value)> = it
        .get("parameters")
        .and_then(Value::as_array)
        .map(|all| all.iter().map(|one| (reference(one), resolved(document, one))).collect())
        .unwrap_or_default();
    let shared = |name: &str| given.iter().any(|(reference, _)| *reference == Some(name));
    // Shared parameters are options of every request, not of this operation.
    let own = |place: &str| -> Vec<Parameter> {
        let placed = given.iter().filter(|(reference, value)| reference.is_none() && value["in"] == place);
        placed.map(|(_, value)| parameter(value)).collect()
    };
    let (path_parameters, query_parameters) = (own("path"), own("query"));
    let resource = sections.resource(tag(it), path);
    let (is_list, paging) = match &answer {
        Answer::Json { shape, .. } => (paging::is_list(model, shape), paging::paging(model, &query_parameters, shape)),
        Answer::Stream => (false, None),
    };
    let id = text("operationId");
    let repeat = match verb {
        "get" => Repeat::Safe,
        _ if shared("IdempotencyKey") => Repeat::WithKey,
        _ => Repeat::Unsafe,
    };
    let operation = Operation {
        name: names::method(&id, &resource, is_list),
        verb: verb.to_uppercase(),
        path: path.into(),
        summary: text("summary"),
        doc: text("description"),
        access: text("x-access"),
        path_parameters,
        query_parameters,
        body: body(it),
        answer,
        paging,
        repeat,
        has_etag: shared("IfNoneMatch"),
        has_subclient: shared("Subclient"),
        has_client_ip: shared("ClientIp"),
        errors: errors(document, it),
        id,
    };
    Some((resource, operation))
}

/// The first tag of an operation.
pub fn tag(operation: &Value) -> &str {
    operation.pointer("/tags/0").and_then(Value::as_str).unwrap_or_default()
}

/// The value itself, or what its `$ref` names.
pub fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let target = value.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix('#'));
    target.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

fn parameter(value: &Value) -> Parameter {
    let schema = value.get("schema").unwrap_or(&Value::Null);
    Parameter {
        name: value["name"].as_str().unwrap_or_default().into(),
        doc: doc(value),
        required: value.get("required").and_then(Value::as_bool).unwrap_or(false),
        shape: shape(schema),
        greatest: schema.get("x-clamped-to").or_else(|| schema.get("maximum")).and_then(Value::as_u64),
        example: value.get("example").or_else(|| schema.get("example")).cloned(),
    }
}

fn body(operation: &Value) -> Option<Body> {
    let content = operation.pointer("/requestBody/content/application~1json")?;
    Some(Body {
        doc: operation.get("requestBody").map(doc).unwrap_or_default(),
        shape: content.get("schema").map_or(Shape::Any, shape),
        example: content.get("example").cloned(),
    })
}

fn answer(operation: &Value) -> Option<Answer> {
    let content = operation.pointer("/responses/200/content")?;
    if content.get("text/event-stream").is_some() {
        return Some(Answer::Stream);
    }
    let json = content.get("application/json")?;
    Some(Answer::Json { shape: json.get("schema").map_or(Shape::Any, shape), example: json.get("example").cloned() })
}

/// The codes that the operation's error responses name in their examples and ids.
fn errors(document: &Value, operation: &Value) -> Vec<String> {
    let known: Vec<&str> = document
        .pointer("/components/schemas/ErrorCode/enum")
        .and_then(Value::as_array)
        .map(|all| all.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(responses) = operation.get("responses").and_then(Value::as_object) else { return Vec::new() };
    let names = responses.values().filter_map(reference).flat_map(|name| name.split('.'));
    let mut codes: Vec<String> = names.filter(|it| known.contains(it)).map(str::to_owned).collect();
    codes.sort();
    codes.dedup();
    codes
}
