//! `GET /v1/royco`: the active vaults of one protocol, each with its rewards; an empty list if the protocol is not tracked.

use crate::catalog::LiveCatalog;
use crate::catalog::REWARDED_PROTOCOL;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::RouteCall;
use crate::http::exchange::encoded;
use rds_shared::route::routes;
use rds_shared::select::vault_filters::{VaultFilter, VaultSort};

/// A page of the protocol's vaults, largest TVL first.
pub fn list(live: &LiveCatalog, call: RouteCall<'_, routes::Royco>) -> Result<Answer, Failure> {
    let page = call.page()?;
    let catalog = live.get()?;
    let wanted = [REWARDED_PROTOCOL.to_owned()];
    let filter = VaultFilter { protocols: &wanted, ..VaultFilter::default() };
    let (vaults, total) = catalog.select_vaults(&filter, VaultSort::default(), page);
    let rows: Vec<_> = vaults.iter().filter_map(|vault| vault.rewarded.as_ref()).collect();
    Ok(encoded::page(&call, catalog.version, &rows, page, total as u64))
}
