//! The documentation. Its pages are compiled in, so they are served while the origin is down and are not rate-limited.

use crate::respond::Reply;
use rds_docs::{Document, Library};
use rds_shared::wire::{ApiError, etag};
use std::borrow::Cow;

/// Name of the page shown for missing pages.
pub(crate) const NOT_FOUND: &str = "not-found";

thread_local! {
    /// Unpacked at an isolate's first request for a page.
    static LIBRARY: Library = Library::open();
}

/// Calls `read` with the OpenAPI document.
pub(crate) fn with_contract<T>(read: impl FnOnce(&[u8]) -> T) -> T {
    LIBRARY.with(|library| read(library.contract()))
}

/// The page with this name; without a name, the start page.
pub(crate) fn find(name: Option<&str>) -> Result<&'static Document, ApiError> {
    rds_docs::find(name.unwrap_or_default()).ok_or_else(|| ApiError::not_found("page"))
}

/// The page as a reply, or 304 if the caller already has it.
pub(crate) fn represent(document: &'static Document, if_none_match: Option<&str>) -> Reply {
    let headers = document.headers().map(|(name, value)| (name, Cow::Borrowed(value)));
    match if_none_match.is_some_and(|given| etag::if_none_match(given, document.etag)) {
        true => Reply { status: 304, headers: headers.into(), body: None, streams: false },
        false => {
            let mut headers = Vec::from(headers);
            headers.push(("content-type", Cow::Borrowed(document.media_type)));
            Reply {
                status: 200,
                headers,
                body: Some(LIBRARY.with(|library| library.body(document).into())),
                streams: false,
            }
        }
    }
}
