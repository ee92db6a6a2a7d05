//! The MCP server's messages (JSON-RPC 2.0), which its own protocol specifies: only their envelope is described here.

use rds_shared::route::bounds::MCP_MAX_ID;
use rds_shared::wire::headers;
use serde_json::{Value, json};

/// Name of the protocol, for programs that make clients from the document: a client library of this interface leaves the operation out.
pub const PROTOCOL: &str = "mcp";

/// The response to a request: its result, or an error of the protocol.
pub fn response() -> Value {
    json!({
        "type": "object", "required": ["jsonrpc", "id"],
        "description": "A JSON-RPC response: `result` or `error`.",
        "properties": {
            "jsonrpc": {"const": "2.0", "description": "The version of JSON-RPC."},
            "id": {"type": ["string", "integer", "null"], "description": "The id of the request; null if it could not be read."},
            "result": {"type": "object", "description": "The result, as the protocol defines it for the method."},
            "error": error(),
        },
    })
}

/// The response to an invalid request, which is `answer` on other routes: an invalid message is refused in its own protocol.
pub fn refused(mut answer: Value) -> Value {
    let either = json!({"anyOf": [{"$ref": "#/components/schemas/Error"}, response()]});
    answer["content"][headers::JSON]["schema"] = either;
    answer
}

/// Responses that no other route has, by status.
pub fn other_responses() -> [(String, Value); 2] {
    let no_method = "The server does not have the method. Revisions with a handshake answer so with status 200.";
    [
        ("202".into(), json!({"description": "The notification was accepted. There is no body."})),
        ("404".into(), json!({"description": no_method, "content": {headers::JSON: {"schema": response()}}})),
    ]
}

fn error() -> Value {
    json!({
        "type": "object", "required": ["code", "message"],
        "description": "An error of the protocol. An error of this interface is a tool's result with `isError`.",
        "properties": {
            "code": {"type": "integer", "description": "The JSON-RPC error code."},
            "message": {"type": "string", "description": "A text for people; its wording may change."},
            "data": {"description": "More about the error, by its code."},
        },
    })
}

/// The body: one request or notification.
pub fn body() -> Value {
    json!({
        "type": "object", "required": ["jsonrpc", "method"],
        "properties": {
            "jsonrpc": {"const": "2.0", "description": "The version of JSON-RPC."},
            "id": {"type": ["string", "integer"], "minimum": -MCP_MAX_ID, "maximum": MCP_MAX_ID, "description": "Your id of the request. A message without one is a notification, which is answered with 202."},
            "method": {"type": "string", "description": "The method, such as `tools/call`."},
            "params": {"type": "object", "description": "The method's parameters."},
        },
    })
}
