//! The OpenAPI document: made from the route table and from the types that are answered with, never written by hand.
//!
//! | module | makes |
//! |---|---|
//! | [`document`] | the whole |
//! | [`sections`] | tags: which family a route belongs to |
//! | [`operations`] | one route: summary, parameters, body, answers, security |
//! | [`parameters`], [`bodies`] | what a caller sends |
//! | [`answers`] | the schema of each route's success, by its type |
//! | [`responses`], [`headers`] | statuses, their headers, and errors with their codes |
//! | [`push`] | webhook events and the stream's frames |
//! | [`deprecations`] | which fields are on their way out |
//! | [`schemas`] | what `schemars` makes of the types, in the words of a reader who does not know Rust |
//! | [`examples`] | requests and answers that were recorded from the running service |
//! | [`text`] | the document as text: members in an order that a reader expects |
//! | [`compatibility`] | what a change of the document would break |
//! | [`committed`] | the documents in the repository: the present one, and what the last release promised |

pub mod answers;
pub mod bodies;
pub mod committed;
pub mod compatibility;
pub mod deprecations;
pub mod document;
pub mod examples;
pub mod headers;
pub mod operations;
pub mod parameters;
pub mod push;
pub mod responses;
pub mod schemas;
pub mod sections;
pub mod text;
