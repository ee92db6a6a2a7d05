//! Look-through: what a position in a vault is exposed to once every vault inside it has been opened.
//!
//! A vault is opened after all that it holds, once, and what it holds is added up in proportion; nothing is lost to
//! rounding. Where vaults hold each other, the way back to a vault that is no further inside is not followed: what lies
//! behind it is counted as unattributed, and the cycle is told.

use super::amount::{Share, scaled};
use super::cycles::{MOST, components, distances, shortest};
use super::facts::{AssetRoute, Facts, Holding, Trust, VaultFacts};
use super::index::{ExposureIndex, Keys, Known, Reach, Reaches, Slot, VaultExposure, add};
use super::limits::Dimension;
use crate::model::ids::VaultKey;
use crate::scoring::named_enum;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

named_enum! {
    /// Why a part of a vault is attributed to no asset.
    pub enum Gap {
        /// It leads back into a vault that was already opened.
        Cycle = "cycle",
        /// What the vault, or one inside it, holds could not be established.
        HoldingsUnknown = "holdings_unknown",
        /// It is held in no part, and the deposit asset is not known.
        Idle = "idle",
        /// It is held in a vault that nobody described.
        VaultUnknown = "vault_unknown",
    }
}

/// An asset route's place among all routes; sorts as they do, by asset first.
type RouteId = usize;

/// One vault, opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Opened {
    /// Parts held in assets; with the gaps they are exactly one.
    pub assets: BTreeMap<RouteId, Share>,
    /// Parts held in nobody knows what.
    pub gaps: BTreeMap<Gap, Share>,
    /// Who answers for it: curators, protocols, chains, clusters and signer sets, of this vault, of those inside and of assets.
    pub answerable: Reaches,
    /// Cycles that it leads into.
    pub cycles: BTreeSet<usize>,
}

/// The exposure graph: all vaults, opened.
#[derive(Clone, Debug)]
pub struct ExposureGraph {
    pub(super) facts: Facts,
    pub(super) routes: Vec<AssetRoute>,
    pub(super) cycles: Vec<Vec<VaultKey>>,
    pub(super) opened: Vec<Opened>,
    pub(super) index: ExposureIndex,
}

/// What is known of a vault inside another.
enum Inside<'a> {
    Open(&'a Opened),
    Cycle,
    Unknown,
}

impl ExposureGraph {
    /// Opens every vault. Time grows with what all vaults hold together; depth does not matter.
    pub fn build(facts: Facts) -> Self {
        let nesting: Vec<Vec<usize>> = facts.vaults().iter().map(|vault| held_vaults(&facts, vault)).collect();
        let routes: BTreeSet<&AssetRoute> = facts.vaults().iter().flat_map(routes).collect();
        let routes: Vec<AssetRoute> = routes.into_iter().cloned().collect();
        let keys = {
            let chains: BTreeSet<String> = facts.vaults().iter().map(|vault| vault.key.chain_id.to_string()).collect();
            let named = facts.vaults().iter().flat_map(answerable).map(|(dimension, key, _)| (dimension, key));
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
            opened: alloc::vec![Opened::default(); facts.vaults().len()],
            index: ExposureIndex { keys, vaults: BTreeMap::new() },
            facts,
        };
        for component in components(&nesting) {
            graph.open(&nesting, &component);
        }
        let exposures = graph.facts.vaults().iter().zip(&graph.opened);
        graph.index.vaults =
            exposures.map(|(vault, opened)| (vault.key.clone(), exposure(opened, &graph.routes, &borne))).collect();
        graph
    }

    /// What checks are made against.
    pub const fn index(&self) -> &ExposureIndex {
        &self.index
    }

    /// What it was built from.
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Opens the vaults of a component; all that they hold outside it is open already.
    fn open(&mut self, nesting: &[Vec<usize>], component: &[usize]) {
        let cycles: Vec<Vec<usize>> = shortest(nesting, component).into_iter().collect();
        let first = self.cycles.len();
        // Each tells those that it is on, and of the others what there is room for.
        let told = |vault: usize| {
            let on = |(_, cycle): &(usize, &Vec<usize>)| cycle.contains(&vault);
            let its_own = cycles.iter().enumerate().filter(on);
            let others = cycles.iter().enumerate().filter(|cycle| !on(cycle));
            its_own.chain(others).take(MOST).map(|(place, _)| first + place).collect::<Vec<_>>()
        };
        let told: Vec<_> = component.iter().map(|vault| told(*vault)).collect();
        let vaults = self.facts.vaults();
        let key = |place: usize| vaults.get(place).map(|vault| vault.key.clone());
        self.cycles.extend(cycles.into_iter().map(|cycle| cycle.into_iter().filter_map(key).collect()));
        let opened: Vec<_> = component.iter().map(|root| (*root, self.open_from(nesting, component, *root))).collect();
        for ((place, mut vault), told) in opened.into_iter().zip(told) {
            vault.cycles.extend(told);
            if let Some(slot) = self.opened.get_mut(place) {
                *slot = vault;
            }
        }
    }

    /// Opens one vault of a component: of nestings inside it, only those that lead further from the vault are followed.
    fn open_from(&self, nesting: &[Vec<usize>], component: &[usize], root: usize) -> Opened {
        let order = distances(nesting, component, root);
        let distance: BTreeMap<usize, u32> = order.iter().copied().collect();
        let mut local: BTreeMap<usize, Opened> = BTreeMap::new();
        for (place, steps) in order.into_iter().rev() {
            let Some(vault) = self.facts.vaults().get(place) else { continue };
            let inside = |key: &VaultKey| {
                let Some(inner) = self.facts.position(key) else { return Inside::Unknown };
                match distance.get(&inner) {
                    Some(further) if *further > steps => local.get(&inner).map_or(Inside::Unknown, Inside::Open),
                    Some(_) => Inside::Cycle,
                    None => self.opened.get(inner).map_or(Inside::Unknown, Inside::Open),
                }
            };
            let opened = self.combine(vault, inside);
            local.insert(place, opened);
        }
        local.remove(&root).unwrap_or_default()
    }

    /// Adds up what a vault holds, given the vaults inside it.
    fn combine<'a>(&self, vault: &VaultFacts, inside: impl Fn(&VaultKey) -> Inside<'a>) -> Opened {
        let mut opened = Opened::default();
        let mut idle = Share::ONE;
        for part in vault.parts.iter().flatten() {
            let portion = Share::from_ppm(part.share).unwrap_or(Share::ZERO);
            idle = idle.minus(portion);
            match &part.holding {
                Holding::Asset(route) => self.hold(&mut opened, route, portion),
                Holding::Vault(key) => match inside(key) {
                    Inside::Open(inner) => opened.absorb(inner, portion),
                    Inside::Cycle => opened.miss(Gap::Cycle, portion),
                    Inside::Unknown => opened.miss(Gap::VaultUnknown, portion),
                },
                Holding::Unnamed => opened.miss(Gap::HoldingsUnknown, portion),
            }
        }
        match (&vault.parts, &vault.idle) {
            _ if idle == Share::ZERO => {}
            (None, _) => opened.miss(Gap::HoldingsUnknown, idle),
            (Some(_), Some(route)) => self.hold(&mut opened, route, idle),
            (Some(_), None) => opened.miss(Gap::Idle, idle),
        }
        let chain = vault.key.chain_id.to_string();
        for (dimension, key, trust) in answerable(vault).chain([(Dimension::Chain, chain.as_str(), Trust::FACT)]) {
            if let Some(slot) = self.index.keys.slot(dimension, key) {
                opened.answer(slot, trust);
            }
        }
        opened
    }

    /// Puts a part of a vault into an asset, and behind whoever answers for that.
    fn hold(&self, opened: &mut Opened, route: &AssetRoute, portion: Share) {
        if portion == Share::ZERO {
            return;
        }
        opened.hold(self.route(route), portion);
        for (dimension, key, trust) in operated(route) {
            if let Some(slot) = self.index.keys.slot(dimension, key) {
                add(&mut opened.answerable, slot, Reach::new(portion, trust));
            }
        }
    }

    /// The place of a route; all routes are known before any vault is opened.
    fn route(&self, route: &AssetRoute) -> RouteId {
        self.routes.binary_search(route).unwrap_or(RouteId::MAX)
    }
}

/// An opened vault as checks read it, given all routes and what each bears.
fn exposure(opened: &Opened, routes: &[AssetRoute], borne: &[Vec<(Slot, Trust)>]) -> VaultExposure {
    let mut reaches = opened.answerable.clone();
    for (route, share) in &opened.assets {
        for (slot, trust) in borne.get(*route).into_iter().flatten() {
            add(&mut reaches, *slot, Reach::new(*share, *trust));
        }
    }
    let held = || opened.assets.keys().filter_map(|route| routes.get(*route));
    let known = Known {
        assets: opened.gaps.is_empty(),
        feeds: held().all(|route| !route.oracles.is_empty()),
        vendors: held().flat_map(|route| &route.oracles).all(|feed| feed.vendor.is_some()),
    };
    VaultExposure { reaches: reaches.into_iter().collect(), known }
}

impl Opened {
    fn hold(&mut self, route: RouteId, share: Share) {
        let held = self.assets.entry(route).or_default();
        *held = held.plus(share);
    }

    fn miss(&mut self, gap: Gap, share: Share) {
        // A gap of nothing is none.
        if share > Share::ZERO {
            let missed = self.gaps.entry(gap).or_default();
            *missed = missed.plus(share);
        }
    }

    /// Takes in a vault that is held with `portion` of this one.
    fn absorb(&mut self, inner: &Opened, portion: Share) {
        let mut scale = scaled(portion);
        for (route, share) in &inner.assets {
            self.hold(*route, scale(*share));
        }
        for (gap, share) in &inner.gaps {
            self.miss(*gap, scale(*share));
        }
        for (at, reach) in &inner.answerable {
            add(&mut self.answerable, *at, reach.within(portion));
        }
        self.cycles.extend(&inner.cycles);
    }

    /// Puts the whole vault behind a key. What its assets and the vaults inside put there too is part of that, and counts
    /// only where they are better founded.
    fn answer(&mut self, at: Slot, trust: Trust) {
        let own = Reach::new(Share::ONE, trust);
        let inner = self.answerable.get(&at).copied().filter(|_| !trust.is_sure());
        let reach = inner.map_or(own, |inner| Reach { sure: inner.sure, trust: trust.and(inner.trust), ..own });
        self.answerable.insert(at, reach);
    }
}

/// The vaults inside a vault that are described, by position.
fn held_vaults(facts: &Facts, vault: &VaultFacts) -> Vec<usize> {
    let held = vault.parts.iter().flatten().filter_map(|part| match &part.holding {
        Holding::Vault(key) => facts.position(key),
        Holding::Asset(_) | Holding::Unnamed => None,
    });
    held.collect()
}

fn routes(vault: &VaultFacts) -> impl Iterator<Item = &AssetRoute> {
    let held = vault.parts.iter().flatten().filter_map(|part| match &part.holding {
        Holding::Asset(route) => Some(route),
        Holding::Vault(_) | Holding::Unnamed => None,
    });
    held.chain(&vault.idle)
}

/// Who answers for the whole of a vault, but its chain.
fn answerable(vault: &VaultFacts) -> impl Iterator<Item = (Dimension, &str, Trust)> {
    let clusters = vault.clusters.iter().map(|cluster| (Dimension::Cluster, cluster));
    let curator = vault.curator.iter().map(|curator| (Dimension::Curator, curator));
    let protocol = vault.protocol.iter().map(|protocol| (Dimension::Protocol, protocol));
    let facts = clusters.chain(curator).chain(protocol);
    facts
        .map(|(dimension, key)| (dimension, key.as_str(), Trust::FACT))
        .chain(vault.signer_sets.iter().map(|set| (Dimension::SignerSet, set.id.as_str(), set.trust)))
}

/// Who answers for a holding. It is added up with who answers for vaults, where the whole of a vault takes in its parts.
fn operated(route: &AssetRoute) -> impl Iterator<Item = (Dimension, &str, Trust)> {
    let clusters = route.clusters.iter().map(|cluster| (Dimension::Cluster, cluster.as_str(), Trust::FACT));
    clusters.chain(route.signer_sets.iter().map(|set| (Dimension::SignerSet, set.id.as_str(), set.trust)))
}

/// What a holding puts its share behind. A vendor of two of its feeds bears it once.
fn borne(route: &AssetRoute) -> impl Iterator<Item = (Dimension, &str, Trust)> {
    let vendors: BTreeSet<&str> = route.oracles.iter().filter_map(|feed| feed.vendor.as_deref()).collect();
    let feeds: BTreeSet<&str> = route.oracles.iter().map(|feed| feed.id.as_str()).collect();
    core::iter::once((Dimension::Asset, route.asset_key.as_str(), Trust::FACT))
        .chain(route.bridges.iter().map(|bridge| (Dimension::Bridge, bridge.id.as_str(), bridge.trust)))
        .chain(feeds.into_iter().map(|feed| (Dimension::Oracle, feed, Trust::FACT)))
        .chain(vendors.into_iter().map(|vendor| (Dimension::OracleVendor, vendor, Trust::FACT)))
}
