//! Each promise, broken once; and what may change without breaking any.

use super::*;
use serde_json::json;

/// A document with one of everything.
fn document() -> Value {
    json!({
        "paths": {"/v1/things": {
            "get": {
                "security": [{}, {"ApiKey": []}],
                "parameters": [
                    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "x-clamped-to": 100, "default": 20}},
                    {"name": "sort", "in": "query", "schema": {"type": "string", "enum": ["asc", "desc"]}},
                    {"$ref": "#/components/parameters/Trace"},
                ],
                "responses": {
                    "200": {"headers": {"ETag": {}}, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
                    "304": {"description": "The same."},
                    "404": {"description": "None."},
                },
            },
            "post": {
                "requestBody": {"content": {"application/json": {"schema": {
                    "type": "object", "required": ["url"],
                    "properties": {"url": {"type": "string"}, "note": {"type": ["string", "null"], "maxLength": 500}},
                }}}},
                "responses": {"200": {"content": {"application/json": {"schema": {"type": "object"}}}}},
            },
        }},
        "webhooks": {"thing.made": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}}}},
        "components": {
            "parameters": {"Trace": {"name": "X-Trace", "in": "header", "schema": {"type": "string"}}},
            "schemas": {"Thing": {
                "type": "object", "required": ["id", "state", "parts"],
                "properties": {
                    "id": {"type": "integer"},
                    "state": {"type": "string", "enum": ["open", "shut"]},
                    "score": {"type": ["number", "null"]},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}},
                },
            }},
        },
    })
}

const THING: &str = "/components/schemas/Thing";

/// What is broken when the value at `pointer` is replaced.
fn changed(pointer: &str, to: Value) -> Vec<String> {
    let mut changed = document();
    *changed.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = to;
    breaks(&document(), &changed).iter().map(ToString::to_string).collect()
}

/// What is broken when a member is taken out.
fn without(pointer: &str, name: &str) -> Vec<String> {
    let mut changed = document();
    changed.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(name).unwrap();
    breaks(&document(), &changed).iter().map(ToString::to_string).collect()
}

#[test]
fn the_same_document_breaks_nothing() {
    assert_eq!(breaks(&document(), &document()), []);
}

#[test]
fn nothing_may_go_away() {
    assert_eq!(
        without("/paths", "/v1/things"),
        ["GET /v1/things: the operation is gone", "POST /v1/things: the operation is gone"]
    );
    assert_eq!(without("/paths/~1v1~1things", "post"), ["POST /v1/things: the operation is gone"]);
    assert_eq!(without("/webhooks", "thing.made"), ["webhook thing.made: the event is gone"]);
    assert_eq!(without("/paths/~1v1~1things/get/responses", "304"), ["GET /v1/things: 304 is no longer answered"]);
    assert_eq!(
        without("/paths/~1v1~1things/get/responses/200/headers", "ETag"),
        ["GET /v1/things 200: the header ETag is gone"]
    );
    assert_eq!(without(&format!("{THING}/properties"), "score"), ["GET /v1/things 200.score: the field is gone"]);
    assert_eq!(without("/paths/~1v1~1things/post", "requestBody"), ["POST /v1/things: the body is no longer taken"]);
    assert_eq!(
        changed("/paths/~1v1~1things/get/parameters/1", json!({"name": "x", "in": "query"})),
        ["GET /v1/things: the parameter query sort is gone"]
    );
}

#[test]
fn whoever_was_let_in_is_let_in() {
    assert_eq!(
        changed("/paths/~1v1~1things/get/security", json!([{"ApiKey": []}])),
        ["GET /v1/things: no credential no longer opens it"]
    );
    assert_eq!(
        changed("/paths/~1v1~1things/get/security", json!([{}, {"Other": []}])),
        ["GET /v1/things: ApiKey no longer opens it"]
    );
}

#[test]
fn what_could_be_left_out_can_be_left_out() {
    let parameters = "/paths/~1v1~1things/get/parameters";
    assert_eq!(changed(&format!("{parameters}/1/name"), json!("sort")), Vec::<String>::new());
    let mut required = document();
    required["paths"]["/v1/things"]["get"]["parameters"][1]["required"] = json!(true);
    required["paths"]["/v1/things"]["get"]["parameters"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "key", "in": "query", "required": true}));
    required["paths"]["/v1/things"]["post"]["requestBody"]["required"] = json!(true);
    let body = "/paths/~1v1~1things/post/requestBody/content/application~1json/schema";
    *required.pointer_mut(&format!("{body}/required")).unwrap() = json!(["url", "note", "more"]);
    required.pointer_mut(&format!("{body}/properties")).unwrap()["more"] = json!({});
    let found: Vec<_> = breaks(&document(), &required).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "GET /v1/things: the parameter query sort is required now",
            "GET /v1/things: the parameter query key is new and required",
            "POST /v1/things: the body is required now",
            "POST /v1/things body.note: the field is required now",
            "POST /v1/things body.more: the field is new and required",
        ]
    );
}

#[test]
fn what_was_taken_is_taken() {
    let parameters = "/paths/~1v1~1things/get/parameters";
    let limit = |schema| changed(&format!("{parameters}/0/schema"), schema);
    assert_eq!(
        limit(json!({"type": "integer", "minimum": 2, "x-clamped-to": 100, "default": 20})),
        ["GET /v1/things query limit: minimum is narrower"]
    );
    assert_eq!(
        limit(json!({"type": "integer", "minimum": 1, "x-clamped-to": 50, "default": 20})),
        ["GET /v1/things query limit: x-clamped-to is narrower"]
    );
    assert_eq!(
        limit(json!({"type": "integer", "minimum": 1, "maximum": 100, "default": 20})),
        ["GET /v1/things query limit: maximum is narrower"]
    );
    assert_eq!(
        limit(json!({"type": "integer", "minimum": 1, "default": 5})),
        ["GET /v1/things: the parameter query limit has another default"]
    );
    assert_eq!(
        limit(json!({"type": "string", "minimum": 1, "default": 20})),
        ["GET /v1/things query limit: integer is no longer taken"]
    );
    let sort = |schema| changed(&format!("{parameters}/1/schema"), schema);
    assert_eq!(
        sort(json!({"type": "string", "enum": ["asc"]})),
        ["GET /v1/things query sort: \"desc\" is no longer taken"]
    );
    assert_eq!(
        sort(json!({"type": "string", "enum": ["asc", "desc"], "pattern": "^a"})),
        ["GET /v1/things query sort: only what matches \"^a\" is taken now"]
    );
    assert_eq!(
        changed("/components/parameters/Trace/schema", json!({"type": "string", "enum": ["a"]})),
        ["GET /v1/things header X-Trace: only listed values are taken now"]
    );
    let note = "/paths/~1v1~1things/post/requestBody/content/application~1json/schema/properties/note";
    assert_eq!(
        changed(note, json!({"type": "string", "maxLength": 500})),
        ["POST /v1/things body.note: null is no longer taken"]
    );
    assert_eq!(
        changed(note, json!({"type": ["string", "null"], "maxLength": 99})),
        ["POST /v1/things body.note: maxLength is narrower"]
    );
}

#[test]
fn what_was_read_can_be_read() {
    let field = |name: &str, schema| changed(&format!("{THING}/properties/{name}"), schema);
    assert_eq!(field("id", json!({"type": "number"})), ["GET /v1/things 200.id: it may be number now"]);
    assert_eq!(field("id", json!({"type": ["integer", "null"]})), ["GET /v1/things 200.id: it may be null now"]);
    assert_eq!(
        field("id", json!({"anyOf": [{"type": "integer"}, {"type": "null"}]})),
        ["GET /v1/things 200.id: it may be null now"]
    );
    assert_eq!(
        field("state", json!({"type": "string"})),
        ["GET /v1/things 200.state: its values are no longer listed"]
    );
    assert_eq!(
        changed(&format!("{THING}/required"), json!(["id", "parts"])),
        ["GET /v1/things 200.state: the field may be left out now"]
    );
    assert_eq!(
        changed("/paths/~1v1~1things/get/responses/200/content", json!({"text/plain": {}})),
        ["GET /v1/things 200: application/json is gone"]
    );
}

#[test]
fn what_only_adds_breaks_nobody() {
    let mut grown = document();
    grown["paths"]["/v1/more"] = json!({"get": {}});
    grown["paths"]["/v1/things"]["get"]["parameters"].as_array_mut().unwrap().push(json!({"name": "q", "in": "query"}));
    grown["paths"]["/v1/things"]["get"]["parameters"][0]["schema"]["x-clamped-to"] = json!(500);
    grown["paths"]["/v1/things"]["get"]["responses"]["200"]["headers"]["Age"] = json!({});
    grown["paths"]["/v1/things"]["get"]["responses"]["410"] = json!({});
    let thing = grown.pointer_mut(THING).unwrap();
    thing["properties"]["new"] = json!({"type": "string"});
    thing["properties"]["score"] = json!({"type": "number"});
    thing["properties"]["state"]["enum"] = json!(["open", "ajar"]);
    thing["required"] = json!(["id", "state", "parts", "score", "new"]);
    assert_eq!(breaks(&document(), &grown), []);
}

#[test]
fn a_break_that_is_meant_has_a_reason() {
    let found = breaks(
        &document(),
        &json!({"paths": {}, "webhooks": document()["webhooks"], "components": document()["components"]}),
    );
    let allowed = Allowed::parse(r#"{"GET /v1/things: the operation is gone": "It was announced in May."}"#).unwrap();
    let reasons: Vec<_> = found.iter().map(|it| allowed.reason(it)).collect();
    assert_eq!(reasons, [Some("It was announced in May."), None]);
    assert!(Allowed::parse(r#"{"GET /v1/things: the operation is gone": " "}"#).is_err());
}
