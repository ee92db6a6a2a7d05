//! The Cloudflare Worker: it identifies callers, caches responses, and answers from the origin, from its cache, or with a stale response.
//!
//! [`pipeline`] shows the steps of a request; each step is one file. [`mcp`] makes requests of its own for agents. Everything but [`runtime`], [`cache::store`] and the Durable
//! Objects is plain Rust without a JavaScript value, so tests run the whole pipeline natively through the traits of [`ports`].
//!
//! # Invariants
//!
//! - Every failure becomes the error envelope with a request id; if the Wasm instance cannot answer, `entry.mjs` writes the envelope.
//! - Statics hold finished, plain data only: no request, response, stream or pending future.
//! - A cached response counts as fresh only if it includes every change of its tags that this isolate's lease ([`tag_versions`]) knows of.
//! - No future awaits work that another request started, and no borrow is held across an `.await`.
//! - Every map is bounded.
//! - Nothing here panics, because a panic aborts every request in flight.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects
    )
)]

pub mod answer_counts;
mod asked;
mod asset_reply;
mod assets;
pub mod cache;
mod cache_or_origin;
mod caller;
pub mod config;
mod decision_verification;
mod fail_safe;
pub mod guard;
pub mod identify;
mod key_lookup;
mod key_reservation;
pub mod mcp;
mod openapi;
pub mod origin_link;
mod pages;
pub mod pipeline;
pub mod ports;
mod readiness;
pub mod replica;
pub mod respond;
pub mod runtime;
mod tag_lease;
pub mod tag_versions;
mod well_known;

use worker::web_sys::{Request, Response};
use worker::{Context, Env, event};

/// Entry point of every request.
#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> worker::Result<Response> {
    #[cfg(feature = "panic-route")]
    #[allow(clippy::panic, reason = "the feature tests panics")]
    if request.url().ends_with("/__panic") {
        panic!("panic requested by the path");
    }
    runtime::serve(&request, &env, &context).await
}
