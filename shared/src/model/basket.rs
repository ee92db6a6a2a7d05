//! Baskets as the API serves them: the list, a version in full, and the histories of versions, changes and rules.
//!
//! What a version's content hash covers is served as it is hashed: `effective_from` has six fractional digits, scores and
//! weights are integers beside the numbers for readers.
//!
//! Source: interface, "Basket"; the shapes of constituents and analytics are ours.

use crate::model::content_hash::ContentHash;
use crate::model::version_signature::VersionSignature;
use crate::rules::baskets::analytics::Analytics;
use crate::rules::baskets::definition::{Caps, Definition, EligibilityRule, Weighting};
use crate::rules::baskets::refresh::{SCORE_DOWN, SCORE_UP, Trigger};
use crate::rules::baskets::version::{BasketVersion, ChangeSet, WeightChange};
use crate::rules::baskets::weights::Constituent;
use crate::scoring::number::Decimal;
use crate::scoring::{MilliPoints, Ppm, named_enum};
use crate::wire::time::{Micros, Timestamp};
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

named_enum! {
    /// What a basket is made of.
    pub enum ConstituentType {
        Vault = "vault",
        Asset = "asset",
    }
}

named_enum! {
    /// Whether a version is still to be relied on. That another one is in force takes nothing away from it.
    pub enum SupportStatus {
        Current = "current",
        /// It will be retired.
        Deprecated = "deprecated",
        /// Its address answers 410, and so does an instant at which it was in force.
        Retired = "retired",
    }
}

/// A basket with its version in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketRow {
    /// Id of the basket, as used in paths.
    pub id: String,
    /// For display; where a version's address or an instant is asked for, as it was called when the version was made.
    pub name: String,
    /// What it is made of.
    pub constituent_type: ConstituentType,
    /// Id of the basket version, such as `prime-vaults-v2`.
    pub version_id: String,
    /// From when that is in force, this instant included.
    pub effective_from: Micros,
    /// The SHA-256 of what the version is.
    pub content_hash: ContentHash,
    /// When a rebalance last made another version: this one. One that reproduces what is in force moves nothing that is shown.
    pub last_rebalanced_at: Timestamp,
}

/// One version of a basket in full.
///
/// At a version's own address everything is as it was when the version was made, so that the answer never changes: what became of its
/// support since is told by the basket's versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketDetail {
    /// The basket, as listed, with this version.
    #[serde(flatten)]
    pub basket: BasketRow,
    /// What asked for it.
    pub trigger_reason: Trigger,
    /// The version before it; null for the first.
    pub prior_version_id: Option<String>,
    /// The rules it was made by.
    pub methodology_version: String,
    /// Who signed it.
    #[serde(flatten)]
    pub signed: VersionSignature,
    /// When it was made.
    pub created_at: Timestamp,
    /// The rules themselves.
    pub methodology: Methodology,
    /// Who is in, by id.
    pub constituents: Vec<Shown>,
    /// How the weights are spread.
    pub analytics: Analytics,
    /// Whether it is still to be relied on; always `current` at the version's own address.
    pub support_status: SupportStatus,
    /// When it was deprecated; null at the version's own address.
    pub deprecated_at: Option<Timestamp>,
    /// When it was retired; null wherever the version is shown in full, for a retired one answers 410.
    pub retired_at: Option<Timestamp>,
    /// What follows it, where that was said; null at the version's own address.
    pub successor_version_id: Option<String>,
}

/// Rules as they are served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "BasketMethodology"))]
pub struct Methodology {
    /// The rules in one paragraph of plain text.
    pub summary: String,
    /// Who may be in.
    pub eligibility_rule: EligibilityRule,
    /// How they are weighed.
    pub weighting_rule: WeightingRule,
    /// When that is asked again.
    pub refresh_rule: RefreshRule,
    /// The bounds of a weight.
    pub caps: Caps,
    /// Name of the methodology version.
    pub version: String,
    /// Where it is written down.
    pub doc_url: Option<String>,
}

impl Methodology {
    /// The rules of `definition` with what is said of them.
    pub fn new(definition: &Definition, summary: String, doc_url: Option<String>) -> Self {
        let Weighting { pivot, caps, min_constituents } = definition.weighting;
        Methodology {
            summary,
            eligibility_rule: definition.eligibility.clone(),
            weighting_rule: WeightingRule { proportional_to: "score_above_pivot", pivot, min_constituents },
            refresh_rule: RefreshRule::PUBLISHED,
            caps,
            version: definition.methodology_version.clone(),
            doc_url,
        }
    }
}

/// How the eligible are weighed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WeightingRule {
    /// What the weights are proportional to, always `score_above_pivot`.
    pub proportional_to: &'static str,
    /// A name at or under it has no weight.
    pub pivot: MilliPoints,
    /// A basket of fewer names is not built.
    pub min_constituents: u32,
}

/// When a basket is asked for anew: the same for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefreshRule {
    /// When the scheduled rebalances happen, as plain text.
    pub calendar: &'static str,
    /// The reasons there are.
    pub triggers: &'static [Trigger],
    /// How far under its score of the last version a constituent falls, in points, before that asks.
    pub score_down: Decimal,
    /// How far above it rises; smaller rises are suppressed.
    pub score_up: Decimal,
}

impl RefreshRule {
    /// The rule.
    pub const PUBLISHED: Self = RefreshRule {
        calendar: "16:00 UTC on the last Monday-to-Friday of each quarter",
        triggers: Trigger::ALL,
        score_down: Decimal { units: SCORE_DOWN as i64, scale: 3 },
        score_up: Decimal { units: SCORE_UP as i64, scale: 3 },
    };
}

/// A constituent as it is shown. One on a withheld chain keeps its weight and loses everything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// As it is.
    Named(Constituent),
    /// Only how much of the basket it is.
    Withheld(Ppm),
}

impl Shown {
    /// These constituents, as far as they may be named.
    pub fn all(constituents: &[Constituent], is_withheld: impl Fn(&str) -> bool) -> Vec<Shown> {
        let shown = |it: &Constituent| match is_withheld(&it.id) {
            true => Shown::Withheld(it.weight),
            false => Shown::Named(it.clone()),
        };
        constituents.iter().map(shown).collect()
    }
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let weight = match self {
            Shown::Named(constituent) => return constituent.serialize(serializer),
            Shown::Withheld(weight) => weight,
        };
        let mut withheld = serializer.serialize_struct("Constituent", 6)?;
        for unnamed in ["id", "issuer", "score", "score_mp"] {
            withheld.serialize_field(unnamed, &None::<&str>)?;
        }
        withheld.serialize_field("weight", weight)?;
        withheld.serialize_field("weight_ppm", &weight.0)?;
        withheld.end()
    }
}

/// What a version is, apart from its constituents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketVersionRow {
    /// Id of the basket version, such as `prime-vaults-v2`.
    pub version_id: String,
    /// Id of the basket.
    pub basket_id: String,
    /// From when it is in force, this instant included.
    pub effective_from: Micros,
    /// What asked for it.
    pub trigger_reason: Trigger,
    /// The version before it; null for the first.
    pub prior_version_id: Option<String>,
    /// The rules it was made by.
    pub methodology_version: String,
    /// The SHA-256 of what it is.
    pub content_hash: ContentHash,
    /// Who signed it.
    #[serde(flatten)]
    pub signed: VersionSignature,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A version in the list of a basket's versions, with what is said of it by now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedBasketVersion {
    /// What it is.
    #[serde(flatten)]
    pub version: BasketVersionRow,
    /// Whether it is still to be relied on.
    // Additive to the interface, as are the fields after it.
    pub support_status: SupportStatus,
    /// When it was deprecated.
    pub deprecated_at: Option<Timestamp>,
    /// When it was retired.
    pub retired_at: Option<Timestamp>,
    /// What follows it, where that was said.
    pub successor_version_id: Option<String>,
}

impl BasketVersionRow {
    /// What the row's version is, with these constituents: what its content hash covers.
    pub fn content(&self, constituents: Vec<Constituent>) -> BasketVersion {
        BasketVersion {
            basket_id: self.basket_id.clone(),
            constituents,
            effective_from: self.effective_from.0,
            methodology_version: self.methodology_version.clone(),
            prior_version_id: self.prior_version_id.clone(),
        }
    }
}

/// What one version changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketChangeRow {
    /// Id of the basket version, such as `prime-vaults-v2`.
    pub version_id: String,
    /// The version before it; null for the first, in which everything is added.
    pub prior_version_id: Option<String>,
    /// From when it is in force.
    pub effective_from: Micros,
    /// What asked for it.
    pub trigger_reason: Trigger,
    /// What differs.
    #[serde(flatten)]
    pub changes: ShownChanges,
}

/// A [`ChangeSet`] as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShownChanges {
    /// In now and not before.
    pub added: Vec<Shown>,
    /// In before and not now, as they last were.
    pub removed: Vec<Shown>,
    /// In both, with another weight.
    pub weight_changed: Vec<ShownWeightChange>,
}

impl ShownChanges {
    /// These changes, as far as they may be named.
    pub fn new(changes: &ChangeSet, is_withheld: impl Fn(&str) -> bool) -> Self {
        let weight_changed = changes.weight_changed.iter().map(|WeightChange { id, previous_weight, weight }| {
            let id = (!is_withheld(id)).then(|| id.clone());
            ShownWeightChange { id, previous_weight: *previous_weight, weight: *weight }
        });
        ShownChanges {
            weight_changed: weight_changed.collect(),
            added: Shown::all(&changes.added, &is_withheld),
            removed: Shown::all(&changes.removed, &is_withheld),
        }
    }

    /// Ids of the constituents that are named.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let shown = self.added.iter().chain(&self.removed).filter_map(|shown| match shown {
            Shown::Named(constituent) => Some(constituent.id.as_str()),
            Shown::Withheld(_) => None,
        });
        shown.chain(self.weight_changed.iter().filter_map(|change| change.id.as_deref()))
    }
}

/// A constituent whose weight moved; without its name on a withheld chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShownWeightChange {
    /// Id of the constituent vault; null if its chain is withheld.
    pub id: Option<String>,
    /// Its weight in the version before.
    pub previous_weight: Ppm,
    /// Its weight now.
    pub weight: Ppm,
}

/// One version of a basket's rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketMethodologyRow {
    /// Name of the methodology version.
    pub version: String,
    /// Where it is written down.
    pub doc_url: Option<String>,
    /// The SHA-256 of the rules' canonical text.
    pub content_hash: ContentHash,
    /// From when it is in force.
    pub activated_at: Timestamp,
    /// When another one took its place.
    pub retired_at: Option<Timestamp>,
    /// Whether rebalances go by it now.
    pub is_active: bool,
}

/// What subscribers are told of a version: `basket.rebalanced`, `basket.version.deprecated`, `basket.version.retired`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketNotice {
    /// The version, as it is listed.
    #[serde(flatten)]
    pub version: BasketVersionRow,
    /// Whether it is still to be relied on.
    pub support_status: SupportStatus,
    /// When it was deprecated.
    pub deprecated_at: Option<Timestamp>,
    /// When it was retired.
    pub retired_at: Option<Timestamp>,
    /// What follows it, where that was said.
    pub successor_version_id: Option<String>,
    /// What it changed: of a rebalance alone.
    pub changes: Option<ShownChanges>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_on_a_withheld_chain_keeps_its_weight_and_nothing_else() {
        let constituent = |id: &str| Constituent {
            id: id.into(),
            issuer: "x".into(),
            score: MilliPoints::saturating(9000),
            weight: Ppm(500_000),
        };
        let shown = Shown::all(&[constituent("a"), constituent("b")], |id| id == "b");
        assert_eq!(
            serde_json::to_value(&shown).unwrap(),
            serde_json::json!([
                {"id": "a", "issuer": "x", "score": 9, "score_mp": 9000, "weight": 0.5, "weight_ppm": 500000},
                {"id": null, "issuer": null, "score": null, "score_mp": null, "weight": 0.5, "weight_ppm": 500000},
            ])
        );
    }
}
