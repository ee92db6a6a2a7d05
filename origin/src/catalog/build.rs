//! Builds a catalog from facts: the first one completely, each later one from its predecessor and the changes.

use super::assets::Assets;
use super::changes::ChangeFeeds;
use super::rollup::Rollup;
use super::rows::NextRows;
use super::vault::Vault;
use super::{Catalog, Markets, SecurityFacts, Symbols, feeds, security, stats};
use anyhow::Context;
use rds_shared::model::ids::{Address, ChainId};
use rds_shared::read_model::ReadModel;
use rds_shared::read_model::singles::stats_row;
use rds_shared::replica::Family;
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
}

impl Catalog {
    /// The catalog after `changes`. Rows that did not change are shared with `previous`.
    pub fn build(previous: Option<&Catalog>, changes: Changes) -> anyhow::Result<Catalog> {
        let Changes { timeline, version, vaults: changed, registry, markets, feeds, security, assets } = changes;
        let mut rows = NextRows::new(previous.map(|catalog| catalog.model.rows()).unwrap_or_default());
        let assets = match (assets, previous) {
            (None, Some(catalog)) => Arc::clone(&catalog.assets),
            (facts, _) => Arc::new(Assets::build(facts.unwrap_or_default(), &mut rows)?),
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
            let earlier = previous.and_then(|catalog| catalog.vault(&facts.id));
            let vault = Vault::new(facts, earlier.map(AsRef::as_ref))?;
            vaults.insert(vault.row.id.clone(), Arc::new(vault));
        }
        let vaults: Vec<Arc<Vault>> = vaults.into_values().collect();
        let active: Vec<Arc<Vault>> = vaults.iter().filter(|vault| vault.is_active).cloned().collect();
        rows.set(Family::Vaults, active.iter().map(|vault| vault.encoded.row().clone()).collect())?;
        let mut by_address: HashMap<Address, Vec<Arc<Vault>>> = HashMap::with_capacity(vaults.len());
        for vault in &vaults {
            by_address.entry(vault.row.address.clone()).or_default().push(vault.clone());
        }
        let evidence = registry.evidence;
        let rollup = Rollup::new(registry, &active, &mut rows)?;
        let facts = match (markets, previous) {
            (Some(facts), _) => Arc::new(facts),
            (None, Some(catalog)) => catalog.markets.facts(),
            (None, None) => Arc::default(),
        };
        let at = |chain: ChainId, address: &Address| {
            by_address.get(address)?.iter().find(|vault| vault.row.chain_id == chain).map(AsRef::as_ref)
        };
        let markets = Markets::build(facts, at, &mut rows)?;
        if let Some(feeds) = feeds.or_else(|| previous.is_none().then(Vec::new)) {
            rows.set(Family::Feeds, feeds::rows(&feeds)?)?;
        }
        if let Some(facts) = security.or_else(|| previous.is_none().then(SecurityFacts::default)) {
            security::encode(&facts, &mut rows)?;
        }
        let (symbols, symbol_rows) = Symbols::build(&vaults, &active)?;
        rows.set(Family::Symbols, symbol_rows)?;
        let changes = ChangeFeeds::build(&vaults);
        let stats = stats::stats(&active, &rows, evidence);
        rows.update(Family::Singles, [stats_row(&stats)?])?;
        let earlier = previous.map(|catalog| (&catalog.model, catalog.model.rows()));
        let earlier = earlier.as_ref().map(|(model, rows)| (*model, rows));
        let model = ReadModel::from_rows(version, rows.rows(), earlier).context("the rows make no read model")?;
        Ok(Catalog { timeline, version, vaults, active, model, by_address, rollup, changes, markets, symbols, assets })
    }
}
