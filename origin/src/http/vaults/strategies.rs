//! Strategies of aggregators' vaults: `/strategies` for vaults that lend deposits to several, `/strategy` for vaults that run one.
//!
//! A vault whose protocol has another kind of breakdown than the route is 404.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use crate::http::exchange::encoded;
use crate::http::vaults::allocation::in_usd;
use crate::http::vaults::detail::{addressed, observed_tvl, of_breakdown};
use rds_shared::model::status::{Breakdown, EvidenceStatus};
use rds_shared::model::strategy::{StrategyBreakdown, StrategyInfo, StrategyRow};
use rds_shared::model::vault::VaultRow;
use rds_shared::scoring::Ppm;
use rds_store::Db;
use rds_store::vaults::strategies;

/// `GET /v1/vault/{network}/{address}/strategies`.
pub async fn breakdown(live: &LiveCatalog, db: &Db, call: &Call) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let row = &of_breakdown(&catalog, addressed(&catalog, call)?, Breakdown::Strategies)?.row;
    let answer = shown(row, strategies::of_vault(db, row.id.as_str()).await?);
    encoded::data_with_body_etag(call, catalog.version, &answer)
}

/// `GET /v1/vault/{network}/{address}/strategy`.
pub async fn single(live: &LiveCatalog, db: &Db, call: &Call) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let row = &of_breakdown(&catalog, addressed(&catalog, call)?, Breakdown::Strategy)?.row;
    let found = strategies::of_vault(db, row.id.as_str()).await?;
    let newest = found.into_iter().max_by_key(|strategy| (strategy.is_active, strategy.observed_at));
    let answer = StrategyInfo::new(row.id.clone(), observed_tvl(row), row.apr_net, newest);
    encoded::data_with_body_etag(call, catalog.version, &answer)
}

fn shown(row: &VaultRow, found: Vec<StrategyRow>) -> StrategyBreakdown {
    let status = if found.is_empty() { EvidenceStatus::Unavailable } else { EvidenceStatus::Observed };
    let tvl_usd = observed_tvl(row);
    let active: Vec<StrategyRow> = found.into_iter().filter(|strategy| strategy.is_active).collect();
    let sum = active.iter().try_fold(0_i64, |sum, strategy| Some(sum.saturating_add(strategy.share?.0)));
    let allocated_share = sum.filter(|_| status == EvidenceStatus::Observed).map(Ppm);
    let idle_share = allocated_share.map(|allocated| Ppm((Ppm::ONE.0 - allocated.0).max(0)));
    let valued = |strategy: StrategyRow| StrategyRow {
        allocated_usd: tvl_usd.zip(strategy.share).map(|(tvl, share)| in_usd(tvl, share)),
        ..strategy
    };
    StrategyBreakdown {
        vault_id: row.id.clone(),
        status,
        tvl_usd,
        strategy_count: active.len() as u64,
        allocated_share,
        idle_share,
        idle_usd: tvl_usd.zip(idle_share).map(|(tvl, idle)| in_usd(tvl, idle)),
        strategies: active.into_iter().map(valued).collect(),
    }
}
