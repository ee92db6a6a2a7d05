//! The exposure index: for each vault, the share of a position in it that is exposed to each key of each dimension.

use super::amount::Share;
use super::facts::Trust;
use super::limits::Dimension;
use crate::model::ids::VaultKey;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

/// Index of a key among all keys of all dimensions; ordered by dimension, then key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Slot(u32);

impl Slot {
    /// The index as `usize`, less than [`Keys::len`].
    pub(super) fn place(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// All keys (curators, protocols, chains, assets, feeds, …), sorted, each once per dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Keys(Vec<(Dimension, String)>);

impl Keys {
    pub(super) fn new(keys: BTreeSet<(Dimension, &str)>) -> Self {
        Keys(keys.into_iter().map(|(dimension, key)| (dimension, key.into())).collect())
    }

    /// `None` for an unknown key.
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

    /// All keys in slot order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Dimension, &str)> {
        self.0.iter().map(|(dimension, key)| (*dimension, key.as_str()))
    }
}

/// The share of a position that is exposed to one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExposedShare {
    /// The share through all mappings.
    pub all: Share,
    /// The share through the mappings that can cause a rejection ([`Trust::is_certain`]).
    pub certain: Share,
    /// The least trust of all mappings.
    pub trust: Trust,
}

impl ExposedShare {
    pub(super) fn new(share: Share, trust: Trust) -> Self {
        ExposedShare { all: share, certain: if trust.is_certain() { share } else { Share::ZERO }, trust }
    }

    /// This share scaled to `portion`.
    pub(super) fn within(self, portion: Share) -> Self {
        ExposedShare { all: self.all.of(portion), certain: self.certain.of(portion), trust: self.trust }
    }

    pub(super) fn add(self, other: ExposedShare) -> Self {
        ExposedShare {
            all: self.all.plus(other.all),
            certain: self.certain.plus(other.certain),
            trust: self.trust.and(other.trust),
        }
    }
}

/// A position's exposures by key.
pub(super) type ExposedShares = BTreeMap<Slot, ExposedShare>;

/// Adds a share to the share of its key.
pub(super) fn add(shares: &mut ExposedShares, at: Slot, exposed: ExposedShare) {
    shares.entry(at).and_modify(|known| *known = known.add(exposed)).or_insert(exposed);
}

/// A vault's exposures, as a check uses them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VaultExposure {
    /// Sorted by key.
    pub shares: Vec<(Slot, ExposedShare)>,
    pub completeness: Completeness,
}

/// Which facts are complete for everything that a vault holds. A check cannot confirm a limit on an incomplete dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Completeness {
    /// The responsible parties of the vault and of every known vault inside it.
    pub parties: bool,
    /// The asset of every holding.
    pub assets: bool,
    /// At least one price feed of every asset.
    pub feeds: bool,
    /// The operator of every price feed.
    pub vendors: bool,
}

impl Completeness {
    pub(super) const ALL: Self = Completeness { parties: true, assets: true, feeds: true, vendors: true };

    /// Whether the vault's exposure in this dimension is complete. Responsible parties come from the registry, where an empty entry
    /// means that there are none.
    pub(super) const fn covers(self, dimension: Dimension) -> bool {
        match dimension {
            Dimension::Asset | Dimension::Bridge => self.assets,
            Dimension::Oracle => self.assets && self.feeds,
            Dimension::OracleVendor => self.assets && self.feeds && self.vendors,
            Dimension::Chain | Dimension::Cluster | Dimension::Curator | Dimension::Protocol | Dimension::SignerSet => {
                self.parties
            }
        }
    }
}

/// One exposure of a vault that the caller states, instead of look-through computing it ([`ExposureIndex::from_mappings`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub dimension: Dimension,
    /// The key within the dimension, such as a curator, a bridge or a feed.
    pub key: String,
    /// The share of a position that is exposed to the key.
    pub share: Share,
    pub trust: Trust,
}

/// The exposures of all vaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExposureIndex {
    pub(super) keys: Keys,
    pub(super) vaults: BTreeMap<VaultKey, VaultExposure>,
}

impl ExposureIndex {
    /// Builds the index directly from mappings; mappings of a vault to the same key add up.
    pub fn from_mappings(vaults: impl IntoIterator<Item = (VaultKey, Vec<Mapping>)>) -> Self {
        let vaults: Vec<_> = vaults.into_iter().collect();
        let all = vaults.iter().flat_map(|(_, mappings)| mappings);
        let keys = Keys::new(all.map(|it| (it.dimension, it.key.as_str())).collect());
        let exposure = |mappings: &[Mapping]| {
            let mut shares = ExposedShares::new();
            for mapping in mappings {
                if let Some(slot) = keys.slot(mapping.dimension, &mapping.key) {
                    add(&mut shares, slot, ExposedShare::new(mapping.share, mapping.trust));
                }
            }
            VaultExposure { shares: shares.into_iter().collect(), completeness: Completeness::ALL }
        };
        let vaults = vaults.iter().map(|(vault, mappings)| (vault.clone(), exposure(mappings))).collect();
        ExposureIndex { keys, vaults }
    }

    /// The number of vaults.
    pub fn len(&self) -> usize {
        self.vaults.len()
    }

    pub fn is_empty(&self) -> bool {
        self.vaults.is_empty()
    }
}
