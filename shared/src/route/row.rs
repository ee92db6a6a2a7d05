//! What a row of the route table says: method, access, caching, listeners and body.

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
