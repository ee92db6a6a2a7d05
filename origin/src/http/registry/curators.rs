//! `GET /v1/curators/{id}` and `/{id}/events`.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::RouteCall;
use crate::http::exchange::encoded::{self, EmbeddedRow};
use rds_shared::access::paging;
use rds_shared::model::curator::{CuratorEvents, CuratorPage};
use rds_shared::route::{params, routes};
use rds_shared::select::vault_filters::{VaultFilter, VaultSort};
use rds_shared::wire::{ApiError, Data};
use rds_store::Db;
use rds_store::events::{feed, pages};

/// Maximum number of events in a curator's detail, the newest first. `GET /v1/curators/{id}/events` lists all of them.
const EVENTS_IN_DETAIL: u32 = 5;

/// One curator with a page of its active vaults, their distribution over chains, and its newest events.
pub async fn by_id(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::CuratorById>) -> Result<Answer, Failure> {
    let page = call.page()?;
    let catalog = live.get()?;
    let curator = catalog.rollup.curator(call.found.param(0)).ok_or_else(|| ApiError::not_found("curator"))?;
    let events = pages::of_curator(db, &curator.row.id, 0, EVENTS_IN_DETAIL).await?;
    let events_total = feed::count_of_curator(db, &curator.row.id).await?;
    let wanted = [curator.row.id.clone()];
    let found =
        catalog.select(&VaultFilter { curators: &wanted, ..VaultFilter::default() }, VaultSort::default(), page);
    let detail = |vaults| CuratorPage {
        curator: curator.row.clone(),
        vaults,
        vault_total: found.total as u64,
        chain_distribution: curator.chains.clone(),
        events: events.clone(),
        events_total,
    };
    let versions = detail(found.rows.iter().map(|row| EmbeddedRow::Version(row)).collect());
    encoded::json_with_etag_of(&call, catalog.version, &versions, || Data {
        data: detail(found.rows.iter().map(|row| EmbeddedRow::At(row, call.now)).collect()),
    })
}

/// A slice of a curator's events, newest first.
pub async fn events(
    live: &LiveCatalog,
    db: &Db,
    call: RouteCall<'_, routes::CuratorEvents>,
) -> Result<Answer, Failure> {
    let offset = u64::from(call.get(params::Offset));
    let rows = paging::admit_rows(&call.principal, offset, u64::from(call.get(params::Limit)))?;
    let limit = u32::try_from(rows).unwrap_or(u32::MAX);
    let catalog = live.get()?;
    let curator = catalog.rollup.curator(call.found.param(0)).ok_or_else(|| ApiError::not_found("curator"))?;
    let events = pages::of_curator(db, &curator.row.id, offset, limit).await?;
    let total = feed::count_of_curator(db, &curator.row.id).await?;
    let slice = CuratorEvents { events, total };
    encoded::data_with_body_etag(&call, catalog.version, &slice)
}
