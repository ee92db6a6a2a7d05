//! What the exposure graph is made of: vaults, what each holds and who answers for it.
//!
//! [`Facts`] puts them in one order and refuses what contradicts itself, so that the same facts are the same text and the
//! same snapshot on any machine.

use super::amount::{Share, Usd};
use crate::model::ids::VaultKey;
use crate::scoring::Ppm;
use crate::scoring::canonical::{Canonical, Canonicalize};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// How far a mapping is to be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trust {
    /// Backed by a source, not provisional.
    pub verified: bool,
    /// 0 to 1.
    pub confidence: Ppm,
}

impl Trust {
    /// A fact of the registry.
    pub const FACT: Self = Trust { verified: true, confidence: Ppm::ONE };
    /// The least confidence on which alone a portfolio is rejected: 0.80.
    pub const SURE_FROM: Ppm = Ppm(800_000);

    /// Whether exposure through it can reject.
    pub fn is_sure(self) -> bool {
        self.verified && self.confidence >= Self::SURE_FROM
    }

    /// What can be said of two mappings together: the less of each.
    #[must_use]
    pub fn and(self, other: Trust) -> Self {
        Trust { verified: self.verified && other.verified, confidence: self.confidence.min(other.confidence) }
    }
}

/// A mapping to a bridge or a signer set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The bridge or signer set.
    pub id: String,
    /// How far it is to be believed.
    pub trust: Trust,
}

/// A price feed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OracleFeed {
    /// The feed.
    pub id: String,
    /// Who operates it; null when nobody is known to.
    pub vendor: Option<String>,
}

/// An asset and all that stands between it and its holder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AssetRoute {
    /// The asset.
    pub asset_key: String,
    /// Its symbol.
    pub symbol: String,
    /// Tokens that wrap it, by id.
    pub wrappers: Vec<String>,
    /// What prices it.
    pub oracles: Vec<OracleFeed>,
    /// What it was bridged by; each bears all of this holding (an asset that is bridged in part is two parts).
    pub bridges: Vec<Reference>,
    /// Clusters of operators that run the asset or what prices it; each bears all of this holding.
    pub clusters: Vec<String>,
    /// Who can change the asset or what prices it; each bears all of this holding.
    pub signer_sets: Vec<Reference>,
}

/// What a part of a vault is held in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holding {
    /// An asset.
    Asset(AssetRoute),
    /// Another vault.
    Vault(VaultKey),
    /// Something that may not be named: its chain is withheld, or no registry knows it.
    Unnamed,
}

/// A part of a vault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Of the vault, 0 to 1.
    pub share: Ppm,
    /// In what.
    pub holding: Holding,
}

/// What is known of one vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultFacts {
    /// Which vault.
    pub key: VaultKey,
    /// Its curator.
    pub curator: Option<String>,
    /// Its protocol.
    pub protocol: Option<String>,
    /// Clusters of operators that the whole of it depends on.
    pub clusters: Vec<String>,
    /// Who can change the whole of it.
    pub signer_sets: Vec<Reference>,
    /// What is in it.
    pub tvl: Option<Usd>,
    /// The deposit asset: what is in no part is idle and held in it.
    pub idle: Option<AssetRoute>,
    /// What it holds; null when that could not be established.
    pub parts: Option<Vec<Part>>,
}

/// Why facts are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactsError {
    /// Two descriptions of one vault.
    RepeatedVault(VaultKey),
    /// A share outside 0 to 1, or parts that are more than the vault.
    Shares(VaultKey),
    /// A confidence outside 0 to 1.
    Confidence(VaultKey),
}

impl fmt::Display for FactsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FactsError::RepeatedVault(key) => write!(f, "{key} is described twice"),
            FactsError::Shares(key) => write!(f, "{key} has parts that are no shares of a whole"),
            FactsError::Confidence(key) => write!(f, "{key} has a confidence outside 0 to 1"),
        }
    }
}

impl core::error::Error for FactsError {}

/// All vaults, sorted by key, each in its one form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts(Vec<VaultFacts>);

impl Facts {
    /// Sorts, merges what is said twice, and refuses what cannot be.
    pub fn new(mut vaults: Vec<VaultFacts>) -> Result<Self, FactsError> {
        vaults.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let twins = vaults.iter().zip(vaults.iter().skip(1)).find(|(a, b)| a.key == b.key);
        if let Some((twin, _)) = twins {
            return Err(FactsError::RepeatedVault(twin.key.clone()));
        }
        for vault in &mut vaults {
            vault.normalise()?;
        }
        Ok(Facts(vaults))
    }

    /// The vaults, sorted by key.
    pub fn vaults(&self) -> &[VaultFacts] {
        &self.0
    }

    /// Where a vault stands among them.
    pub fn position(&self, key: &VaultKey) -> Option<usize> {
        self.0.binary_search_by(|vault| vault.key.cmp(key)).ok()
    }
}

impl VaultFacts {
    fn normalise(&mut self) -> Result<(), FactsError> {
        self.clusters.sort_unstable();
        self.clusters.dedup();
        merge(&mut self.signer_sets);
        let routes = self.parts.iter_mut().flatten().filter_map(|part| match &mut part.holding {
            Holding::Asset(route) => Some(route),
            Holding::Vault(_) | Holding::Unnamed => None,
        });
        routes.chain(&mut self.idle).for_each(AssetRoute::normalise);
        if let Some(parts) = self.parts.take() {
            let mut merged: BTreeMap<Holding, i64> = BTreeMap::new();
            let mut total: i64 = 0;
            for part in parts {
                total = total.saturating_add(part.share.0);
                if Share::from_ppm(part.share).is_none() || total > Ppm::ONE.0 {
                    return Err(FactsError::Shares(self.key.clone()));
                }
                *merged.entry(part.holding).or_default() += part.share.0;
            }
            let held = merged.into_iter().filter(|(_, share)| *share > 0);
            self.parts = Some(held.map(|(holding, share)| Part { share: Ppm(share), holding }).collect());
        }
        let routes = self.parts.iter().flatten().filter_map(|part| match &part.holding {
            Holding::Asset(route) => Some(route),
            Holding::Vault(_) | Holding::Unnamed => None,
        });
        let of_routes = routes.chain(&self.idle).flat_map(|route| route.bridges.iter().chain(&route.signer_sets));
        let mut references = self.signer_sets.iter().chain(of_routes);
        if references.any(|reference| Share::from_ppm(reference.trust.confidence).is_none()) {
            return Err(FactsError::Confidence(self.key.clone()));
        }
        Ok(())
    }
}

impl AssetRoute {
    /// An asset held as it is.
    pub fn plain(asset_key: &str, symbol: &str) -> Self {
        AssetRoute {
            asset_key: asset_key.into(),
            symbol: symbol.into(),
            wrappers: Vec::new(),
            oracles: Vec::new(),
            bridges: Vec::new(),
            clusters: Vec::new(),
            signer_sets: Vec::new(),
        }
    }

    fn normalise(&mut self) {
        self.wrappers.sort_unstable();
        self.wrappers.dedup();
        self.oracles.sort_unstable();
        self.oracles.dedup();
        merge(&mut self.bridges);
        self.clusters.sort_unstable();
        self.clusters.dedup();
        merge(&mut self.signer_sets);
    }
}

/// Sorts by id; of two mappings to one thing the better founded stays.
fn merge(references: &mut Vec<Reference>) {
    references.sort_unstable_by(|a, b| (&a.id, b.trust).cmp(&(&b.id, a.trust)));
    references.dedup_by(|later, first| later.id == first.id);
}

/// The array of vaults: what a snapshot's content hash covers.
impl Canonicalize for Facts {
    fn canonical(&self) -> Canonical {
        Canonical::list(self.0.iter().map(Canonicalize::canonical))
    }
}

impl Canonicalize for VaultFacts {
    fn canonical(&self) -> Canonical {
        let parts = self.parts.as_ref().map(|parts| Canonical::list(parts.iter().map(part)));
        Canonical::object([
            ("vaultKey", Canonical::Text(self.key.to_string())),
            ("curator", self.curator.as_deref().into()),
            ("protocol", self.protocol.as_deref().into()),
            ("clusters", texts(&self.clusters)),
            ("signerSets", Canonical::list(self.signer_sets.iter().map(reference))),
            ("tvlUsd", self.tvl.into()),
            ("idle", self.idle.as_ref().map(route).unwrap_or(Canonical::Null)),
            ("parts", parts.unwrap_or(Canonical::Null)),
        ])
    }
}

fn part(part: &Part) -> Canonical {
    let (asset, vault) = match &part.holding {
        Holding::Asset(held) => (route(held), Canonical::Null),
        Holding::Vault(key) => (Canonical::Null, Canonical::Text(key.to_string())),
        Holding::Unnamed => (Canonical::Null, Canonical::Null),
    };
    Canonical::object([("asset", asset), ("vaultKey", vault), ("sharePpm", part.share.0.into())])
}

fn route(route: &AssetRoute) -> Canonical {
    let feed = |feed: &OracleFeed| {
        Canonical::object([("id", feed.id.as_str().into()), ("vendor", feed.vendor.as_deref().into())])
    };
    Canonical::object([
        ("assetKey", route.asset_key.as_str().into()),
        ("symbol", route.symbol.as_str().into()),
        ("wrappers", texts(&route.wrappers)),
        ("oracles", Canonical::list(route.oracles.iter().map(feed))),
        ("bridges", Canonical::list(route.bridges.iter().map(reference))),
        ("clusters", texts(&route.clusters)),
        ("signerSets", Canonical::list(route.signer_sets.iter().map(reference))),
    ])
}

fn reference(reference: &Reference) -> Canonical {
    Canonical::object([
        ("id", reference.id.as_str().into()),
        ("verified", reference.trust.verified.into()),
        ("confidencePpm", reference.trust.confidence.0.into()),
    ])
}

fn texts(texts: &[String]) -> Canonical {
    Canonical::list(texts.iter().map(|text| text.as_str().into()))
}
