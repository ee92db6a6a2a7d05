//! Lending markets with their reserves: identity from the market's facts, figures from its member vaults.

use super::Vault;
use super::rows::NextRows;
use anyhow::Context;
use rds_shared::model::EncodedRow;
use rds_shared::model::ids::{Address, ChainId};
use rds_shared::model::market::{Market, MarketReserve, MarketShape, TotalsSource};
use rds_shared::model::status::{BorrowStatus, TvlStatus};
use rds_shared::read_model::markets;
use rds_shared::replica::{Family, Row};
use rds_shared::rules::markets::{MarketTotals, ReserveReading, by_supply, totals};
use rds_shared::wire::Timestamp;
use rds_store::markets::{MarketFacts, MarketRecord, ReserveRecord};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The served markets.
#[derive(Debug)]
pub struct Markets {
    facts: Arc<MarketFacts>,
    /// In byte order of ids.
    entries: Vec<MarketEntry>,
}

/// A served market.
#[derive(Debug)]
pub struct MarketEntry {
    pub row: Market,
    /// `row`, encoded.
    pub encoded: EncodedRow,
    /// Largest supply first, including reserves that are shut down.
    pub reserves: Vec<MarketReserve>,
    /// Key of the market's stored facts, `{chain_id}:{address}`.
    pub contract: String,
}

impl Markets {
    /// Joins markets with the vaults that `vault_at` returns for their reserves' tokens, and encodes the list. Pairs that their protocol does not
    /// list are left out.
    pub(super) fn build<'v>(
        facts: Arc<MarketFacts>,
        vault_at: impl Fn(ChainId, &Address) -> Option<&'v Vault>,
        rows: &mut NextRows,
    ) -> anyhow::Result<Self> {
        let is_served = |market: &&MarketRecord| market.shape != MarketShape::Pair || market.is_protocol_listed;
        let served: Vec<&MarketRecord> = facts.markets.iter().filter(is_served).collect();
        let entry = |market: &MarketRecord| {
            let records = facts.reserves.get(&market.contract).map_or(&[][..], Vec::as_slice);
            let members = records.iter().map(|record| Member {
                record,
                vault: record.token_address.as_ref().and_then(|token| vault_at(market.chain_id, token)),
            });
            // Reserves are left out if their vault is inactive and was not shut down.
            let members =
                members.filter(|member| member.vault.is_none_or(|vault| vault.is_active || vault.is_shutdown));
            MarketEntry::new(market, members.collect(), rows)
        };
        let entries = served.iter().map(|market| entry(market)).collect::<anyhow::Result<Vec<_>>>()?;
        let (entries, encoded) = entries.into_iter().unzip();
        rows.set(Family::Markets, encoded)?;
        Ok(Markets { facts: Arc::clone(&facts), entries })
    }

    /// The facts, for the next catalog.
    pub(super) fn facts(&self) -> Arc<MarketFacts> {
        Arc::clone(&self.facts)
    }

    /// The market with this id; letter case is ignored.
    pub fn get(&self, id: &str) -> Option<&MarketEntry> {
        let id = id.to_lowercase();
        self.entries.binary_search_by(|entry| entry.row.id.cmp(&id)).ok().and_then(|place| self.entries.get(place))
    }
}

/// A reserve with its vault row, if there is one.
struct Member<'a> {
    record: &'a ReserveRecord,
    vault: Option<&'a Vault>,
}

impl Member<'_> {
    fn supplied_usd(&self) -> Option<f64> {
        let row = &self.vault?.row;
        (row.tvl_status == TvlStatus::Observed).then_some(row.tvl_usd)
    }

    fn reading(&self) -> ReserveReading {
        ReserveReading {
            supplied_usd: self.supplied_usd(),
            utilization: self.vault.and_then(|vault| vault.row.utilization),
            rolls_up: self.vault.is_none_or(|vault| vault.is_active && !vault.is_shutdown),
        }
    }

    fn last_synced_at(&self) -> Timestamp {
        let vault = self.vault.and_then(|vault| vault.row.last_synced_at);
        vault.map_or(self.record.observed_at, |synced| synced.max(self.record.observed_at))
    }

    /// Statuses, capacity and rates are those of the vault row, so that market and vault routes agree. Without a vault row, statuses and
    /// capacity are derived from the reserve's gates, and rates are null.
    fn reserve(&self, chain_id: ChainId) -> MarketReserve {
        let record = self.record;
        let row = self.vault.map(|vault| &vault.row);
        MarketReserve {
            vault_id: row.map(|row| row.id.clone()),
            asset_symbol: record.asset_symbol.clone(),
            asset_address: record.asset_address.clone(),
            chain_id,
            supplied_usd: self.supplied_usd(),
            supply_apr: row.and_then(|row| row.apr_net),
            borrowed_usd: self.reading().borrowed_usd(),
            borrow_apr: row.and_then(|row| row.borrow_apr),
            borrow_apr_net: row.and_then(|row| row.borrow_apr_net),
            utilization: row.and_then(|row| row.utilization),
            fee_rate: record.fee_rate,
            borrow_status: row.map(|row| row.borrow_status).or(record.borrow_status).unwrap_or(BorrowStatus::Unknown),
            is_depositable: match row {
                Some(row) => row.is_depositable,
                None => record.deposit_status.and_then(|status| status.is_depositable()),
            },
            deposit_capacity_usd: match row {
                Some(row) => row.deposit_capacity_usd,
                None => record.deposit_capacity_usd,
            },
            risk_tier: row.and_then(|row| row.risk_tier),
            total_score: row.and_then(|row| row.total_score),
            is_shutdown: self.vault.is_some_and(|vault| vault.is_shutdown),
            token_address: record.token_address.clone(),
            hub_address: record.hub_address.clone(),
        }
    }
}

impl MarketEntry {
    /// The market, and its row in the list: the one in `rows` if it did not change.
    fn new(market: &MarketRecord, members: Vec<Member<'_>>, rows: &NextRows) -> anyhow::Result<(Self, Row)> {
        let (totals, totals_source) = match market.shape {
            MarketShape::Pair => (reported(market), TotalsSource::ProtocolApi),
            MarketShape::Pool | MarketShape::Spoke => {
                (totals(members.iter().map(Member::reading)), TotalsSource::Members)
            }
        };
        let last_synced_at = members.iter().map(Member::last_synced_at).fold(market.observed_at, Timestamp::max);
        let row = row_of(market, totals, totals_source, last_synced_at);
        let mut reserves: Vec<MarketReserve> = members.iter().map(|member| member.reserve(market.chain_id)).collect();
        // The sort is stable: reserves of equal supply stay in name order.
        reserves.sort_by(|a, b| by_supply(a.supplied_usd, b.supplied_usd));
        let listed = rows.kept(Family::Markets, markets::row(&row, &market.chain_slug)?);
        let encoded = markets::encoded(&listed).context("an encoded market cannot be read back")?;
        Ok((MarketEntry { encoded, row, reserves, contract: market.contract.clone() }, listed))
    }

    /// The hubs that the market or one of its reserves is known to draw from.
    pub fn hubs(&self) -> Vec<Address> {
        let named = self.row.hub_address.iter().chain(self.reserves.iter().filter_map(|it| it.hub_address.as_ref()));
        named.cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// A pair's totals as its protocol reports them.
fn reported(market: &MarketRecord) -> MarketTotals {
    let (supplied, borrowed) = (market.reported_supplied_usd, market.reported_borrowed_usd);
    MarketTotals {
        reserve_count: 0,
        supplied_observed_count: u64::from(supplied.is_some()),
        borrow_observed_count: u64::from(borrowed.is_some()),
        supplied_usd: supplied.unwrap_or(0.0),
        borrowed_usd: borrowed,
        utilization: borrowed.zip(supplied).filter(|(_, supplied)| *supplied > 0.0).map(|(lent, all)| lent / all),
    }
}

fn row_of(market: &MarketRecord, totals: MarketTotals, totals_source: TotalsSource, synced: Timestamp) -> Market {
    Market {
        id: market.id.clone(),
        protocol_id: market.protocol_id.clone(),
        protocol_version: market.protocol_version.clone(),
        protocol_name: market.protocol_name.clone(),
        chain_id: market.chain_id,
        chain_name: market.chain_name.clone(),
        market_key: market.market_key.clone(),
        name: market.name.clone(),
        address: market.address.clone(),
        hub_address: market.hub_address.clone(),
        source: market.discovered_by,
        totals_source,
        reserve_count: totals.reserve_count,
        borrow_observed_count: totals.borrow_observed_count,
        total_supplied_usd: totals.supplied_usd,
        total_borrowed_usd: totals.borrowed_usd,
        utilization: totals.utilization,
        loan_asset_symbol: market.loan_asset_symbol.clone(),
        collateral_asset_symbol: market.collateral_asset_symbol.clone(),
        lltv: market.lltv,
        is_protocol_listed: market.is_protocol_listed,
        last_synced_at: synced,
        shape: market.shape,
        supplied_observed_count: totals.supplied_observed_count,
    }
}
