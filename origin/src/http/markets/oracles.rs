//! `GET /v1/oracle` and `/{chain}/{address}`: feeds, their age, and whether they meet their heartbeat at the time of the response.
//!
//! An ETag covers a feed's content and its status, not its age: a feed that only grows older keeps its ETag.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use crate::http::exchange::encoded;
use rds_shared::route::routes;
use rds_shared::wire::{ApiError, PageMeta};

/// Every feed by chain and address, filtered and paged.
pub fn list(live: &LiveCatalog, call: RouteCall<'_, routes::OracleList>) -> Result<Answer, Failure> {
    let page = call.page()?;
    let catalog = live.get()?;
    let (feeds, total) = catalog.feeds.select(call.query(), call.now, page);
    let meta = PageMeta::new(page, total as u64);
    let mut etag = call.etag();
    etag.add_u64(page.number).add_u64(page.size).add_u64(meta.total);
    feeds.iter().for_each(|feed| {
        etag.add_u64(feed.version(call.now));
    });
    Ok(call.answer(etag, catalog.version, || {
        encoded::enveloped(&feeds, |feed| feed.max_len(), meta, |feed, body| feed.write(call.now, body))
    }))
}

/// One feed.
pub fn by_address(live: &LiveCatalog, call: &Call) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let chain = catalog.rollup.chain(call.found.param(0)).ok_or_else(|| ApiError::not_found("chain"))?;
    let address = call.address_on(&chain.facts, 1)?;
    let feed = catalog.feeds.get(chain.facts.id, &address).ok_or_else(|| ApiError::not_found("feed"))?;
    let mut etag = call.etag();
    etag.add_u64(feed.version(call.now));
    let write = |body: &mut Vec<u8>| feed.write(call.now, body);
    Ok(call.answer(etag, catalog.version, || encoded::enveloped_one(feed.max_len(), write)))
}
