//! The OpenAPI document, generated from the route table and the response types, and the schemas of ingest lines, generated from the facts.
//!
//! | module | content |
//! |---|---|
//! | [`document`] | the whole document |
//! | [`sections`] | the tag of each route |
//! | [`operations`] | one route: summary, parameters, body, responses, security |
//! | [`parameters`], [`bodies`] | what a client sends |
//! | [`answers`] | the response schema of each route on success |
//! | [`responses`], [`headers`] | statuses, their headers, and errors with their codes |
//! | [`push`] | webhook events and the stream's frames |
//! | [`deprecations`] | deprecated fields |
//! | [`schemas`] | the schemas that `schemars` generates, edited for readers who do not know Rust |
//! | [`examples`] | requests and responses recorded from the running service |
//! | [`text`] | serialisation as JSON with members in a readable order |
//! | [`compatibility`] | breaking changes between two documents |
//! | [`ingest`] | the JSON Schemas of ingest lines, a document of their own |
//! | [`committed`] | the documents in the repository: the current one, and the last release's contract |

pub mod answers;
pub mod bodies;
pub mod committed;
pub mod compatibility;
pub mod deprecations;
pub mod document;
pub mod examples;
pub mod headers;
pub mod ingest;
mod mcp;
pub mod operations;
pub mod parameters;
pub mod push;
pub mod responses;
pub mod schemas;
pub mod sections;
pub mod text;
