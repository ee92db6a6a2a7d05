//! `GET /v1/markets/{id}`.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use crate::http::exchange::encoded::{self, EmbeddedRow};
use rds_shared::model::market::MarketPage;
use rds_shared::wire::{ApiError, Data};
use rds_store::Db;
use rds_store::markets::{self, hubs};
use rds_store::registry::mappings;

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
