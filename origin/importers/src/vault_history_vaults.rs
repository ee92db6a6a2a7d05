//! vault_history_vaults.jsonl: metadata of the vaults of the daily history, most of them older than the list of vaults.
//!
//! A vault of `vaults.jsonl.gz` keeps the metadata of that file, which was read on chain and more recently. Only this file states which
//! vaults were wound up; see [`ended`]. Its fees do not fill gaps in the other file: where both files state fees, the fees often differ, so
//! the files define fees differently.

use super::ImportError;
use super::adapter::{Adapter, Contract, Known, ListedVault, Observed};
use super::bridges::Bridges;
use super::folder::Folder;
use super::incidents::Incidents;
use super::vault_history::VaultHistory;
use super::vaults::{unread, vault_id};
use super::yield_vaults::YieldVaults;
use rds_engine::ingest::Observation;
use rds_facts::Vault;
use rds_facts::fact::Kind;
use rds_shared::scoring::vault::{AssetMode, Exit, Source, Strategy};
use rds_shared::wire::Timestamp;
use rds_store::At;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

/// The protocol of all rows; the list of protocols contains it.
const PROTOCOL: &str = "yearn";
/// `kind` of vaults that deposit into other vaults. Other kinds do not determine a strategy.
const ALLOCATOR: &str = "Multi Strategy";

pub struct VaultHistoryVaults;

/// A row: a vault in its last recorded state.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    chain_id: i64,
    address: String,
    name: Option<String>,
    symbol: Option<String>,
    decimals: Option<u32>,
    asset_address: String,
    asset_symbol: Option<String>,
    kind: Option<String>,
    api_version: String,
    performance_fee: f64,
    management_fee: f64,
    emergency_shutdown: bool,
    is_retired: bool,
    first_date: Timestamp,
    last_date: Timestamp,
    source: String,
}

/// How a vault was wound up: by its contract, or by a statement of its operators.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ended {
    /// The contract refuses deposits permanently.
    pub is_shutdown: bool,
    /// The operators have retired it.
    pub is_retired: bool,
}

impl Ended {
    /// Whether the vault is still in operation.
    pub fn is_active(self) -> bool {
        !self.is_shutdown && !self.is_retired
    }

    /// The vault's flags, named as in the file.
    pub fn flags(self) -> impl Iterator<Item = String> {
        let flags = [("emergency_shutdown", self.is_shutdown), ("retired", self.is_retired)];
        flags.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag.to_owned())
    }
}

impl Row {
    fn contract(&self) -> Contract {
        (self.chain_id, self.address.clone())
    }

    fn ended(&self) -> Ended {
        Ended { is_shutdown: self.emergency_shutdown, is_retired: self.is_retired }
    }
}

/// The vaults that were wound up, which only this file states.
pub fn ended(folder: &Folder) -> Result<HashMap<Contract, Ended>, ImportError> {
    let mut ended = HashMap::new();
    for row in folder.rows::<Row>(VaultHistoryVaults::FILE)? {
        let (_, row) = row?;
        if !row.ended().is_active() {
            ended.insert(row.contract(), row.ended());
        }
    }
    Ok(ended)
}

impl Adapter for VaultHistoryVaults {
    const FILE: &'static str = "vault_history_vaults.jsonl";
    const NEEDED_BY: &'static [&'static str] = &[YieldVaults::FILE, VaultHistory::FILE, Incidents::FILE, Bridges::FILE];
    type Row = Row;

    /// A vault of the history is added only if the list has other vaults on its chain.
    fn learn(&self, row: &Row, known: &mut Known) {
        if known.vaults.contains_key(&row.contract()) || !known.has_figures_on(row.chain_id) {
            return;
        }
        if let Some(id) = vault_id(PROTOCOL, row.chain_id, &row.address) {
            let vault = ListedVault { id, asset_decimals: row.decimals, listed_in: Self::FILE };
            known.list(row.contract(), (row.chain_id, row.asset_address.clone()), vault);
        }
    }

    fn observe(&self, row: Row, known: &Known) -> Observed {
        if !known.has_figures_on(row.chain_id) {
            return Observed::Skipped("no vault with figures is listed on its chain");
        }
        if known.vaults.get(&row.contract()).is_some_and(|vault| vault.listed_in != Self::FILE) {
            return Observed::Skipped("listed with figures already");
        }
        // An invalid address is passed on, so that ingest reports the fault.
        let id = vault_id(PROTOCOL, row.chain_id, &row.address).unwrap_or_else(|| row.address.clone());
        Observed::As(vec![
            Observation::Exposure(unread(row.last_date, &row.source, id)),
            Observation::Vault(Box::new(vault(row, known))),
        ])
    }
}

/// The file does not date the deployment; the first day of the history is a lower bound of the age.
fn vault(row: Row, known: &Known) -> Vault {
    let mut evidence = BTreeMap::new();
    let mut derived = |field: &str, from: &str| evidence.insert(field.to_owned(), format!("{}: {from}", row.source));
    derived("first_seen_at", "first day of the daily history (lower bound of the age)");
    let strategy = row.kind.as_deref().filter(|kind| *kind == ALLOCATOR).map(|kind| {
        derived("strategy", &format!("kind {kind}"));
        Strategy::VaultOfVaults
    });
    let ended = row.ended();
    Vault {
        kind: Kind,
        observed_at: At(row.last_date),
        id: String::new(),
        protocol_id: PROTOCOL.to_owned(),
        chain_id: row.chain_id,
        name: row.name.unwrap_or_else(|| row.address.clone()),
        address: row.address,
        symbol: row.symbol,
        asset_symbol: row.asset_symbol,
        is_stablecoin: known.stablecoins.contains(&(row.chain_id, row.asset_address.clone())),
        asset_address: Some(row.asset_address),
        // Shares of this protocol have the decimals of the deposit asset.
        asset_decimals: row.decimals,
        curator_id: None,
        strategy,
        asset_mode: AssetMode::Holdings,
        deployed_at: None,
        first_seen_at: Some(At(row.first_date)),
        is_immutable: None,
        timelock_seconds: None,
        signers: None,
        exit: Exit::Unknown,
        source_code: Source::Unknown,
        is_active: ended.is_active(),
        is_shutdown: ended.is_shutdown,
        is_lsd: false,
        single_exposure: false,
        no_il: false,
        management_fee: Some(row.management_fee),
        performance_fee: Some(row.performance_fee),
        tags: row.kind.into_iter().chain([format!("version {}", row.api_version)]).collect(),
        flags: ended.flags().collect(),
        source: row.source,
        evidence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "0x00000000000000000000000000000000000000a1";

    fn row(kind: Option<&str>) -> Row {
        let day = Timestamp::from_seconds(1_700_006_400);
        Row {
            chain_id: 1,
            address: AT.to_owned(),
            name: None,
            symbol: None,
            decimals: Some(6),
            asset_address: "0xd".to_owned(),
            asset_symbol: None,
            kind: kind.map(str::to_owned),
            api_version: "0.4.6".to_owned(),
            performance_fee: 0.1,
            management_fee: 0.0,
            emergency_shutdown: false,
            is_retired: false,
            first_date: day,
            last_date: day,
            source: "s".to_owned(),
        }
    }

    /// Known data with one listed vault on chain 1.
    fn known() -> Known {
        let mut known = Known::default();
        let listed = ListedVault { id: "harbor-1-0xe".to_owned(), asset_decimals: None, listed_in: "list" };
        known.list((1, "0xe".to_owned()), (1, "0xd".to_owned()), listed);
        known
    }

    fn observed(row: Row, known: &mut Known) -> Result<Box<Vault>, &'static str> {
        VaultHistoryVaults.learn(&row, known);
        match VaultHistoryVaults.observe(row, known) {
            Observed::Skipped(reason) => Err(reason),
            Observed::As(observations) => Ok(observations
                .into_iter()
                .find_map(|one| if let Observation::Vault(vault) = one { Some(vault) } else { None })
                .unwrap()),
        }
    }

    #[test]
    fn only_the_kind_of_an_allocator_determines_its_strategy() {
        let strategy = |kind| observed(row(kind), &mut known()).unwrap().strategy;
        assert_eq!(strategy(Some("Multi Strategy")), Some(Strategy::VaultOfVaults));
        assert_eq!([strategy(Some("Single Strategy")), strategy(Some("Legacy")), strategy(None)], [None; 3]);
    }

    #[test]
    fn a_vault_without_a_name_gets_its_address_and_its_history_bounds_its_age() {
        let vault = observed(row(None), &mut known()).unwrap();
        assert_eq!((vault.name.as_str(), vault.deployed_at), (AT, None));
        assert!(vault.evidence["first_seen_at"].contains("lower bound"));
    }

    #[test]
    fn a_vault_that_was_wound_up_is_inactive_and_flagged() {
        let retired = observed(Row { is_retired: true, ..row(None) }, &mut known()).unwrap();
        assert_eq!((retired.is_active, retired.is_shutdown, retired.flags), (false, false, vec!["retired".to_owned()]));
        let shut = observed(Row { emergency_shutdown: true, ..row(None) }, &mut known()).unwrap();
        assert_eq!((shut.is_active, shut.is_shutdown), (false, true));
    }

    #[test]
    fn a_listed_vault_is_unchanged_and_a_history_adds_no_chain() {
        let mut listed = known();
        let vault = ListedVault { id: "harbor-1-0xa".to_owned(), asset_decimals: None, listed_in: "list" };
        listed.list((1, AT.to_owned()), (1, "0xd".to_owned()), vault.clone());
        assert_eq!(observed(row(None), &mut listed).unwrap_err(), "listed with figures already");
        assert_eq!(listed.vaults[&(1, AT.to_owned())], vault);
        let elsewhere = Row { chain_id: 250, ..row(None) };
        let mut known = known();
        assert!(observed(elsewhere, &mut known).unwrap_err().contains("on its chain"));
        assert_eq!(known.vaults.len(), 1, "a vault on a chain without listed vaults is not added");
    }
}
