//! Price feeds, for the catalog.

use crate::store::registry::catalog::{address, chain_id, instant};
use crate::store::{At, Db, StoreError, decode_enum};
use rds_shared::model::oracle::OracleFeed;
use sqlx::Row;
use sqlx::postgres::PgRow;

/// A feed with the name of its chain in paths.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedRecord {
    /// The served feed.
    pub feed: OracleFeed,
    /// Name of the chain in paths.
    pub chain_slug: String,
}

/// All feeds on served chains, by chain and address.
pub async fn load(db: &Db) -> Result<Vec<FeedRecord>, StoreError> {
    let rows = sqlx::query(
        "SELECT f.*, c.name AS chain_name, c.slug AS chain_slug FROM oracle_feed f JOIN chain c USING (chain_id) WHERE c.is_served \
         ORDER BY f.chain_id, f.address COLLATE \"C\"",
    );
    rows.fetch_all(&db.pool).await?.iter().map(feed).collect()
}

fn feed(row: &PgRow) -> Result<FeedRecord, StoreError> {
    let heartbeat: Option<i64> = row.try_get("heartbeat_seconds")?;
    let feed = OracleFeed {
        chain_id: chain_id(row)?,
        chain_name: row.try_get("chain_name")?,
        address: address("oracle_feed.address", row.try_get("address")?)?,
        kind: decode_enum("oracle_feed.feed_kind", row.try_get("feed_kind")?)?,
        asset: row.try_get("asset")?,
        quote: row.try_get("quote")?,
        description: row.try_get("description")?,
        vendor: row.try_get("vendor")?,
        heartbeat_seconds: heartbeat.and_then(|seconds| u64::try_from(seconds).ok()),
        deviation_threshold: row.try_get("deviation_threshold")?,
        last_answer: row.try_get("last_answer")?,
        last_update_at: instant(row, "last_update_at")?,
        used_by: row.try_get("used_by")?,
        reserve_symbols: row.try_get("reserve_symbols")?,
        other_descriptions: row.try_get("other_descriptions")?,
        last_synced_at: row.try_get::<At, _>("observed_at")?.0,
    };
    Ok(FeedRecord { feed, chain_slug: row.try_get("chain_slug")? })
}
