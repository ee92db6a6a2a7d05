//! The service itself and the caller: parameters and rows.

use crate::route::bounds::MCP_MESSAGE_BYTES;
use crate::route::param::Param;
use crate::route::row::Body;
use crate::route::typed::kinds::*;
use crate::route::typed::params;

/// Body of a message to the MCP server.
pub(in crate::route) const MESSAGE_BODY: Body = Body::Json { max_bytes: MCP_MESSAGE_BYTES };

params! {
    /// Pages link to their files with the file's fingerprint, so that a browser loads a file again when it changes.
    FileVersion: Text =
        Param::text("v", 64, "Fingerprint of the file, as in the links of the pages. Any value returns the same file.").or_ignored();
}

macro_rules! service_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            Me: Get "/v1/me" {
                access: Key, rate_limit_class: Public, cache: Cache::NEVER,
                query: [], answers: "Data<Me>", errors: [],
                about: "The calling key: its identity, limits and usage.",
            }
            Health: Get "/v1/health" {
                access: Public, rate_limit_class: Health, cache: Cache::NEVER,
                listeners: EdgeAndRelay,
                query: [], answers: "Health", errors: [],
                about: "Whether the service responds, and how fresh its data is.",
            }
            Status: Get "/v1/status" {
                access: Public, rate_limit_class: Status, cache: Cache::present(60), tags: [FailSafe],
                listeners: EdgeAndRelay,
                query: [], answers: "StatusFeed", errors: [],
                about: "Status of the service's components, each with the reason if it is degraded or down. This route responds even while other parts are \
                       down.",
            }
            OpenApi: Get "/v1/openapi.json" {
                access: Public, rate_limit_class: Public, cache: Cache::built_in(),
                listeners: EdgeAndRelay,
                query: [], answers: "OpenApi", errors: [],
                about: "This document: every route with its parameters, responses, errors and examples, and the messages of webhooks and the stream.",
            }
            Ready: Get "/ready" {
                access: Public, rate_limit_class: Unmetered, cache: Cache::NEVER,
                listeners: EdgeAndRelay,
                query: [], answers: "Ready", errors: [],
                about: "Whether the database responds within one second.",
            }
            Docs: Get "/v1/docs" {
                access: Public, rate_limit_class: Unmetered, cache: Cache::NEVER,
                listeners: EdgeAndRelay,
                query: [], answers: "Page", errors: [],
                about: "The start page of the documentation.",
            }
            DocsFile: Get "/v1/docs/{file}" {
                access: Public, rate_limit_class: Unmetered, cache: Cache::NEVER,
                listeners: EdgeAndRelay,
                query: [FileVersion], answers: "Page", errors: [NotFound],
                about: "A page of the documentation, its text as Markdown, or a file that the pages load.",
            }
            Mcp: Post "/v1/mcp" {
                access: Public, rate_limit_class: Unmetered, cache: Cache::NEVER,
                body: MESSAGE_BODY,
                query: [], answers: "JsonRpc", errors: [Forbidden, PayloadTooLarge, UnsupportedMediaType],
                about: "The Model Context Protocol server for agents: one JSON-RPC message in each request. Messages are not rate limited, but each \
                       tool call and each read of a resource counts like the requests that it makes.",
            }
        }
    };
}

pub(in crate::route) use service_rows;
