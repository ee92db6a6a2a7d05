//! The inputs of an asset's score.

use super::{ChainSubScores, Dimensions, HardFailSet, Override};
use crate::scoring::canonical::{Canonical, Canonicalize};
use crate::scoring::{MilliPoints, named_enum};
use alloc::string::String;
use alloc::vec::Vec;

named_enum! {
    /// The kind of asset. It determines which dimensions count toward the score, and with what weight.
    pub enum AssetCategory {
        Native = "native",
        FiatBackedStablecoin = "fiat_backed_stablecoin",
        CdpStablecoin = "cdp_stablecoin",
        SyntheticStablecoin = "synthetic_stablecoin",
        Lst = "lst",
        Lrt = "lrt",
        WrappedBtc = "wrapped_btc",
        GovernanceToken = "governance_token",
        DefiDerivative = "defi_derivative",
        TokenizedTreasury = "tokenized_treasury",
        TBillBackedStable = "t_bill_backed_stable",
        RwaCredit = "rwa_credit",
        CommodityBacked = "commodity_backed",
        TokenizedEquity = "tokenized_equity",
        WrappedCrypto = "wrapped_crypto",
        /// The category has no weights, so its assets are never scored.
        Unreviewed = "unreviewed",
    }
}

impl AssetCategory {
    /// Whether the evidence behind the category is read from the chain rather than from attestations.
    pub const fn evidence_is_on_chain(self) -> bool {
        use AssetCategory::*;
        matches!(
            self,
            Native
                | CdpStablecoin
                | SyntheticStablecoin
                | Lst
                | Lrt
                | WrappedBtc
                | WrappedCrypto
                | GovernanceToken
                | DefiDerivative
        )
    }
}

named_enum! {
    /// The status of an asset's review; each status caps the score.
    pub enum ReviewStatus {
        Reviewed = "reviewed",
        Provisional = "provisional",
        Unreviewed = "unreviewed",
    }
}

/// Everything an asset's score depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetInput {
    /// The category, which determines the weights.
    pub category: AssetCategory,
    /// Values with two decimals. `None` means "no evidence" for a dimension that the category weights, and "not applicable" for any other
    /// dimension.
    pub dimensions: Dimensions,
    /// Days during which a holder cannot exit; 0 for none.
    pub lockup_days: u32,
    /// For a yield-bearing asset, the published score of its underlying: `Some(None)` if the underlying is unscored; `None` for any other
    /// asset.
    pub underlying: Option<Option<MilliPoints>>,
    /// Ids of the assets on which this asset depends, with their published scores, in the order of `dependency_chain`.
    pub dependencies: Vec<(String, Option<MilliPoints>)>,
    /// The chain's sub-scores: all four are `None` for a chain without a profile. `None` as a whole if no chain overlay applies.
    pub chain: Option<ChainSubScores>,
    /// Age of the evidence.
    pub age_seconds: i64,
    /// Interval in which the evidence should be renewed.
    pub cadence_seconds: i64,
    pub review_status: ReviewStatus,
    /// Greatest score by who can raise the asset's supply ([`supply_limit`](crate::scoring::rubric::supply_limit)); `None` for no limit.
    pub supply_ceiling: Option<MilliPoints>,
    /// Flags that are active or in cool-down, except those lifted by an override.
    pub hard_fail_flags: HardFailSet,
    /// The overrides in force, for publication only: `hard_fail_flags` already excludes the flags they lift.
    pub overrides: Vec<Override>,
}

impl AssetInput {
    /// A reviewed asset with fresh evidence; no overlay lowers its score.
    pub fn new(category: AssetCategory, dimensions: Dimensions) -> Self {
        AssetInput {
            category,
            dimensions,
            lockup_days: 0,
            underlying: None,
            dependencies: Vec::new(),
            chain: None,
            age_seconds: 0,
            cadence_seconds: super::cadence_seconds(category, None),
            review_status: ReviewStatus::Reviewed,
            supply_ceiling: None,
            hard_fail_flags: HardFailSet::default(),
            overrides: Vec::new(),
        }
    }
}

impl Canonicalize for AssetInput {
    fn canonical(&self) -> Canonical {
        let score = |score: Option<MilliPoints>| Canonical::from(score);
        Canonical::object([
            ("age_seconds", self.age_seconds.into()),
            ("cadence_seconds", self.cadence_seconds.into()),
            ("category", self.category.as_str().into()),
            ("chain", self.chain.map(|profile| Canonical::list(profile.map(score))).into()),
            (
                "dependencies",
                Canonical::list(
                    self.dependencies.iter().map(|(id, value)| Canonical::list([id.as_str().into(), score(*value)])),
                ),
            ),
            ("dimensions", Canonical::object(self.dimensions.iter().map(|(key, value)| (key.as_str(), score(value))))),
            ("hard_fail_flags", Canonical::list(self.hard_fail_flags.iter().map(|flag| flag.as_str().into()))),
            ("lockup_days", i64::from(self.lockup_days).into()),
            ("review_status", self.review_status.as_str().into()),
            ("supply_ceiling", self.supply_ceiling.into()),
            // A list with one element, so that an unscored underlying and a missing underlying have different hashes.
            ("underlying", self.underlying.map(|value| Canonical::list([score(value)])).into()),
        ])
    }
}
