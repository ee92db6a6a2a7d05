//! A basket's rules as data. The methodology version determines the rules.

use crate::model::content_hash::ContentHash;
use crate::rules::tiers::Tier;
use crate::scoring::asset::{AssetCategory, ReviewStatus};
use crate::scoring::canonical::{Canonical, Canonicalize};
use crate::scoring::number::Decimal;
use crate::scoring::{MilliPoints, Ppm};
use alloc::string::String;
use alloc::vec::Vec;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// One basket under one version of its methodology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub basket_id: String,
    /// Version of these rules; every basket version states the methodology version that it was built under.
    pub methodology_version: String,
    pub eligibility: EligibilityRule,
    pub weighting: Weighting,
}

impl Definition {
    /// SHA-256 of [`Canonicalize::canonical`]: equal hashes mean equal rules.
    pub fn content_hash(&self) -> ContentHash {
        ContentHash::of(&self.canonical())
    }
}

impl Canonicalize for Definition {
    fn canonical(&self) -> Canonical {
        let Weighting { pivot, caps, min_constituents } = self.weighting;
        let caps = [
            ("floor_ppm", caps.floor().0.into()),
            ("issuer_ppm", caps.issuer().0.into()),
            ("single_name_ppm", caps.single_name().0.into()),
        ];
        Canonical::object([
            ("basket_id", self.basket_id.as_str().into()),
            ("caps", Canonical::object(caps)),
            ("eligibility_rule", self.eligibility.canonical()),
            ("methodology_version", self.methodology_version.as_str().into()),
            ("min_constituents", min_constituents.into()),
            ("pivot_mp", pivot.into()),
        ])
    }
}

impl Canonicalize for EligibilityRule {
    fn canonical(&self) -> Canonical {
        let categories = |list: &[AssetCategory]| Canonical::list(list.iter().map(|it| it.as_str().into()));
        let share = |share: Option<Ppm>| share.map_or(Canonical::Null, |share| share.0.into());
        Canonical::object([
            ("asset_category", categories(&self.asset_category)),
            ("max_per_protocol_ppm", share(self.max_per_protocol)),
            ("min_age_days", self.min_age_days.map_or(Canonical::Null, Canonical::from)),
            ("min_tvl_usd", self.min_tvl_usd.map_or(Canonical::Null, Canonical::from)),
            ("review_status", Canonical::list(self.review_status.iter().map(|it| it.as_str().into()))),
            ("terminal_underlying_category", categories(&self.terminal_underlying_category)),
            ("terminal_underlying_min_backing_offchain_ppm", share(self.terminal_underlying_min_backing_offchain)),
            ("tier", Canonical::list(self.tier.iter().map(|it| it.as_str().into()))),
        ])
    }
}

/// Conditions a candidate must meet to be in the basket. An empty list or a null bound sets no condition. A candidate whose value is
/// unknown fails the condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EligibilityRule {
    /// Allowed categories of the asset; for a vault, of its deposit asset.
    pub asset_category: Vec<AssetCategory>,
    /// Allowed review statuses of the asset; for a vault, of its deposit asset.
    pub review_status: Vec<ReviewStatus>,
    /// Allowed categories of the asset at the end of the candidate's chain of underlyings.
    pub terminal_underlying_category: Vec<AssetCategory>,
    /// Minimum percentage of the terminal underlying's backing that is held off chain.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Decimal>"))]
    #[serde(rename = "terminal_underlying_min_backing_offchain_pct", serialize_with = "percent")]
    pub terminal_underlying_min_backing_offchain: Option<Ppm>,
    /// Allowed published tiers.
    pub tier: Vec<Tier>,
    /// Minimum TVL in whole USD.
    pub min_tvl_usd: Option<u64>,
    /// Minimum number of whole days since the candidate was first seen.
    pub min_age_days: Option<u32>,
    /// Maximum percentage of the eligible constituents, by count, that may belong to one protocol; one constituent is always allowed.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Decimal>"))]
    #[serde(rename = "max_per_protocol_pct", serialize_with = "percent")]
    pub max_per_protocol: Option<Ppm>,
}

/// How eligible candidates are weighted: in proportion to score − pivot, within the caps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weighting {
    /// A candidate with a score at or below the pivot has no weight.
    pub pivot: MilliPoints,
    pub caps: Caps,
    /// Minimum number of constituents; with fewer, no version is made.
    pub min_constituents: u32,
}

/// Bounds of the weights, in parts per million: a cap per constituent (`single_name`), a cap per issuer, and a floor per constituent. Both
/// caps are above 0 and at most 1,000,000; the floor is between 0 and `single_name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    single_name: u32,
    issuer: u32,
    floor: u32,
}

impl Weighting {
    /// The pivot of a basket of Prime constituents only: 7.00.
    pub const PRIME_PIVOT: MilliPoints = MilliPoints::saturating(7_000);
    /// The pivot of a basket of several tiers: 5.00.
    pub const MIXED_PIVOT: MilliPoints = MilliPoints::saturating(5_000);
}

impl Caps {
    /// A basket of vaults: at most 20 % per vault and 35 % per issuer, 2 % floor.
    pub const VAULTS: Self = Caps { single_name: 200_000, issuer: 350_000, floor: 20_000 };
    /// A basket of assets: at most 25 % per asset and 40 % per issuer, 2 % floor.
    pub const ASSETS: Self = Caps { single_name: 250_000, issuer: 400_000, floor: 20_000 };

    /// `None` when a cap is not in (0, 1] or the floor not in 0..=`single_name`.
    pub fn new(single_name: Ppm, issuer: Ppm, floor: Ppm) -> Option<Self> {
        let cap = |share: Ppm| u32::try_from(share.0).ok().filter(|ppm| (1..=1_000_000).contains(ppm));
        let (single_name, issuer) = (cap(single_name)?, cap(issuer)?);
        let floor = u32::try_from(floor.0).ok().filter(|ppm| *ppm <= single_name)?;
        Some(Caps { single_name, issuer, floor })
    }

    /// Maximum weight of one constituent.
    pub const fn single_name(self) -> Ppm {
        Ppm(self.single_name as i64)
    }

    /// Maximum combined weight of one issuer's constituents.
    pub const fn issuer(self) -> Ppm {
        Ppm(self.issuer as i64)
    }

    /// Minimum weight: a candidate that would have less is dropped.
    pub const fn floor(self) -> Ppm {
        Ppm(self.floor as i64)
    }
}

impl Serialize for Caps {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut caps = serializer.serialize_struct("Caps", 3)?;
        caps.serialize_field("single_name_pct", &in_percent(self.single_name()))?;
        caps.serialize_field("issuer_pct", &in_percent(self.issuer()))?;
        caps.serialize_field("floor_pct", &in_percent(self.floor()))?;
        caps.end()
    }
}

const fn in_percent(share: Ppm) -> Decimal {
    Decimal { units: share.0, scale: 4 }
}

fn percent<S: Serializer>(share: &Option<Ppm>, serializer: S) -> Result<S::Ok, S::Error> {
    share.map(in_percent).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_and_rules_are_published_in_percent() {
        assert_eq!(
            serde_json::to_string(&Caps::VAULTS).unwrap(),
            r#"{"single_name_pct":20,"issuer_pct":35,"floor_pct":2}"#
        );
        let rule = EligibilityRule { max_per_protocol: Some(Ppm(125_000)), ..EligibilityRule::default() };
        let published = serde_json::to_value(&rule).unwrap();
        assert_eq!(published["max_per_protocol_pct"], 12.5);
        assert!(published["terminal_underlying_min_backing_offchain_pct"].is_null());
    }

    #[test]
    fn a_change_to_any_rule_changes_the_hash() {
        let rules = Definition {
            basket_id: "b".into(),
            methodology_version: "m".into(),
            eligibility: EligibilityRule::default(),
            weighting: Weighting { pivot: MilliPoints::saturating(7000), caps: Caps::VAULTS, min_constituents: 5 },
        };
        let changes: [fn(&mut Definition); 13] = [
            |it| it.basket_id.push('x'),
            |it| it.methodology_version.push('x'),
            |it| it.weighting.pivot = MilliPoints::saturating(5000),
            |it| it.weighting.caps = Caps::ASSETS,
            |it| it.weighting.min_constituents = 4,
            |it| it.eligibility.asset_category.push(AssetCategory::Lst),
            |it| it.eligibility.review_status.push(ReviewStatus::Reviewed),
            |it| it.eligibility.terminal_underlying_category.push(AssetCategory::Lst),
            |it| it.eligibility.terminal_underlying_min_backing_offchain = Some(Ppm(1)),
            |it| it.eligibility.tier.push(Tier::Prime),
            |it| it.eligibility.min_tvl_usd = Some(1),
            |it| it.eligibility.min_age_days = Some(1),
            |it| it.eligibility.max_per_protocol = Some(Ppm(1)),
        ];
        let mut hashes = alloc::collections::BTreeSet::from([rules.content_hash()]);
        for change in changes {
            let mut changed = rules.clone();
            change(&mut changed);
            assert!(hashes.insert(changed.content_hash()), "{changed:?}");
        }
    }

    #[test]
    fn caps_out_of_range_or_below_the_floor_are_refused() {
        assert_eq!(Caps::new(Ppm(200_000), Ppm(350_000), Ppm(20_000)), Some(Caps::VAULTS));
        for (single_name, issuer, floor) in [
            (0, 350_000, 0),
            (200_000, 0, 0),
            (1_000_001, 350_000, 0),
            (200_000, -1, 0),
            (200_000, 350_000, 200_001),
            (200_000, 350_000, -1),
            (i64::MAX, 350_000, 0),
        ] {
            assert_eq!(Caps::new(Ppm(single_name), Ppm(issuer), Ppm(floor)), None);
        }
    }
}
