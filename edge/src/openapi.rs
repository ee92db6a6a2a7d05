//! The OpenAPI document. It is served without the origin, also while the origin is down.

use crate::asset_reply;
use crate::respond::Reply;
use rds_docs::{OPENAPI, OPENAPI_ETAG};
use rds_shared::route::Route;
use rds_shared::wire::headers::{self, XCache};

/// The OpenAPI document as a reply of `route`, or 304 if the caller already has it.
pub(crate) fn represent(route: &Route, if_none_match: Option<&str>) -> Reply {
    let headers = [
        ("etag", OPENAPI_ETAG),
        ("cache-control", route.cache.beyond.unwrap_or(headers::NO_STORE)),
        (headers::X_CACHE, XCache::Bypass.as_str()),
        (headers::CACHE_STATUS, "rds-edge; detail=\"built-in\""),
    ];
    asset_reply::represent(&OPENAPI, headers::JSON, OPENAPI_ETAG, headers, if_none_match)
}
