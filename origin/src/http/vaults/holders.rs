//! Holders of a vault's shares, now and over time.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::RouteCall;
use crate::http::exchange::encoded;
use crate::http::vaults::detail::{addressed, range};
use rds_shared::model::holders::{HolderFacts, HolderSnapshot};
use rds_shared::route::{params, routes};
use rds_store::Db;
use rds_store::vaults::holders;

/// `GET /v1/vault/{network}/{address}/holders`.
pub async fn latest(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::VaultHolders>) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let row = &addressed(&catalog, &call)?.row;
    let complete_only = call.get(params::CompleteOnly).unwrap_or_default();
    let facts = holders::latest(db, row.id.as_str()).await?.map(|facts| shown(facts, complete_only));
    let snapshot = HolderSnapshot::new(row.id.clone(), row.chain_id, row.address.clone(), facts);
    encoded::data_with_body_etag(&call, catalog.version, &snapshot)
}

/// `GET /v1/vault/{network}/{address}/holders/history`: the newest snapshots up to the limit, oldest first.
pub async fn history(
    live: &LiveCatalog,
    db: &Db,
    call: RouteCall<'_, routes::VaultHolderHistory>,
) -> Result<Answer, Failure> {
    let (from, to) = range(call)?;
    let catalog = live.get()?;
    let vault = addressed(&catalog, &call)?;
    let limit = call.get(params::Limit);
    let complete_only = call.get(params::CompleteOnly).unwrap_or_default();
    let found = holders::between(db, vault.row.id.as_str(), from, to, limit).await?;
    let rows: Vec<_> = found.into_iter().rev().map(|facts| shown(facts, complete_only).history_row()).collect();
    encoded::data_with_body_etag(&call, catalog.version, &rows)
}

/// With `completeOnly`, leaves out the provisional figures while holders are still being indexed.
fn shown(facts: HolderFacts, complete_only: bool) -> HolderFacts {
    if complete_only { facts.complete_only() } else { facts }
}
