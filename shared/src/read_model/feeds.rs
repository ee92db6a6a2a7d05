//! Price feeds: their list, and one feed by the address of its contract.
//!
//! An ETag covers a feed's content and its status, not its age: a feed that only grows older keeps its ETag.

use super::encoding;
use super::envelope;
use super::listed::Listed;
use super::registries::Registries;
use super::request::{Request, RowRequest};
use super::response::Response;
use crate::model::ids::{Address, ChainId};
use crate::model::oracle::{EncodedFeed, OracleFeed};
use crate::pace::Pace;
use crate::replica::Row;
use crate::route::routes;
use crate::select::feeds::{FeedColumns, FeedIndex};
use crate::wire::error::ApiError;
use crate::wire::page::PageMeta;
use crate::wire::record::Reader;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The feeds, by chain and address.
#[derive(Debug, Clone)]
pub struct Feeds {
    listed: Listed<EncodedFeed, FeedIndex>,
    /// The feeds' rows, whose keys are their contracts.
    rows: Arc<Vec<Row>>,
}

/// The row of a feed on the chain with this slug.
pub fn row(feed: &OracleFeed, chain_slug: &str) -> Result<Row, serde_json::Error> {
    let mut content = Vec::new();
    FeedColumns::of(feed, chain_slug).write(&mut content);
    EncodedFeed::encode(feed)?.write_record(&mut content);
    encoding::row(&key(feed.chain_id, &feed.address), &content)
}

/// Feeds are in ascending order of chains, and on one chain in byte order of addresses.
fn key(chain: ChainId, address: &Address) -> Vec<u8> {
    [chain.0.to_be_bytes().as_slice(), address.as_str().as_bytes()].concat()
}

fn read_row<'a>(_: &'a Row, mut reader: Reader<'a>) -> Option<(FeedColumns<'a>, EncodedFeed)> {
    let (columns, encoded) = (FeedColumns::read(&mut reader)?, EncodedFeed::read_record(&mut reader)?);
    reader.is_at_end().then_some((columns, encoded))
}

impl Feeds {
    pub(super) async fn read(rows: &Arc<Vec<Row>>, pace: &Pace<'_>) -> Option<Self> {
        Some(Feeds { listed: Listed::<_, FeedIndex>::read(rows, pace, read_row).await?, rows: Arc::clone(rows) })
    }

    pub fn len(&self) -> usize {
        self.listed.rows().len()
    }

    pub fn is_empty(&self) -> bool {
        self.listed.rows().is_empty()
    }

    /// The feed at this contract.
    fn get(&self, chain: ChainId, address: &Address) -> Option<&EncodedFeed> {
        let key = key(chain, address);
        let place = self.rows.binary_search_by(|row| row.key().cmp(&key)).ok()?;
        self.listed.rows().get(place)
    }

    /// `GET /v1/oracle`: every feed by chain and address, filtered and paged.
    pub(super) fn list(
        &self,
        (version, hidden): (i64, &[String]),
        request: RowRequest<'_, routes::OracleList>,
    ) -> Result<Response, ApiError> {
        let page = request.page()?;
        let now = request.now;
        let selection = self.listed.index().select(request.query(), now, page, hidden);
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
        let feed = self.get(chain.id, &address).ok_or_else(|| ApiError::not_found("feed"))?;
        let mut etag = request.etag();
        etag.add_u64(feed.version(request.now));
        let write = |body: &mut Vec<u8>| feed.write(request.now, body);
        Ok(request.respond(etag, version, || envelope::one(feed.max_len(), write)))
    }
}
