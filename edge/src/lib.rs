//! The Cloudflare Worker: it identifies callers, keeps copies, and answers from the origin or from its last good copy.
//!
//! A request walks down [`pipeline`]; each step is one file. Everything but [`runtime`] and [`cache::store`] is plain
//! Rust without a JavaScript value, so the whole walk is tested natively behind the seams of [`ports`].
//!
//! Architecture invariants:
//! - Every failure becomes the error envelope with a request id; where the runtime itself makes no response, `entry.mjs` has one.
//! - What lives in a static is finished, plain data: no request, response, stream or pending future.
//! - A copy is served as fresh only while it has every change of its tags that this isolate's lease ([`epochs`]) knows of.
//! - No future awaits work that another request started, and no borrow is held across an `.await`.
//! - Every map is bounded.
//! - Nothing here panics: a panic takes every request in flight with it.
//!
//! # Invariants
//!
//! - No future of another request is awaited, no borrow is held across an await, and every map is bounded.
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

pub mod answered;
mod answering;
#[cfg(any(test, feature = "any-origin"))]
mod any_origin;
pub mod asking;
pub mod breaker;
pub mod cache;
mod caller;
pub mod config;
mod entrance;
pub mod epochs;
pub mod exchange;
mod fail_safe;
pub mod guard;
pub mod identify;
mod leasing;
mod news;
mod openapi;
pub mod origin;
mod pages;
pub mod pipeline;
pub mod ports;
mod readiness;
mod registering;
mod reserving;
pub mod respond;
pub mod runtime;
mod verifying;

use worker::web_sys::{Request, Response};
use worker::{Context, Env, event};

/// The one way in.
#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> worker::Result<Response> {
    #[cfg(feature = "panic-route")]
    #[allow(clippy::panic, reason = "the point of the feature")]
    if request.url().ends_with("/__panic") {
        panic!("asked for by the path");
    }
    #[cfg(feature = "any-origin")]
    if let Some(origin) = any_origin::runtime::origin(&env) {
        return Ok(any_origin::runtime::serve(&origin, &request, context).await);
    }
    runtime::serve(&request, &env, &context).await
}
