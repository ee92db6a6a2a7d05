//! Symbols of deposit assets: number of active vaults per symbol, and its spellings.

use super::Vault;
use rds_shared::model::symbol::AssetSymbol;
use rds_shared::read_model;
use rds_shared::replica::Row;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The symbols of all vaults, in upper case, with their spellings.
#[derive(Debug, Default)]
pub struct Symbols {
    spellings: HashMap<String, Vec<String>>,
    /// The upper-case symbol of every spelling.
    symbols: HashMap<String, String>,
}

impl Symbols {
    /// Collects the symbols of `vaults`; only `active` ones are counted. Returns the encoded rows of the symbols of active vaults beside them.
    pub(super) fn build(vaults: &[Arc<Vault>], active: &[Arc<Vault>]) -> Result<(Self, Vec<Row>), serde_json::Error> {
        let mut spellings: BTreeMap<&str, u64> = BTreeMap::new();
        for symbol in vaults.iter().filter_map(|vault| vault.row.asset_symbol.as_deref()) {
            spellings.entry(symbol).or_default();
        }
        for symbol in active.iter().filter_map(|vault| vault.row.asset_symbol.as_deref()) {
            *spellings.entry(symbol).or_default() += 1;
        }
        let mut symbols: BTreeMap<String, Vec<(&str, u64)>> = BTreeMap::new();
        for (spelling, count) in spellings {
            symbols.entry(spelling.to_uppercase()).or_default().push((spelling, count));
        }
        let row = |spelled: &Vec<(&str, u64)>| {
            let vault_count = spelled.iter().map(|(_, count)| count).sum();
            // The most frequent spelling; among equally frequent ones, the first in byte order.
            let (shown, _) = spelled.iter().rev().max_by_key(|(_, count)| *count)?;
            (vault_count > 0).then(|| AssetSymbol { asset_symbol: (*shown).to_owned(), vault_count })
        };
        let rows = symbols.values().filter_map(row).map(|symbol| read_model::symbols::row(&symbol));
        let rows = rows.collect::<Result<_, _>>()?;
        let owned = |spelled: Vec<(&str, u64)>| spelled.into_iter().map(|(text, _)| text.to_owned()).collect();
        let spellings: HashMap<String, Vec<String>> =
            symbols.into_iter().map(|(symbol, spelled)| (symbol, owned(spelled))).collect();
        let of_spelling = spellings.iter().flat_map(|(symbol, spelled)| spelled.iter().map(move |text| (text, symbol)));
        let symbols = of_spelling.map(|(text, symbol)| (text.clone(), symbol.clone())).collect();
        Ok((Symbols { spellings, symbols }, rows))
    }

    /// The spellings of an upper-case symbol; `None` if no vault has the symbol.
    pub fn spellings(&self, symbol: &str) -> Option<&[String]> {
        self.spellings.get(symbol).map(Vec::as_slice)
    }

    /// The upper-case symbol of a spelling; `None` if no vault has that spelling.
    pub fn of_spelling(&self, spelling: &str) -> Option<&str> {
        self.symbols.get(spelling).map(String::as_str)
    }
}
