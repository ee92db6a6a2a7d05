//! Baskets and the versions of their rules.

use super::fact::observations;
use super::{Percent, Points};
use rds_shared::model::basket::ConstituentType;
use rds_shared::rules::baskets::definition::{Caps, Definition, EligibilityRule, Weighting};
use rds_shared::rules::tiers::Tier;
use rds_shared::scoring::Ppm;
use rds_shared::scoring::asset::{AssetCategory, ReviewStatus};
use serde::{Deserialize, Serialize};

observations! {
    /// A basket. Its constituents follow from its rules and are never observed.
    Basket in "basket" by [id] {
        /// Slug that identifies the basket.
        id: String,
        /// Display name.
        name: String,
        /// Kind of constituents; never changes.
        constituent_type: ConstituentType,
        /// Whether `in_basket_a` of an asset refers to this basket.
        #[serde(default)]
        is_basket_a: bool,
    }

    /// One version of a basket's rules, in force from `observed_at` until a later version begins.
    BasketMethodology in "basket_methodology" by [basket_id, version] {
        /// Slug of the basket; a known basket.
        basket_id: String,
        /// Slug of the version; its rules never change.
        version: String,
        /// Description of the rules.
        summary: String,
        /// Link to the written methodology.
        doc_url: Option<String>,
        /// Conditions for a constituent.
        #[serde(default, deserialize_with = "rds_shared::wire::object::required")]
        eligibility_rule: Eligibility,
        /// A candidate with a score at or below the pivot gets no weight.
        pivot: Points,
        /// Minimum number of constituents; a basket with fewer is not built.
        min_constituents: i32,
        /// Maximum weight of one constituent.
        #[serde(rename(deserialize = "single_name_pct"), serialize_with = "Percent::as_ppm")]
        single_name: Percent,
        /// Maximum combined weight of one issuer's constituents.
        #[serde(rename(deserialize = "issuer_pct"), serialize_with = "Percent::as_ppm")]
        issuer: Percent,
        /// Minimum weight; a candidate with less is left out.
        #[serde(rename(deserialize = "floor_pct"), serialize_with = "Percent::as_ppm")]
        floor: Percent,
    }
}

/// Conditions for a constituent. An empty list or a null bound sets no condition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Eligibility {
    /// Allowed categories of the asset; for a vault, of its deposit asset.
    pub asset_category: Vec<AssetCategory>,
    /// Allowed review statuses of the asset; for a vault, of its deposit asset.
    pub review_status: Vec<ReviewStatus>,
    /// Allowed categories of the asset at the end of the chain of underlyings.
    pub terminal_underlying_category: Vec<AssetCategory>,
    /// Minimum part of the backing of the asset at the end of the chain of underlyings that is held off chain.
    pub terminal_underlying_min_backing_offchain_pct: Option<Percent>,
    /// Allowed published tiers.
    pub tier: Vec<Tier>,
    /// Minimum TVL in whole USD.
    pub min_tvl_usd: Option<u64>,
    /// Minimum age in whole days since deployment, or since first seen if the deployment date is unknown.
    pub min_age_days: Option<u32>,
    /// Maximum part of the eligible candidates that may belong to one protocol.
    pub max_per_protocol_pct: Option<Percent>,
}

impl Eligibility {
    /// The conditions in the form the rules evaluate.
    pub fn rule(&self) -> EligibilityRule {
        let share = |percent: Option<Percent>| percent.map(|Percent(ppm)| Ppm(ppm.into()));
        EligibilityRule {
            asset_category: self.asset_category.clone(),
            review_status: self.review_status.clone(),
            terminal_underlying_category: self.terminal_underlying_category.clone(),
            terminal_underlying_min_backing_offchain: share(self.terminal_underlying_min_backing_offchain_pct),
            tier: self.tier.clone(),
            min_tvl_usd: self.min_tvl_usd,
            min_age_days: self.min_age_days,
            max_per_protocol: share(self.max_per_protocol_pct),
        }
    }
}

impl BasketMethodology {
    /// The rules; `None` if the caps are out of range or contradict each other.
    pub fn definition(&self) -> Option<Definition> {
        let share = |Percent(ppm): Percent| Ppm(ppm.into());
        Some(Definition {
            basket_id: self.basket_id.clone(),
            methodology_version: self.version.clone(),
            eligibility: self.eligibility_rule.rule(),
            weighting: Weighting {
                pivot: self.pivot.0,
                caps: Caps::new(share(self.single_name), share(self.issuer), share(self.floor))?,
                min_constituents: u32::try_from(self.min_constituents).ok()?,
            },
        })
    }
}
