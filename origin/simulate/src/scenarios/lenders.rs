//! Lending vaults: every state of a market, its gates and its campaigns.

use super::Cast;
use crate::design::Collateral;
use crate::vault::{Campaign, Control};
use rds_facts::IncentivesStatus;
use rds_shared::model::status::{BorrowStatus, DepositStatus, RewardSide, WithdrawStatus};
use rds_shared::scoring::vault::Oracle::{Custom, ExchangeRate, PullFeed, PushFeed, Twap};

/// Collateral of a conservative market.
const MAJORS: &[Collateral<'_>] =
    &[("deth", 45, PushFeed, 80), ("sdeth", 30, ExchangeRate, 80), ("dbtc", 25, PushFeed, 78)];
/// Collateral of a conservative market that lends ether.
const DOLLARS: &[Collateral<'_>] =
    &[("pny", 55, PushFeed, 86), ("flrn", 25, PushFeed, 80), ("spny", 20, ExchangeRate, 80)];

pub(super) fn enter(cast: &mut Cast) {
    pools(cast);
    pairs(cast);
}

fn pools(cast: &mut Cast) {
    let vault =
        cast.lending("Quillfish Penny Pool", "quillfish", "pny").aged(1_420).worth(412_000_000.0).against(MAJORS);
    let vault = vault.paying(Campaign::supply("penny-spring", "quill", 0.006));
    cast.quiet(vault.paying(Campaign::rebate("penny-borrow", "quill", Some(0.011))));

    // A rebate in a token without a price, so the cost of borrowing is unknown.
    let vault =
        cast.lending("Quillfish Ether Pool", "quillfish", "deth").aged(1_390).worth(266_000_000.0).against(DOLLARS);
    let vault = vault.yielding(0.021).paying(Campaign::rebate("ether-mystery", "shrd", None));
    cast.quiet(vault.reads(|market| {
        market.borrow = BorrowStatus::Capped;
        market.capacity_usd = None;
    }));

    let vault =
        cast.lending("Quillfish Florin Pool", "quillfish", "flrn").aged(980).worth(58_000_000.0).against(MAJORS);
    cast.quiet(vault.reads(|market| {
        market.borrow = BorrowStatus::Paused;
        market.deposits = DepositStatus::Closed;
        market.capacity_usd = Some(0.0);
        market.utilization = Some(0.62);
    }));

    let vault = cast.lending("Quillfish Staked Ether Pool", "quillfish", "sdeth").aged(760).worth(91_000_000.0);
    let vault = vault.against(&[("pny", 70, PushFeed, 86), ("deth", 30, PushFeed, 80)]).yielding(0.002);
    cast.quiet(vault.paying(Campaign::points("feathers", RewardSide::Supply)).reads(|market| {
        market.borrow = BorrowStatus::Disabled;
        market.borrow_apr = Some(0.0);
        market.utilization = Some(0.0);
    }));

    // In the last 36 hours of the run, more is borrowed than supplied.
    let vault = cast.lending("Quillfish Quill Pool", "quillfish", "quill").aged(610).worth(6_200_000.0).against(MAJORS);
    cast.with_story(vault.yielding(0.118), |vault, moment| {
        if moment.in_the_last(36) {
            vault.market.utilization = Some(1.043);
            vault.market.borrow = BorrowStatus::Paused;
            vault.market.withdrawals = WithdrawStatus::Closed;
            vault.market.borrow_apr = Some(0.64);
        }
    });

    let vault =
        cast.lending("Quillfish Bitcoin Pool", "quillfish", "dbtc").aged(890).worth(73_000_000.0).against(DOLLARS);
    cast.with_story(vault.yielding(0.034), |vault, moment| {
        vault.market.utilization = Some(if moment.in_the_last(5) { 1.0 } else { 0.88 });
        vault.market.borrow_apr = Some(if moment.in_the_last(5) { 0.29 } else { 0.052 });
    });

    // Shut down by its contracts; withdrawals still work.
    let mut vault = cast.lending("Quillfish Mirage Pool (retired)", "quillfish", "mrg").aged(700).worth(240_000.0);
    (vault.is_active, vault.is_shutdown) = (false, true);
    cast.quiet(vault.against(MAJORS).reads(|market| {
        market.borrow = BorrowStatus::Disabled;
        market.deposits = DepositStatus::Closed;
        market.capacity_usd = Some(0.0);
    }));

    // Its market could not be read.
    let mut vault = cast.lending("Quillfish Savings Penny Pool", "quillfish", "spny").aged(240).worth(3_900_000.0);
    vault.exposures = None;
    cast.quiet(vault.reads(|market| {
        (market.base_apr, market.utilization, market.borrow_apr) = (None, None, None);
        market.borrow = BorrowStatus::Unknown;
        market.incentives = IncentivesStatus::Unavailable;
        market.deposits = DepositStatus::Unknown;
        market.withdrawals = WithdrawStatus::Unknown;
        market.capacity_usd = None;
    }));
}

fn pairs(cast: &mut Cast) {
    // Loan asset and collateral are two forms of ether; borrowers' rewards exceed the borrow rate.
    let mut vault = cast.lending("Brambleway Ether / Staked Ether", "brambleway", "deth").aged(905).worth(47_000_000.0);
    vault = vault.against(&[("sdeth", 100, ExchangeRate, 94)]).yielding(0.019).controlled(Control::IMMUTABLE);
    vault.exposures.iter_mut().flatten().for_each(|part| part.same_peg = true);
    let vault = vault.paying(Campaign::rebate("loop", "quill", Some(0.031)));
    cast.quiet(vault.reads(|market| market.borrow_apr = Some(0.024)));

    // Nearly fully lent out during the whole run; the collateral has a custom oracle.
    let vault = cast.lending("Brambleway Penny / Restaked Ether", "brambleway", "pny").aged(330).worth(12_500_000.0);
    let vault = vault.against(&[("rdeth", 100, Custom, 86)]).yielding(0.094).controlled(Control::SOUND);
    cast.quiet(vault.reads(|market| (market.utilization, market.borrow_apr) = (Some(0.972), Some(0.118))));

    let vault = cast.lending("Brambleway Penny / Gold", "brambleway", "pny").aged(610).worth(22_000_000.0);
    cast.quiet(vault.against(&[("dgld", 100, PullFeed, 77)]).controlled(Control::IMMUTABLE));

    // An earlier exploit, with nearly all funds returned.
    let vault = cast.lending("Brambleway Penny / Bitcoin", "brambleway", "pny").aged(840).worth(31_000_000.0);
    cast.quiet(vault.against(&[("dbtc", 100, PushFeed, 86)]).controlled(Control::IMMUTABLE));

    // The review of its deposit asset is withdrawn and renewed.
    let vault = cast.lending("Brambleway Wisp / Ether", "brambleway", "wisp").aged(410).worth(4_700_000.0);
    cast.quiet(vault.against(&[("deth", 100, PushFeed, 86)]).controlled(Control::SOUND));

    // Its deposit asset was never reviewed.
    let vault = cast.lending("Brambleway Shard / Ether", "brambleway", "shrd").aged(75).worth(830_000.0);
    let vault = vault.against(&[("deth", 100, Twap, 92)]).paying(Campaign::points("splinters", RewardSide::Borrow));
    cast.quiet(vault.controlled(Control::SOUND));

    // The first audit of their protocol is published near the end of the run.
    let vault = cast.lending("Mothlamp Penny / Ether", "mothlamp", "pny").aged(140).worth(1_900_000.0);
    cast.quiet(vault.against(&[("deth", 100, PushFeed, 80)]).controlled(Control::SOUND));
    let vault = cast.lending("Mothlamp Florin / Bitcoin", "mothlamp", "flrn").aged(120).worth(640_000.0);
    cast.quiet(vault.against(&[("dbtc", 100, PullFeed, 77)]).controlled(Control::SOUND));
}
