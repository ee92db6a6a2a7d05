//! What a curated vault lends against: its exposures with the published data of each collateral.

use crate::store::registry::catalog::{address, instant};
use crate::store::{Db, StoreError, Tx, decode_enum, decode_optional_enum};
use rds_shared::model::allocation::Collateral;
use rds_shared::model::ids::Address;
use rds_shared::rules::tiers::Tier;
use rds_shared::scoring::asset::{AssetCategory, ReviewStatus};
use rds_shared::scoring::decimal::from_float;
use rds_shared::scoring::vault::{ExposuresStatus, Oracle};
use rds_shared::scoring::{MilliPoints, Ppm};
use rds_shared::wire::Timestamp;
use sqlx::Row;
use sqlx::postgres::PgRow;

/// A vault's newest exposures.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// The deposit asset's contract.
    pub loan_asset_address: Option<Address>,
    /// Null without an observation.
    pub status: Option<ExposuresStatus>,
    /// Source of the observation.
    pub source: Option<String>,
    pub observed_at: Option<Timestamp>,
    /// One per market, largest share first.
    pub parts: Vec<Part>,
}

/// One market.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Part of the vault, in parts per million.
    pub share: u32,
    /// Liquidation loan-to-value.
    pub lltv: Option<Ppm>,
    /// Source of the collateral's price.
    pub oracle: Oracle,
    /// Whether collateral and loan track the same reference.
    pub same_peg: bool,
    pub collateral: Collateral,
}

/// The vault's exposures; `None` if the vault does not exist.
pub async fn of_vault(db: &Db, vault_id: &str) -> Result<Option<Allocation>, StoreError> {
    let mut tx = db.snapshot().await?;
    let found = sqlx::query(
        "SELECT v.asset_address, e.status, e.source, e.observed_at FROM vault v LEFT JOIN exposure e ON e.vault_id = v.id WHERE v.id = $1",
    )
    .bind(vault_id)
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = found else { return Ok(None) };
    let loan: Option<String> = row.try_get("asset_address")?;
    Ok(Some(Allocation {
        loan_asset_address: loan.map(|text| address("vault.asset_address", text)).transpose()?,
        status: decode_optional_enum("exposure.status", row.try_get("status")?)?,
        source: row.try_get("source")?,
        observed_at: instant(&row, "observed_at")?,
        parts: parts(&mut tx, vault_id).await?,
    }))
}

/// A part on a withheld chain keeps its share but loses its identity.
async fn parts(tx: &mut Tx<'_>, vault_id: &str) -> Result<Vec<Part>, StoreError> {
    let rows = sqlx::query(
        "SELECT part.share, part.lltv, part.oracle, part.same_peg, a.id AS asset_id, n.id AS vault_id, \
                coalesce(a.symbol, n.symbol) AS symbol, coalesce(a.name, n.name) AS name, \
                coalesce(a.address, n.address) AS address, a.category, r.review_status, \
                coalesce(s.score, p.score) AS score, coalesce(s.tier, p.tier) AS tier, s.hard_fail_flags \
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
    )
    .bind(vault_id)
    .fetch_all(&mut **tx)
    .await?;
    rows.iter().map(part).collect()
}

fn part(row: &PgRow) -> Result<Part, StoreError> {
    let ppm = |fraction: f64| from_float(fraction, 6).unwrap_or(0);
    let contract: Option<String> = row.try_get("address")?;
    let score: Option<i32> = row.try_get("score")?;
    Ok(Part {
        share: u32::try_from(ppm(row.try_get("share")?)).unwrap_or(0),
        lltv: row.try_get::<Option<f64>, _>("lltv")?.map(|lltv| Ppm(ppm(lltv))),
        oracle: decode_enum::<Oracle>("exposure.parts.oracle", row.try_get("oracle")?)?,
        same_peg: row.try_get("same_peg")?,
        collateral: Collateral {
            asset_id: row.try_get("asset_id")?,
            vault_id: row.try_get("vault_id")?,
            symbol: row.try_get("symbol")?,
            name: row.try_get("name")?,
            address: contract.map(|text| address("asset.address", text)).transpose()?,
            category: decode_optional_enum::<AssetCategory>("asset.category", row.try_get("category")?)?,
            review_status: decode_optional_enum::<ReviewStatus>(
                "asset_version.review_status",
                row.try_get("review_status")?,
            )?,
            risk_score: score.and_then(MilliPoints::new),
            risk_tier: decode_optional_enum::<Tier>("asset_score.tier", row.try_get("tier")?)?,
            hard_fail_flags: row.try_get::<Option<Vec<String>>, _>("hard_fail_flags")?.unwrap_or_default(),
        },
    })
}
