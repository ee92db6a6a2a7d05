//! `GET /v1/vault/{network}/{address}/markets`: the lending markets that hold a curated vault's deposits, and their collateral.
//!
//! A vault whose protocol does not spread deposits over lending markets is 404.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use crate::http::exchange::encoded;
use crate::http::vaults::detail::{addressed, observed_tvl, of_breakdown};
use rds_shared::model::allocation::{AllocatedMarket, MarketAllocation};
use rds_shared::model::status::{Breakdown, EvidenceStatus};
use rds_shared::model::vault::VaultRow;
use rds_shared::rules::collateral::{MarketCollateral, summary};
use rds_shared::scoring::Ppm;
use rds_shared::scoring::vault::ExposuresStatus;
use rds_shared::wire::ApiError;
use rds_store::Db;
use rds_store::vaults::allocation::{self, Allocation, Part};

/// The lending markets of one vault.
pub async fn markets(live: &LiveCatalog, db: &Db, call: &Call) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let row = &of_breakdown(&catalog, addressed(&catalog, call)?, Breakdown::Markets)?.row;
    let found = allocation::of_vault(db, row.id.as_str()).await?.ok_or_else(|| ApiError::not_found("vault"))?;
    let answer = shown(row, found);
    encoded::data_with_body_etag(call, catalog.version, &answer)
}

fn shown(row: &VaultRow, found: Allocation) -> MarketAllocation {
    let tvl_usd = observed_tvl(row);
    let known = found.status == Some(ExposuresStatus::Observed);
    let allocated = Ppm(found.parts.iter().map(|part| i64::from(part.share)).sum());
    let idle = Ppm(Ppm::ONE.0.saturating_sub(allocated.0).max(0));
    let collateral = summary(&found.parts.iter().map(backing).collect::<Vec<_>>());
    MarketAllocation {
        vault_id: row.id.clone(),
        status: if known { EvidenceStatus::Observed } else { EvidenceStatus::Unavailable },
        loan_asset_symbol: row.asset_symbol.clone(),
        loan_asset_address: found.loan_asset_address,
        tvl_usd,
        market_count: found.parts.len() as u64,
        allocated_share: known.then_some(allocated),
        idle_share: known.then_some(idle),
        idle_usd: tvl_usd.filter(|_| known).map(|tvl| in_usd(tvl, idle)),
        collateral,
        markets: found.parts.into_iter().map(|part| market(part, tvl_usd)).collect(),
        source: found.source,
        observed_at: found.observed_at,
    }
}

fn backing(part: &Part) -> MarketCollateral<'_> {
    MarketCollateral {
        share: part.share,
        score: part.collateral.risk_score,
        lltv: part.lltv,
        same_peg: part.same_peg,
        hard_fail_flags: &part.collateral.hard_fail_flags,
    }
}

fn market(part: Part, tvl_usd: Option<f64>) -> AllocatedMarket {
    let share = Ppm(part.share.into());
    AllocatedMarket {
        share,
        allocated_usd: tvl_usd.map(|tvl| in_usd(tvl, share)),
        lltv: part.lltv,
        oracle: part.oracle,
        same_peg: part.same_peg,
        collateral: part.collateral,
    }
}

/// `share` of `amount`, in US dollars.
pub(in crate::http) fn in_usd(amount: f64, share: Ppm) -> f64 {
    amount * share.0 as f64 / Ppm::ONE.0 as f64
}
