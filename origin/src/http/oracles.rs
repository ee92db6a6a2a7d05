//! `GET /v1/oracle` and `/{chain}/{address}`: feeds, their age and whether they keep their heartbeat as of the answer.
//!
//! An ETag covers a feed's content and its status, not its age: a feed that only grows older is still the same copy.

use super::answer::{Answer, Failure};
use super::call::Call;
use crate::app::App;
use rds_shared::access::paging;
use rds_shared::wire::{ApiError, PageMeta};

/// Bytes of an envelope around its rows, at most.
const ENVELOPE_BYTES: usize = 160;

/// Every feed by chain and address, filtered and paged.
pub fn list(app: &App, call: &Call) -> Result<Answer, Failure> {
    let page = paging::admit(&call.principal, call.query.page())?;
    let catalog = app.catalog.get()?;
    let (feeds, total) = catalog.feeds.select(&call.query, call.now, page);
    let meta = PageMeta::new(page, total as u64);
    let mut etag = call.etag();
    etag.add_u64(page.number).add_u64(page.size).add_u64(meta.total);
    feeds.iter().for_each(|feed| {
        etag.add_u64(feed.version(call.now));
    });
    Ok(call.answer(etag, catalog.version, || {
        let size = ENVELOPE_BYTES + feeds.iter().map(|feed| feed.max_len() + 1).sum::<usize>();
        let mut body = Vec::with_capacity(size);
        body.extend_from_slice(b"{\"data\":[");
        for (place, feed) in feeds.iter().enumerate() {
            if place > 0 {
                body.push(b',');
            }
            feed.write(call.now, &mut body);
        }
        body.extend_from_slice(b"],");
        meta.write_json(&mut body);
        body.push(b'}');
        body
    }))
}

/// One feed.
pub fn by_address(app: &App, call: &Call) -> Result<Answer, Failure> {
    let catalog = app.catalog.get()?;
    let chain = catalog.rollup.chain(call.found.param(0)).ok_or_else(|| ApiError::not_found("chain"))?;
    let address = call.address_on(&chain.facts, 1)?;
    let feed = catalog.feeds.get(chain.facts.id, &address).ok_or_else(|| ApiError::not_found("feed"))?;
    let mut etag = call.etag();
    etag.add_u64(feed.version(call.now));
    Ok(call.answer(etag, catalog.version, || {
        let mut body = Vec::with_capacity(ENVELOPE_BYTES + feed.max_len());
        body.extend_from_slice(b"{\"data\":");
        feed.write(call.now, &mut body);
        body.push(b'}');
        body
    }))
}
