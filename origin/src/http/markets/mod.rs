//! `GET /v1/markets` and `/{id}`.

pub mod oracles;

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use crate::http::exchange::encoded::{self, EmbeddedRow};
use rds_shared::model::market::MarketPage;
use rds_shared::route::routes;
use rds_shared::wire::{ApiError, Data};
use rds_store::Db;
use rds_store::markets::{self, hubs};
use rds_store::registry::mappings;

/// Every served market, filtered, sorted and paged.
pub fn list(live: &LiveCatalog, call: RouteCall<'_, routes::MarketList>) -> Result<Answer, Failure> {
    let page = call.page()?;
    let catalog = live.get()?;
    let (rows, total) = catalog.markets.select(call.query(), page);
    Ok(encoded::page(&call, catalog.version, &rows, page, total as u64))
}

/// One market with its reserves, efficiency modes, hubs and signer sets.
pub async fn by_id(live: &LiveCatalog, db: &Db, call: &Call) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let market = catalog.markets.get(call.found.param(0)).ok_or_else(|| ApiError::not_found("market"))?;
    let emodes = markets::emodes(db, &market.contract).await?;
    let hubs = hubs::at(db, market.row.chain_id, &market.hubs()).await?;
    let signer_sets = mappings::signer_sets_of_market(db, &market.contract).await?;
    let page = |row| MarketPage {
        market: row,
        reserves: market.reserves.clone(),
        emodes: emodes.clone(),
        hubs: hubs.clone(),
        signer_sets: signer_sets.clone(),
    };
    let versions = page(EmbeddedRow::Version(&market.encoded));
    encoded::json_with_etag_of(call, catalog.version, &versions, || Data {
        data: page(EmbeddedRow::At(&market.encoded, call.now)),
    })
}
