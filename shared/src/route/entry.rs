//! One row of the route table.

use super::cache_policy::Cache;
use super::deprecation::Deprecated;
use super::fold::Fold;
use super::pages::Pages;
use super::param::Param;
use super::rate_limit_class::RateLimitClass;
use super::row::{Access, Body, Listeners, Method};
use super::table::RouteId;
use super::tag::Tag;
use crate::wire::error::ErrorCode;
use alloc::format;
use alloc::string::String;

/// One route of the service.
#[derive(Debug, Clone)]
pub struct Route {
    /// The id on which the edge and the origin match.
    pub id: RouteId,
    pub method: Method,
    /// The path template, with `{name}` for parameters.
    pub path: &'static str,
    /// Which credential a request needs.
    pub access: Access,
    /// The rate-limit class to which a request is charged.
    pub rate_limit_class: RateLimitClass,
    /// How long a response is cached.
    pub cache: Cache,
    /// The kinds of facts that a response depends on: a change of these facts outdates cached responses. Every cached route has at
    /// least one tag.
    pub tags: &'static [Tag],
    /// Whether the response contains scores, tiers or figures derived from them; such a route answers 503 in fail-closed mode. Immutable records of
    /// the past are still served: published events, a basket version by its id, and results of backtests.
    pub scores: bool,
    /// The origin's listeners that serve the route.
    pub listeners: Listeners,
    /// The request body that the route accepts.
    pub body: Body,
    /// The paging parameters, if callers without a key reach only the first rows; otherwise `None`.
    pub pages: Option<Pages>,
    /// Path parameters to normalise, by position, so that equivalent spellings share a cached response.
    pub fold: &'static [(usize, Fold)],
    /// The query parameters that the route accepts.
    pub query: &'static [Param],
    /// The type of the body of a successful response.
    pub answers: &'static str,
    /// Error codes of the route, in addition to the error codes that every route can return.
    pub errors: &'static [ErrorCode],
    /// Deprecated fields, which keep their meaning until they are removed.
    pub deprecated: &'static [Deprecated],
    /// The description in the OpenAPI document; its first clause is the summary.
    pub about: &'static str,
}

impl Route {
    /// The route's name in usage counts, such as `GET /v1/vaults/{id}`.
    pub fn endpoint(&self) -> String {
        format!("{} {}", self.method.as_str(), self.path)
    }

    /// Whether responses state the platform's fail-safe mode when it is not `normal`.
    pub fn states_fail_safe_mode(&self) -> bool {
        self.scores || matches!(self.rate_limit_class, RateLimitClass::Status | RateLimitClass::Health)
    }

    /// Whether the response is an endless stream: it is forwarded as it arrives, never cached, and not limited in bytes.
    pub fn streams(&self) -> bool {
        self.id == RouteId::EventStream
    }

    /// The access rule in force. While `anonymous_stream` is set, during the rollout of the event stream, the stream needs no key.
    pub fn access_now(&self, anonymous_stream: bool) -> Access {
        if self.streams() && anonymous_stream { Access::Public } else { self.access }
    }

    /// Whether the response depends on the caller, so that it must not be served to others.
    pub fn depends_on_caller(&self) -> bool {
        self.cache.by_class || self.access != Access::Public
    }
}

/// Whether a path belongs to the graph routes, which exist only if the graph feature is enabled.
pub fn is_graph_path(path: &str) -> bool {
    path.starts_with("/v1/graph/")
}

/// A row of the route table as a type.
pub trait Row {
    const ID: RouteId;
    const QUERY: &'static [Param];
}
