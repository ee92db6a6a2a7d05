//! The domain logic of the Risk Data Service, compiled into the edge (wasm) and the origin (native).
//!
//! | module | content |
//! |---|---|
//! | [`route`] | the route table: routes, parameters, access, and cache policies |
//! | [`wire`] | HTTP formats: envelopes, error codes, ETags, timestamps, pages |
//! | [`access`] | callers: credentials, rate limits, the edge assertion, paging limits |
//! | [`push`] | the event stream's cursors and frames; webhooks: envelope, signature, schedule, breaker, targets |
//! | [`model`] | the resources as the API serves them |
//! | [`rules`] | derived facts: liquidity, borrow costs, tiers, dwell, thinning of series, baskets |
//! | [`scoring`] | the methodology: tables as data, asset and vault scores, provenance |
//! | [`graph`] | decisioning: look-through, checks against limits, signed decisions and their verification |
//! | [`research`] | tests of the service's own scores: windows, losses, confidence intervals, requirements for publication |
//! | `schema` | JSON schemas of types with a hand-written `Serialize`; only with the feature `schema` |
//! | [`select`] | the engine that filters, sorts and pages every list |
//! | [`read_model`] | the encoded rows of the public lists, and the answers made from them |
//! | [`replica`] | how these rows travel to another host |
//! | [`pace`] | long computations in pieces |
//!
//! Architecture invariants:
//! - No clock, no randomness, no I/O: a function that needs the time takes it as an argument.
//! - Every number that reaches a score, a hash or a signature is an integer, so that native and wasm agree to the bit.
//! - Nothing here panics on any input.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice
    )
)]

extern crate alloc;

#[cfg(test)]
extern crate std;

/// Version of the API, shown by `/v1/health` and the OpenAPI document.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub mod access;
pub mod graph;
pub mod model;
pub mod pace;
pub mod push;
pub mod read_model;
pub mod replica;
pub mod research;
pub mod route;
pub mod rules;
#[cfg(feature = "schema")]
mod schema;
pub mod scoring;
pub mod select;
pub mod wire;
