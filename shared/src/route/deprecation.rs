//! Deprecated fields, and the response headers that announce them.
//!
//! A deprecated field keeps its meaning until it is removed. The OpenAPI document marks it, and responses that contain one carry `Deprecation`
//! (RFC 9745) with a link to the replacement. No removal date has been announced, so no response has `Sunset` (RFC 8594) yet.

use super::entry::Route;
use crate::wire::headers;
use alloc::borrow::Cow;
use alloc::format;

/// Start of the deprecation of all deprecated fields: the first release, 2026-11-21T00:00:00Z, in Unix seconds.
pub const DEPRECATED_SINCE: i64 = 1_795_219_200;
/// The part of the documentation that names the replacements.
pub const GUIDE: &str = "/v1/docs#deprecated";

/// Whether a deprecated field belongs to the response or to the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A field of the response.
    Answer,
    /// A field of the request body: it is accepted and ignored.
    Request,
}

/// A deprecated field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deprecated {
    pub place: Place,
    /// Dotted path from the row or object that the route returns or accepts, such as `institutional.aum_usd`.
    pub field: &'static str,
    /// What to use instead, as a clause in plain text without Markdown. The OpenAPI document and the guide publish it.
    pub instead: &'static str,
    /// Announced removal date as an HTTP date, the value of `Sunset` (RFC 8594).
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

const BY_PROTOCOL: &str = "use the same field of each entry of protocols";

fields! {
    CANONICAL_PRODUCT_ID = "canonical_product_id", "use product_id, because different products may share a symbol";
    INSTITUTIONAL_AUM = "institutional.aum_usd", "use canonical_aum";
    AUM_SCOPE = "aum_scope", "use canonical_aum";
    BREACH_OBSERVED_AT = "observedAt", BY_PROTOCOL;
    BREACH_PROTOCOL_ID = "protocolId", BY_PROTOCOL;
    BREACH_SOURCE = "source", BY_PROTOCOL;
    BREACH_CHAINS = "chains", BY_PROTOCOL;
    BREACH_TOP_MARKETS = "topMarkets", BY_PROTOCOL;
}

/// `loss` in the body of a graph check.
pub(super) const CHECK_LOSS: Deprecated =
    Deprecated { place: Place::Request, field: "loss", instead: "leave it out, because it is ignored", sunset: None };

impl Route {
    /// The headers that announce the deprecated fields of a response; none if it has no such fields.
    pub fn deprecation_headers(&self) -> impl Iterator<Item = (&'static str, Cow<'static, str>)> {
        let mut fields = self.deprecated.iter().filter(|field| field.place == Place::Answer).peekable();
        let has_any = fields.peek().is_some();
        let ends = fields.find_map(|field| field.sunset);
        let since = has_any.then(|| (headers::DEPRECATION, Cow::Owned(format!("@{DEPRECATED_SINCE}"))));
        let guide =
            has_any.then(|| (headers::LINK, Cow::Owned(format!("<{GUIDE}>; rel=\"deprecation\"; type=\"text/html\""))));
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
    fn a_response_with_a_deprecated_field_states_the_date_and_links_the_guide() {
        let sent: Vec<_> = RouteId::RwaList.route().deprecation_headers().collect();
        assert_eq!(sent[0], ("deprecation", "@1795219200".into()));
        assert_eq!(sent[1], ("link", "</v1/docs#deprecated>; rel=\"deprecation\"; type=\"text/html\"".into()));
        assert_eq!(sent.len(), 2, "no removal date was announced");
        assert_eq!(RouteId::GraphCheck.route().deprecation_headers().count(), 0, "only its request has one");
        assert_eq!(RouteId::VaultList.route().deprecation_headers().count(), 0);
    }

    #[test]
    fn an_announced_removal_date_is_sent_as_sunset() {
        const ENDING: &[Deprecated] = &[Deprecated { sunset: Some("Sun, 21 Nov 2027 00:00:00 GMT"), ..AUM_SCOPE }];
        let ending = Route { deprecated: ENDING, ..RouteId::RwaList.route().clone() };
        assert_eq!(ending.deprecation_headers().nth(2), Some(("sunset", "Sun, 21 Nov 2027 00:00:00 GMT".into())));
    }

    #[test]
    fn every_deprecated_field_names_its_replacement() {
        for field in ROUTES.iter().flat_map(|route| route.deprecated) {
            assert!(!field.instead.is_empty(), "{}", field.field);
        }
    }
}
