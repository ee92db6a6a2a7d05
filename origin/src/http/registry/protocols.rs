//! `GET /v1/protocols/{id}`.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::RouteCall;
use crate::http::exchange::encoded::{self, EmbeddedRow};
use rds_shared::model::protocol::{ProtocolIdentity, ProtocolPage};
use rds_shared::route::routes;
use rds_shared::select::vault_filters::{VaultFilter, VaultSort};
use rds_shared::wire::{ApiError, Data};
use rds_store::Db;
use rds_store::events;

/// Maximum incidents in a protocol's detail, the newest first.
const MAX_INCIDENTS: u32 = 100;

/// One protocol with a page of its active vaults, its deployed version and its incidents.
pub async fn by_id(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::ProtocolById>) -> Result<Answer, Failure> {
    let page = call.page()?;
    let catalog = live.get()?;
    let protocol = catalog.rollup.protocol(call.found.param(0)).ok_or_else(|| ApiError::not_found("protocol"))?;
    let facts = &protocol.facts;
    let incidents = events::incidents_of_protocol(db, &facts.id, MAX_INCIDENTS).await?;
    let wanted = [facts.id.clone()];
    let found =
        catalog.select(&VaultFilter { protocols: &wanted, ..VaultFilter::default() }, VaultSort::default(), page);
    let detail = |vaults| ProtocolPage {
        protocol: ProtocolIdentity {
            id: facts.id.clone(),
            name: facts.name.clone(),
            logo_url: facts.logo_url.clone(),
            website_url: facts.website_url.clone(),
        },
        vaults,
        vault_total: found.total as u64,
        versions: protocol.versions.clone(),
        incidents: incidents.clone(),
    };
    let versions = detail(found.rows.iter().map(|row| EmbeddedRow::Version(row)).collect());
    encoded::json_with_etag_of(&call, catalog.version, &versions, || Data {
        data: detail(found.rows.iter().map(|row| EmbeddedRow::At(row, call.now)).collect()),
    })
}
