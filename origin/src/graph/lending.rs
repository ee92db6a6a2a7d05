//! Converts markets, their reserves, modes and feeds to the input of the breach preview.
//!
//! Everything supplied to a market, also to a closed reserve, may be collateral, so the supply is an upper bound of the collateral. The
//! collateral is valued only if every reserve has an observation, every reserve with a supply has a feed, and every asset that an
//! efficiency mode accepts is a reserve. Otherwise a partial valuation could overstate or understate a loss.
//!
//! Liquidation thresholds and bonuses are taken from the efficiency modes, which only relax a market's base values. They are known only if,
//! for each reserve with a supply, a mode accepts the asset. The protocol of a pair reports supplies and borrows but never the collateral,
//! so a pair's collateral is unknown.

use super::facts::Registry;
use rds_shared::graph::lending::{Collateral, LendingMarket, LendingVault};
use rds_shared::model::ids::{ChainId, VaultKey};
use rds_shared::model::market::MarketShape;
use rds_shared::scoring::decimal::from_float;
use rds_shared::wire::Timestamp;
use rds_store::graph::facts::{EmodeRow, GraphRows, MarketRow, ReserveRow};
use rds_store::registry::catalog::address;
use rds_store::{At, StoreError, decode_enum};
use std::collections::{BTreeSet, HashMap};

/// The largest integer that a double represents exactly, in cents: ninety trillion dollars.
const MAX_CENTS: i64 = 1 << 53;

/// The markets, by contract, and the latest observation time of their parts.
pub fn of(rows: &GraphRows, registry: &Registry<'_>) -> Result<(Vec<LendingMarket>, Option<Timestamp>), StoreError> {
    let mut reserves: HashMap<&str, Vec<&ReserveRow>> = HashMap::new();
    for reserve in &rows.reserves {
        reserves.entry(&reserve.contract).or_default().push(reserve);
    }
    let mut modes: HashMap<&str, Vec<&EmodeRow>> = HashMap::new();
    for mode in &rows.emodes {
        modes.entry(&mode.contract).or_default().push(mode);
    }
    let markets = rows.markets.iter().map(|row| {
        let contract = row.contract.as_str();
        let (reserves, modes) = (reserves.get(contract), modes.get(contract));
        market(row, reserves.map_or(&[], Vec::as_slice), modes.map_or(&[], Vec::as_slice), registry)
    });
    let markets = markets.collect::<Result<Vec<_>, _>>()?;
    let newest = markets.iter().map(|market| market.read_to).max();
    Ok((markets, newest))
}

fn market(
    row: &MarketRow,
    reserves: &[&ReserveRow],
    modes: &[&EmodeRow],
    registry: &Registry<'_>,
) -> Result<LendingMarket, StoreError> {
    let shape: MarketShape = decode_enum("market.shape", &row.shape)?;
    let debts: Vec<Option<i64>> = match shape {
        MarketShape::Pair => vec![row.total_borrowed_usd.and_then(cents)],
        MarketShape::Pool | MarketShape::Spoke => reserves.iter().map(|reserve| borrowed(reserve)).collect(),
    };
    let seen = reserves.iter().map(|reserve| reserve.seen_at).chain(modes.iter().map(|mode| mode.seen_at));
    let seen: BTreeSet<At> = seen.chain([row.seen_at]).collect();
    Ok(LendingMarket {
        contract: row.contract.clone(),
        name: row.name.clone(),
        protocol_id: row.protocol_id.clone(),
        chain_id: row.chain_id.unsigned_abs(),
        source: row.discovered_by.clone(),
        read_from: seen.first().copied().unwrap_or(row.seen_at).0,
        read_to: seen.last().copied().unwrap_or(row.seen_at).0,
        debt_cents: sum(debts.iter().copied().flatten()),
        is_debt_whole: !debts.is_empty() && debts.iter().all(Option::is_some),
        collateral: if shape == MarketShape::Pair { None } else { collateral(reserves, modes, registry) },
        vaults: reserves.iter().filter_map(|reserve| vault(reserve).transpose()).collect::<Result<_, _>>()?,
    })
}

/// The collateral; `None` if part of what may secure the debt is unknown.
fn collateral(reserves: &[&ReserveRow], modes: &[&EmodeRow], registry: &Registry<'_>) -> Option<Collateral> {
    let accepted: BTreeSet<&str> = modes.iter().flat_map(|mode| &mode.collateral_assets).map(String::as_str).collect();
    let supplied: BTreeSet<&str> = reserves.iter().map(|reserve| reserve.asset_address.as_str()).collect();
    if !accepted.is_subset(&supplied) {
        return None;
    }
    let value = |reserve: &&ReserveRow| {
        let cents = reserve.tvl_usd.and_then(cents)?;
        (cents == 0 || registry.is_priced(reserve)).then_some(cents)
    };
    let values: Vec<i64> = reserves.iter().map(value).collect::<Option<_>>()?;
    let is_accepted = |reserve: &ReserveRow| accepted.contains(reserve.asset_address.as_str());
    let are_read = reserves.iter().zip(&values).all(|(reserve, cents)| *cents == 0 || is_accepted(reserve));
    let accepting = || modes.iter().filter(|mode| are_read && !mode.collateral_assets.is_empty());
    let ppm = |fraction: f64| from_float(fraction, 6).unwrap_or(0);
    Some(Collateral {
        value_cents: sum(values)?,
        threshold_ppm: accepting().map(|mode| ppm(mode.liquidation_threshold)).max(),
        bonus_ppm: accepting().map(|mode| ppm(mode.liquidation_bonus)).min(),
    })
}

fn vault(reserve: &ReserveRow) -> Result<Option<LendingVault>, StoreError> {
    let Some(contract) = &reserve.vault_address else { return Ok(None) };
    let chain_id = ChainId(reserve.chain_id.unsigned_abs());
    Ok(Some(LendingVault {
        vault_key: VaultKey { chain_id, address: address("vault.address", contract.clone())? },
        supplied_cents: reserve.tvl_usd.and_then(cents),
        bad_debt_cents: reserve.bad_debt_usd.and_then(cents),
    }))
}

/// The amount borrowed from a reserve in whole cents: supply times utilization. `None` if one of the two is unknown;
/// 0 if the supply is 0, whatever the utilization.
fn borrowed(reserve: &ReserveRow) -> Option<i64> {
    let supplied = cents(reserve.tvl_usd?)?;
    if supplied == 0 {
        return Some(0);
    }
    let utilization = from_float(reserve.utilization?, 6).ok()?;
    let lent = i128::from(supplied) * i128::from(utilization.max(0)) / 1_000_000;
    Some(i64::try_from(lent).unwrap_or(MAX_CENTS).min(MAX_CENTS))
}

fn cents(usd: f64) -> Option<i64> {
    from_float(usd, 2).ok().filter(|cents| (0..=MAX_CENTS).contains(cents))
}

/// The sum, at most [`MAX_CENTS`]; `None` if there are no amounts.
fn sum(amounts: impl IntoIterator<Item = i64>) -> Option<i64> {
    amounts.into_iter().reduce(|sum, amount| sum.saturating_add(amount).min(MAX_CENTS))
}
