//! The documentation. It is served without the origin, also while the origin is down, and is not rate-limited.

use crate::asset_reply;
use crate::respond::Reply;
use rds_docs::Document;
use rds_shared::wire::ApiError;

/// Name of the page shown for missing pages.
pub(crate) const NOT_FOUND: &str = "not-found";

/// The page with this name; without a name, the start page.
pub(crate) fn find(name: Option<&str>) -> Result<&'static Document, ApiError> {
    find_for(name, false)
}

/// The page, or its Markdown twin for a client that prefers Markdown.
pub(crate) fn find_for(name: Option<&str>, prefers_markdown: bool) -> Result<&'static Document, ApiError> {
    rds_docs::find_for(name.unwrap_or_default(), prefers_markdown).ok_or_else(|| ApiError::not_found("page"))
}

/// The page as a reply, or 304 if the caller already has it.
pub(crate) fn represent(document: &'static Document, if_none_match: Option<&str>) -> Reply {
    let Document { asset, media_type, etag, .. } = document;
    asset_reply::represent(asset, media_type, etag, document.headers(), if_none_match)
}
