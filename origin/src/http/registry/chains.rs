//! `GET /v1/chains`: the chains with active vaults, largest TVL first.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::RouteCall;
use crate::http::exchange::encoded;
use rds_shared::route::routes;

/// Every chain with an active vault.
pub fn list(live: &LiveCatalog, call: RouteCall<'_, routes::Chains>) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let rows: Vec<_> = catalog.rollup.chains.iter().filter_map(|chain| chain.row.as_ref()).collect();
    Ok(encoded::list(&call, catalog.version, call.part(&rows)))
}
