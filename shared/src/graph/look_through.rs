//! Look-through: what a position in a vault is exposed to when all nested vaults are resolved.
//!
//! Each vault is resolved once, after the vaults it holds, and inherits their exposures in proportion; shares add up to exactly
//! one. Within a cycle an edge is followed only if it leads farther away from the vault being resolved; the share behind any
//! other edge is unattributed, and the cycle is reported. In a strongly connected component of more than 32 vaults no inner edge
//! is followed, so that the run time is linear in the total number of holdings.

use super::amount::{Share, scaled};
use super::cycles::{ComponentGraph, Distances, MAX_REPORTED_CYCLES, components};
use super::facts::{AssetRoute, Facts, Holding, Trust, VaultFacts};
use super::index::{Completeness, ExposedShare, ExposedShares, ExposureIndex, Keys, Slot, VaultExposure, add};
use super::limits::Dimension;
use crate::model::ids::VaultKey;
use crate::scoring::named_enum;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

named_enum! {
    /// Why a part of a vault is attributed to no asset.
    #[cfg_attr(feature = "schema", schemars(rename = "LookThroughGap"))]
    pub enum Gap {
        /// The holding leads back into a cycle of vaults that hold each other.
        Cycle = "cycle",
        /// The holdings of the vault, or of a vault inside it, could not be established.
        HoldingsUnknown = "holdings_unknown",
        /// The share is idle and the vault's deposit asset is unknown.
        Idle = "idle",
        /// The share is held in a vault that is not in the exposure graph.
        VaultUnknown = "vault_unknown",
    }
}

/// Index of an asset route among all sorted routes; ordered by asset first.
type RouteId = usize;

/// A vault resolved by look-through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ResolvedVault {
    /// Shares held in assets; together with `gaps` they add up to exactly one.
    pub assets: BTreeMap<RouteId, Share>,
    /// Shares that are attributed to no asset.
    pub gaps: BTreeMap<Gap, Share>,
    /// Responsible parties: curators, protocols, chains, clusters and signer sets of this vault, of nested vaults and of assets.
    pub parties: ExposedShares,
    /// Cycles that the vault leads into, as indexes into [`ExposureGraph::cycles`].
    pub cycles: BTreeSet<usize>,
    /// Whether an edge to a vault other than the root was not followed. The exposure of that vault's responsible parties may then be
    /// higher than counted.
    pub is_cut: bool,
}

/// The exposure graph: all vaults, resolved.
#[derive(Clone, Debug)]
pub struct ExposureGraph {
    pub(super) facts: Facts,
    pub(super) routes: Vec<AssetRoute>,
    pub(super) cycles: Vec<Vec<VaultKey>>,
    pub(super) resolved: Vec<ResolvedVault>,
    pub(super) index: ExposureIndex,
}

/// How a nested vault is resolved.
enum Inside<'a> {
    Resolved(&'a ResolvedVault),
    /// The vault being resolved. Its responsible parties already count for the whole vault.
    Root,
    /// A vault in the same component whose edge is not followed.
    Cut,
    Unknown,
}

impl ExposureGraph {
    /// Resolves every vault. The run time depends on the total number of holdings, not on the depth of nesting.
    pub fn build(facts: Facts) -> Self {
        let nesting: Vec<Vec<usize>> = facts.vaults().iter().map(|vault| held_vaults(&facts, vault)).collect();
        let routes: BTreeSet<&AssetRoute> = facts.vaults().iter().flat_map(routes).collect();
        let routes: Vec<AssetRoute> = routes.into_iter().cloned().collect();
        let keys = {
            let chains: BTreeSet<String> = facts.vaults().iter().map(|vault| vault.key.chain_id.to_string()).collect();
            let named = facts.vaults().iter().flat_map(parties).map(|(dimension, key, _)| (dimension, key));
            let borne =
                routes.iter().flat_map(|it| borne(it).chain(operated(it))).map(|(dimension, key, _)| (dimension, key));
            let chains = chains.iter().map(|chain| (Dimension::Chain, chain.as_str()));
            Keys::new(named.chain(borne).chain(chains).collect())
        };
        let slots = |(dimension, key, trust): (_, &str, _)| Some((keys.slot(dimension, key)?, trust));
        let borne: Vec<Vec<_>> = routes.iter().map(|route| borne(route).filter_map(slots).collect()).collect();
        let mut graph = ExposureGraph {
            routes,
            cycles: Vec::new(),
            resolved: alloc::vec![ResolvedVault::default(); facts.vaults().len()],
            index: ExposureIndex { keys, vaults: BTreeMap::new() },
            facts,
        };
        for component in components(&nesting) {
            graph.resolve(&nesting, &component);
        }
        let exposures = graph.facts.vaults().iter().zip(&graph.resolved);
        graph.index.vaults =
            exposures.map(|(vault, resolved)| (vault.key.clone(), exposure(resolved, &graph.routes, &borne))).collect();
        graph
    }

    /// The exposures that checks use.
    pub const fn index(&self) -> &ExposureIndex {
        &self.index
    }

    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Resolves the vaults of a component. Every vault outside the component that one of them holds must be resolved already.
    fn resolve(&mut self, nesting: &[Vec<usize>], component: &[usize]) {
        let component_graph = ComponentGraph::of(nesting, component);
        let cycles: Vec<Vec<usize>> = component_graph.cycles().into_iter().collect();
        let first = self.cycles.len();
        // Each vault reports the cycles it is on, then others of its component, up to the maximum.
        let mut on: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (number, cycle) in cycles.iter().enumerate() {
            cycle.iter().for_each(|vault| on.entry(*vault).or_default().push(number));
        }
        let reported = |vault: usize| {
            let its_own = on.get(&vault).map_or(&[][..], Vec::as_slice);
            let others = (0..cycles.len()).filter(|number| its_own.binary_search(number).is_err());
            its_own
                .iter()
                .copied()
                .chain(others)
                .take(MAX_REPORTED_CYCLES)
                .map(|number| first + number)
                .collect::<Vec<_>>()
        };
        let resolve =
            |(number, vault): (usize, &usize)| (*vault, self.resolve_from(&component_graph, number), reported(*vault));
        let resolved: Vec<_> = component.iter().enumerate().map(resolve).collect();
        let vaults = self.facts.vaults();
        let key = |place: usize| vaults.get(place).map(|vault| vault.key.clone());
        self.cycles.extend(cycles.into_iter().map(|cycle| cycle.into_iter().filter_map(key).collect()));
        for (place, mut vault, reported) in resolved {
            vault.cycles.extend(reported);
            if let Some(slot) = self.resolved.get_mut(place) {
                *slot = vault;
            }
        }
    }

    /// Resolves one vault of a component. Within the component only edges that lead farther from the vault are followed.
    fn resolve_from(&self, component_graph: &ComponentGraph<'_>, root: usize) -> ResolvedVault {
        let distances = if component_graph.follows_inner_edges() {
            component_graph.distances(root, None)
        } else {
            Distances::none(root)
        };
        let mut local: BTreeMap<usize, ResolvedVault> = BTreeMap::new();
        for number in distances.order().iter().rev() {
            let Some(vault) = component_graph.vault(*number).and_then(|place| self.facts.vaults().get(place)) else {
                continue;
            };
            let inside = |key: &VaultKey| {
                let Some(inner) = self.facts.position(key) else { return Inside::Unknown };
                let Some(held) = component_graph.number(inner) else {
                    return self.resolved.get(inner).map_or(Inside::Unknown, Inside::Resolved);
                };
                match distances.distance(held) {
                    Some(further) if Some(further) > distances.distance(*number) => {
                        local.get(&held).map_or(Inside::Cut, Inside::Resolved)
                    }
                    Some(0) => Inside::Root,
                    Some(_) | None => Inside::Cut,
                }
            };
            let resolved = self.combine(vault, inside);
            local.insert(*number, resolved);
        }
        local.remove(&root).unwrap_or_default()
    }

    /// Adds up a vault's holdings, given how its nested vaults are resolved.
    fn combine<'a>(&self, vault: &VaultFacts, inside: impl Fn(&VaultKey) -> Inside<'a>) -> ResolvedVault {
        let mut resolved = ResolvedVault::default();
        let mut idle = Share::ONE;
        for part in vault.parts.iter().flatten() {
            let portion = Share::from_ppm(part.share).unwrap_or(Share::ZERO);
            idle = idle.minus(portion);
            match &part.holding {
                Holding::Asset(route) => self.hold(&mut resolved, route, portion),
                Holding::Vault(key) => match inside(key) {
                    Inside::Resolved(inner) => resolved.absorb(inner, portion),
                    Inside::Root => resolved.miss(Gap::Cycle, portion),
                    Inside::Cut => {
                        resolved.miss(Gap::Cycle, portion);
                        resolved.is_cut = true;
                    }
                    Inside::Unknown => resolved.miss(Gap::VaultUnknown, portion),
                },
                Holding::Unpublished => resolved.miss(Gap::HoldingsUnknown, portion),
            }
        }
        match (&vault.parts, &vault.idle) {
            _ if idle == Share::ZERO => {}
            (None, _) => resolved.miss(Gap::HoldingsUnknown, idle),
            (Some(_), Some(route)) => self.hold(&mut resolved, route, idle),
            (Some(_), None) => resolved.miss(Gap::Idle, idle),
        }
        let chain = vault.key.chain_id.to_string();
        for (dimension, key, trust) in parties(vault).chain([(Dimension::Chain, chain.as_str(), Trust::FACT)]) {
            if let Some(slot) = self.index.keys.slot(dimension, key) {
                resolved.answer(slot, trust);
            }
        }
        resolved
    }

    /// Adds a share held in an asset, and the same share to the asset's responsible parties.
    fn hold(&self, resolved: &mut ResolvedVault, route: &AssetRoute, portion: Share) {
        if portion == Share::ZERO {
            return;
        }
        resolved.hold(self.route(route), portion);
        for (dimension, key, trust) in operated(route) {
            if let Some(slot) = self.index.keys.slot(dimension, key) {
                add(&mut resolved.parties, slot, ExposedShare::new(portion, trust));
            }
        }
    }

    /// Index of a route. All routes are collected before any vault is resolved.
    fn route(&self, route: &AssetRoute) -> RouteId {
        self.routes.binary_search(route).unwrap_or(RouteId::MAX)
    }
}

/// A vault's exposures for checks. `borne` has the keys of each of `routes`, in the same order.
fn exposure(resolved: &ResolvedVault, routes: &[AssetRoute], borne: &[Vec<(Slot, Trust)>]) -> VaultExposure {
    let mut shares = resolved.parties.clone();
    for (route, share) in &resolved.assets {
        for (slot, trust) in borne.get(*route).into_iter().flatten() {
            add(&mut shares, *slot, ExposedShare::new(*share, *trust));
        }
    }
    let held = || resolved.assets.keys().filter_map(|route| routes.get(*route));
    let completeness = Completeness {
        assets: resolved.gaps.is_empty(),
        parties: !resolved.is_cut,
        feeds: held().all(|route| !route.oracles.is_empty()),
        vendors: held().flat_map(|route| &route.oracles).all(|feed| feed.vendor.is_some()),
    };
    VaultExposure { shares: shares.into_iter().collect(), completeness }
}

impl ResolvedVault {
    fn hold(&mut self, route: RouteId, share: Share) {
        let held = self.assets.entry(route).or_default();
        *held = held.plus(share);
    }

    fn miss(&mut self, gap: Gap, share: Share) {
        // A gap of zero would mark the vault's assets as incomplete.
        if share > Share::ZERO {
            let missed = self.gaps.entry(gap).or_default();
            *missed = missed.plus(share);
        }
    }

    /// Adds the exposures of a nested vault that makes up `portion` of this one.
    fn absorb(&mut self, inner: &ResolvedVault, portion: Share) {
        let mut scale = scaled(portion);
        for (route, share) in &inner.assets {
            self.hold(*route, scale(*share));
        }
        for (gap, share) in &inner.gaps {
            self.miss(*gap, scale(*share));
        }
        for (at, exposed) in &inner.parties {
            add(&mut self.parties, *at, exposed.within(portion));
        }
        self.cycles.extend(&inner.cycles);
        self.is_cut |= inner.is_cut;
    }

    /// Sets the exposure to a key to the whole vault, which includes earlier exposure through assets and nested vaults. If the vault's own
    /// mapping is not certain, the earlier `certain` share is kept, and the trust of both is combined ([`Trust::and`]).
    fn answer(&mut self, at: Slot, trust: Trust) {
        let own = ExposedShare::new(Share::ONE, trust);
        let inner = self.parties.get(&at).copied().filter(|_| !trust.is_certain());
        let exposed =
            inner.map_or(own, |inner| ExposedShare { certain: inner.certain, trust: trust.and(inner.trust), ..own });
        self.parties.insert(at, exposed);
    }
}

/// Positions of the known vaults that a vault holds.
fn held_vaults(facts: &Facts, vault: &VaultFacts) -> Vec<usize> {
    let held = vault.parts.iter().flatten().filter_map(|part| match &part.holding {
        Holding::Vault(key) => facts.position(key),
        Holding::Asset(_) | Holding::Unpublished => None,
    });
    held.collect()
}

fn routes(vault: &VaultFacts) -> impl Iterator<Item = &AssetRoute> {
    let held = vault.parts.iter().flatten().filter_map(|part| match &part.holding {
        Holding::Asset(route) => Some(route),
        Holding::Vault(_) | Holding::Unpublished => None,
    });
    held.chain(&vault.idle)
}

/// Parties responsible for the whole vault, except its chain.
fn parties(vault: &VaultFacts) -> impl Iterator<Item = (Dimension, &str, Trust)> {
    let clusters = vault.clusters.iter().map(|cluster| (Dimension::Cluster, cluster));
    let curator = vault.curator.iter().map(|curator| (Dimension::Curator, curator));
    let protocol = vault.protocol.iter().map(|protocol| (Dimension::Protocol, protocol));
    let facts = clusters.chain(curator).chain(protocol);
    facts
        .map(|(dimension, key)| (dimension, key.as_str(), Trust::FACT))
        .chain(vault.signer_sets.iter().map(|set| (Dimension::SignerSet, set.id.as_str(), set.trust)))
}

/// Parties responsible for a holding. Their shares are part of [`ResolvedVault::parties`]; if a party is also responsible for the whole
/// vault, [`ResolvedVault::answer`] replaces its share by the whole vault.
fn operated(route: &AssetRoute) -> impl Iterator<Item = (Dimension, &str, Trust)> {
    let clusters = route.clusters.iter().map(|cluster| (Dimension::Cluster, cluster.as_str(), Trust::FACT));
    clusters.chain(route.signer_sets.iter().map(|set| (Dimension::SignerSet, set.id.as_str(), set.trust)))
}

/// Keys that the whole share of a holding is exposed to. A vendor of two of the holding's feeds counts once.
fn borne(route: &AssetRoute) -> impl Iterator<Item = (Dimension, &str, Trust)> {
    let vendors: BTreeSet<&str> = route.oracles.iter().filter_map(|feed| feed.vendor.as_deref()).collect();
    let feeds: BTreeSet<&str> = route.oracles.iter().map(|feed| feed.id.as_str()).collect();
    core::iter::once((Dimension::Asset, route.asset_key.as_str(), Trust::FACT))
        .chain(route.bridges.iter().map(|bridge| (Dimension::Bridge, bridge.id.as_str(), bridge.trust)))
        .chain(feeds.into_iter().map(|feed| (Dimension::Oracle, feed, Trust::FACT)))
        .chain(vendors.into_iter().map(|vendor| (Dimension::OracleVendor, vendor, Trust::FACT)))
}
