//! A vault's look-through as returned by the API.
//!
//! `unattributed` lists the shares that are attributed to no asset, so that shares and amounts add up to the whole vault.

use super::amount::{Share, Usd, priced};
use super::cycles::MAX_REPORTED_CYCLES;
use super::facts::{AssetRoute, Trust};
use super::index::ExposedShare;
use super::limits::Dimension;
use super::look_through::{ExposureGraph, Gap, ResolvedVault};
use crate::model::ids::{ChainId, VaultKey};
use crate::scoring::Ppm;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use serde::Serialize;

/// What a position in a vault is exposed to through all nested vaults.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LookThrough<'a> {
    /// The vault, as `{chain_id}:{address}`.
    pub vault_key: &'a VaultKey,
    /// Curator of the vault; null when unknown.
    pub curator: Option<&'a str>,
    /// Protocol of the vault; null when unknown.
    pub protocol: Option<&'a str>,
    /// Chain id of the vault.
    pub chain: ChainId,
    /// Assets held directly or through nested vaults; with `unattributed`, their shares add up to 1.
    pub assets: Vec<AssetExposure<'a>>,
    /// Signer sets that can change the vault, a nested vault or an asset.
    pub signer_sets: Vec<TrustedShare<'a>>,
    /// Operator clusters that the vault depends on.
    pub clusters: Vec<PlainShare<'a>>,
    /// Shares of the vault that are attributed to no asset, by reason.
    pub unattributed: Vec<Unattributed>,
    /// Cycles of vaults that hold each other, each in holding order. At most 50; the most deeply nested are left out.
    pub cycles: Vec<&'a [VaultKey]>,
}

/// An asset that a vault holds directly or through nested vaults.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AssetExposure<'a> {
    /// Key of the asset.
    pub asset_key: &'a str,
    /// Symbol of the asset.
    pub symbol: &'a str,
    /// Fraction of the vault that is held in the asset, 0 to 1.
    pub share: Share,
    /// `share` of the vault's TVL, in US dollars; null when the TVL is unknown.
    pub usd_exposure: Option<Usd>,
    /// Tokens that wrap the asset.
    pub wrappers: Vec<PlainShare<'a>>,
    /// Price feeds of the asset.
    pub oracles: Vec<FeedShare<'a>>,
    /// Bridges that the asset came through.
    pub bridges: Vec<TrustedShare<'a>>,
}

/// A wrapper token or an operator cluster, with its share of a vault.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlainShare<'a> {
    /// Id of the token or cluster.
    pub id: &'a str,
    /// Fraction of the vault that is exposed to it, 0 to 1.
    pub share: Share,
}

/// A price feed, with its share of a vault.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeedShare<'a> {
    /// Id of the feed.
    pub id: &'a str,
    /// Operator of the feed; null when unknown.
    pub vendor: Option<&'a str>,
    /// Fraction of the vault that the feed prices, 0 to 1.
    pub share: Share,
}

/// A bridge or a signer set, with its share of a vault.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrustedShare<'a> {
    /// Id of the bridge or signer set.
    pub id: &'a str,
    /// True if every mapping to it is backed by a source.
    pub verified: bool,
    /// Lowest confidence of the mappings to the bridge or signer set, 0 to 1.
    pub confidence: Ppm,
    /// Fraction of the vault that is exposed to it, 0 to 1.
    pub share: Share,
}

/// A share of a vault that is attributed to no asset.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Unattributed {
    /// Why the share is attributed to no asset.
    pub reason: Gap,
    /// Fraction of the vault, 0 to 1.
    pub share: Share,
    /// `share` of the vault's TVL, in US dollars; null when the TVL is unknown.
    pub usd_exposure: Option<Usd>,
}

impl ExposureGraph {
    /// The look-through of a vault; `None` if it is not in the graph.
    pub fn look_through(&self, key: &VaultKey) -> Option<LookThrough<'_>> {
        let place = self.facts.position(key)?;
        let (vault, resolved) = (self.facts.vaults().get(place)?, self.resolved.get(place)?);
        let mut price = vault.tvl.map(priced);
        let mut usd = |share| price.as_mut().map(|price| price(share));
        let assets = self.assets(resolved, &mut usd);
        let gaps = resolved.gaps.iter();
        // Nested vaults are resolved first, so the cycles of the most deeply nested vaults have the lowest numbers and are left out.
        let reported = resolved.cycles.iter().skip(resolved.cycles.len().saturating_sub(MAX_REPORTED_CYCLES));
        let unattributed =
            gaps.map(|(reason, share)| Unattributed { reason: *reason, share: *share, usd_exposure: usd(*share) });
        Some(LookThrough {
            vault_key: &vault.key,
            curator: vault.curator.as_deref(),
            protocol: vault.protocol.as_deref(),
            chain: vault.key.chain_id,
            unattributed: unattributed.collect(),
            assets,
            signer_sets: self.parties(resolved, Dimension::SignerSet).map(trusted).collect(),
            clusters: self
                .parties(resolved, Dimension::Cluster)
                .map(|(id, exposed)| PlainShare { id, share: exposed.all })
                .collect(),
            cycles: reported.filter_map(|cycle| self.cycles.get(*cycle)).map(Vec::as_slice).collect(),
        })
    }

    /// Groups the routes by asset and prices each asset once, in key order.
    fn assets<'a>(
        &'a self,
        resolved: &'a ResolvedVault,
        usd: &mut dyn FnMut(Share) -> Option<Usd>,
    ) -> Vec<AssetExposure<'a>> {
        let mut by_asset: BTreeMap<&str, Vec<(&AssetRoute, Share)>> = BTreeMap::new();
        for (id, share) in &resolved.assets {
            if let Some(route) = self.routes.get(*id) {
                by_asset.entry(&route.asset_key).or_default().push((route, *share));
            }
        }
        by_asset.into_iter().map(|(asset_key, routes)| asset(asset_key, &routes, usd)).collect()
    }

    /// The vault's responsible parties in one dimension.
    fn parties<'a>(
        &'a self,
        resolved: &'a ResolvedVault,
        wanted: Dimension,
    ) -> impl Iterator<Item = (&'a str, ExposedShare)> {
        let keyed = resolved.parties.iter().filter_map(|(slot, exposed)| Some((self.index.keys.get(*slot)?, *exposed)));
        keyed.filter(move |((dimension, _), _)| *dimension == wanted).map(|((_, key), exposed)| (key, exposed))
    }
}

fn trusted((id, exposed): (&str, ExposedShare)) -> TrustedShare<'_> {
    let Trust { verified, confidence } = exposed.trust;
    TrustedShare { id, verified, confidence, share: exposed.all }
}

fn asset<'a>(
    asset_key: &'a str,
    routes: &[(&'a AssetRoute, Share)],
    usd: &mut dyn FnMut(Share) -> Option<Usd>,
) -> AssetExposure<'a> {
    let mut wrappers: BTreeMap<&str, Share> = BTreeMap::new();
    let mut oracles: BTreeMap<(&str, Option<&str>), Share> = BTreeMap::new();
    let mut bridges: BTreeMap<&str, ExposedShare> = BTreeMap::new();
    for (route, share) in routes {
        for wrapper in &route.wrappers {
            grow(wrappers.entry(wrapper).or_default(), *share);
        }
        for feed in &route.oracles {
            grow(oracles.entry((&feed.id, feed.vendor.as_deref())).or_default(), *share);
        }
        for bridge in &route.bridges {
            let exposed = ExposedShare::new(*share, bridge.trust);
            bridges.entry(&bridge.id).and_modify(|known| *known = known.add(exposed)).or_insert(exposed);
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
