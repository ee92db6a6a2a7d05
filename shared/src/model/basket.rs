//! Baskets as the API serves them: the list, a version in full, and the histories of versions, changes and rules.
//!
//! Content that a version's hash covers is served as it is hashed: `effective_from` has six fractional digits, and scores and weights are also given as
//! integers. The API specification leaves the shapes of constituents and analytics open.

use crate::model::content_hash::ContentHash;
use crate::model::version_signature::VersionSignature;
use crate::rules::baskets::analytics::Analytics;
use crate::rules::baskets::definition::{Caps, Definition, EligibilityRule, Weighting};
use crate::rules::baskets::rebalance_triggers::{SCORE_DOWN, SCORE_UP, Trigger};
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
    /// Kind of a basket's constituents.
    pub enum ConstituentType {
        /// The constituents are vaults.
        Vault = "vault",
        /// The constituents are assets.
        Asset = "asset",
    }
}

named_enum! {
    /// Whether a basket version should still be used. A version that a newer one has succeeded keeps its status.
    pub enum SupportStatus {
        /// The version is supported.
        Current = "current",
        /// The version is still served, but will be retired.
        Deprecated = "deprecated",
        /// The version is no longer served: its URL answers 410, and so does a query for an instant at which it was in force.
        Retired = "retired",
    }
}

/// A basket with its current version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketRow {
    /// Id of the basket, as used in paths.
    pub id: String,
    /// Name, for display. For a version URL or a query for an instant, the name that the basket had when the version was made.
    pub name: String,
    /// Kind of the basket's constituents.
    pub constituent_type: ConstituentType,
    /// Id of the basket version, such as `prime-vaults-v2`.
    pub version_id: String,
    /// Instant from which the version is in force, inclusive.
    pub effective_from: Micros,
    /// SHA-256 of the canonical JSON of the version: its basket, constituents, `effective_from`, methodology version and predecessor.
    pub content_hash: ContentHash,
    /// Instant of the rebalance that made this version, equal to `effective_from`. A later rebalance that reproduces the version does not change this
    /// instant.
    pub last_rebalanced_at: Timestamp,
}

/// One version of a basket in full.
///
/// The response at a version's own URL never changes: it shows the version as it was made. Later changes of its support status are in the list of the
/// basket's versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketDetail {
    /// The fields of the list row, for this version.
    #[serde(flatten)]
    pub basket: BasketRow,
    /// Trigger of the rebalance that made the version.
    pub trigger_reason: Trigger,
    /// Id of the previous version; null for the first.
    pub prior_version_id: Option<String>,
    /// Name of the methodology version that the version was made under.
    pub methodology_version: String,
    /// The version's signature.
    #[serde(flatten)]
    pub signed: VersionSignature,
    /// Instant at which the version was made.
    pub created_at: Timestamp,
    /// The rules of the methodology version in `methodology_version`.
    pub methodology: Methodology,
    /// The constituents with their weights, in ascending order of id.
    pub constituents: Vec<Shown>,
    /// How the weights are spread.
    pub analytics: Analytics,
    /// Whether the version should still be used; always `current` at the version's own URL.
    pub support_status: SupportStatus,
    /// Instant of the deprecation; null if the version is not deprecated, and always null at the version's own URL.
    pub deprecated_at: Option<Timestamp>,
    /// Always null here, because a retired version answers 410.
    pub retired_at: Option<Timestamp>,
    /// Id of the version to use instead; null if none was named, and always null at the version's own URL.
    pub successor_version_id: Option<String>,
}

/// The rules of a basket in one methodology version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "BasketMethodology"))]
pub struct Methodology {
    /// The rules in one paragraph of plain text.
    pub summary: String,
    /// Conditions that a constituent must meet.
    pub eligibility_rule: EligibilityRule,
    /// How the weights are computed.
    pub weighting_rule: WeightingRule,
    /// When the basket is rebalanced.
    pub refresh_rule: RefreshRule,
    /// Largest weight of a name and of an issuer, and smallest weight of a name.
    pub caps: Caps,
    /// Name of the methodology version.
    pub version: String,
    /// URL of the methodology document; null if there is none.
    pub doc_url: Option<String>,
}

impl Methodology {
    /// The rules of `definition`, with their summary and the URL of their document.
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

/// How the eligible constituents are weighted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WeightingRule {
    /// What the weights are proportional to, always `score_above_pivot`.
    pub proportional_to: &'static str,
    /// Score, 0 to 10; a candidate with this score or a lower one gets no weight.
    pub pivot: MilliPoints,
    /// Minimum number of constituents; a basket with fewer is not built.
    pub min_constituents: u32,
}

/// When a basket is rebalanced; the rule is the same for all baskets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefreshRule {
    /// When the scheduled rebalances happen, as plain text.
    pub calendar: &'static str,
    /// All triggers of a rebalance, most severe first.
    pub triggers: &'static [Trigger],
    /// Drop of a constituent's score since the last version, in points, that triggers a rebalance.
    pub score_down: Decimal,
    /// Rise of a constituent's score since the last version, in points, that triggers a rebalance; smaller rises do not.
    pub score_up: Decimal,
}

impl RefreshRule {
    /// The rule in force.
    pub const PUBLISHED: Self = RefreshRule {
        calendar: "16:00 UTC on the last Monday-to-Friday of each quarter",
        triggers: Trigger::ALL,
        score_down: Decimal { units: SCORE_DOWN as i64, scale: 3 },
        score_up: Decimal { units: SCORE_UP as i64, scale: 3 },
    };
}

/// A constituent as served. For one on a withheld chain only the weight is shown; its other fields are null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// The constituent with all fields.
    Named(Constituent),
    /// The weight only, as a fraction of the basket.
    Withheld(Ppm),
}

impl Shown {
    /// The constituents as served; those for which `is_withheld` is true keep only their weight.
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
        for field in ["id", "issuer", "score", "score_mp"] {
            withheld.serialize_field(field, &None::<&str>)?;
        }
        withheld.serialize_field("weight", weight)?;
        withheld.serialize_field("weight_ppm", &weight.0)?;
        withheld.end()
    }
}

/// A basket version without its constituents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketVersionRow {
    /// Id of the basket version, such as `prime-vaults-v2`.
    pub version_id: String,
    /// Id of the basket.
    pub basket_id: String,
    /// Instant from which the version is in force, inclusive.
    pub effective_from: Micros,
    /// Trigger of the rebalance that made the version.
    pub trigger_reason: Trigger,
    /// Id of the previous version; null for the first.
    pub prior_version_id: Option<String>,
    /// Name of the methodology version that the version was made under.
    pub methodology_version: String,
    /// SHA-256 of the canonical JSON of the version: its basket, constituents, `effective_from`, methodology version and predecessor.
    pub content_hash: ContentHash,
    /// The version's signature.
    #[serde(flatten)]
    pub signed: VersionSignature,
    /// Instant at which the version was made.
    pub created_at: Timestamp,
}

/// A basket version and its current support status: a row of the list of versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedBasketVersion {
    /// The version without its constituents.
    #[serde(flatten)]
    pub version: BasketVersionRow,
    /// Whether the version should still be used.
    // `support_status`, `deprecated_at`, `retired_at` and `successor_version_id` are additive to the API specification.
    pub support_status: SupportStatus,
    /// Instant of the deprecation; null if the version was never deprecated.
    pub deprecated_at: Option<Timestamp>,
    /// Instant of the retirement; null if the version is not retired.
    pub retired_at: Option<Timestamp>,
    /// Id of the version to use instead; null if none was named.
    pub successor_version_id: Option<String>,
}

impl BasketVersionRow {
    /// The content that `content_hash` covers, with these constituents.
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

/// Differences between one version of a basket and the previous one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketChangeRow {
    /// Id of the basket version, such as `prime-vaults-v2`.
    pub version_id: String,
    /// Id of the previous version; null for the first, in which every constituent is added.
    pub prior_version_id: Option<String>,
    /// Instant from which the version is in force, inclusive.
    pub effective_from: Micros,
    /// Trigger of the rebalance that made the version.
    pub trigger_reason: Trigger,
    /// The differences.
    #[serde(flatten)]
    pub changes: ShownChanges,
}

/// Differences between two versions, as served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShownChanges {
    /// Constituents of this version that the previous one did not have.
    pub added: Vec<Shown>,
    /// Constituents that only the previous version had, with the score and weight they had there.
    pub removed: Vec<Shown>,
    /// Constituents of both versions whose weight differs.
    pub weight_changed: Vec<ShownWeightChange>,
}

impl ShownChanges {
    /// The changes as served; constituents for which `is_withheld` is true are not named.
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

    /// Ids of all constituents in the three lists, without the constituents on withheld chains, whose ids are not served.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let shown = self.added.iter().chain(&self.removed).filter_map(|shown| match shown {
            Shown::Named(constituent) => Some(constituent.id.as_str()),
            Shown::Withheld(_) => None,
        });
        shown.chain(self.weight_changed.iter().filter_map(|change| change.id.as_deref()))
    }
}

/// A change of one constituent's weight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShownWeightChange {
    /// Id of the vault or asset; null if its chain is withheld.
    pub id: Option<String>,
    /// Weight in the previous version, as a fraction of the basket.
    pub previous_weight: Ppm,
    /// Weight in this version, as a fraction of the basket.
    pub weight: Ppm,
}

/// One version of a basket's rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketMethodologyRow {
    /// Name of the methodology version.
    pub version: String,
    /// URL of the methodology document; null if there is none.
    pub doc_url: Option<String>,
    /// SHA-256 of the canonical JSON of the rules.
    pub content_hash: ContentHash,
    /// Instant from which the rules are in force.
    pub activated_at: Timestamp,
    /// Instant at which a newer methodology version replaced the rules; null while they are in force.
    pub retired_at: Option<Timestamp>,
    /// Whether rebalances use the rules now.
    pub is_active: bool,
}

/// Payload of the webhook events `basket.rebalanced`, `basket.version.deprecated` and `basket.version.retired`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketNotice {
    /// The version and its support status.
    #[serde(flatten)]
    pub listed: ListedBasketVersion,
    /// Differences from the previous version; null except in `basket.rebalanced`.
    pub changes: Option<ShownChanges>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constituent_on_a_withheld_chain_shows_its_weight_and_nothing_else() {
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
