//! A vault's look-through as the API answers it.
//!
//! Source: interface, "Graph structures" (look-through result). Members beyond those named there: every reference carries
//! the `share` of the vault that it bears, and `unattributed` says what is missing to the whole, so that shares and
//! amounts add up.

use super::amount::{Share, Usd, priced};
use super::cycles::MOST;
use super::facts::{AssetRoute, Trust};
use super::index::Reach;
use super::limits::Dimension;
use super::look_through::{ExposureGraph, Gap, Opened};
use crate::model::ids::{ChainId, VaultKey};
use crate::scoring::Ppm;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use serde::Serialize;

/// What a position in a vault is exposed to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LookThrough<'a> {
    /// The vault.
    pub vault_key: &'a VaultKey,
    /// Its curator.
    pub curator: Option<&'a str>,
    /// Its protocol.
    pub protocol: Option<&'a str>,
    /// Its chain.
    pub chain: ChainId,
    /// What it holds in the end, by asset.
    pub assets: Vec<AssetExposure<'a>>,
    /// Who can change it or a vault inside it.
    pub signer_sets: Vec<TrustedShare<'a>>,
    /// Clusters of operators it depends on.
    pub clusters: Vec<PlainShare<'a>>,
    /// What is held in no known asset.
    pub unattributed: Vec<Unattributed>,
    /// Vaults that hold each other, in the order they do; of more than 50 circles those further inside are left out.
    pub cycles: Vec<&'a [VaultKey]>,
}

/// An asset that a vault holds, however deep.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AssetExposure<'a> {
    /// The asset.
    pub asset_key: &'a str,
    /// Its symbol.
    pub symbol: &'a str,
    /// The part of the vault.
    pub share: Share,
    /// That part of the vault's TVL; null when the TVL is unknown.
    pub usd_exposure: Option<Usd>,
    /// Tokens that wrap it.
    pub wrappers: Vec<PlainShare<'a>>,
    /// Feeds that price it.
    pub oracles: Vec<FeedShare<'a>>,
    /// Bridges it came by.
    pub bridges: Vec<TrustedShare<'a>>,
}

/// Something that bears a part of a vault.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlainShare<'a> {
    /// What.
    pub id: &'a str,
    /// The part of the vault.
    pub share: Share,
}

/// A feed that prices a part of a vault.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeedShare<'a> {
    /// The feed.
    pub id: &'a str,
    /// Its operator, where known.
    pub vendor: Option<&'a str>,
    /// The part of the vault.
    pub share: Share,
}

/// A bridge or signer set that bears a part of a vault.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrustedShare<'a> {
    /// Which.
    pub id: &'a str,
    /// Whether every mapping to it is backed by a source.
    pub verified: bool,
    /// The least confidence of those mappings.
    pub confidence: Ppm,
    /// The part of the vault.
    pub share: Share,
}

/// A part of a vault that is attributed to no asset.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Unattributed {
    /// Why.
    pub reason: Gap,
    /// The part of the vault.
    pub share: Share,
    /// That part of its TVL.
    pub usd_exposure: Option<Usd>,
}

impl ExposureGraph {
    /// Looks through a vault; null for one that is not in the graph.
    pub fn look_through(&self, key: &VaultKey) -> Option<LookThrough<'_>> {
        let place = self.facts.position(key)?;
        let (vault, opened) = (self.facts.vaults().get(place)?, self.opened.get(place)?);
        let mut price = vault.tvl.map(priced);
        let mut usd = |share| price.as_mut().map(|price| price(share));
        let assets = self.assets(opened, &mut usd);
        let gaps = opened.gaps.iter();
        // What is further inside was opened before, and so numbered before.
        let told = opened.cycles.iter().skip(opened.cycles.len().saturating_sub(MOST));
        let unattributed =
            gaps.map(|(reason, share)| Unattributed { reason: *reason, share: *share, usd_exposure: usd(*share) });
        Some(LookThrough {
            vault_key: &vault.key,
            curator: vault.curator.as_deref(),
            protocol: vault.protocol.as_deref(),
            chain: vault.key.chain_id,
            unattributed: unattributed.collect(),
            assets,
            signer_sets: self.answerable(opened, Dimension::SignerSet).map(trusted).collect(),
            clusters: self
                .answerable(opened, Dimension::Cluster)
                .map(|(id, reach)| PlainShare { id, share: reach.every })
                .collect(),
            cycles: told.filter_map(|cycle| self.cycles.get(*cycle)).map(Vec::as_slice).collect(),
        })
    }

    /// Routes of one asset stand together; each asset is priced once, in the order of the assets.
    fn assets<'a>(&'a self, opened: &'a Opened, usd: &mut dyn FnMut(Share) -> Option<Usd>) -> Vec<AssetExposure<'a>> {
        let mut by_asset: BTreeMap<&str, Vec<(&AssetRoute, Share)>> = BTreeMap::new();
        for (id, share) in &opened.assets {
            if let Some(route) = self.routes.get(*id) {
                by_asset.entry(&route.asset_key).or_default().push((route, *share));
            }
        }
        by_asset.into_iter().map(|(asset_key, routes)| asset(asset_key, &routes, usd)).collect()
    }

    /// Who answers for the vault in one dimension.
    fn answerable<'a>(&'a self, opened: &'a Opened, wanted: Dimension) -> impl Iterator<Item = (&'a str, Reach)> {
        let keyed = opened.answerable.iter().filter_map(|(slot, reach)| Some((self.index.keys.get(*slot)?, *reach)));
        keyed.filter(move |((dimension, _), _)| *dimension == wanted).map(|((_, key), reach)| (key, reach))
    }
}

fn trusted((id, reach): (&str, Reach)) -> TrustedShare<'_> {
    let Trust { verified, confidence } = reach.trust;
    TrustedShare { id, verified, confidence, share: reach.every }
}

fn asset<'a>(
    asset_key: &'a str,
    routes: &[(&'a AssetRoute, Share)],
    usd: &mut dyn FnMut(Share) -> Option<Usd>,
) -> AssetExposure<'a> {
    let mut wrappers: BTreeMap<&str, Share> = BTreeMap::new();
    let mut oracles: BTreeMap<(&str, Option<&str>), Share> = BTreeMap::new();
    let mut bridges: BTreeMap<&str, Reach> = BTreeMap::new();
    for (route, share) in routes {
        for wrapper in &route.wrappers {
            grow(wrappers.entry(wrapper).or_default(), *share);
        }
        for feed in &route.oracles {
            grow(oracles.entry((&feed.id, feed.vendor.as_deref())).or_default(), *share);
        }
        for bridge in &route.bridges {
            let reach = Reach::new(*share, bridge.trust);
            bridges.entry(&bridge.id).and_modify(|known| *known = known.add(reach)).or_insert(reach);
        }
    }
    let share = routes.iter().fold(Share::ZERO, |sum, (_, share)| sum.plus(*share));
    AssetExposure {
        asset_key,
        symbol: routes.first().map_or("", |(route, _)| &route.symbol),
        share,
        usd_exposure: usd(share),
        wrappers: wrappers.into_iter().map(|(id, share)| PlainShare { id, share }).collect(),
        oracles: oracles.into_iter().map(|((id, vendor), share)| FeedShare { id, vendor, share }).collect(),
        bridges: bridges.into_iter().map(trusted).collect(),
    }
}

fn grow(sum: &mut Share, share: Share) {
    *sum = sum.plus(share);
}
