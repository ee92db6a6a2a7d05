//! Price feeds, for the catalog.

use crate::db_enum::DbEnum;
use crate::decode::{DbAddress, DbChainId, Nullable};
use crate::shared_row::{Shared, shared_row};
use crate::{At, Db, StoreError};
use rds_shared::model::oracle::{FeedKind, OracleFeed};
use sqlx::FromRow;

/// A feed with the name of its chain in paths.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct FeedRecord {
    #[sqlx(flatten, try_from = "Shared<OracleFeed>")]
    pub feed: OracleFeed,
    /// Name of the chain in paths.
    pub chain_slug: String,
}

shared_row! { OracleFeed {
    chain_id: DbChainId, chain_name, address: DbAddress, kind: DbEnum<FeedKind> = "feed_kind", asset, quote, description, vendor,
    heartbeat_seconds: Nullable<i64>, deviation_threshold, last_answer, last_update_at: Nullable<At>, used_by,
    reserve_symbols, other_descriptions, last_synced_at: At = "observed_at"
} }

/// All feeds on served chains, by chain and address.
pub async fn load(db: &Db) -> Result<Vec<FeedRecord>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT f.*, c.name AS chain_name, c.slug AS chain_slug \
         FROM oracle_feed f JOIN chain c USING (chain_id) WHERE c.is_served ORDER BY f.chain_id, f.address COLLATE \"C\"",
    )
    .fetch_all(&db.pool)
    .await?)
}
