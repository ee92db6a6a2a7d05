//! JSON-RPC 2.0: one message in, one response out. Batches are refused, as MCP no longer has them.

use super::quoted;
use rds_shared::route::bounds::MCP_MAX_ID;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The body is not JSON.
pub const PARSE_ERROR: i32 = -32_700;
/// The body is not one JSON-RPC request or notification.
pub const INVALID_REQUEST: i32 = -32_600;
/// The method does not exist in the message's revision.
pub const METHOD_NOT_FOUND: i32 = -32_601;
/// The parameters do not fit the method.
pub const INVALID_PARAMS: i32 = -32_602;
/// The service failed.
pub const INTERNAL_ERROR: i32 = -32_603;

/// A message of a client.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Wants a response.
    Request(Request),
    /// Wants none.
    Notification,
}

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The id as JSON: a string or a whole number.
    pub id: String,
    pub method: String,
    pub params: Map<String, Value>,
}

/// Why a message is refused: a JSON-RPC error, and the HTTP status that it is sent with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub code: i32,
    pub message: Cow<'static, str>,
    /// The member `data`, as JSON.
    pub data: Option<String>,
    pub status: u16,
}

impl Fault {
    /// A fault of the message, status 400.
    pub fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Fault { code, message: message.into(), data: None, status: 400 }
    }

    /// A fault that a method found in its parameters. The message itself was well formed, so the status is 200.
    pub fn of_params(message: impl Into<Cow<'static, str>>) -> Self {
        Fault { status: 200, ..Fault::new(INVALID_PARAMS, message) }
    }
}

/// An HTTP response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    pub status: u16,
    /// JSON; `None` for an accepted notification.
    pub body: Option<String>,
}

impl Outgoing {
    /// The response to an accepted notification.
    pub const ACCEPTED: Outgoing = Outgoing { status: 202, body: None };

    /// A successful response to the request `id`; `result` is JSON.
    pub fn result(id: &str, result: &str) -> Self {
        Outgoing { status: 200, body: Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")) }
    }

    /// The refusal of a message; without an id if it could not be read.
    pub fn refused(id: Option<&str>, fault: &Fault) -> Self {
        let data = fault.data.as_ref().map(|data| format!(",\"data\":{data}")).unwrap_or_default();
        let (id, code, message) = (id.unwrap_or("null"), fault.code, quoted(&fault.message));
        let body =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{message}{data}}}}}");
        Outgoing { status: fault.status, body: Some(body) }
    }
}

/// Reads a body.
pub fn read(body: &[u8]) -> Result<Message, Fault> {
    let invalid = |reason: &'static str| Err(Fault::new(INVALID_REQUEST, reason));
    let mut members = match serde_json::from_slice(body) {
        Ok(Value::Object(members)) => members,
        Ok(Value::Array(_)) => return invalid("batches are not supported: send one message in each request"),
        Ok(_) => return invalid("the body must be a JSON-RPC request or notification"),
        Err(_) => return Err(Fault::new(PARSE_ERROR, "the body is not JSON")),
    };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("the member `jsonrpc` must be \"2.0\"");
    }
    let Some(Value::String(method)) = members.remove("method") else {
        return invalid("the member `method` must be a text");
    };
    let params = match members.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return invalid("the member `params` must be an object"),
    };
    let id = match members.remove("id") {
        None => return Ok(Message::Notification),
        Some(Value::String(id)) => quoted(&id),
        Some(Value::Number(id)) if id.as_i64().is_some_and(|id| (-MCP_MAX_ID..=MCP_MAX_ID).contains(&id)) => {
            id.to_string()
        }
        Some(_) => return invalid("the member `id` must be a text, or a whole number of at most 2^53 - 1"),
    };
    Ok(Message::Request(Request { id, method, params }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn code(body: &str) -> i32 {
        let fault = read(body.as_bytes()).unwrap_err();
        assert_eq!(fault.status, 400, "{body}");
        fault.code
    }

    #[test]
    fn a_request_has_a_text_or_a_whole_number_as_id() {
        for (id, read_as) in
            [("1", "1"), ("\"a\\\"b\"", "\"a\\\"b\""), ("-7", "-7"), ("9007199254740991", "9007199254740991")]
        {
            let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}");
            let Message::Request(request) = read(body.as_bytes()).unwrap() else { panic!("{body} is a request") };
            assert_eq!((request.id.as_str(), request.method.as_str()), (read_as, "ping"));
        }
        for id in ["null", "1.5", "true", "[1]", "{}", "9007199254740992", "-9007199254740992"] {
            assert_eq!(
                code(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}")),
                INVALID_REQUEST,
                "{id}"
            );
        }
    }

    #[test]
    fn a_message_without_an_id_is_a_notification() {
        let body = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(read(body), Ok(Message::Notification));
    }

    #[test]
    fn what_is_not_one_message_is_refused() {
        for body in ["", "{", "nonsense", "{\"jsonrpc\":\"2.0\",\"id\":1e999,\"method\":\"ping\"}", "\u{feff}{}"] {
            assert_eq!(code(body), PARSE_ERROR, "{body}");
        }
        for body in [
            "[]",
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            "1",
            "null",
            "{}",
            "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":1}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[1]}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        ] {
            assert_eq!(code(body), INVALID_REQUEST, "{body}");
        }
    }

    #[test]
    fn a_deeply_nested_body_is_refused_and_does_not_overflow_the_stack() {
        assert_eq!(code(&"[".repeat(200_000)), PARSE_ERROR);
    }

    #[test]
    fn a_refusal_is_json_with_the_id_or_null() {
        let fault = Fault { data: Some("{\"a\":1}".to_owned()), ..Fault::new(INVALID_PARAMS, "a \"quoted\" text") };
        let body: Value = serde_json::from_str(&Outgoing::refused(Some("\"x\""), &fault).body.unwrap()).unwrap();
        assert_eq!(body["id"], "x");
        assert_eq!(body["error"]["message"], "a \"quoted\" text");
        assert_eq!(body["error"]["data"]["a"], 1);
        let body: Value = serde_json::from_str(&Outgoing::refused(None, &fault).body.unwrap()).unwrap();
        assert!(body["id"].is_null());
    }

    proptest! {
        #[test]
        fn no_body_panics(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&body);
        }
    }
}
