//! Converts rows to facts: what each vault holds, through which contracts, and which operator clusters and signer sets it depends on.
//!
//! Only recorded relations are used. A feed prices a holding if the exposure names the feed, or if a market of the vault uses it for that
//! token. A holding has a wrapper if the exposure names one, or if the market's hub has one for the asset. Mappings apply by subject:
//!
//! | subject | operator cluster or signer set applies to | bridge applies to |
//! |---|---|---|
//! | the vault, its protocol, a market of its own | the whole vault | everything the vault itself holds |
//! | the deposit asset | the whole vault, because every deposit and withdrawal uses the asset | holdings in the asset |
//! | another asset | holdings in the asset | holdings in the asset |
//! | a feed | holdings that the feed prices | – |

use super::feeds::Feeds;
use super::mappings::{Mappings, Subject};
use rds_facts::{ExposurePart, PartBridge};
use rds_shared::graph::amount::Usd;
use rds_shared::graph::facts::{AssetRoute, Facts, Holding, Part, Reference, Trust, VaultFacts};
use rds_shared::model::ids::{ChainId, VaultKey};
use rds_shared::model::mapping::{MappingType, SubjectType};
use rds_shared::scoring::Ppm;
use rds_shared::scoring::vault::ExposuresStatus;
use rds_shared::wire::Timestamp;
use rds_store::graph::facts::{AssetRow, GraphRows, ReserveRow, VaultRow};
use rds_store::registry::catalog::address;
use rds_store::{At, StoreError, decode_optional_enum};
use std::collections::{BTreeSet, HashMap};

/// The facts, and the latest observation time of their rows.
pub fn of(rows: &GraphRows, registry: &Registry<'_>) -> Result<(Facts, Option<Timestamp>), StoreError> {
    let vaults = rows.vaults.iter().map(|row| registry.vault(row)).collect::<Result<Vec<_>, _>>()?;
    let facts = Facts::new(vaults)
        .map_err(|error| StoreError::Corrupt { column: "the exposure graph's facts", text: error.to_string() })?;
    Ok((facts, newest(rows)))
}

/// The latest observation time of the rows that vaults are made of.
fn newest(rows: &GraphRows) -> Option<Timestamp> {
    let vaults = rows.vaults.iter().map(|row| row.seen_at);
    let assets = rows.assets.iter().map(|row| row.seen_at);
    let mappings = rows.mappings.iter().map(|row| row.seen_at);
    let reserves = rows.reserves.iter().map(|row| row.seen_at);
    let feeds = rows.feeds.iter().map(|row| row.seen_at);
    let wrappers = rows.wrappers.iter().map(|row| row.seen_at);
    vaults.chain(assets).chain(mappings).chain(reserves).chain(feeds).chain(wrappers).max().map(|At(instant)| instant)
}

/// Indexes of the rows, for the conversion of every vault.
pub struct Registry<'a> {
    assets: HashMap<&'a str, &'a AssetRow>,
    deployed: HashMap<(i64, &'a str), &'a AssetRow>,
    vaults: HashMap<&'a str, VaultKey>,
    mappings: Mappings<'a>,
    feeds: Feeds<'a>,
    /// Reserves by chain and by the token that represents a position in them.
    reserves: HashMap<(i64, &'a str), Vec<&'a ReserveRow>>,
    /// Wrapper by chain, hub and asset.
    wrappers: HashMap<(i64, &'a str, &'a str), &'a str>,
    withheld: BTreeSet<i64>,
}

/// A vault, the reserves that it represents, and the subjects whose mappings apply to the whole vault.
struct Whole<'a> {
    row: &'a VaultRow,
    stands: &'a [&'a ReserveRow],
    subjects: Vec<Subject<'a>>,
}

/// An asset held by a vault.
#[derive(Clone, Copy)]
struct Held<'a> {
    /// `None` if the token is not a registered asset.
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
    /// Indexes `rows`.
    pub fn of(rows: &'a GraphRows) -> Result<Self, StoreError> {
        let mappings = Mappings::of(&rows.mappings)?;
        let mut registry = Registry {
            assets: rows.assets.iter().map(|asset| (asset.id.as_str(), asset)).collect(),
            deployed: HashMap::new(),
            vaults: HashMap::new(),
            feeds: Feeds::of(rows, &mappings),
            mappings,
            reserves: HashMap::new(),
            wrappers: HashMap::new(),
            withheld: rows.withheld.iter().copied().collect(),
        };
        for asset in &rows.assets {
            if let Some(contract) = &asset.address {
                // Assets are in id order; if two have the same contract, the first one counts.
                registry.deployed.entry((asset.chain_id, contract)).or_insert(asset);
            }
        }
        for row in &rows.vaults {
            registry.vaults.insert(&row.id, key_of(row)?);
        }
        for reserve in &rows.reserves {
            if let Some(token) = &reserve.token_address {
                registry.reserves.entry((reserve.chain_id, token)).or_default().push(reserve);
            }
        }
        for wrapper in &rows.wrappers {
            let at = (wrapper.chain_id, wrapper.hub_address.as_str(), wrapper.asset_address.as_str());
            registry.wrappers.insert(at, &wrapper.wrapper_address);
        }
        Ok(registry)
    }

    /// Whether at least one feed is known for the price of the reserve's asset in the reserve's market.
    pub(super) fn is_priced(&self, reserve: &ReserveRow) -> bool {
        self.feeds.of_token(reserve, &reserve.asset_address).is_some_and(|feeds| !feeds.is_empty())
    }

    fn vault(&self, row: &VaultRow) -> Result<VaultFacts, StoreError> {
        let stands: &[&ReserveRow] =
            self.reserves.get(&(row.chain_id, row.address.as_str())).map_or(&[], Vec::as_slice);
        let mut subjects =
            vec![(SubjectType::Vault, row.id.as_str()), (SubjectType::Protocol, row.protocol_id.as_str())];
        subjects.extend(stands.iter().map(|reserve| (SubjectType::Market, reserve.contract.as_str())));
        let whole = Whole { row, stands, subjects };
        let deposit = self.deposit(row);
        let deposited = deposit.and_then(|deposit| deposit.id).map(|id| (SubjectType::Asset, id));
        let behind = || whole.subjects.iter().copied().chain(deposited);
        Ok(VaultFacts {
            key: key_of(row)?,
            curator: row.curator_id.clone(),
            protocol: Some(row.protocol_id.clone()),
            clusters: self.mappings.facts(MappingType::OperatorCluster, behind()).collect(),
            signer_sets: self.mappings.references(MappingType::SignerSet, behind()).cloned().collect(),
            tvl: row.tvl_usd.and_then(|usd| Usd::from_number(usd).ok()),
            idle: deposit.map(|deposit| self.route(&whole, deposit, None)),
            parts: self.parts(&whole)?,
        })
    }

    /// The deposit asset; `None` if the vault's source does not state it.
    fn deposit<'s>(&'s self, row: &'s VaultRow) -> Option<Held<'s>> {
        let contract = row.asset_address.as_deref()?;
        let known = self.deployed.get(&(row.chain_id, contract)).map(|asset| Held::of(asset));
        let symbol = row.asset_symbol.as_deref().unwrap_or_default();
        Some(known.unwrap_or(Held { id: None, chain_id: row.chain_id, address: Some(contract), symbol }))
    }

    /// What the vault holds; `None` if that is unknown or the shares add up to more than 100 %.
    fn parts(&self, whole: &Whole<'_>) -> Result<Option<Vec<Part>>, StoreError> {
        let status: Option<ExposuresStatus> = decode_optional_enum("exposure.status", whole.row.status.as_deref())?;
        let (Some(ExposuresStatus::Observed), Some(parts)) = (status, &whole.row.parts) else { return Ok(None) };
        let total: u64 = parts.iter().map(|part| u64::from(part.share.0)).sum();
        if total > Ppm::ONE.0.unsigned_abs() {
            return Ok(None);
        }
        let part = |part: &ExposurePart| {
            let asset = part.asset_id.as_deref().and_then(|id| self.assets.get(id));
            let vault = part.vault_id.as_deref().and_then(|id| self.vaults.get(id));
            let holding = match (asset, vault) {
                (Some(asset), _) => Holding::Asset(self.route(whole, Held::of(asset), Some(part))),
                (None, Some(key)) => Holding::Vault(key.clone()),
                (None, None) => Holding::Unpublished,
            };
            Part { share: Ppm(part.share.0.into()), holding }
        };
        Ok(Some(parts.iter().map(part).collect()))
    }

    /// A holding with its feeds, wrappers, bridges, operator clusters and signer sets. `named` is the exposure part that describes the
    /// holding; `None` for the deposit asset.
    fn route(&self, whole: &Whole<'_>, held: Held<'_>, named: Option<&ExposurePart>) -> AssetRoute {
        let contract = || format!("{}:{}", held.chain_id, held.address.unwrap_or_default());
        let mut route = AssetRoute::plain(&held.id.map_or_else(contract, str::to_owned), held.symbol);
        let mut is_ambiguous = false;
        for reserve in whole.stands {
            let Some(token) = held.address else { continue };
            match self.feeds.of_token(reserve, token) {
                Some(feeds) => route.oracles.extend(feeds),
                None => is_ambiguous = true,
            }
            if let Some(hub) = &reserve.hub_address
                && let Some(wrapper) = self.wrappers.get(&(whole.row.chain_id, hub.as_str(), token))
            {
                route.wrappers.push(format!("{}:{wrapper}", whole.row.chain_id));
            }
        }
        if is_ambiguous {
            // No feed is listed, because readers would take an incomplete list of feeds for a complete one.
            route.oracles.clear();
        }
        if let Some(part) = named {
            route.wrappers.extend(part.wrappers.iter().filter(|wrapper| self.is_served(wrapper)).cloned());
            route.oracles.extend(part.oracles.iter().flat_map(|feed| self.feeds.named(feed)));
            route.bridges.extend(part.bridges.iter().map(reference));
        }
        let asset = held.id.map(|id| (SubjectType::Asset, id));
        let carried = whole.subjects.iter().copied().chain(asset);
        route.bridges.extend(self.mappings.references(MappingType::Bridge, carried).cloned());
        let behind = || asset.into_iter().chain(route.oracles.iter().map(|feed| (SubjectType::Feed, feed.id.as_str())));
        route.clusters = self.mappings.facts(MappingType::OperatorCluster, behind()).collect();
        route.signer_sets = self.mappings.references(MappingType::SignerSet, behind()).cloned().collect();
        route
    }

    /// Whether the contract `{chain_id}:{address}` is on a served chain.
    fn is_served(&self, contract: &str) -> bool {
        let chain_id = contract.split_once(':').and_then(|(chain_id, _)| chain_id.parse().ok());
        chain_id.is_some_and(|chain_id: i64| !self.withheld.contains(&chain_id))
    }
}

fn reference(bridge: &PartBridge) -> Reference {
    let trust = Trust { verified: bridge.verified, confidence: Ppm(bridge.confidence.0.into()) };
    Reference { id: bridge.id.clone(), trust }
}

fn key_of(row: &VaultRow) -> Result<VaultKey, StoreError> {
    Ok(VaultKey {
        chain_id: ChainId(row.chain_id.unsigned_abs()),
        address: address("vault.address", row.address.clone())?,
    })
}
