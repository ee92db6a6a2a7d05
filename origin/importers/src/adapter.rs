//! The adapter trait: a pure function from a row of a file to observations.

use rds_engine::ingest::Observation;
use serde::de::DeserializeOwned;
use std::collections::{BTreeSet, HashMap, HashSet};

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
    /// Whether [`Self::learn`] must see every row of the file before the first row is observed.
    const READ_TWICE: bool = false;
    /// The fields of a row that the adapter uses.
    type Row: DeserializeOwned;

    /// Observations from the file as a whole, besides its rows.
    fn preface(&self) -> Vec<Observation> {
        Vec::new()
    }

    /// Adds the data of a row that later files need to `known`.
    fn learn(&self, _row: &Self::Row, _known: &mut Known) {}

    /// Turns a row into observations.
    fn observe(&self, row: Self::Row, known: &Known) -> Observed;
}
