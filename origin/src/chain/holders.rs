//! Who holds the shares of vaults, from the transfers of the share token since its creation.
//!
//! The balances are observed only if their sum is the supply at the same block. A token whose balances change without a transfer, such as a
//! supply token of Aave, never comes to that.

use super::observed::ReadBlock;
use super::state::{self, States, Vault};
use rds_chain::abi::{Function, Word};
use rds_chain::adapt::holders::{Holders, HoldersError};
use rds_chain::logs::Log;
use rds_chain::reader::Field;
use rds_chain::{Address, Block};
use rds_facts::fact::Kind;
use rds_facts::{At, Holder, HolderSnapshot};
use rds_rpc::agree::Reader;
use rds_shared::model::status::HolderCategory;
use rds_store::chains;
use rds_store::{Db, StoreError};
use std::collections::BTreeMap;

/// Seconds between two readings of a vault's holders.
const EVERY_SECONDS: i64 = 86_400;
/// Most holders of a vault; those of a vault with more are not read.
const MAX_HOLDERS: usize = 100_000;
/// Most vaults whose holders are read in one cycle. The others follow in the next cycles.
const MAX_VAULTS: usize = 500;

/// When the holders of each vault were last asked for, also in vain.
#[derive(Debug, Default)]
pub(super) struct Tried(BTreeMap<String, At>);

/// The holders of those vaults whose holders were not read for a day.
pub(super) async fn read(
    db: &Db,
    reader: &mut Reader,
    block: &Block,
    at: &ReadBlock,
    vaults: &[Vault<'_>],
    tried: &mut Tried,
) -> Result<Vec<HolderSnapshot>, StoreError> {
    let ids: Vec<&str> = vaults.iter().map(|(id, _)| *id).collect();
    let read_at = chains::holders_read_at(db, &ids, &at.source()).await?;
    let is_due = |id: &str| {
        let last = read_at.get(id).map(|known| known.observed_at).max(tried.0.get(id).copied());
        last.is_none_or(|last| at.time.0.seconds_since(last.0) >= EVERY_SECONDS)
    };
    let due: Vec<Vault<'_>> = vaults.iter().filter(|(id, _)| is_due(id)).take(MAX_VAULTS).copied().collect();
    if due.is_empty() {
        return Ok(Vec::new());
    }
    let contracts: Vec<Address> = due.iter().map(|(_, contract)| *contract).collect();
    let mut unused = States::default();
    let supplies = state::fields(reader, block, &contracts, &[Field::new(Function::TotalSupply)], &mut unused).await;
    let supplies = supplies.iter().map(|seen| seen.first().and_then(state::word));
    let supplied: Vec<(Vault<'_>, Word)> =
        due.into_iter().zip(supplies).filter_map(|(vault, supply)| Some((vault, supply?))).collect();

    let mut found = Vec::new();
    // After a day only what was transferred since; if that does not add up, everything from the beginning.
    let (known, new): (Vec<_>, Vec<_>) = supplied.into_iter().partition(|((id, _), _)| read_at.contains_key(*id));
    let mut from_the_beginning = new;
    let mut by_block: BTreeMap<i64, Vec<(Vault<'_>, Word)>> = BTreeMap::new();
    for it in known {
        let block = read_at.get(it.0.0).map_or(0, |known| known.indexed_to_block);
        by_block.entry(block).or_default().push(it);
    }
    for (read_to, vaults) in by_block {
        let since = u64::try_from(read_to.saturating_add(1)).unwrap_or(0);
        let Some(logs) = transfers(reader, block, since, &vaults).await else { continue };
        for ((id, contract), supply) in vaults {
            let earlier = chains::balances(db, id).await?;
            match balances(contract, earlier, &logs, supply) {
                Ok(balances) => found.push(snapshot(at, id, supply, balances)),
                Err(_) => from_the_beginning.push(((id, contract), supply)),
            }
        }
    }
    if let Some(logs) = transfers(reader, block, 0, &from_the_beginning).await {
        for ((id, contract), supply) in from_the_beginning {
            tried.0.insert(id.to_owned(), at.time);
            match balances(contract, Vec::new(), &logs, supply) {
                Ok(balances) => found.push(snapshot(at, id, supply, balances)),
                Err(error) => tracing::debug!(vault = id, %error, "the holders cannot be read"),
            }
        }
    }
    Ok(found)
}

async fn transfers(reader: &Reader, block: &Block, since: u64, vaults: &[(Vault<'_>, Word)]) -> Option<Vec<Log>> {
    if vaults.is_empty() {
        return None;
    }
    let contracts: Vec<Address> = vaults.iter().map(|((_, contract), _)| *contract).collect();
    reader.transfers(block, since, &contracts).await
}

/// The balances after the transfers of one token among `logs`.
fn balances(
    token: Address,
    earlier: Vec<(String, String)>,
    logs: &[Log],
    supply: Word,
) -> Result<Vec<(Address, Word)>, HoldersError> {
    let mut holders = Holders::new(token, MAX_HOLDERS);
    for (holder, balance) in earlier {
        // What is stored was read before, and has these forms.
        if let (Ok(holder), Some(balance)) = (holder.parse(), Word::from_decimal(&balance)) {
            holders.transfer(Address::ZERO, holder, balance)?;
        }
    }
    logs.iter().filter(|log| log.address == token).try_for_each(|log| holders.apply(log))?;
    holders.checked(supply)
}

fn snapshot(at: &ReadBlock, vault_id: &str, supply: Word, balances: Vec<(Address, Word)>) -> HolderSnapshot {
    let holder = |(address, balance): (Address, Word)| Holder {
        address: address.to_string(),
        balance_raw: balance.to_decimal(),
        label: None,
        category: HolderCategory::Unknown,
        method: None,
    };
    HolderSnapshot {
        kind: Kind,
        observed_at: at.time,
        source: at.source(),
        vault_id: vault_id.to_owned(),
        token_address: None,
        indexed_to_block: Some(at.number),
        backfill_complete: true,
        total_supply_raw: Some(supply.to_decimal()),
        holders: balances.into_iter().map(holder).collect(),
    }
}
