//! What each method answers, in both kinds of revision.

use super::*;
use proptest::prelude::*;
use serde_json::json;

/// A request of a revision with a handshake.
fn older(method: &str, params: &Value) -> (u16, Value) {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    answered(begin(&Headers::default(), body.to_string().as_bytes(), true))
}

/// A request of the revision without one.
fn newest(method: &str, params: &Value) -> (u16, Value) {
    answered(begin_newest(method, params))
}

fn begin_newest(method: &str, params: &Value) -> Step {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(str::to_owned);
    let headers = Headers { version: Some("2026-07-28".to_owned()), method: Some(method.to_owned()), name };
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    begin(&headers, body.to_string().as_bytes(), true)
}

fn answered(step: Step) -> (u16, Value) {
    let Step::Done(Outgoing { status, body: Some(body) }) = step else { panic!("{step:?} is not answered yet") };
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!(7)));
    (status, body)
}

#[test]
fn a_handshake_says_what_the_server_is_and_has() {
    let (status, body) =
        older("initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}));
    let result = &body["result"];
    assert_eq!((status, &result["protocolVersion"]), (200, &json!("2025-11-25")));
    assert_eq!(result["capabilities"], json!({"tools": {}, "resources": {}}));
    assert_eq!(result["serverInfo"]["version"], VERSION);
    assert!(result["instructions"].as_str().unwrap().contains("search_vaults"));
    assert!(result.get("resultType").is_none(), "an older revision does not know this member");
    assert_eq!(older("initialize", &json!({})).1["error"]["code"], INVALID_PARAMS);
}

#[test]
fn without_a_handshake_a_client_discovers_the_same() {
    let (status, body) = newest("server/discover", &json!({}));
    let result = &body["result"];
    assert_eq!((status, &result["resultType"]), (200, &json!("complete")));
    assert_eq!(result["supportedVersions"], json!(["2026-07-28", "2025-11-25", "2025-06-18"]));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "risk-data-service");
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(3_600_000), &json!("public")));
}

#[test]
fn each_kind_of_revision_has_its_own_methods() {
    for method in ["initialize", "ping", "prompts/list", "logging/setLevel", "subscriptions/listen", "nonsense"] {
        let (status, body) = newest(method, &json!({"protocolVersion": "2026-07-28"}));
        assert_eq!((status, &body["error"]["code"]), (404, &json!(METHOD_NOT_FOUND)), "{method}");
    }
    for method in ["server/discover", "prompts/list", "logging/setLevel", "nonsense"] {
        let (status, body) = older(method, &json!({}));
        assert_eq!((status, &body["error"]["code"]), (200, &json!(METHOD_NOT_FOUND)), "{method}");
    }
    assert_eq!(older("ping", &json!({})).1["result"], json!({}));
}

#[test]
fn lists_have_one_page() {
    for (method, member) in
        [("tools/list", "tools"), ("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")]
    {
        for ask in [older, newest] {
            let (status, body) = ask(method, &json!({}));
            assert_eq!(status, 200);
            assert!(!body["result"][member].as_array().unwrap().is_empty(), "{method}");
            assert!(body["result"].get("nextCursor").is_none());
            assert_eq!(ask(method, &json!({"cursor": "x"})).1["error"]["code"], INVALID_PARAMS);
        }
        assert!(newest(method, &json!({})).1["result"]["ttlMs"].is_u64(), "{method}");
    }
}

#[test]
fn a_call_needs_the_name_of_a_tool_and_an_object_of_arguments() {
    for params in
        [json!({}), json!({"name": 1}), json!({"name": "nonsense"}), json!({"name": "overview", "arguments": [1]})]
    {
        let (status, body) = older("tools/call", &params);
        assert_eq!((status, &body["error"]["code"]), (200, &json!(INVALID_PARAMS)), "{params}");
    }
    for params in [json!({"name": "overview"}), json!({"name": "overview", "arguments": null})] {
        let Step::Call { tool, arguments, .. } = begin_newest("tools/call", &params) else {
            panic!("{params} is a call")
        };
        assert_eq!((tool.name, arguments.len()), ("overview", 0));
    }
}

#[test]
fn a_missing_resource_has_the_code_of_its_revision() {
    let missing = json!({"uri": "rds://nonsense"});
    assert_eq!(older("resources/read", &missing).1["error"]["code"], -32_002);
    let (status, body) = newest("resources/read", &missing);
    assert_eq!((status, &body["error"]["code"]), (200, &json!(INVALID_PARAMS)));
    assert_eq!(body["error"]["data"]["uri"], "rds://nonsense");
    assert_eq!(older("resources/read", &json!({})).1["error"]["code"], INVALID_PARAMS);
    assert!(matches!(begin_newest("resources/read", &json!({"uri": "rds://methodology"})), Step::Read { .. }));
}

#[test]
fn a_notification_is_accepted_without_a_body() {
    let body = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let Step::Done(outgoing) = begin(&Headers::default(), body, true) else { panic!("nothing to do") };
    assert_eq!(outgoing, Outgoing::ACCEPTED);
    let unknown = Headers { version: Some("1999-01-01".to_owned()), ..Headers::default() };
    let Step::Done(outgoing) = begin(&unknown, body, true) else { panic!("nothing to do") };
    assert_eq!(outgoing.status, 400);
}

#[test]
fn contents_are_text_with_a_media_type_and_a_time_to_live() {
    let reply = Reply { id: "1".to_owned(), era: Era::Stateless };
    let caching = Caching { ttl_millis: 15_000, is_public: false };
    let body: Value =
        serde_json::from_str(&reply.contents("rds://x", "application/json", "{\"a\":1}", caching).body.unwrap())
            .unwrap();
    assert_eq!(
        body["result"]["contents"][0],
        json!({"uri": "rds://x", "mimeType": "application/json", "text": "{\"a\":1}"})
    );
    assert_eq!((&body["result"]["ttlMs"], &body["result"]["cacheScope"]), (&json!(15_000), &json!("private")));
}

proptest! {
    #[test]
    fn no_message_panics(method in "[a-z/]{0,24}", params in "\\PC{0,40}", version in "\\PC{0,12}") {
        let headers = Headers { version: Some(version), ..Headers::default() };
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"uri": params, "name": params, "cursor": params}});
        let _ = begin(&headers, body.to_string().as_bytes(), true);
        let _ = begin(&Headers::default(), params.as_bytes(), false);
    }
}
