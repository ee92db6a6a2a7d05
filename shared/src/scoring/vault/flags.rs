//! Flags: information about a vault that does not affect its score.

use super::platform::newest_audit_is_stale;
use super::{AssetMode, Exit, ExposuresStatus, Oracle, Signers, Source, Timelock, VaultInput, WorstDependency};
use crate::scoring::{named_enum, tables};
use alloc::vec::Vec;

named_enum! {
    /// An informational flag of a vault, which does not affect its score.
    pub enum Flag {
        /// The vault's exposures could not be read.
        ExposuresUnavailable = "exposures_unavailable",
        /// The newest audit that covers the deployed version is older than two years or undated.
        StaleAudit = "stale_audit",
        /// Less than half of the net rate is earned without rewards.
        RewardHeavy = "reward_heavy",
        /// Utilization is above 0.95.
        HighUtilization = "high_utilization",
        /// One exposure is above 60 % of a lending vault.
        SingleMarket = "single_market",
        /// A custom or unknown oracle prices at least 5 % of a lending vault.
        CustomOracle = "custom_oracle",
        /// The vault can be changed without a delay.
        UpgradeableNoTimelock = "upgradeable_no_timelock",
        /// The members of the exposures are known, but not their shares.
        UnknownShares = "unknown:shares",
        UnknownTimelock = "unknown:timelock",
        UnknownSigners = "unknown:signers",
        UnknownExit = "unknown:exit",
        UnknownSource = "unknown:source",
        UnknownDependency = "unknown:dependency",
        UnknownProtocolTvl = "unknown:protocol_tvl",
        UnknownVaultAge = "unknown:vault_age",
        UnknownDrawdown = "unknown:drawdown",
        /// The net rate is above 0.30 and above four times the median of comparable vaults.
        OutlierApr = "outlier_apr",
    }
}

/// The flags that follow from the vault's own inputs: all but [`Flag::OutlierApr`], which needs the rates of comparable vaults.
pub(super) fn raised(input: &VaultInput) -> Vec<Flag> {
    let (platform, control, history) = (&input.platform, &input.control, &input.history);
    let lending = input.asset_mode == AssetMode::Lending;
    let shares_known = input.exposures_status != ExposuresStatus::SharesUnknown;
    let total: u128 = input.exposures.iter().map(|exposure| u128::from(exposure.share_ppm)).sum();
    let any = |holds: &dyn Fn(u128, Oracle) -> bool| {
        lending
            && shares_known
            && input.exposures.iter().any(|exposure| holds(exposure.share_ppm.into(), exposure.oracle))
    };
    let conditions = [
        (Flag::ExposuresUnavailable, input.exposures_status == ExposuresStatus::Unavailable),
        (Flag::StaleAudit, platform.audits.is_some_and(|audits| audits > 0) && newest_audit_is_stale(platform)),
        (Flag::RewardHeavy, reward_heavy(input.base_apr_ppm, input.apr_net_ppm)),
        (Flag::HighUtilization, input.utilization_ppm.is_some_and(|ppm| ppm > tables::HIGH_UTILIZATION_PPM)),
        (Flag::SingleMarket, any(&|share, _| 10 * share > tables::SINGLE_MARKET_TENTHS * total)),
        (
            Flag::CustomOracle,
            any(&|share, oracle| {
                matches!(oracle, Oracle::Custom | Oracle::Unknown) && tables::CUSTOM_ORACLE_ONE_IN * share >= total
            }),
        ),
        (
            Flag::UpgradeableNoTimelock,
            control.timelock == Timelock::Seconds(0) && control.signers != Signers::Immutable,
        ),
        (Flag::UnknownShares, input.exposures_status == ExposuresStatus::SharesUnknown),
        (Flag::UnknownTimelock, control.timelock == Timelock::Unknown),
        (Flag::UnknownSigners, control.signers == Signers::Unknown),
        (Flag::UnknownExit, control.exit == Exit::Unknown),
        (Flag::UnknownSource, control.source == Source::Unknown),
        (Flag::UnknownDependency, platform.worst_dependency == WorstDependency::Unknown),
        (Flag::UnknownProtocolTvl, platform.protocol_tvl_usd.is_none()),
        (Flag::UnknownVaultAge, history.vault_age_days.is_none()),
        (Flag::UnknownDrawdown, history.drawdown_bp.is_none()),
    ];
    conditions.into_iter().filter(|(_, holds)| *holds).map(|(flag, _)| flag).collect()
}

fn reward_heavy(base_apr_ppm: Option<i64>, apr_net_ppm: Option<i64>) -> bool {
    match (base_apr_ppm, apr_net_ppm) {
        (Some(base), Some(net)) => net != 0 && tables::REWARD_HEAVY_ONE_IN * i128::from(base) < i128::from(net),
        _ => false,
    }
}

/// Whether a net rate is an outlier: above 0.30 and above four times the median of its peers. False with fewer than five peers.
///
/// `peers` are the net rates, in parts per million, of active vaults of the same asset and chain.
pub fn outlier_apr(apr_net_ppm: Option<i64>, peers: &[i64]) -> bool {
    let Some(apr) = apr_net_ppm.filter(|apr| *apr > tables::OUTLIER_APR_PPM) else { return false };
    if peers.len() < tables::OUTLIER_MIN_PEERS {
        return false;
    }
    let mut sorted = Vec::from(peers);
    sorted.sort_unstable();
    // With an even number of peers the median is the mean of the middle two; doubled here to avoid rounding.
    let middle = |place: usize| sorted.get(place).copied().map_or(0, i128::from);
    let twice_median = middle((sorted.len() - 1) / 2) + middle(sorted.len() / 2);
    2 * i128::from(apr) > tables::OUTLIER_TIMES_MEDIAN * twice_median
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_an_outlier_only_among_enough_peers_and_above_thirty_percent() {
        let peers = [50_000, 60_000, 70_000, 80_000, 90_000];
        assert!(!outlier_apr(Some(300_000), &peers));
        assert!(outlier_apr(Some(300_001), &peers));
        assert!(!outlier_apr(Some(5_000_000), &peers[1..]));
        // The median of six is half-way between the third and the fourth: 75 000, so the bound is 300 000.
        let six = [1, 2, 70_000, 80_000, 90_000, 100_000];
        assert!(outlier_apr(Some(300_001), &six));
        assert!(!outlier_apr(Some(300_001), &[1, 2, 70_000, 80_001, 90_000, 100_000]));
        assert!(!outlier_apr(None, &peers));
    }
}
