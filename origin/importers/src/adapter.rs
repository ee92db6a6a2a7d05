//! The adapter trait: a pure function from a row of a file to observations.

use super::exposures;
use rds_engine::ingest::Observation;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A contract: chain id and address. The data sets are joined by it.
pub type Contract = (i64, String);

/// Data of the files read so far that the adapters of later files need.
#[derive(Debug, Default)]
pub struct Known {
    /// Contracts of stablecoins.
    pub stablecoins: HashSet<Contract>,
    /// The listed vaults.
    pub vaults: HashMap<Contract, ListedVault>,
    /// The chains of the listed vaults.
    pub listed_chains: HashSet<i64>,
    /// Slugs of chains by id.
    pub chains: HashMap<i64, String>,
    /// The contract of each lending pool, by chain and its name in the address book.
    pub pools: HashMap<(i64, String), String>,
    /// The hubs that each spoke's reserves draw from; `None` for a reserve whose hub the data does not state.
    pub hubs: HashMap<Contract, HashSet<Option<String>>>,
    /// The lending markets of each section of the permissions book, by chain and section.
    pub sections: HashMap<(i64, String), BTreeSet<Contract>>,
    /// Ids of the assets deployed at a contract.
    pub tokens: HashMap<Contract, Vec<String>>,
    /// Ids of the listed vaults whose deposit token is at a contract.
    pub deposits: HashMap<Contract, Vec<String>>,
    /// Ids of the compounder's vaults that no other file lists.
    pub compounders: HashMap<Contract, String>,
    /// Slugs of the protocols.
    pub protocols: HashSet<String>,
    /// Ids of the deployments of each product, by its slug.
    pub products: HashMap<String, Vec<Deployed>>,
    /// The derived exposures of each vault, by contract; in the order of their members.
    pub exposures: HashMap<Contract, BTreeMap<exposures::Member, exposures::Row>>,
}

/// A deployment of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployed {
    pub chain_id: i64,
    pub asset_id: String,
}

/// Data of a listed vault that the adapters of other files need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedVault {
    /// `{protocol_id}-{chain_id}-{address}`.
    pub id: String,
    /// Decimals of the vault's deposit asset, if known.
    pub asset_decimals: Option<u32>,
    /// The file that lists the vault.
    pub listed_in: &'static str,
}

impl Known {
    /// Adds a deployment of a product, once.
    pub fn deploy(&mut self, product: &str, contract: Contract, asset_id: String) {
        let ids = self.tokens.entry(contract.clone()).or_default();
        if ids.contains(&asset_id) {
            return;
        }
        ids.push(asset_id.clone());
        self.products.entry(product.to_owned()).or_default().push(Deployed { chain_id: contract.0, asset_id });
    }

    /// Ids of the assets that a subject of the evidence names: a product, or a contract as `{chain_id}:{address}`.
    pub fn deployments(&self, subject: &str) -> Vec<&str> {
        if let Some(deployed) = self.products.get(subject) {
            return deployed.iter().map(|it| it.asset_id.as_str()).collect();
        }
        let contract =
            subject.split_once(':').and_then(|(chain, address)| Some((chain.parse().ok()?, address.to_owned())));
        contract
            .and_then(|contract: Contract| self.tokens.get(&contract))
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect()
    }

    /// Whether any file lists a vault with this id.
    pub fn has_vault(&self, id: &str) -> bool {
        let contract = |(chain_id, address): (&str, &str)| Some((chain_id.parse().ok()?, address.to_owned()));
        // `{protocol_id}-{chain_id}-{address}`; the id of a protocol may contain hyphens.
        let mut parts = id.rsplitn(3, '-');
        let (address, chain_id) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let Some(contract) = contract((chain_id, address)) else { return false };
        self.vaults.get(&contract).is_some_and(|vault| vault.id == id)
            || self.compounders.get(&contract).is_some_and(|known| known == id)
    }

    /// Adds a listed vault with its deposit asset.
    pub fn list(&mut self, contract: Contract, asset: Contract, vault: ListedVault) {
        self.deposits.entry(asset).or_default().push(vault.id.clone());
        self.listed_chains.insert(contract.0);
        self.vaults.insert(contract, vault);
    }

    /// Whether a vault is listed on the chain. Files that state no TVL do not add vaults on other chains.
    pub fn has_figures_on(&self, chain_id: i64) -> bool {
        self.listed_chains.contains(&chain_id)
    }
}

/// The result of reading a row.
pub enum Observed {
    /// The row's observations.
    As(Vec<Observation>),
    /// The row yields nothing that can be stored, for this reason.
    Skipped(&'static str),
}

/// Reads one file of the folder.
pub trait Adapter {
    /// Name of the file in the folder.
    const FILE: &'static str;
    /// Files whose rows can be read only after the rows of this file.
    const NEEDED_BY: &'static [&'static str] = &[];
    /// The file's text, if it is part of the program instead of the folder.
    const TEXT: Option<&'static str> = None;
    /// Whether a folder may lack the file.
    const OPTIONAL: bool = false;
    /// Whether [`Self::learn`] must see every row of the file before the first row is observed.
    const READ_TWICE: bool = false;
    /// The fields of a row that the adapter uses.
    type Row: DeserializeOwned;

    /// Observations from the file as a whole, besides its rows.
    fn preface(&self, _known: &mut Known) -> Vec<Observation> {
        Vec::new()
    }

    /// Adds the data of a row that later files need to `known`.
    fn learn(&self, _row: &Self::Row, _known: &mut Known) {}

    /// Turns a row into observations.
    fn observe(&self, row: Self::Row, known: &Known) -> Observed;
}
