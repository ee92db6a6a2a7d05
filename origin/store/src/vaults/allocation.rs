//! The collateral of a curated vault's loans: its exposures with the published data of each collateral.

use crate::columns::{DbFraction, DbShare};
use crate::db_enum::DbEnum;
use crate::decode::{DbAddress, DbMilliPoints, Nullable};
use crate::shared_row::{Shared, shared_row};
use crate::{At, Db, StoreError, Tx};
use rds_shared::model::allocation::Collateral;
use rds_shared::model::ids::Address;
use rds_shared::rules::tiers::Tier;
use rds_shared::scoring::Ppm;
use rds_shared::scoring::asset::{AssetCategory, ReviewStatus};
use rds_shared::scoring::vault::{ExposuresStatus, Oracle};
use rds_shared::wire::Timestamp;
use sqlx::FromRow;

/// A vault's newest exposures.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct Allocation {
    /// The deposit asset's contract.
    #[sqlx(rename = "asset_address", try_from = "Nullable<DbAddress>")]
    pub loan_asset_address: Option<Address>,
    /// Null if no exposures were observed.
    #[sqlx(try_from = "Nullable<DbEnum<ExposuresStatus>>")]
    pub status: Option<ExposuresStatus>,
    /// Source of the observation.
    pub source: Option<String>,
    #[sqlx(try_from = "Nullable<At>")]
    pub observed_at: Option<Timestamp>,
    /// One per market, largest share first.
    #[sqlx(skip)]
    pub parts: Vec<Part>,
}

/// A vault's exposure to one market.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct Part {
    /// Part of the vault, in parts per million.
    #[sqlx(try_from = "DbShare")]
    pub share: u32,
    /// Liquidation loan-to-value.
    #[sqlx(try_from = "Nullable<DbFraction>")]
    pub lltv: Option<Ppm>,
    /// Source of the collateral's price.
    #[sqlx(try_from = "DbEnum<Oracle>")]
    pub oracle: Oracle,
    /// Whether collateral and loan track the same reference.
    pub same_peg: bool,
    #[sqlx(flatten, try_from = "Shared<Collateral>")]
    pub collateral: Collateral,
}

shared_row! { Collateral {
    asset_id, vault_id, symbol, name, address: Nullable<DbAddress>, category: Nullable<DbEnum<AssetCategory>>,
    review_status: Nullable<DbEnum<ReviewStatus>>, risk_score: Nullable<DbMilliPoints> = "score",
    risk_tier: Nullable<DbEnum<Tier>> = "tier", hard_fail_flags
} }

/// The vault's exposures; `None` if the vault does not exist.
pub async fn of_vault(db: &Db, vault_id: &str) -> Result<Option<Allocation>, StoreError> {
    let mut tx = db.snapshot().await?;
    let found: Option<Allocation> = sqlx::query_as(
        "SELECT v.asset_address, e.status, e.source, e.observed_at FROM vault v LEFT JOIN exposure e ON e.vault_id = v.id WHERE v.id = $1",
    )
    .bind(vault_id)
    .fetch_optional(&mut *tx)
    .await?;
    let Some(allocation) = found else { return Ok(None) };
    Ok(Some(Allocation { parts: parts(&mut tx, vault_id).await?, ..allocation }))
}

/// The vault's exposures, largest share first. An exposure on a withheld chain is returned without its
/// collateral's identity and score.
async fn parts(tx: &mut Tx<'_>, vault_id: &str) -> Result<Vec<Part>, StoreError> {
    let parts = sqlx::query_as(
        "SELECT part.share, part.lltv, part.oracle, part.same_peg, a.id AS asset_id, n.id AS vault_id, \
                coalesce(a.symbol, n.symbol) AS symbol, coalesce(a.name, n.name) AS name, \
                coalesce(a.address, n.address) AS address, a.category, r.review_status, \
                coalesce(s.score, p.score) AS score, coalesce(s.tier, p.tier) AS tier, \
                coalesce(s.hard_fail_flags, '{}') AS hard_fail_flags \
         FROM exposure e \
         CROSS JOIN jsonb_to_recordset(e.parts) \
              AS part (asset_id text, vault_id text, share double precision, oracle text, lltv double precision, same_peg boolean) \
         LEFT JOIN (asset a JOIN chain ac ON ac.chain_id = a.chain_id AND ac.is_served) ON a.id = part.asset_id \
         LEFT JOIN asset_score s ON s.asset_id = a.id \
         LEFT JOIN LATERAL (SELECT review_status FROM asset_version WHERE asset_id = a.id ORDER BY observed_at DESC LIMIT 1) AS r ON true \
         LEFT JOIN (vault n JOIN chain nc ON nc.chain_id = n.chain_id AND nc.is_served) ON n.id = part.vault_id \
         LEFT JOIN vault_score p ON p.vault_id = n.id \
         WHERE e.vault_id = $1 \
         ORDER BY part.share DESC, coalesce(part.asset_id, part.vault_id) COLLATE \"C\", part.lltv DESC NULLS LAST, part.oracle",
    );
    Ok(parts.bind(vault_id).fetch_all(&mut **tx).await?)
}
