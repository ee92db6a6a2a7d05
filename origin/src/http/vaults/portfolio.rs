//! `GET /v1/portfolio/{address}`: the known positions of an address, with the current value and score of their vaults.

use crate::catalog::Catalog;
use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use crate::http::exchange::encoded;
use rds_shared::model::ids::Address;
use rds_shared::model::portfolio::{Portfolio, Position};
use rds_shared::model::status::TvlStatus;
use rds_shared::rules::markets::by_supply;
use rds_shared::rules::portfolio::weighted_score;
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode};
use rds_store::Db;
use rds_store::vaults::positions::{self, PositionRecord};

/// Maximum number of listed positions. The most valuable ones are listed; the sums include all positions.
const MAX_POSITIONS: usize = 1_000;

/// The positions of one address.
pub async fn by_address(live: &LiveCatalog, db: &Db, call: &Call) -> Result<Answer, Failure> {
    let (_, address) = Address::parse_any(call.found.param(0)).ok_or_else(|| {
        let reason = "must be an EVM or Solana address: 0x and 40 hex digits, or base58 of 32 bytes";
        ApiError::invalid(ErrorCode::InvalidAddress, vec![Detail::new(In::Path, "address", reason)])
    })?;
    let catalog = live.get()?;
    let held = positions::of(db, &address).await?;
    let portfolio = portfolio(&catalog, address, held);
    encoded::data_with_body_etag(call, catalog.version, &portfolio)
}

fn portfolio(catalog: &Catalog, address: Address, held: Vec<PositionRecord>) -> Portfolio {
    let mut positions: Vec<Position> = held.into_iter().filter_map(|record| position(catalog, record)).collect();
    positions.sort_by(|a, b| by_supply(a.value_usd, b.value_usd).then_with(|| a.vault_id.cmp(&b.vault_id)));
    let scored = || positions.iter().filter_map(|position| position.value_usd.zip(position.total_score));
    let priced = positions.iter().filter_map(|position| position.value_usd);
    let unpriced = positions.iter().filter(|position| position.value_usd.is_none()).count();
    let nothing_priced = !positions.is_empty() && unpriced == positions.len();
    let mut portfolio = Portfolio {
        address,
        total_value_usd: (!nothing_priced).then(|| priced.fold(0.0, |sum, value| sum + value)),
        weighted_risk_score: weighted_score(scored()),
        scored_value_usd: scored().fold(0.0, |sum, (value, _)| sum + value),
        unpriced_count: unpriced as u64,
        position_count: positions.len() as u64,
        positions,
    };
    portfolio.positions.truncate(MAX_POSITIONS);
    portfolio
}

/// The position with the current data of its vault; `None` if the catalog does not have the vault yet.
fn position(catalog: &Catalog, record: PositionRecord) -> Option<Position> {
    let row = &catalog.vault(&record.vault_id)?.row;
    let tvl = (row.tvl_status == TvlStatus::Observed).then_some(row.tvl_usd);
    Some(Position {
        vault_name: row.name.clone(),
        chain_id: row.chain_id,
        chain_name: row.chain_name.clone(),
        protocol_id: row.protocol_id.clone(),
        protocol_name: row.protocol_name.clone(),
        asset_symbol: row.asset_symbol.clone(),
        balance_raw: record.balance_raw,
        share: record.share,
        value_usd: record.share.zip(tvl).map(|(share, tvl)| share * tvl),
        total_score: row.total_score,
        risk_tier: row.risk_tier,
        observed_at: record.observed_at,
        vault_id: record.vault_id,
    })
}
