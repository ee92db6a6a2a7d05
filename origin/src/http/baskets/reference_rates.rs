//! `GET /v1/rates` and `/{symbol}`: reference rates of assets. Answered from the catalog, which contains no withheld chain.

use crate::catalog::LiveCatalog;
use crate::catalog::Vault;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use crate::http::exchange::encoded;
use rds_shared::model::reference_rate::{ExcludedVault, RateConstituent, ReferenceRate, ReferenceRateDetail};
use rds_shared::model::status::{DepositStatus, TvlStatus};
use rds_shared::route::routes;
use rds_shared::rules::reference_rates::{Counted, LeftOut, VaultReading, count, reference, shares};
use rds_shared::wire::{ApiError, Timestamp};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The rate of every symbol that an active vault accepts, by descending TVL, then by symbol.
pub fn list(live: &LiveCatalog, call: RouteCall<'_, routes::RateList>) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let mut symbols: BTreeMap<&str, Members<'_>> = BTreeMap::new();
    for vault in catalog.actives() {
        let spelling = vault.row.asset_symbol.as_deref();
        if let Some(symbol) = spelling.and_then(|spelling| catalog.symbols.of_spelling(spelling)) {
            symbols.entry(symbol).or_default().add(vault, call.now);
        }
    }
    let mut rates: Vec<ReferenceRate> =
        symbols.into_iter().map(|(symbol, members)| members.rate(symbol.to_owned())).collect();
    rates.sort_by_key(|rate| Reverse(rate.tvl_usd));
    encoded::data_with_body_etag(&call, catalog.version, &call.part(&rates))
}

/// The reference rate of one symbol, with its constituents and the excluded vaults.
pub fn by_symbol(live: &LiveCatalog, call: &Call) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let symbol = call.found.param(0).to_uppercase();
    let spellings = catalog.symbols.spellings(&symbol).unwrap_or_default();
    let is_of_symbol = |vault: &&Vault| vault.row.asset_symbol.as_ref().is_some_and(|text| spellings.contains(text));
    let mut members = Members::default();
    catalog.actives().filter(is_of_symbol).for_each(|vault| members.add(vault, call.now));
    if members.is_empty() {
        return Err(ApiError::not_found("asset symbol").into());
    }
    encoded::data_with_body_etag(call, catalog.version, &members.detail(symbol))
}

/// The active vaults of a symbol, by id.
#[derive(Default)]
struct Members<'a> {
    counted: Vec<(Counted, &'a Vault)>,
    left_out: Vec<(LeftOut, &'a Vault)>,
}

impl<'a> Members<'a> {
    fn add(&mut self, vault: &'a Vault, now: Timestamp) {
        match count(&reading(vault), now) {
            Ok(counted) => self.counted.push((counted, vault)),
            Err(why) => self.left_out.push((why, vault)),
        }
    }

    fn is_empty(&self) -> bool {
        self.counted.is_empty() && self.left_out.is_empty()
    }

    fn rate(&self, symbol: String) -> ReferenceRate {
        let counted: Vec<Counted> = self.counted.iter().map(|(counted, _)| *counted).collect();
        let read = self.counted.iter().filter_map(|(_, vault)| vault.row.last_synced_at);
        ReferenceRate::new(symbol, reference(&counted), self.left_out.len(), read)
    }

    fn detail(mut self, symbol: String) -> ReferenceRateDetail {
        let rate = self.rate(symbol);
        // The sort is stable: vaults of equal TVL stay in the order of their ids.
        self.counted.sort_by_key(|(counted, _)| Reverse(counted.tvl));
        let counted: Vec<Counted> = self.counted.iter().map(|(counted, _)| *counted).collect();
        let constituents = self.counted.iter().zip(shares(&counted)).map(|((counted, vault), share)| RateConstituent {
            vault_id: vault.row.id.clone(),
            chain_id: vault.row.chain_id,
            protocol_id: vault.row.protocol_id.clone(),
            total_score: vault.row.total_score,
            tvl_usd: counted.tvl,
            apr_net: counted.rate,
            share,
            read_at: vault.row.last_synced_at,
        });
        let excluded = self
            .left_out
            .iter()
            .map(|(reason, vault)| ExcludedVault { vault_id: vault.row.id.clone(), reason: *reason });
        ReferenceRateDetail { rate, constituents: constituents.collect(), excluded: excluded.collect() }
    }
}

/// The input of the rate rules for a vault.
fn reading(vault: &Vault) -> VaultReading {
    let row = &vault.row;
    VaultReading {
        tvl_usd: (row.tvl_status == TvlStatus::Observed).then_some(row.tvl_usd),
        apr_net: row.apr_net,
        read_at: row.last_synced_at,
        is_closed: row.deposit_status == DepositStatus::Closed,
        is_under_review: vault.needs_risk_review,
    }
}
