//! The MCP server (Model Context Protocol) at `POST /v1/mcp`: tools and resources for agents, made from the route table.
//!
//! One request is one JSON-RPC message and one answer: no sessions, no streams. Two kinds of protocol revision are spoken ([`revision`]):
//! those with a handshake, whose `initialize` stores nothing here, and the one in which each request carries its version itself.
//!
//! | step | module |
//! |---|---|
//! | read the message | [`message`] |
//! | find its revision, compare headers and body | [`revision`] |
//! | find the method | [`method`] |
//! | the tools and their input schemas | [`tool`], [`input_schema`] |
//! | arguments → a request of a route | [`tool_request`] |
//! | the request runs through the pipeline like a caller's own | [`exchange`] |
//! | the response → a bounded answer with next steps | [`tool_answer`], [`excerpt`], [`json_scan`] |
//! | pages, methodology, evidence as resources | [`resource`] |
//!
//! # Invariants
//!
//! - Everything but [`exchange`] is pure: text in, text out.
//! - A tool calls only routes of its row, and each call is identified, limited and cached like any other request.
//! - An error of a route is a tool's answer with `isError`; only what concerns the message itself is a JSON-RPC error.
//! - An answer has at most [`MCP_ANSWER_BYTES`](rds_shared::route::bounds::MCP_ANSWER_BYTES) bytes of a route's response, and says what it leaves out.

pub mod excerpt;
mod exchange;
pub mod input_schema;
pub mod json_scan;
pub mod message;
pub mod method;
pub mod resource;
pub mod revision;
pub mod tool;
pub mod tool_answer;
pub mod tool_request;
pub mod tool_table;

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    // A string has no value that JSON cannot express.
    serde_json::to_string(text).unwrap_or_default()
}

/// Texts as a JSON array of strings.
pub(crate) fn quoted_list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let all: Vec<String> = texts.into_iter().map(quoted).collect();
    format!("[{}]", all.join(","))
}
