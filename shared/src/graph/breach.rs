//! Breach preview: projected effect of a fall in collateral prices on lending markets, computed from market totals.
//!
//! Borrower positions are not observed, so each market is treated as one loan and the results are lower bounds. The projected
//! loss is the debt that the whole collateral does not cover after liquidators take their bonus. Liquidatable debt is at least
//! the debt above collateral times the highest threshold, and at most all debt. Debt that was read only in part, or whose
//! collateral could not be fully valued, is reported separately as unpriced: its loss is unknown, not zero.

use super::lending::{Collateral, LendingMarket, LendingVault};
use crate::model::ids::VaultKey;
use crate::model::money::Cents;
use crate::scoring::Ppm;
use crate::wire::Timestamp;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

/// Version of the response's schema.
pub const SCHEMA_VERSION: u32 = 2;
/// Falls in the price of all collateral relative to all debt, in percent.
pub const SHOCK_PCTS: [u32; 5] = [5, 10, 20, 30, 50];
/// Maximum number of rows of the `top…` lists.
const TOP: usize = 10;
const MATURITY: &str = "preview";
const MILLION: i128 = 1_000_000;

/// The preview of all markets. `protocols` is the complete answer. The deprecated members repeat its first entry for older
/// clients and must not be added to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "BreachPreview"))]
#[serde(rename_all = "camelCase")]
pub struct Preview<'a> {
    /// Version of this schema.
    pub schema_version: u32,
    /// Deprecated: `observedAt` of the first entry of `protocols`; null when there is none.
    pub observed_at: Option<Timestamp>,
    /// Deprecated: `protocolId` of the first entry of `protocols`; null when there is none.
    pub protocol_id: Option<&'a str>,
    /// Deprecated: `source` of the first entry of `protocols`; null when there is none.
    pub source: Option<&'a str>,
    /// Maturity of the method, `preview`; the same for all protocols.
    pub maturity: &'static str,
    /// Falls in collateral prices that are computed, in percent; the same for all protocols.
    pub shock_pcts: [u32; 5],
    /// Deprecated: `chains` of the first entry of `protocols`.
    pub chains: Vec<ChainBreach>,
    /// Deprecated: `topMarkets` of the first entry of `protocols`.
    pub top_markets: Vec<MarketBreach<'a>>,
    /// One entry per protocol and source, by debt descending.
    pub protocols: Vec<ProtocolBreach<'a>>,
}

/// A protocol's markets from one source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProtocolBreach<'a> {
    /// Time of the newest reading.
    pub observed_at: Timestamp,
    /// Id of the protocol.
    pub protocol_id: &'a str,
    /// How the markets were found: `protocol_api` or `onchain_rpc`.
    pub source: &'a str,
    /// Maturity of the method, `preview`.
    pub maturity: &'static str,
    /// Time of the oldest reading.
    pub sweep_started_at: Timestamp,
    /// Time of the newest reading.
    pub sweep_completed_at: Timestamp,
    /// Falls in collateral prices that are computed, in percent.
    pub shock_pcts: [u32; 5],
    /// How many markets the figures cover, and how they are computed.
    pub coverage: Coverage,
    /// Totals over all of the protocol's markets.
    #[serde(flatten)]
    pub totals: Totals,
    /// Totals per chain.
    pub chains: Vec<ChainBreach>,
    /// The ten markets with the largest debt, by debt descending.
    pub top_markets: Vec<MarketBreach<'a>>,
    /// The ten vaults that supply most, by amount descending.
    pub top_vault_exposures: Vec<VaultExposure<'a>>,
    /// All vaults that report bad debt, by amount descending.
    pub vault_bad_debt: Vec<VaultBadDebt<'a>>,
}

/// How many markets the figures cover, and how they are computed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "BreachCoverage"))]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Always `interval_sampled`: markets are read at intervals, borrower positions are not read.
    pub status: &'static str,
    /// Id and summary of the method.
    pub methodology: &'static str,
    /// The method's limitations.
    pub reason: &'static str,
    /// Number of markets.
    pub market_count: u64,
    /// Number of markets whose debt was read completely, for every reserve.
    pub debt_read_count: u64,
    /// Number of markets whose debt was read completely and whose collateral could be fully valued.
    pub priced_count: u64,
}

/// Debt and its projections, in US dollars.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Debt of markets whose debt was read completely and whose collateral is fully valued.
    pub priced_debt_usd: Cents,
    /// Debt that is not part of any projection. A lower bound where a reserve was not read; its projected loss is unknown, not zero.
    pub unpriced_debt_usd: Cents,
    /// Projection over the priced debt for each of `shockPcts`.
    pub shocks: Vec<Shock>,
}

/// Projected effect of one fall in collateral prices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Shock {
    /// Fall in the price of all collateral, in percent.
    pub shock_pct: u32,
    /// Lower bound of the debt that collateral would not cover, in US dollars.
    pub projected_loss_usd: Cents,
    /// Lower bound of the debt that could be liquidated, in US dollars; not a loss.
    pub liquidatable_debt_min_usd: Cents,
    /// Upper bound of the debt that could be liquidated, in US dollars: all priced debt, because borrowers' distances to their thresholds
    /// are not observed.
    pub liquidatable_debt_max_usd: Cents,
}

/// A protocol's markets on one chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChainBreach {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: u64,
    /// Number of markets on the chain.
    pub market_count: u64,
    /// Totals over the protocol's markets on the chain.
    #[serde(flatten)]
    pub totals: Totals,
}

/// A market with its debt and projections.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MarketBreach<'a> {
    /// Id of the market in `/v1/markets`; null when it is not listed there.
    pub market_id: Option<&'a str>,
    /// Name of the market.
    pub name: &'a str,
    /// Chain id of the market.
    pub chain_id: u64,
    /// Value of everything supplied to the market, in US dollars; null unless all of it could be valued.
    pub collateral_usd: Option<Cents>,
    /// The highest liquidation threshold of the collateral, as a fraction; null when a threshold was not read.
    pub liquidation_threshold: Option<Ppm>,
    /// The market's totals.
    #[serde(flatten)]
    pub totals: Totals,
}

/// The amount supplied to a market through a vault.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct VaultExposure<'a> {
    /// The vault, as `{chain_id}:{address}`.
    pub vault_key: &'a VaultKey,
    /// Id of the market in `/v1/markets`; null when it is not listed there.
    pub market_id: Option<&'a str>,
    /// Amount supplied, in US dollars.
    pub supplied_usd: Cents,
}

/// Bad debt reported by a vault.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct VaultBadDebt<'a> {
    /// The vault, as `{chain_id}:{address}`.
    pub vault_key: &'a VaultKey,
    /// Id of the market in `/v1/markets`; null when it is not listed there.
    pub market_id: Option<&'a str>,
    /// Bad debt as reported by the vault, in US dollars: realised, not projected.
    pub bad_debt_usd: Cents,
}

impl Collateral {
    /// Effect of one fall in the collateral's price on `debt`, in cents.
    fn shock(&self, debt: i64, shock_pct: u32) -> Shock {
        let (debt, value) = (i128::from(debt), i128::from(self.value_cents));
        let left = value * i128::from(100_u32.saturating_sub(shock_pct)) / 100;
        // Missing values default to a bonus of 0 and a threshold of 100 %, which keeps the results lower bounds.
        let bonus = i128::from(self.bonus_ppm.unwrap_or(0).max(0));
        let threshold = self.threshold_ppm.map_or(MILLION, i128::from);
        let short_of = |worth: i128| Cents(i64::try_from((debt - worth).max(0)).unwrap_or(i64::MAX));
        Shock {
            shock_pct,
            projected_loss_usd: short_of(left * MILLION / (MILLION + bonus)),
            liquidatable_debt_min_usd: short_of(left * threshold / MILLION),
            liquidatable_debt_max_usd: short_of(0),
        }
    }
}

impl Totals {
    fn none() -> Self {
        let shocks = SHOCK_PCTS.map(|shock_pct| Shock { shock_pct, ..Shock::default() });
        Totals { shocks: shocks.into(), ..Totals::default() }
    }

    fn of(market: &LendingMarket) -> Self {
        let debt = market.debt_cents.unwrap_or(0);
        match market.collateral.as_ref().filter(|_| market.is_debt_whole) {
            None => Totals { unpriced_debt_usd: Cents(debt), ..Totals::none() },
            Some(collateral) => Totals {
                priced_debt_usd: Cents(debt),
                unpriced_debt_usd: Cents(0),
                shocks: SHOCK_PCTS.map(|shock_pct| collateral.shock(debt, shock_pct)).into(),
            },
        }
    }

    fn add(&mut self, other: &Totals) {
        let plus = |sum: &mut Cents, more: Cents| sum.0 = sum.0.saturating_add(more.0);
        plus(&mut self.priced_debt_usd, other.priced_debt_usd);
        plus(&mut self.unpriced_debt_usd, other.unpriced_debt_usd);
        for (sum, more) in self.shocks.iter_mut().zip(&other.shocks) {
            plus(&mut sum.projected_loss_usd, more.projected_loss_usd);
            plus(&mut sum.liquidatable_debt_min_usd, more.liquidatable_debt_min_usd);
            plus(&mut sum.liquidatable_debt_max_usd, more.liquidatable_debt_max_usd);
        }
    }

    fn debt(&self) -> i64 {
        self.priced_debt_usd.0.saturating_add(self.unpriced_debt_usd.0)
    }
}

/// Market ids in `/v1/markets`, by [`LendingMarket::contract`].
pub type MarketIds = BTreeMap<String, String>;

/// Computes the preview from all markets. A market without an entry in `ids` has a null `marketId`.
pub fn preview<'a>(markets: &'a [LendingMarket], ids: &'a MarketIds) -> Preview<'a> {
    let mut groups: BTreeMap<(&str, &str), Vec<&LendingMarket>> = BTreeMap::new();
    for market in markets {
        groups.entry((&market.protocol_id, &market.source)).or_default().push(market);
    }
    let mut protocols: Vec<ProtocolBreach<'_>> =
        groups.into_values().filter_map(|group| protocol(&group, ids)).collect();
    // The sort is stable: equal debts stay ordered by protocol and source.
    protocols.sort_by_key(|protocol| core::cmp::Reverse(protocol.totals.debt()));
    let first = protocols.first();
    Preview {
        schema_version: SCHEMA_VERSION,
        observed_at: first.map(|it| it.observed_at),
        protocol_id: first.map(|it| it.protocol_id),
        source: first.map(|it| it.source),
        maturity: MATURITY,
        shock_pcts: SHOCK_PCTS,
        chains: first.map(|it| it.chains.clone()).unwrap_or_default(),
        top_markets: first.map(|it| it.top_markets.clone()).unwrap_or_default(),
        protocols,
    }
}

/// The preview of one protocol's markets; `None` without markets.
fn protocol<'a>(markets: &[&'a LendingMarket], ids: &'a MarketIds) -> Option<ProtocolBreach<'a>> {
    let first = markets.first()?;
    let read_to = markets.iter().map(|market| market.read_to).max()?;
    let (mut totals, mut chains) = (Totals::none(), BTreeMap::<u64, ChainBreach>::new());
    for market in markets {
        let of_market = Totals::of(market);
        totals.add(&of_market);
        let none = || ChainBreach { chain_id: market.chain_id, market_count: 0, totals: Totals::none() };
        let chain = chains.entry(market.chain_id).or_insert_with(none);
        chain.market_count += 1;
        chain.totals.add(&of_market);
    }
    let count = |of: &dyn Fn(&LendingMarket) -> bool| markets.iter().filter(|market| of(market)).count() as u64;
    Some(ProtocolBreach {
        observed_at: read_to,
        protocol_id: &first.protocol_id,
        source: &first.source,
        maturity: MATURITY,
        sweep_started_at: markets.iter().map(|market| market.read_from).min()?,
        sweep_completed_at: read_to,
        shock_pcts: SHOCK_PCTS,
        coverage: Coverage {
            status: "interval_sampled",
            methodology: "market-totals-1: each market is treated as one loan against everything supplied to it, whose value falls at once",
            reason: "borrower positions are not observed; loss figures are lower bounds over markets whose debt and collateral are fully known",
            market_count: markets.len() as u64,
            debt_read_count: count(&|market| market.is_debt_whole),
            priced_count: count(&|market| market.is_debt_whole && market.collateral.is_some()),
        },
        totals,
        chains: chains.into_values().collect(),
        top_markets: top_markets(markets, ids),
        top_vault_exposures: top_vaults(markets, ids),
        vault_bad_debt: bad_debt(markets, ids),
    })
}

fn id_of<'a>(market: &LendingMarket, ids: &'a MarketIds) -> Option<&'a str> {
    ids.get(&market.contract).map(String::as_str)
}

fn top_markets<'a>(markets: &[&'a LendingMarket], ids: &'a MarketIds) -> Vec<MarketBreach<'a>> {
    let row = |market: &&'a LendingMarket| MarketBreach {
        market_id: id_of(market, ids),
        name: &market.name,
        chain_id: market.chain_id,
        collateral_usd: market.collateral.as_ref().map(|it| Cents(it.value_cents)),
        liquidation_threshold: market.collateral.as_ref().and_then(|it| it.threshold_ppm).map(Ppm),
        totals: Totals::of(market),
    };
    let debt = |market: &LendingMarket| market.debt_cents.unwrap_or(0);
    let mut owing: Vec<&&'a LendingMarket> = markets.iter().filter(|market| debt(market) > 0).collect();
    owing.sort_by(|a, b| debt(b).cmp(&debt(a)).then_with(|| a.contract.cmp(&b.contract)));
    owing.into_iter().take(TOP).map(row).collect()
}

fn vaults<'a>(markets: &[&'a LendingMarket]) -> impl Iterator<Item = (&'a LendingMarket, &'a LendingVault)> {
    markets.iter().copied().flat_map(|market| market.vaults.iter().map(move |vault| (market, vault)))
}

fn top_vaults<'a>(markets: &[&'a LendingMarket], ids: &'a MarketIds) -> Vec<VaultExposure<'a>> {
    let supplying = vaults(markets).filter_map(|(market, vault)| {
        let supplied_usd = Cents(vault.supplied_cents.filter(|cents| *cents > 0)?);
        Some(VaultExposure { vault_key: &vault.vault_key, market_id: id_of(market, ids), supplied_usd })
    });
    let mut rows: Vec<VaultExposure<'a>> = supplying.collect();
    rows.sort_by(|a, b| b.supplied_usd.cmp(&a.supplied_usd).then_with(|| a.vault_key.cmp(b.vault_key)));
    rows.truncate(TOP);
    rows
}

fn bad_debt<'a>(markets: &[&'a LendingMarket], ids: &'a MarketIds) -> Vec<VaultBadDebt<'a>> {
    let reporting = vaults(markets).filter_map(|(market, vault)| {
        let bad_debt_usd = Cents(vault.bad_debt_cents.filter(|cents| *cents > 0)?);
        Some(VaultBadDebt { vault_key: &vault.vault_key, market_id: id_of(market, ids), bad_debt_usd })
    });
    let mut rows: Vec<VaultBadDebt<'a>> = reporting.collect();
    rows.sort_by(|a, b| b.bad_debt_usd.cmp(&a.bad_debt_usd).then_with(|| a.vault_key.cmp(b.vault_key)));
    rows
}

#[cfg(test)]
#[path = "breach_tests.rs"]
mod tests;
