//! From rows to facts: what each vault holds, what stands between it and its assets, and who answers for it.
//!
//! Nothing is guessed. A feed prices a holding where a market that the vault stands in uses it for that token; a wrapper stands
//! where the market's hub has one; a mapping applies where it names the vault, its protocol, its market or its asset.

use crate::store::catalog::address;
use crate::store::graph_facts::{AssetRow, FeedRow, GraphRows, MappingRow, ReserveRow, VaultRow};
use crate::store::{At, StoreError, optional_word, word};
use rds_shared::graph::amount::Usd;
use rds_shared::graph::facts::{AssetRoute, Facts, Holding, OracleFeed, Part, Reference, Trust, VaultFacts};
use rds_shared::model::ids::{ChainId, VaultKey};
use rds_shared::model::mapping::{MappingType, SubjectType};
use rds_shared::scoring::Ppm;
use rds_shared::scoring::vault::ExposuresStatus;
use rds_shared::wire::Timestamp;
use std::collections::{BTreeSet, HashMap};

/// The facts, and when the newest of their rows was observed.
pub fn of(rows: &GraphRows, registry: &Registry<'_>) -> Result<(Facts, Option<Timestamp>), StoreError> {
    let vaults = rows.vaults.iter().map(|row| registry.vault(row)).collect::<Result<Vec<_>, _>>()?;
    let facts = Facts::new(vaults)
        .map_err(|error| StoreError::Corrupt { column: "the exposure graph's facts", text: error.to_string() })?;
    Ok((facts, newest(rows)))
}

/// When the newest row was observed that vaults are made of.
fn newest(rows: &GraphRows) -> Option<Timestamp> {
    let vaults = rows.vaults.iter().map(|row| row.seen_at);
    let assets = rows.assets.iter().map(|row| row.seen_at);
    let mappings = rows.mappings.iter().map(|row| row.seen_at);
    let reserves = rows.reserves.iter().map(|row| row.seen_at);
    let feeds = rows.feeds.iter().map(|row| row.seen_at);
    let wrappers = rows.wrappers.iter().map(|row| row.seen_at);
    vaults.chain(assets).chain(mappings).chain(reserves).chain(feeds).chain(wrappers).max().map(|At(instant)| instant)
}

/// What all vaults are looked up in.
pub struct Registry<'a> {
    assets: HashMap<&'a str, &'a AssetRow>,
    deployed: HashMap<(i64, &'a str), &'a AssetRow>,
    vaults: HashMap<&'a str, VaultKey>,
    mapped: HashMap<(SubjectType, &'a str), Vec<(MappingType, Reference)>>,
    /// Reserves by the token at which their vault stands.
    reserves: HashMap<(i64, &'a str), Vec<&'a ReserveRow>>,
    /// What a market calls a token, by the market's contract and the token's.
    symbols: HashMap<(&'a str, &'a str), &'a str>,
    /// Feeds by the market's name that uses them, and the symbol they price there.
    feeds: HashMap<(i64, &'a str, &'a str), Vec<OracleFeed>>,
    /// By hub and asset.
    wrappers: HashMap<(i64, &'a str, &'a str), &'a str>,
}

/// An asset as a vault holds it.
#[derive(Clone, Copy)]
struct Held<'a> {
    /// Null where no registry knows the token.
    id: Option<&'a str>,
    chain_id: i64,
    address: Option<&'a str>,
    symbol: &'a str,
}

impl<'a> Held<'a> {
    fn of(asset: &'a AssetRow) -> Self {
        let AssetRow { id, chain_id, address, symbol, .. } = asset;
        Held { id: Some(id), chain_id: *chain_id, address: address.as_deref(), symbol }
    }
}

impl<'a> Registry<'a> {
    /// Reads it out of the rows.
    pub fn of(rows: &'a GraphRows) -> Result<Self, StoreError> {
        let mut registry = Registry {
            assets: rows.assets.iter().map(|asset| (asset.id.as_str(), asset)).collect(),
            deployed: HashMap::new(),
            vaults: HashMap::new(),
            mapped: HashMap::new(),
            reserves: HashMap::new(),
            symbols: HashMap::new(),
            feeds: HashMap::new(),
            wrappers: HashMap::new(),
        };
        for asset in &rows.assets {
            if let Some(contract) = &asset.address {
                // Assets come in the order of their ids: of two names of one contract the first counts.
                registry.deployed.entry((asset.chain_id, contract)).or_insert(asset);
            }
        }
        for row in &rows.vaults {
            registry.vaults.insert(&row.id, key_of(row)?);
        }
        for mapping in &rows.mappings {
            registry.map(mapping)?;
        }
        for reserve in &rows.reserves {
            if let Some(token) = &reserve.token_address {
                registry.reserves.entry((reserve.chain_id, token)).or_default().push(reserve);
            }
            registry.symbols.entry((&reserve.contract, &reserve.asset_address)).or_insert(&reserve.asset_symbol);
        }
        for feed in &rows.feeds {
            registry.use_feed(feed);
        }
        for wrapper in &rows.wrappers {
            let at = (wrapper.chain_id, wrapper.hub_address.as_str(), wrapper.asset_address.as_str());
            registry.wrappers.insert(at, &wrapper.wrapper_address);
        }
        Ok(registry)
    }

    fn map(&mut self, mapping: &'a MappingRow) -> Result<(), StoreError> {
        let mapping_type: MappingType = word("mapping.mapping_type", &mapping.mapping_type)?;
        for subject in mapping.applies_to.iter() {
            let confidence = subject.confidence.unwrap_or(*mapping.confidence);
            let verified = subject.verified.unwrap_or(mapping.verified);
            let trust = Trust { verified, confidence: Ppm(confidence.0.into()) };
            let at = (subject.subject_type, subject.id.as_str());
            let reference = Reference { id: mapping.mapping_id.clone(), trust };
            self.mapped.entry(at).or_default().push((mapping_type, reference));
        }
        Ok(())
    }

    /// A feed's vendors are those of the mappings that are sure; where there is none, the one that its source names.
    fn use_feed(&mut self, feed: &'a FeedRow) {
        let mut vendors: Vec<Option<String>> =
            self.facts_of(MappingType::OracleVendor, [(SubjectType::Feed, feed.contract.as_str())]).map(Some).collect();
        if vendors.is_empty() {
            vendors.push(feed.vendor.clone());
        }
        for market in &feed.used_by {
            for symbol in &feed.reserve_symbols {
                let feeds =
                    vendors.iter().map(|vendor| OracleFeed { id: feed.contract.clone(), vendor: vendor.clone() });
                self.feeds.entry((feed.chain_id, market, symbol)).or_default().extend(feeds);
            }
        }
    }

    /// Everything of one type that these subjects are mapped to.
    fn references<'s>(
        &'s self,
        wanted: MappingType,
        subjects: impl IntoIterator<Item = (SubjectType, &'s str)>,
    ) -> impl Iterator<Item = &'s Reference> {
        let mapped = subjects.into_iter().filter_map(|subject| self.mapped.get(&subject)).flatten();
        mapped.filter(move |(mapping_type, _)| *mapping_type == wanted).map(|(_, reference)| reference)
    }

    /// Whether a market has a feed for one of its tokens.
    pub(super) fn is_priced(&self, reserve: &ReserveRow) -> bool {
        !self.feeds_of(reserve, &reserve.asset_address).is_empty()
    }

    /// The feeds by which a reserve's market prices a token.
    fn feeds_of(&self, reserve: &ReserveRow, token: &str) -> Vec<OracleFeed> {
        let Some(symbol) = self.symbols.get(&(reserve.contract.as_str(), token)) else { return Vec::new() };
        // A source of feeds writes a market's name with a colon where the registry has a space.
        let names = BTreeSet::from([reserve.market_name.clone(), reserve.market_name.replace(' ', ":")]);
        let feeds = names.iter().filter_map(|name| self.feeds.get(&(reserve.chain_id, name.as_str(), *symbol)));
        feeds.flatten().cloned().collect()
    }

    /// The same of types whose mappings count as facts: only those that could reject alone.
    fn facts_of<'s>(
        &'s self,
        wanted: MappingType,
        subjects: impl IntoIterator<Item = (SubjectType, &'s str)>,
    ) -> impl Iterator<Item = String> {
        self.references(wanted, subjects).filter(|reference| reference.trust.is_sure()).map(|it| it.id.clone())
    }

    fn vault(&self, row: &VaultRow) -> Result<VaultFacts, StoreError> {
        let stands: &[&ReserveRow] =
            self.reserves.get(&(row.chain_id, row.address.as_str())).map_or(&[], Vec::as_slice);
        let deposit = self.deposit(row);
        let mut subjects =
            vec![(SubjectType::Vault, row.id.as_str()), (SubjectType::Protocol, row.protocol_id.as_str())];
        subjects.extend(stands.iter().map(|reserve| (SubjectType::Market, reserve.contract.as_str())));
        let deposited = deposit.and_then(|deposit| deposit.id).map(|id| (SubjectType::Asset, id));
        Ok(VaultFacts {
            key: key_of(row)?,
            curator: row.curator_id.clone(),
            protocol: Some(row.protocol_id.clone()),
            clusters: self.facts_of(MappingType::OperatorCluster, subjects.iter().copied().chain(deposited)).collect(),
            signer_sets: self.references(MappingType::SignerSet, subjects).cloned().collect(),
            tvl: row.tvl_usd.and_then(|usd| Usd::from_number(usd).ok()),
            idle: deposit.map(|deposit| self.route(row, stands, deposit)),
            parts: self.parts(row, stands)?,
        })
    }

    /// The deposit asset; null where the vault's source does not say.
    fn deposit<'s>(&'s self, row: &'s VaultRow) -> Option<Held<'s>> {
        let contract = row.asset_address.as_deref()?;
        let known = self.deployed.get(&(row.chain_id, contract)).map(|asset| Held::of(asset));
        let symbol = row.asset_symbol.as_deref().unwrap_or_default();
        Some(known.unwrap_or(Held { id: None, chain_id: row.chain_id, address: Some(contract), symbol }))
    }

    /// What the vault holds; null where that was not read, or adds up to more than the vault.
    fn parts(&self, row: &VaultRow, stands: &[&ReserveRow]) -> Result<Option<Vec<Part>>, StoreError> {
        let status: Option<ExposuresStatus> = optional_word("exposure.status", row.status.as_deref())?;
        let (Some(ExposuresStatus::Observed), Some(parts)) = (status, &row.parts) else { return Ok(None) };
        let total: u64 = parts.iter().map(|part| u64::from(part.share.0)).sum();
        if total > Ppm::ONE.0.unsigned_abs() {
            return Ok(None);
        }
        let holding = |asset_id: Option<&str>, vault_id: Option<&str>| {
            let asset = asset_id.and_then(|id| self.assets.get(id)).map(|asset| Held::of(asset));
            let vault = vault_id.and_then(|id| self.vaults.get(id)).cloned().map(Holding::Vault);
            asset.map(|asset| Holding::Asset(self.route(row, stands, asset))).or(vault).unwrap_or(Holding::Unnamed)
        };
        let part = |part: &crate::ingest::kinds::ExposurePart| Part {
            share: Ppm(part.share.0.into()),
            holding: holding(part.asset_id.as_deref(), part.vault_id.as_deref()),
        };
        Ok(Some(parts.iter().map(part).collect()))
    }

    /// A holding with everything between it and the vault. A bridge that is mapped to the vault bears its deposit asset.
    fn route(&self, row: &VaultRow, stands: &[&ReserveRow], held: Held<'_>) -> AssetRoute {
        let is_deposit = held.chain_id == row.chain_id && held.address == row.asset_address.as_deref();
        let contract = || format!("{}:{}", held.chain_id, held.address.unwrap_or_default());
        let mut route = AssetRoute::plain(&held.id.map_or_else(contract, str::to_owned), held.symbol);
        let of_asset = held.id.map(|id| (SubjectType::Asset, id));
        let of_vault = is_deposit.then_some((SubjectType::Vault, row.id.as_str()));
        route.bridges = self.references(MappingType::Bridge, of_asset.into_iter().chain(of_vault)).cloned().collect();
        for reserve in stands {
            let Some(token) = held.address else { continue };
            route.oracles.extend(self.feeds_of(reserve, token));
            if let Some(hub) = &reserve.hub_address
                && let Some(wrapper) = self.wrappers.get(&(row.chain_id, hub.as_str(), token))
            {
                route.wrappers.push(format!("{}:{wrapper}", row.chain_id));
            }
        }
        route
    }
}

fn key_of(row: &VaultRow) -> Result<VaultKey, StoreError> {
    Ok(VaultKey {
        chain_id: ChainId(row.chain_id.unsigned_abs()),
        address: address("vault.address", row.address.clone())?,
    })
}
