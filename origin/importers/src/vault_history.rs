//! vault_history.jsonl.gz: daily price per share of listed vaults.

use super::adapter::{Adapter, Known, Observed};
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{IncentivesStatus, VaultState};
use rds_shared::model::status::{BorrowStatus, DepositStatus, WithdrawStatus};
use rds_shared::wire::Timestamp;
use rds_store::At;
use serde::Deserialize;

/// `source` of the observations; the file does not state one.
const SOURCE: &str = "yearn-ydaemon";

pub struct VaultHistory;

/// A row: one vault on one day.
#[derive(Deserialize)]
pub struct Row {
    chain_id: i64,
    address: String,
    date: Timestamp,
    price_per_share: String,
    total_assets: String,
    decimals: Option<u32>,
}

/// A raw amount in whole units; `None` if the text is not an amount.
fn whole_units(raw: &str, decimals: u32) -> Option<f64> {
    let raw: f64 = raw.parse().ok().filter(|raw: &f64| raw.is_finite() && *raw >= 0.0)?;
    Some(raw / 10_f64.powi(i32::try_from(decimals).ok()?))
}

impl Adapter for VaultHistory {
    const FILE: &'static str = "vault_history.jsonl.gz";
    type Row = Row;

    fn observe(&self, row: Row, known: &Known) -> Observed {
        let Some(vault) = known.vaults.get(&(row.chain_id, row.address)) else {
            return Observed::Skipped("the vault is not listed");
        };
        let Some(price) = row.decimals.and_then(|decimals| whole_units(&row.price_per_share, decimals)) else {
            return Observed::Skipped("the price has no known scale");
        };
        // Zero may mean that the assets were not read, so it counts as unknown.
        let assets = vault.asset_decimals.and_then(|decimals| whole_units(&row.total_assets, decimals));
        let assets = assets.filter(|assets| *assets > 0.0);
        Observed::As(vec![Observation::VaultState(VaultState {
            kind: Kind,
            observed_at: At(row.date),
            source: SOURCE.to_owned(),
            vault_id: vault.id.clone(),
            // The data set has no price of the deposit asset on that day.
            tvl_usd: None,
            tvl_native: assets,
            base_apr: None,
            utilization: None,
            borrow_apr: None,
            active_loans_usd: None,
            borrow_status: BorrowStatus::Unknown,
            incentives: IncentivesStatus::Unavailable,
            deposit_status: DepositStatus::Unknown,
            withdraw_status: WithdrawStatus::Unknown,
            deposit_capacity_usd: None,
            price_per_share: Some(price),
            bad_debt_usd: None,
            needs_risk_review: false,
        })])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::ListedVault;

    fn row(decimals: Option<u32>, total_assets: &str) -> Row {
        Row {
            chain_id: 1,
            address: "0xa".to_owned(),
            date: Timestamp::from_seconds(1_700_000_000),
            price_per_share: "1050000000000000000".to_owned(),
            total_assets: total_assets.to_owned(),
            decimals,
        }
    }

    fn observed(row: Row) -> Option<VaultState> {
        let vault = ListedVault { id: "yearn-1-0xa".to_owned(), asset_decimals: Some(6), listed_in: "list" };
        let mut known = Known::default();
        known.vaults.insert((1, "0xa".to_owned()), vault);
        match VaultHistory.observe(row, &known) {
            Observed::As(mut observations) => match observations.pop() {
                Some(Observation::VaultState(state)) => Some(state),
                _ => None,
            },
            Observed::Skipped(_) => None,
        }
    }

    #[test]
    fn share_and_asset_have_their_own_scale_and_no_price_is_invented() {
        let state = observed(row(Some(18), "2500000")).unwrap();
        assert_eq!((state.price_per_share, state.tvl_native, state.tvl_usd), (Some(1.05), Some(2.5), None));
    }

    #[test]
    fn assets_that_may_not_have_been_read_are_unknown() {
        assert_eq!(observed(row(Some(18), "0")).unwrap().tvl_native, None);
    }

    #[test]
    fn a_price_without_decimals_is_skipped() {
        assert_eq!(observed(row(None, "2500000")), None);
    }
}
