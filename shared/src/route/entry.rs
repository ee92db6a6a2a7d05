//! A row of the route table.

use super::deprecation::Deprecated;
use super::family::RateLimitClass;
use super::fold::Fold;
use super::pages::Pages;
use super::param::Param;
use super::row::{Access, Body, Cache, Door, Method};
use super::table::RouteId;
use super::tag::Tag;
use crate::wire::error::ErrorCode;
use alloc::format;
use alloc::string::String;

/// A row of the table.
#[derive(Debug, Clone)]
pub struct Route {
    /// What both hosts match on.
    pub id: RouteId,
    /// The method.
    pub method: Method,
    /// The path, with `{name}` for parameters.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// The budget it is charged to.
    pub family: RateLimitClass,
    /// How long an answer is kept.
    pub cache: Cache,
    /// The facts it is made of: a change of them makes copies too old. Every kept answer has some.
    pub tags: &'static [Tag],
    /// Whether it serves scores, tiers or figures made of them: 503 while the platform is fail-closed. What is of the past and never
    /// changes stays served: events that were told, a basket's version by its id, and what backtests found.
    pub scores: bool,
    /// The doors that answer it.
    pub door: Door,
    /// The body it takes.
    pub body: Body,
    /// How its query asks for rows, where callers without a key reach only the first ones.
    pub pages: Option<Pages>,
    /// The path parameters, by place, whose spellings share a cached response.
    pub fold: &'static [(usize, Fold)],
    /// The query parameters it knows.
    pub query: &'static [Param],
    /// The type of its success body.
    pub answers: &'static str,
    /// The errors it can answer beside the common ones.
    pub errors: &'static [ErrorCode],
    /// Fields that are on their way out: they still hold what they held, and something else is to be used.
    pub deprecated: &'static [Deprecated],
    /// One or two sentences for the document.
    pub about: &'static str,
}

impl Route {
    /// Its name in usage counts, as `GET /v1/vaults/{id}`.
    pub fn endpoint(&self) -> String {
        format!("{} {}", self.method.as_str(), self.path)
    }

    /// Whether its answers tell the platform's fail-safe mode when that is not normal.
    pub fn tells_fail_safe(&self) -> bool {
        self.scores || matches!(self.family, RateLimitClass::Status | RateLimitClass::Health)
    }

    /// Whether its answer has no end of its own: it is handed on as it comes, and never kept or counted in bytes.
    pub fn streams(&self) -> bool {
        self.id == RouteId::EventStream
    }

    /// Who may call it. While the stream is being rolled out (`anonymous_stream`) it is open to everybody.
    /// Source: interface, "Event stream", 8.
    pub fn access_now(&self, anonymous_stream: bool) -> Access {
        if self.streams() && anonymous_stream { Access::Public } else { self.access }
    }

    /// Whether what it answers depends on who asks: such an answer is nobody else's.
    pub fn depends_on_caller(&self) -> bool {
        self.cache.by_class || self.access != Access::Public
    }
}

/// Whether a path leads into the graph family, which is there only where that feature is on.
/// Source: interface, "Decisioning (graph family)".
pub fn is_of_graph(path: &str) -> bool {
    path.starts_with("/v1/graph/")
}

/// A row of the route table as a type.
pub trait Row {
    /// The row's id.
    const ID: RouteId;
    /// The row's query parameters.
    const QUERY: &'static [Param];
}
