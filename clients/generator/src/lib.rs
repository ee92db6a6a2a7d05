//! Generates the parts of the client libraries that depend on the API: methods, parameters, types, enums and errors.
//!
//! | module | content |
//! |---|---|
//! | [`model`] | the API without any language: operations, shapes, errors, webhook deliveries |
//! | [`read`] | the model, read from the OpenAPI document |
//! | [`shapes`] | schemas as shapes |
//! | [`operations`] | one operation: parameters, body, answer, retries, access |
//! | [`paging`] | how a list is read to its end |
//! | [`names`] | the resource and the method of an operation, as words that each language joins in its own way |
//! | [`language`] | what an emitter provides, and the list of emitters |
//! | [`typescript`] | the emitter for TypeScript |
//! | [`catalogue`] | the list of operations for the behaviour suite |
//!
//! To add a language, write a module that implements [`language::Language`] and add it to [`language::all`].

pub mod catalogue;
pub mod language;
pub mod model;
pub mod names;
pub mod operations;
pub mod paging;
pub mod read;
pub mod shapes;
pub mod typescript;
