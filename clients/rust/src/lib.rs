//! Client of the Risk Data Service: risk scores of on-chain vaults, the event stream, signed webhooks, signed decisions.
//!
//! ```
//! # rds_recorded::run(async |client| {
//! use risk_data_client::types::VaultListParams;
//!
//! let params = VaultListParams { risk_tier: vec!["prime".into()], depositable: Some(true), ..VaultListParams::default() };
//! let mut prime = client.vaults().list(params).rows();
//! while let Some(vault) = prime.try_next().await? {
//!     println!("{} {:?}", vault.name, vault.total_score);
//! #   break;
//! }
//! # Ok(()) })
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`Client`] | options, and a method per resource of the API |
//! | [`resources`] | a method per operation; generated, as are [`types`], [`operations`] and [`ErrorCode`] |
//! | [`Request`], [`List`], [`Listen`] | what a method returns: await it, read its rows, or open it |
//! | [`Error`] | how a request failed |
//! | [`EventStream`] | the stream, which resumes by itself |
//! | [`Webhooks`] | verification of deliveries |
//! | [`decisions`] | verification of signed decisions, with the feature `decisions` |
//! | [`transport`] | how requests are sent |
//!
//! Futures can be dropped at any time: that cancels what they do. The runtime is tokio.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)
)]

/// The examples of the README are compiled with those of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod answer;
mod call;
mod client;
#[cfg(feature = "decisions")]
pub mod decisions;
mod error;
mod etags;
mod frame;
// Formatted by its generator.
#[rustfmt::skip]
mod generated;
mod lenient;
mod open_enum;
mod operation;
mod pages;
mod position;
mod retry;
mod send;
mod sse;
mod stream;
pub mod transport;
mod webhooks;

pub use answer::{Answer, AnswerInfo, RateLimit};
pub use call::{Call, Request};
pub use client::{Client, ClientBuilder};
pub use error::{ApiError, Error};
pub use frame::{Frame, FrameData};
pub use generated::deliveries::DeliveryData;
pub use generated::errors::ErrorCode;
pub use generated::{operations, resources, types};
pub use operation::{Access, Answers, Kind, Operation, Paging, Parameter, Repeat, Style};
pub use pages::{List, Pages, Rows};
pub use retry::Clock;
pub use stream::{EventStream, Listen};
pub use webhooks::{Scheme, WebhookError, WebhookEvent, Webhooks};
// Types of these crates are part of the interface.
pub use {bytes, http, serde_json};
