//! Price feeds, encoded once except for the fields that depend on the clock.

use rds_shared::model::ids::{Address, ChainId};
use rds_shared::model::oracle::EncodedFeed;
use rds_shared::route::{RowQuery, routes};
use rds_shared::select::Selection;
use rds_shared::select::feeds::FeedIndex;
use rds_shared::wire::Timestamp;
use rds_shared::wire::page::PageRequest;
use rds_store::markets::oracles::FeedRecord;
use std::collections::HashMap;

#[derive(Debug)]
pub struct Feeds {
    /// By chain and address; these are the rows of `index`.
    encoded: Vec<EncodedFeed>,
    by_contract: HashMap<(ChainId, Address), usize>,
    index: FeedIndex,
}

impl Default for Feeds {
    fn default() -> Self {
        Feeds { encoded: Vec::new(), by_contract: HashMap::new(), index: FeedIndex::build(&[]) }
    }
}

impl Feeds {
    /// Encodes and indexes feeds, which must be ordered by chain and address.
    pub(super) fn build(records: Vec<FeedRecord>) -> Result<Self, serde_json::Error> {
        let rows: Vec<_> = records.iter().map(|record| (&record.feed, record.chain_slug.as_str())).collect();
        let index = FeedIndex::build(&rows);
        let encoded = rows.iter().map(|(feed, _)| EncodedFeed::encode(feed)).collect::<Result<_, _>>()?;
        let contracts = records.into_iter().enumerate();
        let by_contract =
            contracts.map(|(place, record)| ((record.feed.chain_id, record.feed.address), place)).collect();
        Ok(Feeds { encoded, by_contract, index })
    }

    pub fn len(&self) -> usize {
        self.encoded.len()
    }

    pub fn is_empty(&self) -> bool {
        self.encoded.is_empty()
    }

    /// The feed at this contract.
    pub fn get(&self, chain: ChainId, address: &Address) -> Option<&EncodedFeed> {
        self.by_contract.get(&(chain, address.clone())).and_then(|place| self.encoded.get(*place))
    }

    /// The requested page at `now`, and the number of matches on all pages.
    pub fn select(
        &self,
        query: RowQuery<'_, routes::OracleList>,
        now: Timestamp,
        page: PageRequest,
    ) -> (Vec<&EncodedFeed>, usize) {
        let Selection { rows, total } = self.index.select(query, now, page);
        (rows.iter().filter_map(|row| self.encoded.get(*row as usize)).collect(), total)
    }
}
