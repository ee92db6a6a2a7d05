//! Fields that are on their way out, and the headers that say so.
//!
//! A field keeps its meaning until it is gone. The document marks it, and answers that hold one carry `Deprecation` (RFC 9745)
//! with a link to what to use. None has an end that was announced, so there is no `Sunset` yet.
//! Source: interface, "Versioning", 6 and 9.

use super::entry::Route;
use crate::wire::headers;
use alloc::borrow::Cow;
use alloc::format;

/// Since when all of them are deprecated: the first release, 2026-11-21, in unix seconds.
pub const DEPRECATED_SINCE: i64 = 1_795_219_200;
/// Where the documentation says what to use instead.
pub const GUIDE: &str = "/v1/docs#deprecated";

/// Where a deprecated field stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the answer.
    Answer,
    /// In the request's body: it is taken and means nothing.
    Request,
}

/// A deprecated field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deprecated {
    /// Where it stands.
    pub place: Place,
    /// Its path from the row or object that the route is about, such as `institutional.aum_usd`.
    pub field: &'static str,
    /// What to use, in words.
    pub instead: &'static str,
    /// When it will be gone, as an HTTP date, where that was announced: `Sunset` (RFC 8594).
    pub sunset: Option<&'static str>,
}

impl Deprecated {
    const fn answer(field: &'static str, instead: &'static str) -> Self {
        Deprecated { place: Place::Answer, field, instead, sunset: None }
    }
}

macro_rules! fields {
    ($($name:ident = $field:literal, $instead:expr;)*) => {
        $(#[doc = concat!("`", $field, "`")] pub(super) const $name: Deprecated = Deprecated::answer($field, $instead);)*
    };
}

const BY_PROTOCOL: &str = "use the same field of the entries of protocols";

fields! {
    CANONICAL_PRODUCT_ID = "canonical_product_id", "use product_id: different products may share a symbol";
    INSTITUTIONAL_AUM = "institutional.aum_usd", "use canonical_aum";
    AUM_SCOPE = "aum_scope", "use canonical_aum";
    BREACH_OBSERVED_AT = "observedAt", BY_PROTOCOL;
    BREACH_PROTOCOL_ID = "protocolId", BY_PROTOCOL;
    BREACH_SOURCE = "source", BY_PROTOCOL;
    BREACH_CHAINS = "chains", BY_PROTOCOL;
    BREACH_TOP_MARKETS = "topMarkets", BY_PROTOCOL;
}

/// `loss` of a check's body.
pub(super) const CHECK_LOSS: Deprecated =
    Deprecated { place: Place::Request, field: "loss", instead: "leave it out: it is not looked at", sunset: None };

impl Route {
    /// The headers of an answer that holds deprecated fields; none where it holds none.
    pub fn deprecation_headers(&self) -> impl Iterator<Item = (&'static str, Cow<'static, str>)> {
        let mut held = self.deprecated.iter().filter(|field| field.place == Place::Answer).peekable();
        let is_held = held.peek().is_some();
        let ends = held.find_map(|field| field.sunset);
        let since = is_held.then(|| (headers::DEPRECATION, Cow::Owned(format!("@{DEPRECATED_SINCE}"))));
        let guide =
            is_held.then(|| (headers::LINK, Cow::Owned(format!("<{GUIDE}>; rel=\"deprecation\"; type=\"text/html\""))));
        let sunset = ends.map(|date| (headers::SUNSET, Cow::Borrowed(date)));
        since.into_iter().chain(guide).chain(sunset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::{ROUTES, RouteId};
    use alloc::vec::Vec;

    #[test]
    fn an_answer_that_holds_such_a_field_says_since_when_and_where_to_read_on() {
        let told: Vec<_> = RouteId::RwaList.route().deprecation_headers().collect();
        assert_eq!(told[0], ("deprecation", "@1795219200".into()));
        assert_eq!(told[1], ("link", "</v1/docs#deprecated>; rel=\"deprecation\"; type=\"text/html\"".into()));
        assert_eq!(told.len(), 2, "no end was announced");
        assert_eq!(RouteId::GraphCheck.route().deprecation_headers().count(), 0, "its answer holds none");
        assert_eq!(RouteId::VaultList.route().deprecation_headers().count(), 0);
    }

    #[test]
    fn an_end_that_was_announced_is_told() {
        const ENDING: &[Deprecated] = &[Deprecated { sunset: Some("Sun, 21 Nov 2027 00:00:00 GMT"), ..AUM_SCOPE }];
        let ending = Route { deprecated: ENDING, ..RouteId::RwaList.route().clone() };
        assert_eq!(ending.deprecation_headers().nth(2), Some(("sunset", "Sun, 21 Nov 2027 00:00:00 GMT".into())));
    }

    #[test]
    fn each_says_what_to_use() {
        for field in ROUTES.iter().flat_map(|route| route.deprecated) {
            assert!(!field.instead.is_empty(), "{}", field.field);
        }
    }
}
