//! Look-through: what a position in a vault is exposed to once every vault inside it has been opened.
//!
//! A vault is opened after all that it holds, once, and what it holds is added up in proportion; nothing is lost to
//! rounding. Where vaults hold each other, the way back to a vault that is no further inside is not followed: what lies
//! behind it is counted as unattributed, and the cycle is told. More than thirty-two vaults that hold each other are not
//! followed into each other at all, so that time grows with what all vaults hold together and with nothing else.

use super::amount::{Share, scaled};
use super::cycles::{Circle, MOST, Steps, components};
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
    #[cfg_attr(feature = "schema", schemars(rename = "LookThroughGap"))]
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
    /// Whether a way into a vault was left that does not lead back to where it began: whoever answers for that vault may have
    /// more behind them than is counted.
    pub is_cut: bool,
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
    /// The vault that is being opened: all of it is counted already.
    Root,
    /// One that is not followed from here.
    Cut,
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
        let circle = Circle::of(nesting, component);
        let cycles: Vec<Vec<usize>> = circle.cycles().into_iter().collect();
        let first = self.cycles.len();
        // Each tells those that it is on, and of the others what there is room for.
        let mut on: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (number, cycle) in cycles.iter().enumerate() {
            cycle.iter().for_each(|vault| on.entry(*vault).or_default().push(number));
        }
        let told = |vault: usize| {
            let its_own = on.get(&vault).map_or(&[][..], Vec::as_slice);
            let others = (0..cycles.len()).filter(|number| its_own.binary_search(number).is_err());
            its_own.iter().copied().chain(others).take(MOST).map(|number| first + number).collect::<Vec<_>>()
        };
        let open = |(number, vault): (usize, &usize)| (*vault, self.open_from(&circle, number), told(*vault));
        let opened: Vec<_> = component.iter().enumerate().map(open).collect();
        let vaults = self.facts.vaults();
        let key = |place: usize| vaults.get(place).map(|vault| vault.key.clone());
        self.cycles.extend(cycles.into_iter().map(|cycle| cycle.into_iter().filter_map(key).collect()));
        for (place, mut vault, told) in opened {
            vault.cycles.extend(told);
            if let Some(slot) = self.opened.get_mut(place) {
                *slot = vault;
            }
        }
    }

    /// Opens one vault of a component: of nestings inside it, only those that lead further from the vault are followed.
    fn open_from(&self, circle: &Circle<'_>, root: usize) -> Opened {
        let steps = if circle.is_followed() { circle.steps(root, None) } else { Steps::none(root) };
        let mut local: BTreeMap<usize, Opened> = BTreeMap::new();
        for number in steps.order().iter().rev() {
            let Some(vault) = circle.vault(*number).and_then(|place| self.facts.vaults().get(place)) else { continue };
            let inside = |key: &VaultKey| {
                let Some(inner) = self.facts.position(key) else { return Inside::Unknown };
                let Some(held) = circle.number(inner) else {
                    return self.opened.get(inner).map_or(Inside::Unknown, Inside::Open);
                };
                match steps.to(held) {
                    Some(further) if Some(further) > steps.to(*number) => {
                        local.get(&held).map_or(Inside::Cut, Inside::Open)
                    }
                    Some(0) => Inside::Root,
                    Some(_) | None => Inside::Cut,
                }
            };
            let opened = self.combine(vault, inside);
            local.insert(*number, opened);
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
                    Inside::Root => opened.miss(Gap::Cycle, portion),
                    Inside::Cut => {
                        opened.miss(Gap::Cycle, portion);
                        opened.is_cut = true;
                    }
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
        answerable: !opened.is_cut,
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
        self.is_cut |= inner.is_cut;
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
