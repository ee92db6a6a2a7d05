//! The documentation: its pages are compiled in, so they are there while the origin is away and cost nobody's allowance.

use crate::respond::Reply;
use rds_docs::{Document, Library};
use rds_shared::wire::{ApiError, etag};
use std::borrow::Cow;

/// The page that says that there is none.
pub(crate) const NOT_FOUND: &str = "not-found";

thread_local! {
    /// Unpacked when an isolate is first asked for a page.
    static LIBRARY: Library = Library::open();
}

/// What `read` makes of the OpenAPI document.
pub(crate) fn with_contract<T>(read: impl FnOnce(&[u8]) -> T) -> T {
    LIBRARY.with(|library| read(library.contract()))
}

/// The page that a path names; without a name, the one to begin with.
pub(crate) fn find(name: Option<&str>) -> Result<&'static Document, ApiError> {
    rds_docs::find(name.unwrap_or_default()).ok_or_else(|| ApiError::not_found("page"))
}

/// The page with its headers, or 304 to whoever has it.
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
