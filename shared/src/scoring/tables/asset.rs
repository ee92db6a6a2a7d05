//! Numbers of the asset score: weights by category, overlays, hard-fail caps, cadences.

use super::mp;
use crate::scoring::MilliPoints;
use crate::scoring::asset::Dimension::{self, *};
use crate::scoring::asset::{AssetCategory, AttestationCadence, FreshnessStatus, HardFailFlag, ReviewStatus};

/// Value of a weighted dimension, or of a chain sub-score, without evidence: 2.50.
pub const MISSING_EVIDENCE: MilliPoints = mp(2500);
/// An asset is unscored when dimensions of more than this total weight (in percent) are missing.
pub const MAX_MISSING_WEIGHT: u32 = 40;
/// Value of an unscored underlying, dependency or exposure: 3.00.
pub const UNSCORED_COUNTS: MilliPoints = mp(3000);

/// Points subtracted for a lockup of at most this many days; the first step that fits applies.
pub const LOCKUP_STEPS: [(u32, MilliPoints); 3] = [(7, mp(500)), (30, mp(1000)), (u32::MAX, mp(1500))];
/// Minimum distance of a yield-bearing asset's score below the score of its underlying, in milli-points.
pub const YIELD_BEARING_BELOW: i32 = 250;
/// Maximum distance of an asset's score above the score of any of its dependencies, in milli-points.
pub const DEPENDENCY_ABOVE: i32 = 1000;
/// The chain multiplier when all four sub-scores are 0.
pub const CHAIN_FLOOR_PPM: u128 = 850_000;
/// Increase of the chain multiplier per milli-point of the sum of the four sub-scores: 15/4 ppm.
pub const CHAIN_GAIN: (u128, u128) = (15, 4);
/// Evidence older than one cadence multiplies the running score by 97/100.
pub const STALENESS_FACTOR: (u128, u128) = (97, 100);
/// Evidence older than this many cadences caps the score; the first step that is exceeded applies.
pub const STALENESS_CAPS: [(i64, MilliPoints); 2] = [(4, mp(4900)), (2, mp(7900))];

/// The cap of a review status.
pub const fn review_cap(status: ReviewStatus) -> MilliPoints {
    match status {
        ReviewStatus::Reviewed => MilliPoints::MAX,
        ReviewStatus::Provisional => mp(7900),
        ReviewStatus::Unreviewed => mp(4900),
    }
}

/// The cap of a hard-fail flag; ascending in the order of [`HardFailFlag::ALL`].
pub const fn hard_fail_cap(flag: HardFailFlag) -> MilliPoints {
    match flag {
        HardFailFlag::SanctionsExposure => MilliPoints::ZERO,
        HardFailFlag::ActiveExploit | HardFailFlag::IssuerDefault | HardFailFlag::MintKeyCompromise => mp(1000),
        HardFailFlag::DepegSevere => mp(2000),
        HardFailFlag::RedemptionSuspended | HardFailFlag::BridgeHalted | HardFailFlag::UnverifiedContract => mp(3000),
        HardFailFlag::EoaMintAuthority => mp(4000),
        HardFailFlag::DepegActive => mp(4900),
        HardFailFlag::AttestationOverdue => mp(6000),
    }
}

/// How long the cap of a flag remains after the flag was cleared, in days.
pub const fn hard_fail_cooldown_days(flag: HardFailFlag) -> i64 {
    match flag {
        HardFailFlag::SanctionsExposure
        | HardFailFlag::ActiveExploit
        | HardFailFlag::IssuerDefault
        | HardFailFlag::MintKeyCompromise => 30,
        _ => 7,
    }
}

/// The longest interval between two attestations, in seconds.
pub const fn attestation_cadence_seconds(cadence: AttestationCadence) -> i64 {
    match cadence {
        AttestationCadence::Daily => 86_400,
        AttestationCadence::Weekly => 604_800,
        AttestationCadence::Monthly => 2_678_400,
        AttestationCadence::Quarterly => 7_948_800,
        AttestationCadence::SemiAnnual => 15_897_600,
        AttestationCadence::Annual => 31_622_400,
    }
}
/// The freshness status of evidence at most this many cadences old; older evidence is expired.
pub const FRESHNESS: [(i64, FreshnessStatus); 3] =
    [(1, FreshnessStatus::Fresh), (2, FreshnessStatus::Aging), (4, FreshnessStatus::Stale)];
/// Evidence cadence without an attestation, for categories whose evidence is on chain: 7 days.
pub const ON_CHAIN_CADENCE_SECONDS: i64 = 604_800;
/// Evidence cadence without an attestation, for categories whose evidence is not on chain: 31 days.
pub const OFF_CHAIN_CADENCE_SECONDS: i64 = 2_678_400;

/// Largest deviation of the sum of the backing shares from one: 0.5 percent.
pub const BACKING_TOLERANCE_PPM: i64 = 5_000;
/// Delta-hedged share of the backing above which [`DELTA_HEDGE_MAX_DEPTH`] applies to a synthetic stablecoin: 50 percent.
pub const DELTA_HEDGE_LIMIT_PPM: i64 = 500_000;
/// Maximum value of the dimension `dependency_depth` in the review of a mostly delta-hedged synthetic stablecoin: 6.00.
pub const DELTA_HEDGE_MAX_DEPTH: MilliPoints = mp(6000);
/// A recomputed score is reconstructed in full if it differs from the stored one by at most this many milli-points.
pub const RECONSTRUCTION_TOLERANCE: u32 = 50;

/// The five dimensions from which an RWA headline is derived when no score is stored.
pub const RWA_CORE_DIMENSIONS: [Dimension; 5] =
    [IssuerCustody, ReserveTransparency, Redeemability, ProtocolSecurity, Liquidity];

/// A category's weights in percent, in the order of publication; they sum to 100. Empty for `unreviewed`, which is never scored.
pub const fn weights(category: AssetCategory) -> &'static [(Dimension, u8)] {
    match category {
        AssetCategory::Native => &[
            (ProtocolSecurity, 35),
            (Liquidity, 30),
            (GovernanceControls, 15),
            (OperatorQuality, 10),
            (Volatility, 10),
        ],
        AssetCategory::FiatBackedStablecoin => &[
            (IssuerCustody, 25),
            (ReserveTransparency, 20),
            (Redeemability, 20),
            (PegStability, 15),
            (Liquidity, 10),
            (GovernanceControls, 5),
            (ProtocolSecurity, 5),
        ],
        AssetCategory::CdpStablecoin => &[
            (ProtocolSecurity, 25),
            (PegStability, 20),
            (GovernanceControls, 15),
            (DependencyDepth, 15),
            (Redeemability, 10),
            (Liquidity, 10),
            (ReserveTransparency, 5),
        ],
        AssetCategory::SyntheticStablecoin => &[
            (PegStability, 20),
            (IssuerCustody, 20),
            (Redeemability, 15),
            (DependencyDepth, 15),
            (ReserveTransparency, 10),
            (ProtocolSecurity, 10),
            (Liquidity, 10),
        ],
        AssetCategory::Lst => &[
            (ProtocolSecurity, 25),
            (OperatorQuality, 20),
            (Redeemability, 15),
            (Liquidity, 15),
            (GovernanceControls, 15),
            (PegStability, 5),
            (DependencyDepth, 5),
        ],
        AssetCategory::Lrt => &[
            (ProtocolSecurity, 20),
            (DependencyDepth, 20),
            (OperatorQuality, 15),
            (Redeemability, 15),
            (GovernanceControls, 15),
            (Liquidity, 10),
            (PegStability, 5),
        ],
        AssetCategory::WrappedBtc => &[
            (IssuerCustody, 30),
            (BridgeMechanism, 25),
            (Redeemability, 15),
            (ReserveTransparency, 15),
            (Liquidity, 10),
            (GovernanceControls, 5),
        ],
        AssetCategory::WrappedCrypto => {
            &[(BridgeMechanism, 35), (IssuerCustody, 20), (ProtocolSecurity, 20), (Liquidity, 15), (Redeemability, 10)]
        }
        AssetCategory::GovernanceToken => {
            &[(Volatility, 30), (Liquidity, 30), (GovernanceControls, 20), (ProtocolSecurity, 20)]
        }
        AssetCategory::DefiDerivative => &[
            (DependencyDepth, 30),
            (ProtocolSecurity, 25),
            (Redeemability, 15),
            (Liquidity, 15),
            (GovernanceControls, 15),
        ],
        AssetCategory::TokenizedTreasury => &[
            (IssuerCustody, 25),
            (ReserveTransparency, 20),
            (Redeemability, 15),
            (RedemptionTerms, 10),
            (CreditQuality, 10),
            (ProtocolSecurity, 10),
            (Liquidity, 10),
        ],
        AssetCategory::TBillBackedStable => &[
            (IssuerCustody, 20),
            (ReserveTransparency, 20),
            (PegStability, 15),
            (Redeemability, 15),
            (ProtocolSecurity, 10),
            (Liquidity, 10),
            (RedemptionTerms, 5),
            (CreditQuality, 5),
        ],
        AssetCategory::RwaCredit => &[
            (CreditQuality, 20),
            (DefaultRate, 15),
            (RecoveryRate, 15),
            (IssuerCustody, 15),
            (ReserveTransparency, 10),
            (RedemptionTerms, 10),
            (SubadvisorConcentration, 5),
            (ProtocolSecurity, 5),
            (Liquidity, 5),
        ],
        AssetCategory::CommodityBacked => &[
            (IssuerCustody, 30),
            (ReserveTransparency, 25),
            (Redeemability, 15),
            (RedemptionTerms, 10),
            (Liquidity, 10),
            (ProtocolSecurity, 5),
            (GovernanceControls, 5),
        ],
        AssetCategory::TokenizedEquity => &[
            (IssuerCustody, 30),
            (Redeemability, 15),
            (ReserveTransparency, 15),
            (Liquidity, 15),
            (RedemptionTerms, 10),
            (Volatility, 10),
            (ProtocolSecurity, 5),
        ],
        AssetCategory::Unreviewed => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_of_every_category_but_unreviewed_sum_to_100_percent_without_duplicates() {
        for category in AssetCategory::ALL {
            let table = weights(*category);
            let total: u32 = table.iter().map(|(_, weight)| u32::from(*weight)).sum();
            assert_eq!(total, if *category == AssetCategory::Unreviewed { 0 } else { 100 }, "{category}");
            let distinct: std::collections::BTreeSet<_> = table.iter().map(|(dimension, _)| dimension).collect();
            assert_eq!(distinct.len(), table.len(), "{category}");
        }
    }

    #[test]
    fn hard_fail_caps_ascend_so_that_the_first_active_flag_is_the_lowest() {
        assert!(HardFailFlag::ALL.is_sorted_by_key(|flag| hard_fail_cap(*flag)));
    }
}
