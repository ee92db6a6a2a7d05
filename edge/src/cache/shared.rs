//! Which answers of an arbitrary origin a shared cache may store, and for how long (RFC 9111, sections 3 and 4.2).
//!
//! The service's own origin is governed by `super::policy`, which is stricter: it requires explicit consent. Both yield a
//! [`Lifetime`], and cached responses are then treated alike.

use super::Lifetime;
use super::directives::{Directives, MOST_SECONDS, delta_seconds};
use super::fields::Fields;
use super::http_date;
use rds_shared::wire::{Timestamp, headers};

/// Heuristically cacheable statuses (RFC 9110, section 15.1), without 206.
const HEURISTIC: [u16; 11] = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501];
/// Statuses that satisfy `must-understand`.
const UNDERSTOOD: [u16; 20] =
    [200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 500, 501, 502, 503, 504];
/// How long a stale response with a validator is kept for revalidation, in seconds.
const CONFIRMABLE_SECONDS: u32 = 86_400;
/// Longest heuristic freshness, in seconds: a day.
const MAX_HEURISTIC_SECONDS: i64 = 86_400;

/// A request and its answer.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    pub method: &'a str,
    pub request: &'a Fields,
    pub status: u16,
    pub response: &'a Fields,
    pub asked_at: Timestamp,
    pub answered_at: Timestamp,
}

impl Exchange<'_> {
    /// How long the answer may be stored; `None` if it may not.
    pub fn lifetime(&self) -> Option<Lifetime> {
        let kept = self.method == "GET" && self.status >= 200 && !matches!(self.status, 206 | 304);
        kept.then(|| self.consent()).flatten()
    }

    /// The lifetime granted to an answer, or to a cached response confirmed by a 304.
    pub fn consent(&self) -> Option<Lifetime> {
        let (targeted, general) = (self.response.get(headers::CDN_CACHE_CONTROL), self.response.get("cache-control"));
        // The targeted field takes precedence over `Cache-Control` (RFC 9213, section 2.2).
        let targeted = targeted.filter(|text| !Directives::of(text).is_empty());
        let text = targeted.clone().or(general).unwrap_or_default();
        let said = Directives::of(&text);
        if !self.allows(said) {
            return None;
        }
        let fresh = self.fresh(said, targeted.is_some());
        let has_validator = self.response.get("etag").is_some() || self.response.get("last-modified").is_some();
        let confirmable = if has_validator { CONFIRMABLE_SECONDS } else { 0 };
        if said.has("no-cache") {
            return has_validator.then_some(Lifetime { confirmable, ..Lifetime::default() });
        }
        // These forbid serving the response stale, whatever else is granted (RFC 9111, section 4.2.4).
        let strict = ["must-revalidate", "proxy-revalidate", "s-maxage"].into_iter().any(|name| said.has(name));
        let granted = |name| said.seconds(name).filter(|_| !strict).unwrap_or(0);
        let (stale_while_revalidate, stale_if_error) = (granted("stale-while-revalidate"), granted("stale-if-error"));
        let lifetime = Lifetime { fresh, stale_while_revalidate, stale_if_error, confirmable };
        (lifetime.retention() > 0).then_some(lifetime)
    }

    /// Whether the answer may be stored (RFC 9111, sections 3 and 3.5).
    fn allows(&self, said: Directives<'_>) -> bool {
        let wanted = self.request.get("cache-control").unwrap_or_default();
        let understood = UNDERSTOOD.contains(&self.status);
        let must_understand = said.has("must-understand");
        // With `must-understand`, a cache that understands the status ignores `no-store` (section 5.2.2.3).
        let no_store = said.has("no-store") && !(must_understand && understood);
        if Directives::of(&wanted).has("no-store")
            || no_store
            || said.has("private")
            || (must_understand && !understood)
        {
            return false;
        }
        let is_for_all = ["public", "must-revalidate", "s-maxage"].into_iter().any(|name| said.has(name));
        is_for_all || self.request.get("authorization").is_none()
    }

    /// Freshness lifetime in seconds (RFC 9111, section 4.2.1). An answer with an unreadable `Age` has none.
    fn fresh(&self, said: Directives<'_>, targeted: bool) -> u32 {
        if self.stated_age().is_none() {
            return 0;
        }
        let stated = said.seconds("s-maxage").or_else(|| said.seconds("max-age"));
        if let Some(seconds) = stated {
            return seconds;
        }
        let date = |name| self.response.get(name).and_then(|text| http_date::parse(&text, self.answered_at));
        let made_at = date("date").unwrap_or(self.answered_at);
        let until = |end: Timestamp| u32::try_from(end.seconds_since(made_at).max(0)).unwrap_or(MOST_SECONDS);
        match self.response.get("expires").filter(|_| !targeted) {
            // An unreadable date, such as 0, counts as past (RFC 9111, section 5.3).
            Some(_) => date("expires").map_or(0, until),
            None if said.has("public") || HEURISTIC.contains(&self.status) => {
                let unchanged_for = date("last-modified").map_or(0, |changed| made_at.seconds_since(changed));
                u32::try_from(unchanged_for.checked_div(10).unwrap_or(0).min(MAX_HEURISTIC_SECONDS)).unwrap_or(0)
            }
            None => 0,
        }
    }

    /// Age of the answer in seconds when it arrived (RFC 9111, section 4.2.3).
    pub fn age(&self) -> u64 {
        let seconds = |from: Timestamp| u64::try_from(self.answered_at.seconds_since(from)).unwrap_or(0);
        let date = self.response.get("date").and_then(|text| http_date::parse(&text, self.answered_at));
        let age = u64::from(self.stated_age().unwrap_or(0));
        age.saturating_add(seconds(self.asked_at)).max(date.map_or(0, seconds))
    }

    /// The value of `Age`: 0 if absent, the first of several values, and `None` if it is unreadable.
    ///
    /// RFC 9111, section 5.1, says to ignore an unreadable value. But then a cache stored the answer for an unknown time, so it counts as
    /// stale here, which costs one revalidation.
    fn stated_age(&self) -> Option<u32> {
        self.response.get("age").map_or(Some(0), |text| delta_seconds(text.split(',').next()?.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields::tests::fields;
    use super::*;
    use proptest::prelude::*;

    const NOW: i64 = 784_111_777;
    const DATE: (&str, &str) = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    const AN_HOUR_AGO: &str = "Sun, 06 Nov 1994 07:49:37 GMT";
    const IN_AN_HOUR: &str = "Sun, 06 Nov 1994 09:49:37 GMT";

    fn judged<T>(status: u16, request: &Fields, response: &Fields, judge: impl Fn(Exchange<'_>) -> T) -> T {
        let now = Timestamp::from_seconds(NOW);
        judge(Exchange { method: "GET", request, status, response, asked_at: now, answered_at: now })
    }

    fn kept(status: u16, request: &[(&str, &str)], response: &[(&str, &str)]) -> Option<Lifetime> {
        judged(status, &fields(request), &fields(response), |exchange| exchange.lifetime())
    }

    fn fresh(response: &[(&str, &str)]) -> Option<u32> {
        kept(200, &[], response).map(|lifetime| lifetime.fresh)
    }

    fn age(response: &[(&str, &str)]) -> u64 {
        judged(200, &Fields::default(), &fields(response), |exchange| exchange.age())
    }

    #[test]
    fn cdn_cache_control_precedes_s_maxage_then_max_age_then_expires() {
        let expires = ("expires", IN_AN_HOUR);
        let general = ("cache-control", "max-age=10, s-maxage=20");
        let targeted = ("cdn-cache-control", "max-age=30");
        assert_eq!(fresh(&[DATE, expires, general, targeted]), Some(30));
        assert_eq!(fresh(&[DATE, expires, general, ("cdn-cache-control", "")]), Some(20));
        assert_eq!(fresh(&[DATE, expires, ("cache-control", "max-age=10")]), Some(10));
        assert_eq!(fresh(&[DATE, expires]), Some(3_600));
        assert_eq!(fresh(&[("cache-control", "no-store"), targeted]), Some(30));
        assert_eq!(fresh(&[("cache-control", "max-age=9"), ("cdn-cache-control", "no-store")]), None);
        assert_eq!(
            fresh(&[DATE, expires, ("cdn-cache-control", "public")]),
            None,
            "CDN-Cache-Control overrides Expires"
        );
    }

    #[test]
    fn an_unreadable_or_past_expiry_is_over() {
        for expires in ["0", "-1", AN_HOUR_AGO, "Sun, 06 Nov 1994 08:49:37 GMT", "x"] {
            assert_eq!(fresh(&[DATE, ("expires", expires)]), None, "{expires}");
        }
    }

    #[test]
    fn a_distant_expiry_is_capped() {
        let lifetime = fresh(&[DATE, ("expires", "Sun, 21 Nov 2286 04:46:39 GMT")]);
        assert_eq!(lifetime, Some(MOST_SECONDS));
    }

    #[test]
    fn heuristic_freshness_is_a_tenth_of_the_unchanged_time_and_at_most_a_day() {
        assert_eq!(fresh(&[DATE, ("last-modified", AN_HOUR_AGO)]), Some(360));
        assert_eq!(fresh(&[DATE, ("last-modified", "Sun, 06 Nov 1984 08:49:37 GMT")]), Some(86_400));
        let unchanged = [DATE, ("last-modified", AN_HOUR_AGO)];
        for status in [201, 202, 403, 502, 503, 504, 599] {
            assert_eq!(kept(status, &[], &unchanged).map(|lifetime| lifetime.fresh), Some(0), "{status}");
        }
        assert_eq!(
            kept(599, &[], &[DATE, ("last-modified", AN_HOUR_AGO), ("cache-control", "public")]).unwrap().fresh,
            360
        );
    }

    #[test]
    fn request_and_response_directives_can_forbid_caching() {
        for refusal in ["no-store, max-age=9", "private, max-age=9", "private=\"x\", max-age=9"] {
            assert_eq!(fresh(&[("cache-control", refusal)]), None, "{refusal}");
        }
        assert_eq!(kept(200, &[("cache-control", "no-store")], &[("cache-control", "max-age=9")]), None);
        for status in [100, 206, 304] {
            assert_eq!(kept(status, &[], &[("cache-control", "max-age=9")]), None, "{status}");
        }
    }

    #[test]
    fn an_authorized_response_is_cached_only_with_explicit_permission() {
        let credential = [("authorization", "Bearer x")];
        assert_eq!(kept(200, &credential, &[("cache-control", "max-age=9")]), None);
        for leave in ["public", "must-revalidate", "s-maxage=9"] {
            assert!(kept(200, &credential, &[("cache-control", &format!("max-age=9, {leave}"))]).is_some(), "{leave}");
        }
    }

    #[test]
    fn an_unknown_status_is_cached_unless_it_must_be_understood() {
        assert!(kept(599, &[], &[("cache-control", "max-age=9")]).is_some());
        assert_eq!(kept(599, &[], &[("cache-control", "max-age=9, must-understand")]), None);
        assert!(kept(404, &[], &[("cache-control", "max-age=9, must-understand, no-store")]).is_some());
    }

    #[test]
    fn a_no_cache_response_is_kept_for_revalidation_only() {
        let etag = ("etag", "\"a\"");
        let lifetime = kept(200, &[], &[etag, ("cache-control", "no-cache, max-age=9, stale-if-error=9")]).unwrap();
        assert_eq!(lifetime, Lifetime { confirmable: CONFIRMABLE_SECONDS, ..Lifetime::default() });
        assert_eq!(fresh(&[("cache-control", "no-cache, max-age=9")]), None, "there is no validator");
        for strict in ["must-revalidate", "proxy-revalidate", "s-maxage=1"] {
            let given = format!("max-age=1, stale-if-error=9, stale-while-revalidate=9, {strict}");
            let lifetime = kept(200, &[], &[("cache-control", &given)]).unwrap();
            assert_eq!(lifetime, Lifetime { fresh: 1, ..Lifetime::default() }, "{strict}");
        }
    }

    #[test]
    fn the_age_is_the_largest_of_all_known_ages() {
        assert_eq!(age(&[]), 0);
        assert_eq!(age(&[("age", "30"), DATE]), 30);
        assert_eq!(age(&[("age", "30"), ("date", AN_HOUR_AGO)]), 3_600);
        assert_eq!(age(&[("age", "30, 7200")]), 30);
        assert_eq!(age(&[("date", IN_AN_HOUR)]), 0);
        let granted = ("cache-control", "max-age=9000");
        assert_eq!(fresh(&[granted, ("age", "7200, x")]), Some(9_000));
        for unreadable in ["abc", "-7200", "7200.0", "7200;a=b", "x, 0"] {
            assert_eq!(fresh(&[granted, ("age", unreadable)]), None, "{unreadable}");
            assert_eq!(fresh(&[granted, ("age", unreadable), ("etag", "\"a\"")]), Some(0), "it can be revalidated");
        }
        let (request, response) = (Fields::default(), fields(&[("age", "30")]));
        let (asked_at, answered_at) = (Timestamp::from_seconds(NOW - 5), Timestamp::from_seconds(NOW));
        let slow =
            Exchange { method: "GET", request: &request, status: 200, response: &response, asked_at, answered_at };
        assert_eq!(slow.age(), 35, "the transfer time counts");
    }

    proptest! {
        #[test]
        fn no_store_always_wins(before in "[a-z0-9=, -]{0,30}", after in "[a-z0-9=, -]{0,30}", status in 200u16..600) {
            prop_assume!(!before.contains("must-understand") && !after.contains("must-understand"));
            let text = format!("{before},no-store,{after}");
            prop_assert_eq!(kept(status, &[], &[("cache-control", &text), ("etag", "\"a\"")]), None);
        }

        #[test]
        fn any_header_text_can_be_parsed(control in "[ -~]{0,60}", date in "[ -~]{0,40}", age_text in "[ -~]{0,20}", status in 100u16..1000) {
            let response = [("cache-control", &*control), ("expires", &*date), ("date", &*date), ("age", &*age_text)];
            let _ = (kept(status, &[], &response), age(&response));
        }
    }
}
