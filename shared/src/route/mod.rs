//! The route table, path matching and query parsing.
//!
//! The table is the only definition of a route's method, path, access, rate-limit class, cache policy, parameters and errors. The edge and
//! the origin match on [`RouteId`] without a catch-all arm, so a route without a handler does not compile.
//!
//! # Invariants
//!
//! - A parameter that a route does not have reaches neither a cache key nor the origin; the edge reports its name to the caller
//!   ([`unknown`]; test: `e2e/ignored.test.mjs`).
//! - An inclusive upper bound in whole milliseconds covers its whole millisecond ([`typed::kinds::Until`]), because instants are stored in
//!   microseconds (test: `origin/tests/it/http/shown_instants.rs`).

pub mod bounds;
pub mod cache_policy;
pub mod deprecation;
pub mod entry;
pub mod fail_safe;
mod fold;
mod matching;
pub mod pages;
pub mod param;
pub mod path_param;
pub mod query;
pub mod rate_limit_class;
pub mod response_head;
pub mod row;
pub mod row_query;
mod rows;
pub mod table;
pub mod tag;
pub mod typed;
pub mod unknown;

pub use cache_policy::Cache;
pub use deprecation::Deprecated;
pub use entry::{Route, Row, is_graph_path};
pub use fold::Fold;
pub use matching::{Found, Matching, match_route};
pub use pages::Pages;
pub use param::{Kind, OnInvalid, OnOverflow, Param};
pub use path_param::PathParam;
pub use query::Query;
pub use rate_limit_class::RateLimitClass;
pub use response_head::{Field, ResponseHead};
pub use row::{Access, Body, Listeners, Method};
pub use row_query::{RowQuery, reads};
pub use table::{ROUTES, RouteId, params, routes};
pub use tag::{Tag, TagVersions};
pub use typed::Parameter;
pub use typed::kinds::Matches;
