//! From facts to a catalog: the first one whole, each later one out of the one before and what has changed.

use super::Catalog;
use super::assets::Assets;
use super::rollup::Rollup;
use super::vault::Vault;
use crate::store::asset_registry::AssetRegistry;
use crate::store::catalog::{Registry, VaultFacts};
use rds_shared::model::ids::Address;
use rds_shared::select::vaults::{VaultIndex, VaultRecord};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What a refresh read.
#[derive(Debug)]
pub struct Changes {
    /// The data version that was read.
    pub version: i64,
    /// Vaults that changed since the catalog before; all of them for the first.
    pub vaults: Vec<VaultFacts>,
    /// Chains, protocols and curators, whole.
    pub registry: Registry,
    /// The asset side; none when it has not changed since the catalog before.
    pub assets: Option<AssetRegistry>,
}

impl Catalog {
    /// The catalog after `changes`. Rows that did not change are shared with `previous`.
    pub fn build(previous: Option<&Catalog>, changes: Changes) -> anyhow::Result<Catalog> {
        let Changes { version, vaults: changed, registry, assets } = changes;
        let assets = match assets {
            Some(facts) => Arc::new(Assets::build(facts)?),
            None => previous.map(|catalog| Arc::clone(&catalog.assets)).unwrap_or_default(),
        };
        let mut vaults: BTreeMap<_, _> = previous
            .map(|catalog| &catalog.vaults)
            .into_iter()
            .flatten()
            .map(|vault| (vault.row.id.clone(), vault.clone()))
            .collect();
        for facts in changed {
            let vault = Vault::new(facts)?;
            vaults.insert(vault.row.id.clone(), Arc::new(vault));
        }
        let vaults: Vec<Arc<Vault>> = vaults.into_values().collect();
        let active: Vec<Arc<Vault>> = vaults.iter().filter(|vault| vault.is_active).cloned().collect();
        let records: Vec<VaultRecord<'_>> = active.iter().map(|vault| vault.record()).collect();
        let index = VaultIndex::build(&records)?;
        let mut by_address: HashMap<Address, Vec<Arc<Vault>>> = HashMap::with_capacity(vaults.len());
        for vault in &vaults {
            by_address.entry(vault.row.address.clone()).or_default().push(vault.clone());
        }
        let rollup = Rollup::new(registry, &active)?;
        Ok(Catalog { version, vaults, active, index, by_address, rollup, assets })
    }
}
