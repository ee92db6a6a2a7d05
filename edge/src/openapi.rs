//! The OpenAPI document. It is compiled in, so it is served even while the origin is down.

use crate::origin_link::signed_call::ReadHeaders;
use crate::pages;
use crate::respond::{Answer, Content, Served};
use rds_shared::route::Route;
use rds_shared::wire::etag::EtagBuilder;
use rds_shared::wire::headers::{self, XCache};
use std::rc::Rc;

thread_local! {
    /// ETag and body, computed once per isolate.
    static DOCUMENT: (String, Rc<[u8]>) =
        pages::with_contract(|document| (EtagBuilder::of(document).strong(), Rc::from(document)));
}

/// The OpenAPI document as a response of `route`.
pub fn answer(route: &Route) -> Answer {
    let (etag, body) = DOCUMENT.with(|(etag, body)| (etag.clone(), Rc::clone(body)));
    let headers = ReadHeaders::read(|name| match name {
        "content-type" => Some(headers::JSON.to_owned()),
        "cache-control" => route.cache.beyond.map(str::to_owned),
        "etag" => Some(etag.clone()),
        _ => None,
    });
    let served = Served {
        x_cache: XCache::Bypass,
        age: None,
        cache_status: "rds-edge; detail=\"built-in\"".to_owned(),
        is_outdated: false,
    };
    Answer::Content(Content { status: 200, headers, body, served })
}
