//! Caching policies of routes: how long a response is fresh, and how long it may replace a failed read.

/// How long a response may be cached at the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cache {
    /// Seconds for which a response is fresh; 0 means that it is not cached.
    pub fresh: u32,
    /// Stale-if-error (RFC 5861): seconds after the fresh period during which the cached response may replace a failed read.
    pub stale_if_error: u32,
    /// Whether each caller class has its own cached response.
    pub by_class: bool,
    /// Whether a response may be withdrawn permanently. If so, a cached response replaces a failed read only while no newer version of its
    /// tags is known.
    pub withdrawable: bool,
    /// `Cache-Control` for caches between the edge and the caller; `None` makes them revalidate every time.
    pub beyond: Option<&'static str>,
}

impl Cache {
    pub const NEVER: Cache = Cache { fresh: 0, stale_if_error: 0, by_class: false, withdrawable: false, beyond: None };

    /// Fresh for `fresh` seconds, and usable for a day after that if a read fails.
    pub const fn public(fresh: u32) -> Cache {
        Cache { fresh, stale_if_error: 86_400, ..Cache::NEVER }
    }

    /// Cached for `fresh` seconds without stale-if-error: the response describes the current state, so an old one would be wrong.
    pub const fn present(fresh: u32) -> Cache {
        Cache { fresh, ..Cache::NEVER }
    }

    /// A basket's current version, which shared caches between the edge and the caller may also keep for a minute.
    pub const fn current_basket() -> Cache {
        let beyond = "public, max-age=0, s-maxage=60, stale-while-revalidate=60";
        Cache { beyond: Some(beyond), ..Cache::public(60) }
    }

    /// An immutable response, which clients may keep for a year. The edge revalidates it, because it may be withdrawn.
    pub const fn immutable() -> Cache {
        Cache { beyond: Some("public, max-age=31536000, immutable"), withdrawable: true, ..Cache::public(60) }
    }

    /// For a response that is built into the program. The edge does not cache such a response; other caches revalidate it after five
    /// minutes.
    pub const fn built_in() -> Cache {
        Cache { beyond: Some("public, max-age=300, must-revalidate"), ..Cache::NEVER }
    }

    /// Like [`Cache::public`], for responses that differ by caller class: each class has its own cached response.
    pub const fn by_class(fresh: u32) -> Cache {
        Cache { by_class: true, ..Cache::public(fresh) }
    }

    /// Whether the edge caches responses.
    pub const fn is_kept(self) -> bool {
        self.fresh > 0
    }
}
