//! The platform vector: the protocol on which a vault runs, and the protocols on which that protocol depends.

use super::{PlatformInput, WorstDependency};
use crate::rules::tiers::{Tier, tier_of};
use crate::scoring::number::{MilliPoints, cents};
use crate::scoring::{decay, tables};

/// A dependency factor of one, in basis points.
const WHOLE_BP: u128 = 10_000;

/// The platform vector; null without version age, audits or strategy.
pub(super) fn score(input: &PlatformInput) -> Option<MilliPoints> {
    let factor = dependency_factor_bp(input.worst_dependency, input.dependencies);
    Some(cents(sum(input)? * u128::from(factor), 100 * WHOLE_BP))
}

/// The factor of the platform vector for this many dependencies, of which `worst` is the worst, in basis points.
pub fn dependency_factor_bp(worst: WorstDependency, dependencies: u32) -> u32 {
    let beyond = dependencies.saturating_sub(tables::FREE_DEPENDENCIES);
    tables::dependency_factor_bp(worst)
        .saturating_sub(beyond.saturating_mul(tables::DEPENDENCY_STEP_BP))
        .max(tables::DEPENDENCY_FLOOR_BP)
}

/// The tier of a protocol on which another protocol depends: the tier of its platform sum, without the dependency factor.
///
/// The factor is left out because it would make the definition recursive. `None` without version age, audits or strategy.
pub fn platform_sum_tier(input: &PlatformInput) -> Option<Tier> {
    Some(tier_of(cents(sum(input)?, 100)))
}

/// Weighted sum of maturity, audits, strategy and scale, in percent × milli-points.
fn sum(input: &PlatformInput) -> Option<u128> {
    let maturity = decay::MATURITY.grown(input.version_age_days?);
    let audits = audits(input.audits?, input);
    let strategy = tables::strategy_points(input.strategy?);
    let scale = tables::at_least(input.protocol_tvl_usd.unwrap_or(0), &tables::SCALE, tables::SCALE_BELOW);
    let parts = tables::PLATFORM_WEIGHTS.iter().zip([maturity, audits, strategy, scale]);
    Some(parts.map(|(weight, part)| weight * part.wide()).sum())
}

fn audits(number: u32, input: &PlatformInput) -> MilliPoints {
    if number == 0 {
        return MilliPoints::ZERO;
    }
    let most = tables::AUDITS.len() - 1;
    let counted = tables::AUDITS.get((number as usize).min(most)).copied();
    let base = counted.unwrap_or(MilliPoints::ZERO).get();
    let bounty = if input.bounty_usd.unwrap_or(0) >= tables::BOUNTY_USD { tables::BOUNTY_BONUS } else { 0 };
    let stale = if newest_audit_is_stale(input) { tables::STALE_AUDIT_LOSS } else { 0 };
    MilliPoints::saturating(i64::from(base + bounty - stale))
}

/// Whether the newest audit is older than two years, or undated.
pub(super) fn newest_audit_is_stale(input: &PlatformInput) -> bool {
    input.newest_audit_days.is_none_or(|days| days > tables::AUDIT_STALE_DAYS)
}

#[cfg(test)]
mod tests {
    use super::super::Strategy;
    use super::*;

    #[test]
    fn the_tier_of_a_dependency_ignores_its_own_dependencies() {
        let protocol = PlatformInput {
            version_age_days: Some(1300),
            audits: Some(6),
            newest_audit_days: Some(200),
            bounty_usd: Some(1_000_000),
            strategy: Some(Strategy::LendingPool),
            protocol_tvl_usd: Some(2_000_000_000),
            worst_dependency: WorstDependency::Known(Tier::Edge),
            dependencies: 9,
        };
        assert_eq!(platform_sum_tier(&protocol), Some(Tier::Prime));
        // The platform sum is 9.83, and the dependency factor has its minimum, 0.70.
        assert_eq!(score(&protocol).map(MilliPoints::get), Some(6880));
        assert_eq!(platform_sum_tier(&PlatformInput::default()), None);
    }
}
