//! A basket version: immutable, identified by its content hash, and compared with its predecessor.

use super::weights::Constituent;
use crate::model::content_hash::ContentHash;
use crate::scoring::Ppm;
use crate::scoring::canonical::{Canonical, Canonicalize};
use crate::wire::time::{Micros, Timestamp};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::Serialize;

/// The fields of a basket version that its content hash covers.
///
/// Source: methodology, "Content hash".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasketVersion {
    pub basket_id: String,
    /// In any order, each id once.
    pub constituents: Vec<Constituent>,
    /// The version is in force from this instant on, inclusive.
    pub effective_from: Timestamp,
    /// Version of the rules under which the version was built.
    pub methodology_version: String,
    /// Id of the previous version; `None` for the first version.
    pub prior_version_id: Option<String>,
}

impl BasketVersion {
    /// SHA-256 of [`Canonicalize::canonical`]; clients can recompute it from the published fields.
    pub fn content_hash(&self) -> ContentHash {
        ContentHash::of(&self.canonical())
    }
}

impl Canonicalize for BasketVersion {
    fn canonical(&self) -> Canonical {
        let mut sorted: Vec<_> = self.constituents.iter().collect();
        sorted.sort_by(|a, b| a.id.cmp(&b.id));
        let constituent = |constituent: &Constituent| {
            Canonical::object([
                ("id", constituent.id.as_str().into()),
                ("issuer", constituent.issuer.as_str().into()),
                ("score_mp", constituent.score.into()),
                ("weight_ppm", constituent.weight.0.into()),
            ])
        };
        Canonical::object([
            ("basket_id", self.basket_id.as_str().into()),
            ("constituents", Canonical::list(sorted.into_iter().map(constituent))),
            ("effective_from", Canonical::Text(Micros(self.effective_from).to_string())),
            ("methodology_version", self.methodology_version.as_str().into()),
            ("prior_version_id", self.prior_version_id.as_deref().into()),
        ])
    }
}

/// Differences between a version and its predecessor; each list is sorted by id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChangeSet {
    /// Constituents of the new version only.
    pub added: Vec<Constituent>,
    /// Constituents of the previous version only, with their values in the previous version.
    pub removed: Vec<Constituent>,
    /// Constituents of both versions whose weight differs.
    pub weight_changed: Vec<WeightChange>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WeightChange {
    pub id: String,
    /// Weight in the previous version.
    pub previous_weight: Ppm,
    /// Weight in the new version.
    pub weight: Ppm,
}

impl ChangeSet {
    /// Compares the constituents of one version with the constituents of the next.
    pub fn between(before: &[Constituent], after: &[Constituent]) -> Self {
        let (old, new) = (by_id(before), by_id(after));
        let only_in = |here: &BTreeMap<&str, &Constituent>, there: &BTreeMap<&str, &Constituent>| {
            here.values().filter(|it| !there.contains_key(it.id.as_str())).map(|it| (*it).clone()).collect()
        };
        let weight_changed = new.values().filter_map(|now| {
            let previous_weight = old.get(now.id.as_str())?.weight;
            let change = || WeightChange { id: now.id.clone(), previous_weight, weight: now.weight };
            (previous_weight != now.weight).then(change)
        });
        ChangeSet { added: only_in(&new, &old), removed: only_in(&old, &new), weight_changed: weight_changed.collect() }
    }

    /// The ids of all constituents that were added, removed or reweighted.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let whole = self.added.iter().chain(&self.removed).map(|it| it.id.as_str());
        whole.chain(self.weight_changed.iter().map(|it| it.id.as_str()))
    }

    /// Whether both versions have the same constituents with the same weights.
    pub const fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.weight_changed.is_empty()
    }
}

fn by_id(constituents: &[Constituent]) -> BTreeMap<&str, &Constituent> {
    constituents.iter().map(|constituent| (constituent.id.as_str(), constituent)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoring::MilliPoints;

    fn constituent(id: &str, weight: i64) -> Constituent {
        Constituent { id: id.into(), issuer: "x".into(), score: MilliPoints::saturating(9000), weight: Ppm(weight) }
    }

    #[test]
    fn a_change_log_lists_added_removed_and_reweighted_constituents() {
        let before = [constituent("c", 300_000), constituent("a", 500_000), constituent("b", 200_000)];
        let after = [constituent("d", 100_000), constituent("b", 200_000), constituent("a", 700_000)];
        let changes = ChangeSet::between(&before, &after);
        assert_eq!(
            serde_json::to_value(&changes).unwrap(),
            serde_json::json!({
                "added": [{"id": "d", "issuer": "x", "score": 9, "score_mp": 9000, "weight": 0.1, "weight_ppm": 100000}],
                "removed": [{"id": "c", "issuer": "x", "score": 9, "score_mp": 9000, "weight": 0.3, "weight_ppm": 300000}],
                "weight_changed": [{"id": "a", "previous_weight": 0.5, "weight": 0.7}],
            })
        );
        let mut reordered = after.clone();
        reordered.reverse();
        assert!(ChangeSet::between(&after, &reordered).is_empty());
    }

    #[test]
    fn the_hash_covers_every_field_but_not_the_order_of_constituents() {
        let version = BasketVersion {
            basket_id: "b".into(),
            constituents: [constituent("a", 400_000), constituent("b", 600_000)].into(),
            effective_from: Timestamp::from_seconds(1_795_219_200),
            methodology_version: "m".into(),
            prior_version_id: None,
        };
        let hash = version.content_hash();
        let mut reordered = version.clone();
        reordered.constituents.reverse();
        assert_eq!(reordered.content_hash(), hash);
        let changes: [fn(&mut BasketVersion); 8] = [
            |version| version.basket_id.push('x'),
            |version| version.constituents[0].id.push('x'),
            |version| version.constituents[0].issuer.push('x'),
            |version| version.constituents[0].score = MilliPoints::saturating(8990),
            |version| version.constituents[0].weight = Ppm(400_001),
            |version| version.effective_from = Timestamp::from_micros(version.effective_from.as_micros() + 1),
            |version| version.methodology_version.push('x'),
            |version| version.prior_version_id = Some(String::new()),
        ];
        for change in changes {
            let mut changed = version.clone();
            change(&mut changed);
            assert_ne!(changed.content_hash(), hash, "{changed:?}");
        }
    }
}
