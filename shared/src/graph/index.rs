//! The exposure index: for every vault, which part of a position in it stands behind which key of which dimension.

use super::amount::Share;
use super::facts::Trust;
use super::limits::Dimension;
use crate::model::ids::VaultKey;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

/// A key's place among all keys of all dimensions; sorts by dimension, then key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Slot(u32);

impl Slot {
    /// Its place in a table of [`Keys::len`] entries.
    pub(super) fn place(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// All keys: curators, protocols, chains, assets, feeds, …, each once in its dimension, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Keys(Vec<(Dimension, String)>);

impl Keys {
    pub(super) fn new(keys: BTreeSet<(Dimension, &str)>) -> Self {
        Keys(keys.into_iter().map(|(dimension, key)| (dimension, key.into())).collect())
    }

    /// Null for what is no key.
    pub(super) fn slot(&self, dimension: Dimension, key: &str) -> Option<Slot> {
        let place = self.0.binary_search_by(|(of, text)| (*of, text.as_str()).cmp(&(dimension, key))).ok()?;
        u32::try_from(place).ok().map(Slot)
    }

    pub(super) fn get(&self, slot: Slot) -> Option<(Dimension, &str)> {
        self.0.get(slot.place()).map(|(dimension, key)| (*dimension, key.as_str()))
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them, in the order of their slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Dimension, &str)> {
        self.0.iter().map(|(dimension, key)| (*dimension, key.as_str()))
    }
}

/// How much of a position stands behind one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    /// Over all mappings.
    pub every: Share,
    /// Over those that can reject.
    pub sure: Share,
    /// What can be said of all of them.
    pub trust: Trust,
}

impl Reach {
    pub(super) fn new(share: Share, trust: Trust) -> Self {
        Reach { every: share, sure: if trust.is_sure() { share } else { Share::ZERO }, trust }
    }

    /// This reach, of `portion` only.
    pub(super) fn within(self, portion: Share) -> Self {
        Reach { every: self.every.of(portion), sure: self.sure.of(portion), trust: self.trust }
    }

    pub(super) fn add(self, other: Reach) -> Self {
        Reach {
            every: self.every.plus(other.every),
            sure: self.sure.plus(other.sure),
            trust: self.trust.and(other.trust),
        }
    }
}

/// Reaches by key: what a position is exposed to.
pub(super) type Reaches = BTreeMap<Slot, Reach>;

/// Adds a reach to those of its key.
pub(super) fn add(reaches: &mut Reaches, at: Slot, reach: Reach) {
    reaches.entry(at).and_modify(|known| *known = known.add(reach)).or_insert(reach);
}

/// What a check knows of one vault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VaultExposure {
    /// Sorted by key.
    pub reaches: Vec<(Slot, Reach)>,
    /// What of it is known whole.
    pub known: Known,
}

/// What is known of everything that a vault holds: a limit on what is not known for all of it cannot be said to be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// Who answers for it and for every vault inside it that is described.
    pub answerable: bool,
    /// The asset.
    pub assets: bool,
    /// A feed that prices it.
    pub feeds: bool,
    /// Who operates each of those feeds.
    pub vendors: bool,
}

impl Known {
    pub(super) const ALL: Self = Known { answerable: true, assets: true, feeds: true, vendors: true };

    /// Whether the vault's part in this dimension is all there is. Who answers for a vault, the registry says; that it says
    /// nobody is an answer too.
    pub(super) const fn answers(self, dimension: Dimension) -> bool {
        match dimension {
            Dimension::Asset | Dimension::Bridge => self.assets,
            Dimension::Oracle => self.assets && self.feeds,
            Dimension::OracleVendor => self.assets && self.feeds && self.vendors,
            Dimension::Chain | Dimension::Cluster | Dimension::Curator | Dimension::Protocol | Dimension::SignerSet => {
                self.answerable
            }
        }
    }
}

/// One mapping of a vault, as a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// What is grouped.
    pub dimension: Dimension,
    /// By which curator, bridge, feed, …
    pub key: String,
    /// The part of a position that it stands behind.
    pub share: Share,
    /// How far it is to be believed.
    pub trust: Trust,
}

/// What a check knows of all vaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExposureIndex {
    pub(super) keys: Keys,
    pub(super) vaults: BTreeMap<VaultKey, VaultExposure>,
}

impl ExposureIndex {
    /// The index of vaults whose mappings are known as such; mappings of a vault to one key add up.
    pub fn from_mappings(vaults: impl IntoIterator<Item = (VaultKey, Vec<Mapping>)>) -> Self {
        let vaults: Vec<_> = vaults.into_iter().collect();
        let all = vaults.iter().flat_map(|(_, mappings)| mappings);
        let keys = Keys::new(all.map(|it| (it.dimension, it.key.as_str())).collect());
        let exposure = |mappings: &[Mapping]| {
            let mut reaches = Reaches::new();
            for mapping in mappings {
                if let Some(slot) = keys.slot(mapping.dimension, &mapping.key) {
                    add(&mut reaches, slot, Reach::new(mapping.share, mapping.trust));
                }
            }
            VaultExposure { reaches: reaches.into_iter().collect(), known: Known::ALL }
        };
        let vaults = vaults.iter().map(|(vault, mappings)| (vault.clone(), exposure(mappings))).collect();
        ExposureIndex { keys, vaults }
    }

    /// How many vaults it knows.
    pub fn len(&self) -> usize {
        self.vaults.len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.vaults.is_empty()
    }
}
