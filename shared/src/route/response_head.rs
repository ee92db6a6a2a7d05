//! The header fields of a successful answer: every host writes the same fields, with the same values, in the same order.

use super::entry::Route;
use super::table::{ROUTE_COUNT, ROUTES};
use super::tag::TagVersions;
use crate::wire::headers;
use alloc::borrow::Cow;
use alloc::string::{String, ToString};

/// A header field of [`ResponseHead`]. A host that has types of its own for field names matches on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    ContentType,
    ContentLength,
    CdnCacheControl,
    CacheControl,
    Etag,
    DataVersion,
    Tags,
    UnknownValues,
}

impl Field {
    /// The field's name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Field::ContentType => headers::CONTENT_TYPE,
            Field::ContentLength => "content-length",
            Field::CdnCacheControl => headers::CDN_CACHE_CONTROL,
            Field::CacheControl => "cache-control",
            Field::Etag => "etag",
            Field::DataVersion => headers::DATA_VERSION,
            Field::Tags => headers::TAGS,
            Field::UnknownValues => headers::UNKNOWN_VALUES,
        }
    }
}

/// What the header fields of a successful answer are made from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResponseHead {
    /// Media type and length in bytes of the body; `None` for an answer without a body.
    pub content: Option<(&'static str, usize)>,
    /// The entity tag; `None` for an answer that is not cacheable.
    pub etag: Option<String>,
    /// The data version; `None` if the answer depends on no facts.
    pub version: Option<i64>,
    /// The tag versions that a cacheable answer includes.
    pub tags: TagVersions,
    /// Filter values that are in no registry.
    pub unknown_values: Option<String>,
}

impl ResponseHead {
    /// Calls `put` with each field of the answer of `route`; `None` for an answer to a request that no route matched.
    pub fn write(self, route: Option<&Route>, mut put: impl FnMut(Field, Cow<'static, str>)) {
        let ResponseHead { content, etag, version, tags, unknown_values } = self;
        if let Some((media_type, length)) = content {
            put(Field::ContentType, Cow::Borrowed(media_type));
            put(Field::ContentLength, Cow::Owned(length.to_string()));
        }
        let route = route.filter(|_| etag.is_some());
        let kept = route.and_then(Route::cdn_cache_control);
        if let Some(kept) = kept {
            put(Field::CdnCacheControl, Cow::Borrowed(kept));
        }
        let beyond = route.and_then(|route| route.cache.beyond);
        if let Some(control) = beyond.or_else(|| kept.is_none().then_some(headers::NO_STORE)) {
            put(Field::CacheControl, Cow::Borrowed(control));
        }
        if let Some(etag) = etag {
            put(Field::Etag, Cow::Owned(etag));
            if let Some(version) = version {
                put(Field::DataVersion, Cow::Owned(version.to_string()));
            }
            if !tags.is_empty() {
                put(Field::Tags, Cow::Owned(tags.to_text()));
            }
        }
        if let Some(unknown) = unknown_values {
            put(Field::UnknownValues, Cow::Owned(unknown));
        }
    }
}

impl Route {
    /// `CDN-Cache-Control` of cacheable answers; `None` if the edge does not cache them.
    pub fn cdn_cache_control(&self) -> Option<&'static str> {
        CDN_CACHE_CONTROL.get(self.id as usize).map(Text::as_str).filter(|_| self.cache.is_kept())
    }
}

/// Room for the longest value: 25 bytes of words and two numbers of at most 10 digits.
const TEXT_BYTES: usize = 48;

/// A text that is written at compile time.
#[derive(Debug, Clone, Copy)]
struct Text {
    bytes: [u8; TEXT_BYTES],
    len: usize,
}

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time; an index out of bounds would not compile")]
impl Text {
    const EMPTY: Text = Text { bytes: [0; TEXT_BYTES], len: 0 };

    const fn with(mut self, text: &str) -> Self {
        let mut at = 0;
        while at < text.len() {
            self.bytes[self.len] = text.as_bytes()[at];
            self.len += 1;
            at += 1;
        }
        self
    }

    const fn with_number(mut self, number: u32) -> Self {
        let mut unit = 1;
        while number / unit >= 10 {
            unit *= 10;
        }
        while unit > 0 {
            self.bytes[self.len] = b'0' + (number / unit % 10) as u8;
            self.len += 1;
            unit /= 10;
        }
        self
    }

    fn as_str(&self) -> &str {
        self.bytes.get(..self.len).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

/// `CDN-Cache-Control` of each row, in the table's order.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time; an index out of bounds would not compile")]
static CDN_CACHE_CONTROL: [Text; ROUTE_COUNT] = {
    let mut texts = [Text::EMPTY; ROUTE_COUNT];
    let mut at = 0;
    while at < ROUTE_COUNT {
        let cache = ROUTES[at].cache;
        let fresh = Text::EMPTY.with("max-age=").with_number(cache.fresh);
        texts[at] = fresh.with(", stale-if-error=").with_number(cache.stale_if_error);
        at += 1;
    }
    texts
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::{Cache, RouteId};
    use alloc::vec::Vec;

    fn fields(route: RouteId, head: ResponseHead) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        head.write(Some(route.route()), |field, value| all.push((field.name(), value.into_owned())));
        all
    }

    #[test]
    fn the_cdn_cache_control_of_every_route_states_its_policy() {
        for route in ROUTES {
            let Cache { fresh, stale_if_error, .. } = route.cache;
            let expected = alloc::format!("max-age={fresh}, stale-if-error={stale_if_error}");
            let kept = route.cache.is_kept().then_some(expected.as_str());
            assert_eq!(route.cdn_cache_control(), kept, "{}", route.path);
        }
    }

    #[test]
    fn a_cacheable_answer_states_how_long_the_edge_keeps_it_and_another_answer_is_not_stored() {
        let etag = Some("W/\"a\"".to_string());
        let head =
            ResponseHead { content: Some((headers::JSON, 2)), etag, version: Some(7), ..ResponseHead::default() };
        let expected = [
            ("content-type", "application/json"),
            ("content-length", "2"),
            ("cdn-cache-control", "max-age=15, stale-if-error=86400"),
            ("etag", "W/\"a\""),
            ("x-data-version", "7"),
        ];
        assert_eq!(fields(RouteId::VaultList, head), expected.map(|(name, value)| (name, value.to_string())));
        let plain = fields(RouteId::VaultList, ResponseHead::default());
        assert_eq!(plain, [("cache-control", "no-store".to_string())]);
    }
}
