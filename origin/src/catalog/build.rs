//! Builds a catalog from facts: the first one completely, each later one from its predecessor and the changes.

use super::assets::Assets;
use super::changes::ChangeFeeds;
use super::rollup::Rollup;
use super::vault::Vault;
use super::{Catalog, Markets, SecurityFacts, Symbols, feeds, security, stats};
use rds_shared::model::ids::{Address, ChainId};
use rds_shared::read_model::ReadModel;
use rds_shared::read_model::vaults::Vaults;
use rds_shared::select::vaults::{VaultIndex, VaultRecord};
use rds_store::assets::registry::AssetRegistry;
use rds_store::markets::MarketFacts;
use rds_store::markets::oracles::FeedRecord;
use rds_store::push::journal::Timeline;
use rds_store::registry::catalog::{Registry, VaultFacts};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The facts read by a refresh.
#[derive(Debug)]
pub struct Changes {
    /// The timeline of the database that the facts belong to ([`rds_store::push::journal::timeline`]).
    pub timeline: Timeline,
    /// The data version that was read.
    pub version: i64,
    /// Vaults that changed since the previous catalog; all vaults for the first.
    pub vaults: Vec<VaultFacts>,
    /// All chains, protocols and curators.
    pub registry: Registry,
    /// All markets; `None` if they did not change since the previous catalog.
    pub markets: Option<MarketFacts>,
    /// All feeds; `None` if they did not change since the previous catalog.
    pub feeds: Option<Vec<FeedRecord>>,
    /// The complete security registry and loss board; `None` if they did not change since the previous catalog.
    pub security: Option<SecurityFacts>,
    /// All assets; `None` if they did not change since the previous catalog.
    pub assets: Option<AssetRegistry>,
    /// The withheld chains, read before all other facts.
    pub withheld: Vec<ChainId>,
}

impl Catalog {
    /// The catalog after `changes`. Rows that did not change are shared with `previous`.
    pub fn build(previous: Option<&Catalog>, changes: Changes) -> anyhow::Result<Catalog> {
        let Changes { timeline, version, vaults: changed, registry, markets, feeds, security, assets, withheld } = changes;
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
            // A vault on a withheld chain is not served; it is read again when its chain changes.
            if !facts.is_served {
                vaults.remove(&facts.id);
                continue;
            }
            let vault = Vault::new(facts)?;
            vaults.insert(vault.row.id.clone(), Arc::new(vault));
        }
        let vaults: Vec<Arc<Vault>> = vaults.into_values().collect();
        let active: Vec<Arc<Vault>> = vaults.iter().filter(|vault| vault.is_active).cloned().collect();
        let records: Vec<VaultRecord<'_>> = active.iter().map(|vault| vault.record()).collect();
        let index = VaultIndex::build(&records)?;
        let encoded = active.iter().map(|vault| Arc::clone(&vault.encoded)).collect();
        let mut by_address: HashMap<Address, Vec<Arc<Vault>>> = HashMap::with_capacity(vaults.len());
        for vault in &vaults {
            by_address.entry(vault.row.address.clone()).or_default().push(vault.clone());
        }
        let evidence = registry.evidence;
        let (rollup, registries) = Rollup::new(registry, &active)?;
        let facts = match (markets, previous) {
            (Some(facts), _) => Arc::new(facts),
            (None, Some(catalog)) => catalog.markets.facts(),
            (None, None) => Arc::default(),
        };
        let at = |chain: ChainId, address: &Address| {
            by_address.get(address)?.iter().find(|vault| vault.row.chain_id == chain).map(AsRef::as_ref)
        };
        let (markets, market_list) = Markets::build(facts, at)?;
        let feeds = match (feeds, previous) {
            (Some(feeds), _) => Arc::new(feeds::build(feeds)?),
            (None, Some(catalog)) => Arc::clone(&catalog.model.feeds),
            (None, None) => Arc::default(),
        };
        let security = match (security, previous) {
            (Some(facts), _) => Arc::new(security::build(&facts)?),
            (None, Some(catalog)) => Arc::clone(&catalog.model.security),
            (None, None) => Arc::default(),
        };
        let symbols = Symbols::build(&vaults, &active)?;
        let changes = ChangeFeeds::build(&vaults);
        let stats = stats::encoded(&active, &symbols, &markets, &feeds, evidence)?;
        let model = ReadModel {
            version,
            vaults: Arc::new(Vaults::new(encoded, index)),
            registries: Arc::new(registries),
            markets: Arc::new(market_list),
            feeds,
            assets: Arc::clone(&assets.lists),
            security,
            symbols: Arc::clone(symbols.rows()),
            stats: Arc::new(stats),
        };
        Ok(Catalog {
            timeline,
            version,
            vaults,
            active,
            model,
            by_address,
            rollup,
            changes,
            markets,
            symbols,
            assets,
            withheld,
        })
    }
}
