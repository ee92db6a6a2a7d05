//! Request conditions evaluated against a cached response, and the conditions of the cache's own revalidation (RFC 9111,
//! sections 4.3 and 5.2.1).

use super::directives::Directives;
use super::fields::Fields;
use super::{Condition, Entry, http_date};
use rds_shared::route::TagVersions;
use rds_shared::wire::{Timestamp, etag};

/// Fields that may yield less than the whole response. Revalidation replaces the caller's by the cache's own.
pub const CONDITIONS: [&str; 6] =
    ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range"];

/// The condition of a cached response for this request, whose directives may be stricter than the response's.
pub fn condition(request: &Fields, copy: &Entry<Fields>, now: Timestamp) -> Condition {
    let (age, condition) = (copy.age(now), copy.condition(now, &TagVersions::default()));
    if !matches!(condition, Condition::Fresh | Condition::Lagging) {
        return condition;
    }
    let text = request.get("cache-control").unwrap_or_default();
    let wanted = Directives::of(&text);
    let too_old = wanted.seconds("max-age").is_some_and(|most| age > u64::from(most));
    let least_left = wanted.seconds("min-fresh").map(i64::from);
    let too_short = least_left.is_some_and(|least| copy.lifetime.ttl(age) < least);
    match wanted.has("no-cache") || too_old || too_short {
        true => Condition::Stale,
        false => condition,
    }
}

/// Whether the caller already has this response. `If-None-Match` takes precedence; without `Last-Modified`, `Date` is
/// used.
pub fn is_unchanged(request: &Fields, status: u16, answer: &Fields, now: Timestamp) -> bool {
    if status != 200 {
        return false;
    }
    if let Some(given) = request.get("if-none-match") {
        return answer.get("etag").is_some_and(|ours| etag::if_none_match(&given, &ours));
    }
    let date = |text: Option<String>| text.and_then(|text| http_date::parse(&text, now));
    let changed = date(answer.get("last-modified").or_else(|| answer.get("date")));
    date(request.get("if-modified-since")).zip(changed).is_some_and(|(since, changed)| changed <= since)
}

/// The request made conditional on the cached response, for revalidation.
pub fn confirming(request: Fields, copy: &Fields) -> Fields {
    let plain = CONDITIONS.into_iter().fold(request, |request, name| request.without(name));
    let with = |request: Fields, name: &str, value: Option<String>| match value {
        Some(value) => request.with(name, value),
        None => request,
    };
    let asked = with(plain, "if-none-match", copy.get("etag"));
    with(asked, "if-modified-since", copy.get("last-modified"))
}

/// Whether a 304 confirms this cached response; one with another strong entity tag does not (RFC 9111, section 4.3.4).
pub fn confirms(answer: &Fields, copy: &Fields) -> bool {
    answer.get("etag").is_none_or(|tag| tag.starts_with("W/") || copy.get("etag") == Some(tag))
}

/// Whether an answer to HEAD describes the cached response (RFC 9111, section 4.3.5).
pub fn describes(answer: &Fields, copy: &Fields) -> bool {
    ["etag", "last-modified", "content-length"]
        .into_iter()
        .all(|name| answer.get(name).is_none_or(|said| copy.get(name).is_none_or(|ours| ours == said)))
}

#[cfg(test)]
mod tests {
    use super::super::Lifetime;
    use super::super::fields::tests::fields;
    use super::*;

    const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const LATER: &str = "Sun, 06 Nov 1994 09:49:37 GMT";

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(1_795_219_200 + seconds)
    }

    fn unchanged(request: &[(&str, &str)], answer: &[(&str, &str)]) -> bool {
        is_unchanged(&fields(request), 200, &fields(answer), at(0))
    }

    #[test]
    fn if_none_match_takes_precedence_over_dates() {
        let answer = [("etag", "\"a\""), ("last-modified", LATER)];
        assert!(unchanged(&[("if-none-match", "\"x\", W/\"a\"")], &answer));
        assert!(unchanged(&[("if-none-match", "\"a\""), ("if-modified-since", MODIFIED)], &answer));
        assert!(!unchanged(&[("if-none-match", "\"x\""), ("if-modified-since", LATER)], &answer));
        assert!(!unchanged(&[("if-none-match", "\"a\"")], &[]));
        assert!(!is_unchanged(&fields(&[("if-none-match", "*")]), 404, &fields(&answer), at(0)));
    }

    #[test]
    fn without_if_none_match_the_dates_decide() {
        for since in [MODIFIED, LATER, "Sunday, 06-Nov-94 08:49:37 GMT"] {
            assert!(unchanged(&[("if-modified-since", since)], &[("last-modified", MODIFIED)]), "{since}");
        }
        assert!(!unchanged(&[("if-modified-since", MODIFIED)], &[("last-modified", LATER)]));
        assert!(!unchanged(&[("if-modified-since", "soon")], &[("last-modified", MODIFIED)]));
        assert!(unchanged(&[("if-modified-since", LATER)], &[("date", MODIFIED)]));
        assert!(!unchanged(&[("if-modified-since", MODIFIED)], &[]));
    }

    #[test]
    fn a_request_may_be_stricter_than_the_response_but_never_laxer() {
        let lifetime = Lifetime { fresh: 10, stale_if_error: 10, ..Lifetime::default() };
        let copy = Entry::verbatim(Fields::default(), Vec::new(), lifetime, at(0));
        let asked = |wish: &str, age| condition(&fields(&[("cache-control", wish)]), &copy, at(age));
        assert_eq!([asked("max-age=5", 5), asked("min-fresh=5", 5), asked("x", 9)], [Condition::Fresh; 3]);
        for (wish, age) in
            [("max-age=5", 6), ("min-fresh=5", 6), ("no-cache", 0), ("max-age=0", 1), ("max-stale=9", 12)]
        {
            assert_eq!(asked(wish, age), Condition::Stale, "{wish}");
        }
    }

    #[test]
    fn revalidation_uses_the_cached_validators_not_the_callers() {
        let request = fields(&[("if-none-match", "\"theirs\""), ("range", "bytes=0-1"), ("a", "1")]);
        let asked = confirming(request, &fields(&[("etag", "\"ours\""), ("last-modified", MODIFIED)]));
        assert_eq!(asked, fields(&[("a", "1"), ("if-none-match", "\"ours\""), ("if-modified-since", MODIFIED)]));
    }

    #[test]
    fn a_304_with_another_strong_etag_does_not_confirm() {
        let copy = fields(&[("etag", "\"a\"")]);
        assert!(confirms(&Fields::default(), &copy) && confirms(&copy, &copy));
        assert!(!confirms(&fields(&[("etag", "\"b\"")]), &copy));
    }

    #[test]
    fn a_head_response_matches_unless_a_validator_differs() {
        let copy = fields(&[("etag", "\"a\""), ("content-length", "5")]);
        assert!(describes(&fields(&[("etag", "\"a\""), ("x", "1")]), &copy));
        assert!(!describes(&fields(&[("content-length", "6")]), &copy));
        assert!(!describes(&fields(&[("etag", "\"b\"")]), &copy));
    }
}
