//! Strategies of the simulated aggregators: allocators deposit into other vaults, compounders run one strategy.

use super::moment::Moment;
use super::random::Random;
use super::source::SOURCE;
use super::vault::{Campaign, SimVault};
use rds_facts::fact::Kind;
use rds_facts::{VaultStrategy, YieldSource};
use rds_shared::model::status::{Breakdown, RewardSide, RewardType, YieldKind};

/// A compounder whose strategies have not been read.
const UNREAD: &str = "driftwick";
/// Hours before the end of the run at which allocators move a part of their first strategy's share to idle funds.
const REBALANCE_HOURS: u32 = 30;
/// The part that is moved at the rebalance, as a fraction of the vault.
const IDLE_SHARE: f64 = 0.15;
/// Compounding periods per year: daily.
const PERIODS: i32 = 365;

/// Whether allocators rebalance at `moment`. A run of `REBALANCE_HOURS` or fewer begins after the rebalance.
pub fn rebalanced_at(moment: Moment) -> bool {
    moment.in_the_last(REBALANCE_HOURS) && moment.before().is_some_and(|before| !before.in_the_last(REBALANCE_HOURS))
}

/// A vault's strategies at `moment`.
pub fn seen(vault: &SimVault, moment: Moment, seed: u64) -> Vec<VaultStrategy> {
    match vault.platform.breakdown {
        Some(Breakdown::Strategies) => allocator(vault, moment, seed),
        Some(Breakdown::Strategy) if vault.platform.id != UNREAD => vec![compounder(vault, moment, seed)],
        _ => Vec::new(),
    }
}

/// One strategy for each vault held, and one inactive strategy.
fn allocator(vault: &SimVault, moment: Moment, seed: u64) -> Vec<VaultStrategy> {
    let held = vault.exposures.iter().flatten().filter_map(|part| Some((part.vault_id.as_deref()?, part.share.0)));
    let mut all: Vec<VaultStrategy> = (0_u64..)
        .zip(held)
        .map(|(place, (held, ppm))| {
            let protocol = held.split('-').next().unwrap_or_default();
            // A twentieth of each share stays idle for withdrawals.
            let (target, share) = (f64::from(ppm) / 1e6, f64::from(ppm / 100 * 95) / 1e6);
            let rebalanced = place == 0 && moment.in_the_last(REBALANCE_HOURS);
            let share = if rebalanced { rounded((share - IDLE_SHARE).max(0.0)) } else { share };
            VaultStrategy {
                strategy_type: Some("vault_deposit".to_owned()),
                description: Some(format!("Deposits into {held}.")),
                share: Some(share),
                target_share: Some(target),
                last_report_at: Some(moment.days_before_start(1)),
                yield_sources: vec![YieldSource {
                    name: format!("Interest of {protocol}"),
                    kind: YieldKind::Interest,
                    protocol_id: Some(protocol.to_owned()),
                    apr: vault.market.base_apr,
                }],
                ..blank(vault, moment, seed, place, "Depositor", vault.market.base_apr)
            }
        })
        .collect();
    all.push(VaultStrategy {
        is_active: false,
        share: Some(0.0),
        target_share: Some(0.0),
        yield_sources: vec![YieldSource {
            name: "A pair that nobody names".to_owned(),
            kind: YieldKind::Unknown,
            protocol_id: None,
            apr: None,
        }],
        risk_flags: vec!["withdrawn".to_owned()],
        ..blank(vault, moment, seed, 99, "Former loop", None)
    });
    all
}

fn compounder(vault: &SimVault, moment: Moment, seed: u64) -> VaultStrategy {
    let kind = if vault.token.is_staked() { YieldKind::Staking } else { YieldKind::Interest };
    let own = YieldSource {
        name: format!("{} itself", vault.token.symbol),
        kind: if vault.market.base_apr.is_some_and(|apr| apr > 0.2) { YieldKind::Other } else { kind },
        protocol_id: None,
        apr: vault.market.base_apr,
    };
    let paid =
        vault.campaigns.iter().filter(|campaign| campaign.side == RewardSide::Supply).map(|campaign| YieldSource {
            name: campaign.id.replace('-', " "),
            kind: if campaign.reward_type == RewardType::TradingFee {
                YieldKind::TradingFees
            } else {
                YieldKind::Rewards
            },
            protocol_id: Some(vault.platform.id.to_owned()),
            apr: campaign.apr,
        });
    let rewards: f64 =
        vault.campaigns.iter().filter(|it| it.side == RewardSide::Supply).filter_map(|it: &Campaign| it.apr).sum();
    let mut risk_flags = Vec::new();
    if !vault.no_il {
        risk_flags.push("impermanent_loss".to_owned());
    }
    if rewards > vault.market.base_apr.unwrap_or(0.0) {
        risk_flags.push("reward_dependent".to_owned());
    }
    VaultStrategy {
        strategy_type: Some("compounder".to_owned()),
        description: Some("Sells rewards every day and adds the proceeds to the position.".to_owned()),
        share: Some(1.0),
        yield_sources: std::iter::once(own).chain(paid).collect(),
        risk_flags,
        ..blank(vault, moment, seed, 0, "Compounder", vault.market.base_apr.map(|apr| apr + rewards))
    }
}

fn blank(vault: &SimVault, moment: Moment, seed: u64, place: u64, name: &str, apr: Option<f64>) -> VaultStrategy {
    let address = Random::of(seed ^ vault.number.rotate_left(24), "strategy", place).address();
    VaultStrategy {
        kind: Kind,
        observed_at: moment.at(),
        source: SOURCE.to_owned(),
        vault_id: vault.id.clone(),
        strategy_id: address.clone(),
        address: Some(address),
        name: format!("{name} of {}", vault.name),
        strategy_type: None,
        description: None,
        is_active: true,
        share: None,
        target_share: None,
        apr: apr.map(rounded),
        apy: apr.map(|apr| rounded((1.0 + apr / f64::from(PERIODS)).powi(PERIODS) - 1.0)),
        performance_fee: Some(0.1),
        last_report_at: None,
        yield_sources: Vec::new(),
        risk_flags: Vec::new(),
        source_url: Some(format!("https://{}.example/strategies/{}", vault.platform.id, vault.number)),
    }
}

/// Rounds to the millionth, because the last bits of `powi` may differ between machines.
fn rounded(rate: f64) -> f64 {
    (rate * 1e6).round() / 1e6
}
