//! Price feeds of the catalog.

use rds_shared::model::oracle::EncodedFeed;
use rds_shared::read_model::feeds::Feeds;
use rds_shared::select::feeds::FeedIndex;
use rds_store::markets::oracles::FeedRecord;

/// Encodes and indexes feeds, which must be ordered by chain and address.
pub(super) fn build(records: Vec<FeedRecord>) -> Result<Feeds, serde_json::Error> {
    let rows: Vec<_> = records.iter().map(|record| (&record.feed, record.chain_slug.as_str())).collect();
    let index = FeedIndex::build(&rows);
    let encoded = rows.iter().map(|(feed, _)| EncodedFeed::encode(feed)).collect::<Result<Vec<_>, _>>()?;
    let contracts = records.into_iter().map(|record| (record.feed.chain_id, record.feed.address));
    Ok(Feeds::new(contracts.zip(encoded).collect(), index))
}
