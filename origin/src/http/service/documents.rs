//! `GET /v1/docs` and the files below it, for an origin without an edge. The edge serves the same files.

use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use rds_shared::wire::accept::prefers_markdown;
use rds_shared::wire::{ApiError, etag};

/// The documentation page that the path names, as Markdown for clients that prefer it; 404 if there is none.
pub fn file(call: &Call, head: &Parts) -> Result<Answer, Failure> {
    let name = call.found.path.first().map_or("", String::as_str);
    let accept = head.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let document = rds_docs::find_for(name, accept.is_some_and(prefers_markdown));
    let document = document.ok_or_else(|| ApiError::not_found("page"))?;
    let given = call.if_none_match.as_ref().and_then(|value| value.to_str().ok());
    Ok(match given.is_some_and(|given| etag::if_none_match(given, document.etag)) {
        true => Answer::document_unchanged(document),
        false => Answer::document(document),
    })
}
