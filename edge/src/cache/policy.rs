//! Which responses are cached, how long they are fresh, and how long they may be served stale.

use super::directives::Directives;
use crate::origin_link::signed_call::OriginAnswer;
use rds_shared::route::Route;
use rds_shared::wire::headers;

/// Largest cached body, in bytes.
pub const MAX_BODY: usize = 1 << 20;

/// How long a cached response can be used, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lifetime {
    /// Served without revalidation; counts from the origin's last confirmation.
    pub fresh: u32,
    /// Served if revalidation fails (RFC 5861); counts from the end of `fresh`.
    pub stale_if_error: u32,
}

/// How a cached response may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Serve it.
    Fresh,
    /// Revalidate it first; serve it only if the origin cannot be reached.
    Stale,
    /// Remove it.
    Expired,
}

impl Lifetime {
    /// Reads `max-age` and `stale-if-error` from a `CDN-Cache-Control` (RFC 9213). `None` if caching is not allowed.
    pub fn parse(text: &str) -> Option<Self> {
        let said = Directives::of(text);
        let refused = ["no-store", "no-cache", "private"].into_iter().any(|name| said.has(name));
        let fresh = said.seconds("max-age").filter(|seconds| *seconds > 0 && !refused)?;
        // An absent or unreadable number counts as 0.
        let stale_if_error = said.seconds("stale-if-error").unwrap_or(0);
        Some(Lifetime { fresh, stale_if_error })
    }

    /// The condition of a response that the origin confirmed `age` seconds ago.
    pub fn condition(self, age: u64) -> Condition {
        match age {
            _ if age < self.fresh.into() => Condition::Fresh,
            _ if age < self.retention().into() => Condition::Stale,
            _ => Condition::Expired,
        }
    }

    /// Seconds after which the response cannot be used any more.
    pub fn retention(self) -> u32 {
        self.fresh.saturating_add(self.stale_if_error)
    }

    /// Seconds of freshness left at `age`; negative once it is over.
    pub fn ttl(self, age: u64) -> i64 {
        i64::from(self.fresh).saturating_sub(i64::try_from(age).unwrap_or(i64::MAX))
    }
}

/// How long an answer may be cached; `None` if it may not.
///
/// Only complete successes of cached routes with the origin's explicit consent are cached. Errors are not: the entity of a
/// 404 may exist a moment later.
pub fn lifetime(route: &Route, answer: &OriginAnswer) -> Option<Lifetime> {
    let whole = answer.status == 200 && answer.body.len() <= MAX_BODY && answer.is_json();
    whole.then(|| consent(route, answer)).flatten()
}

/// The lifetime that the origin grants to an answer, or to a cached response confirmed by a 304.
pub fn consent(route: &Route, answer: &OriginAnswer) -> Option<Lifetime> {
    answer.header(headers::CDN_CACHE_CONTROL).filter(|_| route.cache.is_kept()).and_then(Lifetime::parse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rds_shared::route::RouteId;

    const FIFTEEN: Lifetime = Lifetime { fresh: 15, stale_if_error: 86_400 };

    fn answer(status: u16, content_type: &str, cdn: Option<&str>) -> OriginAnswer {
        let mut given = vec![("content-type", content_type.to_owned())];
        given.extend(cdn.map(|value| (headers::CDN_CACHE_CONTROL, value.to_owned())));
        OriginAnswer { status, headers: given, body: b"{}".to_vec(), ..OriginAnswer::default() }
    }

    #[test]
    fn a_response_is_fresh_then_stale_then_expired() {
        assert_eq!(FIFTEEN.condition(0), Condition::Fresh);
        assert_eq!(FIFTEEN.condition(14), Condition::Fresh);
        assert_eq!(FIFTEEN.condition(15), Condition::Stale);
        assert_eq!(FIFTEEN.condition(86_414), Condition::Stale);
        assert_eq!(FIFTEEN.condition(86_415), Condition::Expired);
        assert_eq!((FIFTEEN.ttl(20), FIFTEEN.retention()), (-5, 86_415));
    }

    #[test]
    fn the_origin_sets_the_lifetime() {
        assert_eq!(Lifetime::parse("max-age=15, stale-if-error=86400"), Some(FIFTEEN));
        assert_eq!(Lifetime::parse("Stale-If-Error=86400,Max-Age=\"15\", must-revalidate"), Some(FIFTEEN));
        let short = Lifetime { fresh: 15, ..Lifetime::default() };
        assert_eq!(Lifetime::parse("max-age=15"), Some(short));
        assert_eq!(Lifetime::parse("max-age=15, stale-if-error=soon"), Some(short));
    }

    #[test]
    fn without_explicit_consent_nothing_is_cached() {
        for refusal in [
            "",
            "max-age=0",
            "max-age=-1",
            "max-age=x",
            "no-store, max-age=15",
            "private, max-age=15",
            "stale-if-error=9",
        ] {
            assert_eq!(Lifetime::parse(refusal), None, "{refusal}");
        }
    }

    #[test]
    fn only_complete_json_successes_of_cached_routes_are_cached() {
        let kept = RouteId::VaultList.route();
        let consent = Some("max-age=15");
        assert!(lifetime(kept, &answer(200, "application/json", consent)).is_some());
        for (status, content_type, cdn) in [
            (200, "application/json", None),
            (200, "text/html", consent),
            (206, "application/json", consent),
            (404, "application/json", consent),
            (503, "application/json", consent),
        ] {
            assert_eq!(lifetime(kept, &answer(status, content_type, cdn)), None, "{status} {content_type}");
        }
        assert_eq!(lifetime(RouteId::Health.route(), &answer(200, "application/json", consent)), None);
        let oversized = OriginAnswer { body: vec![b' '; MAX_BODY + 1], ..answer(200, "application/json", consent) };
        assert_eq!(lifetime(kept, &oversized), None);
    }

    proptest! {
        #[test]
        fn any_header_text_can_be_parsed(text in "[a-zA-Z0-9=\", -]{0,60}", age in any::<u64>()) {
            if let Some(lifetime) = Lifetime::parse(&text) {
                prop_assert!(lifetime.fresh > 0);
                let _ = (lifetime.condition(age), lifetime.ttl(age), lifetime.retention());
            }
        }
    }
}
