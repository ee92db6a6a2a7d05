//! The route table and what reads it: matching a path, parsing a query.
//!
//! The table is the only place that knows a route's method, path, access, family, cache policy, parameters and errors. Both
//! hosts match on [`RouteId`] without a catch-all arm, so a route that nobody answers does not compile.
//!
//! # Invariants
//!
//! - A parameter that a route does not have reaches neither a cache key nor the origin; the edge names it to its caller (`unknown.rs`,
//!   `e2e/ignored.test.mjs`).
//! - An inclusive upper bound in whole milliseconds covers its whole millisecond (`Query::until`), because instants are stored in microseconds
//!   (`tests/it/shown_instants.rs`).

mod asset_params;
mod basket_params;
pub mod bounds;
mod decision_params;
pub mod deprecation;
mod event_params;
pub mod fail_safe;
pub mod family;
mod fold;
pub mod graph_params;
mod index_params;
mod matching;
pub mod pages;
pub mod param;
mod push_params;
pub mod query;
mod research_params;
pub mod row;
mod rows;
mod security_params;
mod service_params;
pub mod table;
pub mod tag;
pub mod unknown;
mod vault_params;
mod webhook_params;

pub use deprecation::Deprecated;
pub use family::RateLimitClass;
pub use fold::Fold;
pub use matching::{Found, Matching, match_route};
pub use pages::Pages;
pub use param::{Kind, OnInvalid, OnOverflow, Param};
pub use query::Query;
pub use row::{Access, Body, Cache, Door, Method, Route, is_of_graph};
pub use table::{ROUTES, RouteId, SECURITY_PAGES};
pub use tag::{Tag, TagVersions};
