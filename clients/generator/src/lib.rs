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
//! | [`language`], [`emitters`] | what an emitter provides, and the list of emitters |
//! | [`rust`] | the emitter for Rust, and the dispatch of its tests |
//! | [`typescript`] | the emitter for TypeScript |
//! | [`python`] | the emitter for Python |
//! | [`catalogue`] | the list of operations for the behaviour suite |
//! | [`released`] | what would break a user of the last release |
//!
//! To add a language, write a module that implements [`language::Language`] and add it to [`emitters::all`].

pub mod catalogue;
pub mod emitters;
pub mod language;
pub mod model;
pub mod names;
pub mod operations;
pub mod paging;
pub mod python;
pub mod read;
pub mod released;
pub mod rust;
pub mod shapes;
pub mod typescript;
