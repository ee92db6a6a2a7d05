//! Facts of the exposure graph: vaults, their holdings and the parties responsible for them.
//!
//! [`Facts`] normalises them and refuses contradictions, so that equal facts give the same canonical text and the same snapshot
//! id on any machine.

use super::amount::{Share, Usd};
use crate::model::ids::VaultKey;
use crate::scoring::Ppm;
use crate::scoring::canonical::{Canonical, Canonicalize};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// How certain a mapping is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trust {
    /// The mapping is backed by a source and not provisional.
    pub verified: bool,
    /// Confidence in the mapping, from 0 to [`Ppm::ONE`].
    pub confidence: Ppm,
}

impl Trust {
    /// Trust of registry facts.
    pub const FACT: Self = Trust { verified: true, confidence: Ppm::ONE };
    /// Minimum confidence of a mapping that can cause a rejection: 0.80.
    pub const MIN_CERTAIN_CONFIDENCE: Ppm = Ppm(800_000);

    /// Whether exposure through the mapping can cause a rejection.
    pub fn is_certain(self) -> bool {
        self.verified && self.confidence >= Self::MIN_CERTAIN_CONFIDENCE
    }

    /// The combined trust of two mappings: the lower value of each field.
    #[must_use]
    pub fn and(self, other: Trust) -> Self {
        Trust { verified: self.verified && other.verified, confidence: self.confidence.min(other.confidence) }
    }
}

/// A mapping to a bridge or a signer set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    pub id: String,
    pub trust: Trust,
}

/// A price feed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OracleFeed {
    pub id: String,
    /// The operator; `None` when unknown.
    pub vendor: Option<String>,
}

/// An asset with the wrappers, feeds, bridges and parties that a holding of it depends on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AssetRoute {
    pub asset_key: String,
    pub symbol: String,
    /// Ids of the tokens that wrap the asset.
    pub wrappers: Vec<String>,
    /// Price feeds of the asset.
    pub oracles: Vec<OracleFeed>,
    /// Bridges that the asset came through. The whole holding is exposed to each of them; an asset bridged in part is given as two parts.
    pub bridges: Vec<Reference>,
    /// Operator clusters that the asset or its feeds depend on. The whole holding is exposed to each of them.
    pub clusters: Vec<String>,
    /// Signer sets that can change the asset or its feeds. The whole holding is exposed to each of them.
    pub signer_sets: Vec<Reference>,
}

/// What a part of a vault consists of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holding {
    Asset(AssetRoute),
    /// Another vault.
    Vault(VaultKey),
    /// A holding that is not published: its chain is withheld, or it is not in the registry.
    Unpublished,
}

/// A part of a vault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Share of the vault, 0 to 1.
    pub share: Ppm,
    pub holding: Holding,
}

/// The facts of one vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultFacts {
    pub key: VaultKey,
    pub curator: Option<String>,
    pub protocol: Option<String>,
    /// Operator clusters that the whole vault depends on.
    pub clusters: Vec<String>,
    /// Signer sets that can change the whole vault.
    pub signer_sets: Vec<Reference>,
    pub tvl: Option<Usd>,
    /// The deposit asset; `None` when unknown. The share of the vault that `parts` does not cover is idle and held in this asset.
    pub idle: Option<AssetRoute>,
    /// The vault's holdings; `None` when they could not be established.
    pub parts: Option<Vec<Part>>,
}

/// Why facts are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactsError {
    /// The same vault occurs twice.
    RepeatedVault(VaultKey),
    /// A share is outside 0 to 1, or the shares add up to more than 1.
    Shares(VaultKey),
    /// A confidence is outside 0 to 1.
    Confidence(VaultKey),
}

impl fmt::Display for FactsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FactsError::RepeatedVault(key) => write!(f, "vault {key} occurs twice"),
            FactsError::Shares(key) => write!(f, "shares of {key} must be between 0 and 1 and add up to at most 1"),
            FactsError::Confidence(key) => write!(f, "confidences of {key} must be between 0 and 1"),
        }
    }
}

impl core::error::Error for FactsError {}

/// All vaults, sorted by key and normalised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts(Vec<VaultFacts>);

impl Facts {
    /// Sorts the vaults, merges duplicate entries within each, and refuses contradictory facts.
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

    /// Position of a vault in [`Self::vaults`].
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
            Holding::Vault(_) | Holding::Unpublished => None,
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
            Holding::Vault(_) | Holding::Unpublished => None,
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
    /// A direct holding: no wrappers, feeds, bridges or parties.
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

/// Sorts by id; of several mappings to one id the most trusted is kept.
fn merge(references: &mut Vec<Reference>) {
    references.sort_unstable_by(|a, b| (&a.id, b.trust).cmp(&(&b.id, a.trust)));
    references.dedup_by(|later, first| later.id == first.id);
}

/// The array of vaults, which a snapshot's content hash covers.
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
        Holding::Unpublished => (Canonical::Null, Canonical::Null),
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
