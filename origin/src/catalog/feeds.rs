//! Price feeds of the catalog.

use rds_shared::read_model::feeds;
use rds_shared::replica::Row;
use rds_store::markets::oracles::FeedRecord;

/// Encodes feeds.
pub(super) fn rows(records: &[FeedRecord]) -> Result<Vec<Row>, serde_json::Error> {
    records.iter().map(|record| feeds::row(&record.feed, &record.chain_slug)).collect()
}
