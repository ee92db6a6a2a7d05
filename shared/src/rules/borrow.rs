//! The cost of borrowing, net of the campaigns that pay borrowers.

use crate::model::status::{BorrowIncentiveStatus, RewardSide, RewardType};
use crate::model::vault::Reward;
use crate::scoring::vault::Strategy;

/// The result of one query of the incentive source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IncentiveReading<'a> {
    /// The vault has no borrow side.
    NotApplicable,
    /// The source did not answer, or its answer could not be mapped to this vault.
    Unavailable,
    /// The campaigns active now, on both sides.
    Checked(&'a [Reward]),
}

/// The borrow side of a vault row. Rates are fractions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BorrowCost {
    pub status: BorrowIncentiveStatus,
    /// Annual rate of all priced incentives; `None` if `status` is `Unavailable` or `NotApplicable`.
    pub reward_apr: Option<f64>,
    /// Gross borrow rate minus `reward_apr`; may be negative. `None` if either is unknown.
    pub apr_net: Option<f64>,
    /// Whether the reading contains token incentives or points for borrowers, even if a token incentive has no usable price.
    pub has_rewards: bool,
}

/// Whether vaults of this strategy have no borrow side, regardless of their readings: auto-compounding vaults, which sell rewards and add
/// the proceeds to a position in another vault.
pub const fn has_no_borrow_side(strategy: Strategy) -> bool {
    matches!(strategy, Strategy::AutoCompound)
}

/// The cost of borrowing at the gross quote `borrow_apr` under `reading`.
///
/// A token campaign without a usable price makes the whole reading `unavailable`, because a partial rebate would give a wrong cost.
/// Points never lower the cost. Trading-fee and strategy campaigns are ignored and do not make the status `observed`.
pub fn borrow_cost(borrow_apr: Option<f64>, reading: IncentiveReading<'_>) -> BorrowCost {
    let campaigns = match reading {
        IncentiveReading::NotApplicable => {
            return BorrowCost {
                status: BorrowIncentiveStatus::NotApplicable,
                reward_apr: None,
                apr_net: None,
                has_rewards: false,
            };
        }
        IncentiveReading::Unavailable => {
            return BorrowCost {
                status: BorrowIncentiveStatus::Unavailable,
                reward_apr: None,
                apr_net: None,
                has_rewards: false,
            };
        }
        IncentiveReading::Checked(campaigns) => campaigns,
    };
    let (mut rebate, mut has_rewards) = (Some(0.0), false);
    for campaign in campaigns.iter().filter(|campaign| campaign.side == RewardSide::Borrow) {
        match campaign.reward_type {
            RewardType::TokenIncentive => {
                has_rewards = true;
                rebate = rebate.zip(priced(campaign.apr)).map(|(sum, apr)| sum + apr);
            }
            RewardType::Points => has_rewards = true,
            RewardType::TradingFee | RewardType::Strategy => {}
        }
    }
    let status = match (rebate, has_rewards) {
        (None, _) => BorrowIncentiveStatus::Unavailable,
        (Some(_), true) => BorrowIncentiveStatus::Observed,
        (Some(_), false) => BorrowIncentiveStatus::None,
    };
    let apr_net = borrow_apr.filter(|apr| apr.is_finite()).zip(rebate).map(|(apr, rebate)| apr - rebate);
    BorrowCost { status, reward_apr: rebate, apr_net, has_rewards }
}

/// The campaign's rate if it is finite and not negative; any other rate counts as unpriced.
fn priced(apr: Option<f64>) -> Option<f64> {
    apr.filter(|apr| apr.is_finite() && *apr >= 0.0)
}

/// Interest paid by borrowers as a fraction of the whole supply, before fees; an estimate that ignores `borrow_status`.
///
/// `covered` states whether the vault is a money market; for other vaults the result is null.
pub fn gross_interest_apy(covered: bool, borrow_apr: Option<f64>, utilization: Option<f64>) -> Option<f64> {
    let (borrow_apr, utilization) = borrow_apr.zip(utilization).filter(|_| covered)?;
    Some(borrow_apr * utilization).filter(|apy| apy.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    fn campaign(side: RewardSide, reward_type: RewardType, apr: Option<f64>) -> Reward {
        Reward {
            side,
            token_symbol: None,
            token_address: None,
            apr,
            reward_type,
            source: "fixture".to_string(),
            campaign_id: None,
            source_url: None,
        }
    }

    fn borrower(reward_type: RewardType, apr: Option<f64>) -> Reward {
        campaign(RewardSide::Borrow, reward_type, apr)
    }

    #[test]
    fn priced_incentives_lower_the_cost_even_below_zero() {
        let rewards =
            [borrower(RewardType::TokenIncentive, Some(0.5)), borrower(RewardType::TokenIncentive, Some(0.25))];
        let cost = borrow_cost(Some(0.5), IncentiveReading::Checked(&rewards));
        assert_eq!(
            cost,
            BorrowCost {
                status: BorrowIncentiveStatus::Observed,
                reward_apr: Some(0.75),
                apr_net: Some(-0.25),
                has_rewards: true
            }
        );
    }

    #[test]
    fn points_count_as_rewards_but_do_not_lower_the_cost() {
        let cost = borrow_cost(Some(0.5), IncentiveReading::Checked(&[borrower(RewardType::Points, Some(0.0))]));
        assert_eq!(
            cost,
            BorrowCost {
                status: BorrowIncentiveStatus::Observed,
                reward_apr: Some(0.0),
                apr_net: Some(0.5),
                has_rewards: true
            }
        );
    }

    #[test]
    fn strategy_campaigns_and_supply_campaigns_do_not_change_the_cost() {
        let rewards = [
            borrower(RewardType::Strategy, Some(0.3)),
            campaign(RewardSide::Supply, RewardType::TokenIncentive, Some(0.2)),
        ];
        let cost = borrow_cost(Some(0.5), IncentiveReading::Checked(&rewards));
        assert_eq!(
            cost,
            BorrowCost {
                status: BorrowIncentiveStatus::None,
                reward_apr: Some(0.0),
                apr_net: Some(0.5),
                has_rewards: false
            }
        );
    }

    #[test]
    fn one_campaign_without_a_price_makes_the_net_cost_unknown() {
        for apr in [None, Some(f64::NAN), Some(-0.1)] {
            let rewards = [borrower(RewardType::TokenIncentive, Some(0.25)), borrower(RewardType::TokenIncentive, apr)];
            let cost = borrow_cost(Some(0.5), IncentiveReading::Checked(&rewards));
            assert_eq!(
                cost,
                BorrowCost {
                    status: BorrowIncentiveStatus::Unavailable,
                    reward_apr: None,
                    apr_net: None,
                    has_rewards: true
                }
            );
        }
    }

    #[test]
    fn an_unavailable_source_is_not_treated_as_no_campaigns() {
        let cost = borrow_cost(Some(0.5), IncentiveReading::Unavailable);
        assert_eq!((cost.status, cost.apr_net), (BorrowIncentiveStatus::Unavailable, None));
        let checked = borrow_cost(Some(0.5), IncentiveReading::Checked(&[]));
        assert_eq!((checked.status, checked.apr_net), (BorrowIncentiveStatus::None, Some(0.5)));
        let no_market = borrow_cost(None, IncentiveReading::NotApplicable);
        assert_eq!((no_market.status, no_market.reward_apr), (BorrowIncentiveStatus::NotApplicable, None));
    }

    #[test]
    fn only_auto_compounding_vaults_have_no_borrow_side() {
        let without: Vec<_> = Strategy::ALL.iter().filter(|it| has_no_borrow_side(**it)).collect();
        assert_eq!(without, [&Strategy::AutoCompound]);
    }

    #[test]
    fn gross_interest_needs_a_covered_market_and_both_inputs() {
        assert_eq!(gross_interest_apy(true, Some(0.5), Some(1.5)), Some(0.75));
        assert_eq!(gross_interest_apy(false, Some(0.5), Some(1.5)), None);
        assert_eq!(gross_interest_apy(true, None, Some(1.5)), None);
        assert_eq!(gross_interest_apy(true, Some(0.5), None), None);
    }
}
