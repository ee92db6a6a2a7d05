//! Price feeds: their list, and one feed by the address of its contract.
//!
//! An ETag covers a feed's content and its status, not its age: a feed that only grows older keeps its ETag.

use super::envelope;
use super::listed::Listed;
use super::registries::Registries;
use super::request::{Request, RowRequest};
use super::response::Response;
use crate::model::ids::{Address, ChainId};
use crate::model::oracle::EncodedFeed;
use crate::route::routes;
use crate::select::feeds::FeedIndex;
use crate::wire::error::ApiError;
use crate::wire::page::PageMeta;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The feeds, by chain and address.
#[derive(Debug, Clone, Default)]
pub struct Feeds {
    pub(super) listed: Listed<EncodedFeed, FeedIndex>,
    by_contract: BTreeMap<(ChainId, Address), u32>,
}

impl Feeds {
    /// `rows` with their contracts, in the order in which `index` was built from them.
    pub fn new(rows: Vec<((ChainId, Address), EncodedFeed)>, index: FeedIndex) -> Self {
        let (contracts, rows): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        Feeds { listed: Listed::new(rows, index), by_contract: contracts.into_iter().zip(0..).collect() }
    }

    pub fn len(&self) -> usize {
        self.listed.rows().len()
    }

    pub fn is_empty(&self) -> bool {
        self.listed.rows().is_empty()
    }

    /// The feed at this contract.
    fn get(&self, chain: ChainId, address: Address) -> Option<&EncodedFeed> {
        self.by_contract.get(&(chain, address)).and_then(|number| self.listed.row(*number))
    }

    /// `GET /v1/oracle`: every feed by chain and address, filtered and paged.
    pub(super) fn list(&self, version: i64, request: RowRequest<'_, routes::OracleList>) -> Result<Response, ApiError> {
        let page = request.page()?;
        let now = request.now;
        let selection = self.listed.index().select(request.query(), now, page);
        let feeds: Vec<&EncodedFeed> = self.listed.selected(&selection).collect();
        let meta = PageMeta::new(page, selection.total as u64);
        let mut etag = request.etag();
        etag.add_u64(page.number).add_u64(page.size).add_u64(meta.total);
        feeds.iter().for_each(|feed| {
            etag.add_u64(feed.version(now));
        });
        Ok(request.respond(etag, version, || {
            envelope::page(&feeds, |feed| feed.max_len(), meta, |feed, body| feed.write(now, body))
        }))
    }

    /// `GET /v1/oracle/{chain}/{address}`: one feed.
    pub(super) fn by_address(
        &self,
        version: i64,
        registries: &Registries,
        request: &Request<'_>,
    ) -> Result<Response, ApiError> {
        let chain = registries.chain(request.found.param(0)).ok_or_else(|| ApiError::not_found("chain"))?;
        let address = request.address_on(&chain.slug, chain.namespace, 1)?;
        let feed = self.get(chain.id, address).ok_or_else(|| ApiError::not_found("feed"))?;
        let mut etag = request.etag();
        etag.add_u64(feed.version(request.now));
        let write = |body: &mut Vec<u8>| feed.write(request.now, body);
        Ok(request.respond(etag, version, || envelope::one(feed.max_len(), write)))
    }
}
