//! `GET /v1/royco`: the active vaults of one protocol, each with its rewards; an empty list where it is not tracked.

use super::answer::{Answer, Failure};
use super::call::Call;
use super::encoded;
use crate::app::App;
use crate::store::rewards;
use rds_shared::access::paging;
use rds_shared::model::vault::{RewardedVault, VaultRow};
use rds_shared::select::vault_query::{VaultFilter, VaultSort};
use rds_shared::wire::{PageMeta, Paged};

/// The protocol's id.
const PROTOCOL: &str = "royco";

/// A page of the protocol's vaults, largest value first.
pub async fn list(app: &App, call: &Call) -> Result<Answer, Failure> {
    let page = call.query.page();
    paging::admit(&call.principal, page)?;
    let catalog = app.catalog.get()?;
    let wanted = [PROTOCOL.to_owned()];
    let filter = VaultFilter { protocols: &wanted, ..VaultFilter::default() };
    let (vaults, total) = catalog.select_vaults(&filter, VaultSort::default(), page);
    let ids: Vec<String> = vaults.iter().map(|vault| vault.row.id.as_str().to_owned()).collect();
    let mut running = match ids.is_empty() {
        true => Default::default(),
        false => rewards::running(&app.db.pool, Some(&ids)).await?,
    };
    let rows: Vec<RewardedVault> = vaults
        .iter()
        .map(|vault| RewardedVault {
            row: vault.row.clone(),
            rewards: running.remove(vault.row.id.as_str()).unwrap_or_default(),
        })
        .collect();
    let meta = PageMeta::new(page, total as u64);
    let aged = |row: VaultRow| row.served_at(call.now);
    // Rows as stored have no freshness yet: that is what the ETag is made of.
    let stored = Paged { data: &rows, meta };
    encoded::value(call, catalog.version, &stored, || Paged {
        data: rows
            .iter()
            .map(|vault| RewardedVault { row: aged(vault.row.clone()), rewards: vault.rewards.clone() })
            .collect::<Vec<_>>(),
        meta,
    })
}
