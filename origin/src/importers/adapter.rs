//! What an adapter is: a pure function from one row of one file to observations.

use crate::ingest::Observation;
use serde::de::DeserializeOwned;
use std::collections::{BTreeSet, HashMap, HashSet};

/// A contract: chain and address, as the data sets join.
pub type Contract = (i64, String);

/// What earlier files of the folder say that later ones are read by.
#[derive(Debug, Default)]
pub struct Known {
    /// Deployments of stablecoins.
    pub stablecoins: HashSet<Contract>,
    /// The listed vaults.
    pub vaults: HashMap<Contract, ListedVault>,
    /// The chains that they are on.
    pub listed_chains: HashSet<i64>,
    /// Slugs of chains by number.
    pub chains: HashMap<i64, String>,
    /// The contract of each lending pool, by chain and the address book's name of it.
    pub pools: HashMap<(i64, String), String>,
    /// The hubs that each spoke's reserves draw from; null where the data does not say which.
    pub hubs: HashMap<Contract, HashSet<Option<String>>>,
    /// The lending markets behind each section of the permissions book, by chain and section.
    pub sections: HashMap<(i64, String), BTreeSet<Contract>>,
    /// Ids of the assets at a contract.
    pub tokens: HashMap<Contract, Vec<String>>,
    /// Ids of the listed vaults that take the token at a contract.
    pub deposits: HashMap<Contract, Vec<String>>,
}

/// A vault of the list, as far as other files refer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedVault {
    /// `{protocol_id}-{chain_id}-{address}`.
    pub id: String,
    /// Decimals of its deposit asset, where they are known.
    pub asset_decimals: Option<u32>,
    /// The file that lists it.
    pub listed_in: &'static str,
}

impl Known {
    /// Lists a vault, and that it takes `asset`.
    pub fn list(&mut self, contract: Contract, asset: Contract, vault: ListedVault) {
        self.deposits.entry(asset).or_default().push(vault.id.clone());
        self.listed_chains.insert(contract.0);
        self.vaults.insert(contract, vault);
    }

    /// Whether a vault is listed on the chain. Files without figures open no chain of which nothing else is known.
    pub fn has_figures_on(&self, chain_id: i64) -> bool {
        self.listed_chains.contains(&chain_id)
    }
}

/// What became of a row.
pub enum Observed {
    /// It was observed as these.
    As(Vec<Observation>),
    /// It says nothing that can be kept, for this reason.
    Skipped(&'static str),
}

/// Reads one file of the folder.
pub trait Adapter {
    /// The file's name.
    const FILE: &'static str;
    /// Files whose rows cannot be read without knowing this one's.
    const NEEDED_BY: &'static [&'static str] = &[];
    /// Whether its rows can only be read once all of them are known.
    const READ_TWICE: bool = false;
    /// A row, as far as it is used.
    type Row: DeserializeOwned;

    /// What the file as a whole says, beside its rows.
    fn preface(&self) -> Vec<Observation> {
        Vec::new()
    }

    /// Notes what later files need.
    fn learn(&self, _row: &Self::Row, _known: &mut Known) {}

    /// Turns a row into observations.
    fn observe(&self, row: Self::Row, known: &Known) -> Observed;
}
