//! Available liquidity and deficit of a lending vault.

use crate::model::status::LiquidityStatus;

/// Liquidity of a lending vault at one instant, in USD. A point-in-time metric, not a withdrawal quote.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Liquidity {
    /// Supply that is not lent out; `None` exactly if the status is `Unknown`.
    pub available_usd: Option<f64>,
    /// Amount lent out beyond the supply; `None` exactly if the status is `Unknown`.
    pub deficit_usd: Option<f64>,
    pub status: LiquidityStatus,
}

impl Liquidity {
    /// The liquidity if readings are missing or the vault does not lend.
    pub const UNKNOWN: Liquidity =
        Liquidity { available_usd: None, deficit_usd: None, status: LiquidityStatus::Unknown };
}

/// The liquidity of a vault with supply `tvl_usd`, of which the fraction `utilization` is lent out.
///
/// `utilization` may exceed 1; only then is there a deficit, which is a distress signal and not proof of bad debt. An impossible
/// reading (not finite, or a negative TVL) counts as unknown.
pub fn liquidity(tvl_usd: Option<f64>, utilization: Option<f64>) -> Liquidity {
    let (Some(tvl), Some(utilization)) = (tvl_usd, utilization) else { return Liquidity::UNKNOWN };
    if !tvl.is_finite() || !utilization.is_finite() || tvl < 0.0 {
        return Liquidity::UNKNOWN;
    }
    let available = (tvl * (1.0 - utilization.clamp(0.0, 1.0))).max(0.0);
    let deficit = (tvl * (utilization - 1.0)).max(0.0);
    let status = if utilization > 1.0 {
        LiquidityStatus::Deficit
    } else if available > 0.0 {
        LiquidityStatus::Available
    } else {
        LiquidityStatus::Exhausted
    };
    Liquidity { available_usd: Some(available), deficit_usd: Some(deficit), status }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn known(tvl: f64, utilization: f64) -> (f64, f64, LiquidityStatus) {
        let found = liquidity(Some(tvl), Some(utilization));
        (found.available_usd.unwrap(), found.deficit_usd.unwrap(), found.status)
    }

    #[test]
    fn a_vault_lends_out_part_all_or_more_than_all() {
        assert_eq!(known(1_000.0, 0.75), (250.0, 0.0, LiquidityStatus::Available));
        assert_eq!(known(1_000.0, 1.0), (0.0, 0.0, LiquidityStatus::Exhausted));
        assert_eq!(known(1_000.0, 1.25), (0.0, 250.0, LiquidityStatus::Deficit));
    }

    #[test]
    fn an_empty_vault_is_exhausted_and_in_deficit_only_above_full_utilization() {
        assert_eq!(known(0.0, 0.0), (0.0, 0.0, LiquidityStatus::Exhausted));
        assert_eq!(known(0.0, 1.5), (0.0, 0.0, LiquidityStatus::Deficit));
    }

    #[test]
    fn a_missing_or_impossible_reading_is_unknown() {
        for (tvl, utilization) in [
            (None, Some(0.5)),
            (Some(1.0), None),
            (None, None),
            (Some(f64::NAN), Some(0.5)),
            (Some(1.0), Some(f64::INFINITY)),
            (Some(-1.0), Some(0.5)),
        ] {
            assert_eq!(liquidity(tvl, utilization), Liquidity::UNKNOWN);
        }
    }

    proptest! {
        #[test]
        fn the_status_always_agrees_with_the_amounts(tvl in 0.0..1e12f64, utilization in -0.5..3.0f64) {
            let (available, deficit, status) = known(tvl, utilization);
            prop_assert!(available >= 0.0 && available <= tvl && deficit >= 0.0);
            prop_assert!(available == 0.0 || deficit == 0.0);
            prop_assert_eq!(status == LiquidityStatus::Deficit, utilization > 1.0);
            prop_assert_eq!(status == LiquidityStatus::Available, available > 0.0);
        }
    }
}
