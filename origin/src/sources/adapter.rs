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
    /// Decimals of its deposit asset.
    pub asset_decimals: u32,
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
