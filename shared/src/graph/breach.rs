//! Breach preview: what a fall of all collateral would do to lending markets, as far as their totals can say.
//!
//! Positions of borrowers are not observed, so that a market is judged as if it were one loan: what comes out are floors. The
//! projected loss is what the whole collateral could not cover once liquidators had their bonus; at least so much debt is
//! liquidatable as stands above the highest threshold, and at most all of it. Debt that was read in part, or whose collateral
//! could not be valued whole, is told apart and is in none of this: it is unknown, not zero.
//!
//! Source: interface, "Graph structures" (breach preview), which leaves the shapes of its elements open.

use super::lending::{Collateral, LendingMarket, LendingVault};
use crate::model::ids::VaultKey;
use crate::model::money::Cents;
use crate::scoring::Ppm;
use crate::wire::Timestamp;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

/// The version of the answer's shape.
pub const SCHEMA_VERSION: u32 = 2;
/// Falls of the price of all collateral against all debt, in percent.
pub const SHOCK_PCTS: [u32; 5] = [5, 10, 20, 30, 50];
/// Rows of the lists that name the greatest only.
const TOP: usize = 10;
const MATURITY: &str = "preview";
const MILLION: i128 = 1_000_000;

/// The preview of all markets. `protocols` is the whole answer; the members that tell of one protocol repeat its first entry
/// for former readers, and must not be added to anything.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "BreachPreview"))]
#[serde(rename_all = "camelCase")]
pub struct Preview<'a> {
    /// Which shape of the preview this is.
    pub schema_version: u32,
    /// Deprecated.
    pub observed_at: Option<Timestamp>,
    /// Deprecated.
    pub protocol_id: Option<&'a str>,
    /// Deprecated.
    pub source: Option<&'a str>,
    /// How far the method has come; the same for all protocols, so it may be read here.
    pub maturity: &'static str,
    /// The shocks that are computed, in percent; the same for all protocols, so they may be read here.
    pub shock_pcts: [u32; 5],
    /// Deprecated.
    pub chains: Vec<ChainBreach>,
    /// Deprecated.
    pub top_markets: Vec<MarketBreach<'a>>,
    /// By protocol and source; the greatest debt first.
    pub protocols: Vec<ProtocolBreach<'a>>,
}

/// One protocol's markets of one source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProtocolBreach<'a> {
    /// When the newest reading was made.
    pub observed_at: Timestamp,
    /// The protocol.
    pub protocol_id: &'a str,
    /// How its markets were found.
    pub source: &'a str,
    /// How far the method has come.
    pub maturity: &'static str,
    /// When the oldest reading was made.
    pub sweep_started_at: Timestamp,
    /// When the newest was.
    pub sweep_completed_at: Timestamp,
    /// The shocks that are computed, in percent.
    pub shock_pcts: [u32; 5],
    /// What the figures rest on.
    pub coverage: Coverage,
    /// All of its markets.
    #[serde(flatten)]
    pub totals: Totals,
    /// By chain.
    pub chains: Vec<ChainBreach>,
    /// The greatest debts.
    pub top_markets: Vec<MarketBreach<'a>>,
    /// The vaults that supply most.
    pub top_vault_exposures: Vec<VaultExposure<'a>>,
    /// Vaults that report bad debt, the greatest first.
    pub vault_bad_debt: Vec<VaultBadDebt<'a>>,
}

/// What the figures rest on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "BreachCoverage"))]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Markets are read at intervals, borrowers never.
    pub status: &'static str,
    /// How the figures are made.
    pub methodology: &'static str,
    /// Why they say no more.
    pub reason: &'static str,
    /// Markets there are.
    pub market_count: u64,
    /// Those whose debt was read whole: of every reserve.
    pub debt_read_count: u64,
    /// Those of them whose collateral could be valued whole too.
    pub priced_count: u64,
}

/// Debt, and what would become of it. US dollars.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Debt that was read whole and whose collateral is valued.
    pub priced_debt_usd: Cents,
    /// Debt that is in no projection: unknown, not zero, and at least so much where a reserve was not read.
    pub unpriced_debt_usd: Cents,
    /// One a shock, over the priced debt.
    pub shocks: Vec<Shock>,
}

/// What one fall would do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Shock {
    /// How far all collateral falls, in percent.
    pub shock_pct: u32,
    /// What the collateral could not cover: at least.
    pub projected_loss_usd: Cents,
    /// Bounds of what could be liquidated; no estimate of a loss.
    pub liquidatable_debt_min_usd: Cents,
    /// The upper one: how near each borrower stands to the threshold is not observed.
    pub liquidatable_debt_max_usd: Cents,
}

/// A chain's markets of one protocol.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChainBreach {
    /// The chain.
    pub chain_id: u64,
    /// Markets on it.
    pub market_count: u64,
    /// What is owed there.
    #[serde(flatten)]
    pub totals: Totals,
}

/// One market.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MarketBreach<'a> {
    /// Its id in `/v1/markets`.
    pub market_id: Option<&'a str>,
    /// Its name.
    pub name: &'a str,
    /// Its chain.
    pub chain_id: u64,
    /// Null when it could not be valued whole.
    pub collateral_usd: Option<Cents>,
    /// The highest liquidation threshold, as a fraction; null where not all of them were read.
    pub liquidation_threshold: Option<Ppm>,
    /// What is owed.
    #[serde(flatten)]
    pub totals: Totals,
}

/// What is supplied through a vault.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct VaultExposure<'a> {
    /// The vault.
    pub vault_key: &'a VaultKey,
    /// Its market.
    pub market_id: Option<&'a str>,
    /// What is supplied.
    pub supplied_usd: Cents,
}

/// Bad debt that a vault reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct VaultBadDebt<'a> {
    /// The vault.
    pub vault_key: &'a VaultKey,
    /// Its market.
    pub market_id: Option<&'a str>,
    /// As the vault reports it: what has happened, no projection.
    pub bad_debt_usd: Cents,
}

impl Collateral {
    /// What one fall does to a debt that stands against it.
    fn shock(&self, debt: i64, shock_pct: u32) -> Shock {
        let (debt, value) = (i128::from(debt), i128::from(self.value_cents));
        let left = value * i128::from(100_u32.saturating_sub(shock_pct)) / 100;
        // Where they were not read, no liquidator wants a bonus and no threshold is above the whole: less could not be lost.
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

/// Markets' ids in `/v1/markets`, by contract.
pub type MarketIds = BTreeMap<String, String>;

/// The preview of these markets.
pub fn preview<'a>(markets: &'a [LendingMarket], ids: &'a MarketIds) -> Preview<'a> {
    let mut groups: BTreeMap<(&str, &str), Vec<&LendingMarket>> = BTreeMap::new();
    for market in markets {
        groups.entry((&market.protocol_id, &market.source)).or_default().push(market);
    }
    let mut protocols: Vec<ProtocolBreach<'_>> =
        groups.into_values().filter_map(|group| protocol(&group, ids)).collect();
    // Stable: of equal debts by protocol and source.
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

/// Null without markets.
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
            methodology: "market-totals-1: each market as one loan against all that is supplied to it, which falls at once",
            reason: "positions of borrowers are not observed; figures of a loss are floors over markets whose debt and collateral are known whole",
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

/// The vaults of all markets, each with its market.
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
