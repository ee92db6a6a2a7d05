//! What a row of the route table says.

use super::deprecation::Deprecated;
use super::family::RateLimitClass;
use super::fold::Fold;
use super::pages::Pages;
use super::param::Param;
use super::table::RouteId;
use super::tag::Tag;
use crate::wire::error::ErrorCode;
use alloc::format;
use alloc::string::String;

/// The methods routes use. HEAD is GET without the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Reads; HEAD comes with it.
    Get,
    /// Writes, checks and batch look-ups.
    Post,
    /// Removals.
    Delete,
}

impl Method {
    /// Reads an HTTP method; HEAD reads as GET, and a method that no route uses as `None`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "GET" | "HEAD" => Some(Method::Get),
            "POST" => Some(Method::Post),
            "DELETE" => Some(Method::Delete),
            _ => None,
        }
    }

    /// The method's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Delete => "DELETE",
        }
    }
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Public,
    /// The holder of any live key.
    Key,
    /// A key of plan `data` or higher.
    Data,
    /// A key of plan `decisioning` or higher.
    Decisioning,
    /// The holder of a live index token, and nobody else. Source: interface, "Authentication", 7.
    Index,
}

/// How long an answer may be kept at the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cache {
    /// Seconds it counts as fresh; 0 is never kept.
    pub fresh: u32,
    /// Seconds after that in which it may stand in for a failed read.
    pub stale_if_error: u32,
    /// Whether each caller class has its own copy.
    pub by_class: bool,
    /// Whether an answer may be withdrawn for good: a copy that lacks a known change then stands in for no failed read.
    pub withdrawable: bool,
    /// What caches between the edge and the caller are told, where that is not to ask again each time: `Cache-Control`.
    pub beyond: Option<&'static str>,
}

impl Cache {
    /// Never kept.
    pub const NEVER: Cache = Cache { fresh: 0, stale_if_error: 0, by_class: false, withdrawable: false, beyond: None };

    /// Kept `fresh` seconds, and up to a day after as the last good copy.
    pub const fn public(fresh: u32) -> Cache {
        Cache { fresh, stale_if_error: 86_400, ..Cache::NEVER }
    }

    /// Kept `fresh` seconds and not a moment longer: what it says is of the present, and an old word would be a wrong one.
    pub const fn present(fresh: u32) -> Cache {
        Cache { fresh, ..Cache::NEVER }
    }

    /// A basket's present version: caches on the way may share it for a minute too.
    ///
    /// Source: interface, "Common behaviors", 2.
    pub const fn current_basket() -> Cache {
        let beyond = "public, max-age=0, s-maxage=60, stale-while-revalidate=60";
        Cache { beyond: Some(beyond), ..Cache::public(60) }
    }

    /// What never changes: whoever has it need not ask for a year. The edge does ask again, for it may be withdrawn.
    ///
    /// Source: interface, "Common behaviors", 2.
    pub const fn immutable() -> Cache {
        Cache { beyond: Some("public, max-age=31536000, immutable"), withdrawable: true, ..Cache::public(60) }
    }

    /// Part of the program itself: kept by nobody here, and asked for again after five minutes elsewhere.
    pub const fn built_in() -> Cache {
        Cache { beyond: Some("public, max-age=300, must-revalidate"), ..Cache::NEVER }
    }

    /// The same as [`Cache::public`] for answers that not everybody may have: each caller class has its own copy.
    pub const fn by_class(fresh: u32) -> Cache {
        Cache { by_class: true, ..Cache::public(fresh) }
    }

    /// Whether answers are kept at all.
    pub const fn is_kept(self) -> bool {
        self.fresh > 0
    }
}

/// The body a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// None.
    None,
    /// JSON of at most so many bytes.
    Json {
        /// Most bytes taken; more is 413.
        max_bytes: usize,
    },
}

/// Which of the origin's doors answer a route. The edge answers all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Only the edge's.
    Edge,
    /// The edge's, and the relay's for backends that connect directly.
    EdgeAndRelay,
}

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
