//! One test case for each kind of break, and for changes that break nothing.

use super::*;
use serde_json::json;

/// A document with every kind of element.
fn document() -> Value {
    json!({
        "paths": {"/v1/things": {
            "get": {
                "operationId": "ThingList", "x-access": "key",
                "security": [{}, {"ApiKey": []}],
                "parameters": [
                    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "x-clamped-to": 100, "default": 20}},
                    {"name": "sort", "in": "query", "schema": {"type": "string", "enum": ["asc", "desc"]}},
                    {"name": "tags", "in": "query", "style": "form", "explode": false, "schema": {"type": "array"}, "x-also-known-as": ["labels"]},
                    {"$ref": "#/components/parameters/Trace"},
                ],
                "responses": {
                    "200": {"headers": {"ETag": {"required": true, "schema": {"type": "string"}}, "X-Cache": {"schema": {"enum": ["HIT", "MISS"]}}}, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
                    "304": {"description": "The same."},
                    "404": {"headers": {"Retry-After": {"schema": {"type": "integer"}}}, "x-codes": ["NOT_FOUND", "GONE"], "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}},
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
        "webhooks": {"thing.made": {"post": {"parameters": [{"name": "X-Signature", "in": "header", "required": true, "schema": {"type": "string"}}], "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}}}},
        "components": {
            "parameters": {"Trace": {"name": "X-Trace", "in": "header", "schema": {"type": "string"}}},
            "schemas": {"Thing": {
                "type": "object", "required": ["id", "state", "parts"],
                "properties": {
                    "id": {"type": "integer"},
                    "state": {"type": "string", "enum": ["open", "shut"]},
                    "score": {"type": ["number", "null"]},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}},
                    "kind": {"const": "thing"},
                    "price": {"type": "string", "pattern": "^[0-9]+$"},
                    "when": {"type": "string", "format": "date-time"},
                    "share": {"type": "number", "minimum": 0, "maximum": 1},
                    "names": {"type": "object", "additionalProperties": {"type": "string"}},
                    "whatever": {},
                },
            },
            "Error": {
                "type": "object", "required": ["error"],
                "properties": {"error": {"type": "object", "required": ["code", "request_id"], "properties": {
                    "code": {"type": "string"}, "message": {"type": "string"}, "request_id": {"type": "string"},
                }}},
            }},
        },
    })
}

const THING: &str = "/components/schemas/Thing";

/// The breaks found when the value at `pointer` is replaced.
fn changed(pointer: &str, to: Value) -> Vec<String> {
    let mut changed = document();
    *changed.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = to;
    breaks(&document(), &changed).iter().map(ToString::to_string).collect()
}

/// The breaks found when a member is removed.
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
fn removing_anything_is_a_break() {
    assert_eq!(
        without("/paths", "/v1/things"),
        ["GET /v1/things: the operation is gone", "POST /v1/things: the operation is gone"]
    );
    assert_eq!(without("/paths/~1v1~1things", "post"), ["POST /v1/things: the operation is gone"]);
    assert_eq!(without("/webhooks", "thing.made"), ["webhook thing.made: the event is gone"]);
    assert_eq!(
        without("/paths/~1v1~1things/get/responses", "304"),
        ["GET /v1/things: status 304 is no longer returned"]
    );
    assert_eq!(
        without("/paths/~1v1~1things/get/responses/200/headers", "ETag"),
        ["GET /v1/things 200: the header ETag is gone"]
    );
    assert_eq!(without(&format!("{THING}/properties"), "score"), ["GET /v1/things 200.score: the field is gone"]);
    assert_eq!(without("/paths/~1v1~1things/post", "requestBody"), ["POST /v1/things: the body is no longer accepted"]);
    assert_eq!(
        changed("/paths/~1v1~1things/get/parameters/1", json!({"name": "x", "in": "query"})),
        ["GET /v1/things: the parameter query sort is gone"]
    );
}

#[test]
fn refusing_a_credential_that_gave_access_is_a_break() {
    assert_eq!(
        changed("/paths/~1v1~1things/get/security", json!([{"ApiKey": []}])),
        ["GET /v1/things: anonymous access is no longer accepted"]
    );
    assert_eq!(
        changed("/paths/~1v1~1things/get/security", json!([{}, {"Other": []}])),
        ["GET /v1/things: ApiKey is no longer accepted"]
    );
    let access = |to| changed("/paths/~1v1~1things/get/x-access", json!(to));
    assert_eq!(access("decisioning"), ["GET /v1/things: access changed from key to decisioning"]);
    assert_eq!(access("index"), ["GET /v1/things: access changed from key to index"]);
    assert_eq!(access("public"), Vec::<String>::new());
}

#[test]
fn requiring_something_optional_is_a_break() {
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
fn refusing_a_value_that_was_accepted_is_a_break() {
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
        ["GET /v1/things: the parameter query limit has a different default"]
    );
    assert_eq!(
        limit(json!({"type": "string", "minimum": 1, "default": 20})),
        ["GET /v1/things query limit: integer is no longer accepted"]
    );
    let sort = |schema| changed(&format!("{parameters}/1/schema"), schema);
    assert_eq!(
        sort(json!({"type": "string", "enum": ["asc"]})),
        ["GET /v1/things query sort: \"desc\" is no longer accepted"]
    );
    assert_eq!(
        sort(json!({"type": "string", "enum": ["asc", "desc"], "pattern": "^a"})),
        ["GET /v1/things query sort: only a value that matches \"^a\" is accepted now"]
    );
    assert_eq!(
        changed("/components/parameters/Trace/schema", json!({"type": "string", "enum": ["a"]})),
        ["GET /v1/things header X-Trace: only listed values are accepted now"]
    );
    let note = "/paths/~1v1~1things/post/requestBody/content/application~1json/schema/properties/note";
    assert_eq!(
        changed(note, json!({"type": "string", "maxLength": 500})),
        ["POST /v1/things body.note: null is no longer accepted"]
    );
    assert_eq!(
        changed(note, json!({"type": ["string", "null"], "maxLength": 99})),
        ["POST /v1/things body.note: maxLength is narrower"]
    );
}

#[test]
fn changing_the_type_or_presence_of_a_field_is_a_break() {
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
        ["GET /v1/things 200.state: the field is optional now"]
    );
    assert_eq!(
        changed("/paths/~1v1~1things/get/responses/200/content", json!({"text/plain": {}})),
        ["GET /v1/things 200: application/json is gone"]
    );
}

#[test]
fn dropping_a_guarantee_about_a_response_value_is_a_break() {
    let field = |name: &str, schema| changed(&format!("{THING}/properties/{name}"), schema);
    assert_eq!(field("id", json!({})), ["GET /v1/things 200.id: it may be anything now"]);
    assert_eq!(field("kind", json!({"const": "object"})), ["GET /v1/things 200.kind: \"thing\" is no longer returned"]);
    assert_eq!(
        field("state", json!({"type": "string", "enum": ["open", "closed"]})),
        ["GET /v1/things 200.state: \"shut\" is no longer returned"]
    );
    assert_eq!(
        field("price", json!({"type": "string"})),
        ["GET /v1/things 200.price: it is no longer guaranteed that it matches \"^[0-9]+$\""]
    );
    assert_eq!(
        field("when", json!({"type": "string", "format": "date"})),
        ["GET /v1/things 200.when: it is no longer guaranteed that it is a \"date-time\""]
    );
    assert_eq!(
        field("share", json!({"type": "number", "minimum": 0, "maximum": 100})),
        ["GET /v1/things 200.share: maximum is wider"]
    );
    assert_eq!(field("share", json!({"type": "number", "minimum": 0, "maximum": 0.5})), Vec::<String>::new());
    assert_eq!(field("parts", json!({"type": "array"})), ["GET /v1/things 200.parts[]: it may be anything now"]);
    assert_eq!(field("names", json!({"type": "object"})), ["GET /v1/things 200.names.*: it may be anything now"]);
}

#[test]
fn changing_errors_is_a_break() {
    let statuses = "/paths/~1v1~1things/get/responses";
    assert_eq!(without(statuses, "404"), ["GET /v1/things: status 404 is no longer returned"]);
    assert_eq!(
        without(&format!("{statuses}/404/headers"), "Retry-After"),
        ["GET /v1/things 404: the header Retry-After is gone"]
    );
    assert_eq!(
        changed(&format!("{statuses}/404/x-codes"), json!(["NOT_FOUND"])),
        ["GET /v1/things 404.error.code: \"GONE\" is no longer returned"]
    );
    let error = "/components/schemas/Error/properties/error";
    assert_eq!(
        without(&format!("{error}/properties"), "request_id"),
        ["GET /v1/things 404.error.request_id: the field is gone"]
    );
    assert_eq!(
        changed(&format!("{error}/properties/message"), json!({"type": "object"})),
        ["GET /v1/things 404.error.message: it may be object now"]
    );
}

#[test]
fn error_codes_of_older_documents_are_compared_with_x_codes() {
    let schema = "/paths/~1v1~1things/get/responses/404/content/application~1json/schema";
    let narrowed = |codes: Value| {
        let mut earlier = document();
        *earlier.pointer_mut(schema).unwrap() = json!({"allOf": [
            {"$ref": "#/components/schemas/Error"},
            {"properties": {"error": {"properties": {"code": {"enum": codes}}}}},
        ]});
        earlier
            .pointer_mut("/paths/~1v1~1things/get/responses/404")
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove("x-codes");
        earlier
    };
    assert_eq!(breaks(&narrowed(json!(["GONE", "NOT_FOUND"])), &document()), []);
    let found = breaks(&narrowed(json!(["GONE", "LOST"])), &document());
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["GET /v1/things 404.error.code: \"LOST\" is no longer returned"]);
}

#[test]
fn changing_a_header_is_a_break() {
    let headers = "/paths/~1v1~1things/get/responses/200/headers";
    assert_eq!(
        without(&format!("{headers}/ETag"), "required"),
        ["GET /v1/things 200: the header ETag is optional now"]
    );
    assert_eq!(
        changed(&format!("{headers}/ETag/schema"), json!({"type": "integer"})),
        ["GET /v1/things 200 header ETag: it may be integer now"]
    );
    assert_eq!(
        changed(&format!("{headers}/X-Cache/schema/enum"), json!(["HIT", "FRESH"])),
        ["GET /v1/things 200 header X-Cache: \"MISS\" is no longer returned"]
    );
    let sent = "/webhooks/thing.made/post/parameters";
    assert_eq!(changed(sent, json!([])), ["webhook thing.made: the header X-Signature is gone"]);
    assert_eq!(
        without(&format!("{sent}/0"), "required"),
        ["webhook thing.made: the header X-Signature is optional now"]
    );
    let more = json!([document()["webhooks"]["thing.made"]["post"]["parameters"][0], {"name": "X-More", "in": "header", "required": true}]);
    assert_eq!(changed(sent, more), Vec::<String>::new(), "an additional header is not a break");
}

#[test]
fn changing_list_style_alias_or_operation_id_is_a_break() {
    let tags = "/paths/~1v1~1things/get/parameters/2";
    assert_eq!(
        changed(&format!("{tags}/explode"), json!(true)),
        ["GET /v1/things: the parameter query tags is serialised differently"]
    );
    assert_eq!(
        without(tags, "x-also-known-as"),
        ["GET /v1/things: the parameter query tags no longer has the alias labels"]
    );
    assert_eq!(
        changed("/paths/~1v1~1things/get/operationId", json!("Things")),
        ["GET /v1/things: the operation id is no longer ThingList"]
    );
}

#[test]
fn restricting_a_request_body_is_a_break() {
    let body = "/paths/~1v1~1things/post/requestBody/content/application~1json/schema";
    let mut closed = document().pointer(body).unwrap().clone();
    closed["additionalProperties"] = json!(false);
    assert_eq!(changed(body, closed), ["POST /v1/things body: unknown fields are refused now"]);
    let mut typed = document();
    typed.pointer_mut(&format!("{body}/properties")).unwrap()["free"] = json!({});
    let before = typed.clone();
    typed.pointer_mut(&format!("{body}/properties")).unwrap()["free"] = json!({"type": "integer"});
    let found: Vec<_> = breaks(&before, &typed).iter().map(ToString::to_string).collect();
    assert_eq!(found, ["POST /v1/things body.free: only integer is accepted now"]);
    assert_eq!(
        changed(&format!("{body}/properties/url"), json!({"type": "string", "format": "uri"})),
        ["POST /v1/things body.url: only a value that is a \"uri\" is accepted now"]
    );
    assert_eq!(
        changed("/paths/~1v1~1things/get/parameters/2/schema", json!({"type": "array", "items": {"type": "string"}})),
        ["GET /v1/things query tags[]: only string is accepted now"]
    );
}

#[test]
fn inline_schemas_that_replace_a_named_type_are_compared_each_time() {
    let mut inline = document();
    let field = json!({"type": "object", "properties": {"id": {"type": "integer"}}});
    inline["paths"]["/v1/things"]["get"]["responses"]["200"]["content"]["application/json"]["schema"] =
        document().pointer(THING).unwrap().clone();
    inline["webhooks"]["thing.made"]["post"]["requestBody"]["content"]["application/json"]["schema"] = field;
    let found: Vec<_> = breaks(&document(), &inline).iter().map(ToString::to_string).collect();
    assert!(found.contains(&"webhook thing.made.state: the field is gone".to_owned()), "{found:?}");
}

#[test]
fn additions_are_not_breaks() {
    let mut grown = document();
    grown["paths"]["/v1/more"] = json!({"get": {}});
    grown["paths"]["/v1/things"]["get"]["parameters"].as_array_mut().unwrap().push(json!({"name": "q", "in": "query"}));
    grown["paths"]["/v1/things"]["get"]["parameters"][0]["schema"]["x-clamped-to"] = json!(500);
    grown["paths"]["/v1/things"]["get"]["responses"]["200"]["headers"]["Age"] = json!({});
    grown["paths"]["/v1/things"]["get"]["responses"]["410"] = json!({});
    let thing = grown.pointer_mut(THING).unwrap();
    thing["properties"]["new"] = json!({"type": "string"});
    thing["properties"]["score"] = json!({"type": "number"});
    thing["properties"]["state"]["enum"] = json!(["open", "shut", "ajar"]);
    thing["required"] = json!(["id", "state", "parts", "score", "new"]);
    assert_eq!(breaks(&document(), &grown), []);
}

#[test]
fn an_intended_break_needs_a_reason() {
    let found = breaks(
        &document(),
        &json!({"paths": {}, "webhooks": document()["webhooks"], "components": document()["components"]}),
    );
    let allowed = Allowed::parse(r#"{"GET /v1/things: the operation is gone": "It was announced in May."}"#).unwrap();
    let reasons: Vec<_> = found.iter().map(|it| allowed.reason(it)).collect();
    assert_eq!(reasons, [Some("It was announced in May."), None]);
    assert!(Allowed::parse(r#"{"GET /v1/things: the operation is gone": " "}"#).is_err());
}
