//! Baskets, and the versions of the rules that they are made by.

use super::fact::observations;
use super::{Percent, Points};
use rds_shared::model::basket::ConstituentType;
use rds_shared::rules::baskets::definition::{Caps, Definition, EligibilityRule, Weighting};
use rds_shared::rules::tiers::Tier;
use rds_shared::scoring::Ppm;
use rds_shared::scoring::asset::{AssetCategory, ReviewStatus};
use serde::{Deserialize, Serialize};

observations! {
    /// A basket. What is in it follows from its rules, and is never observed.
    Basket in "basket" by [id] {
        /// Slug.
        id: String,
        /// For display.
        name: String,
        /// What it is made of; never changes.
        constituent_type: ConstituentType,
        /// Whether `in_basket_a` of assets tells of it.
        #[serde(default)]
        is_basket_a: bool,
    }

    /// One version of a basket's rules, in force from `observed_at` on, until a later one is.
    BasketMethodology in "basket_methodology" by [basket_id, version] {
        /// The basket.
        basket_id: String,
        /// Slug: what the rules of this name say never changes.
        version: String,
        /// In words.
        summary: String,
        /// Where it is written down.
        doc_url: Option<String>,
        /// Who may be in.
        #[serde(default)]
        eligibility_rule: Eligibility,
        /// A name at or under this score has no weight.
        pivot: Points,
        /// A basket of fewer names is not built.
        min_constituents: i32,
        /// No name weighs more.
        #[serde(rename(deserialize = "single_name_pct"), serialize_with = "Percent::as_ppm")]
        single_name: Percent,
        /// All names of an issuer together weigh no more.
        #[serde(rename(deserialize = "issuer_pct"), serialize_with = "Percent::as_ppm")]
        issuer: Percent,
        /// A name that would weigh less is left out.
        #[serde(rename(deserialize = "floor_pct"), serialize_with = "Percent::as_ppm")]
        floor: Percent,
    }
}

/// Who may be in: an empty list or a null bound asks nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Eligibility {
    /// The asset's category, or that of a vault's deposit asset.
    pub asset_category: Vec<AssetCategory>,
    /// How far that asset has been reviewed.
    pub review_status: Vec<ReviewStatus>,
    /// The category of what stands at the end of its chain of underlyings.
    pub terminal_underlying_category: Vec<AssetCategory>,
    /// The least part of that one's backing that is held off chain.
    pub terminal_underlying_min_backing_offchain_pct: Option<Percent>,
    /// The published tier.
    pub tier: Vec<Tier>,
    /// Whole dollars.
    pub min_tvl_usd: Option<u64>,
    /// Whole days since it was deployed or first seen.
    pub min_age_days: Option<u32>,
    /// The part of the eligible names that may be of one protocol.
    pub max_per_protocol_pct: Option<Percent>,
}

impl Eligibility {
    /// The rule, as baskets are judged by it.
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
    /// The rules; none when the caps bound nothing or contradict each other.
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
