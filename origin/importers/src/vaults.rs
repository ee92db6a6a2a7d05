//! vaults.jsonl.gz: the listed vaults with their value at the time of reading. Their holdings were not read.

use super::adapter::{Adapter, Contract, Known, ListedVault, Observed};
use super::bridges::Bridges;
use super::exposures::Exposures;
use super::incidents::Incidents;
use super::vault_history::VaultHistory;
use super::vault_history_vaults::{Ended, VaultHistoryVaults};
use super::yield_vaults::YieldVaults;
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{Exposure, IncentivesStatus, Vault, VaultState};
use rds_shared::model::ids::{Address, ChainId, VaultId};
use rds_shared::model::status::{BorrowStatus, DepositStatus, WithdrawStatus};
use rds_shared::scoring::tables;
use rds_shared::scoring::vault::{AssetMode, Exit, ExposuresStatus, Source, Strategy};
use rds_shared::wire::Timestamp;
use rds_store::At;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap, HashSet};

#[derive(Default)]
pub struct Vaults {
    /// Vaults that were wound up, according to `vault_history_vaults.jsonl`.
    pub ended: HashMap<Contract, Ended>,
    /// Vaults whose exposures are derived from `vault_exposures.jsonl.gz`.
    pub exposed: HashSet<Contract>,
}

/// A listed vault.
#[derive(Deserialize)]
pub struct Row {
    chain_id: i64,
    address: String,
    name: String,
    symbol: String,
    protocol_slug: String,
    asset_symbol: Option<String>,
    asset_address: String,
    asset_decimals: u32,
    nav_native: f64,
    nav_usd: Option<f64>,
    mgmt_fee: Option<f64>,
    perf_fee: Option<f64>,
    first_seen: Timestamp,
    features: Vec<String>,
    flags: Vec<String>,
    observed_at: Timestamp,
    source: String,
}

/// The strategy that a feature tag implies. Ambiguous tags are not in the table.
const STRATEGY_OF_TAG: [(&str, Strategy); 16] = [
    // Each vault is one lending market.
    ("euler_like", Strategy::IsolatedLending),
    ("silo_like", Strategy::IsolatedLending),
    ("llamma_like", Strategy::IsolatedLending),
    // One pool that lends to everybody.
    ("fluid_like", Strategy::LendingPool),
    ("arcadia_finance_like", Strategy::LendingPool),
    // A curator spreads deposits over lending markets.
    ("morpho_like", Strategy::CuratedLending),
    // Rewards are sold and added to the position.
    ("harvest_finance", Strategy::AutoCompound),
    ("yearn_compounder_like", Strategy::AutoCompound),
    // Deposits go into other vaults.
    ("yearn_v3_like", Strategy::VaultOfVaults),
    ("summer_like", Strategy::VaultOfVaults),
    ("superform_like", Strategy::VaultOfVaults),
    ("autopool_like", Strategy::VaultOfVaults),
    ("kiln_metavault_like", Strategy::VaultOfVaults),
    // A curator moves the deposits from an account of its own choice.
    ("lagoon_like", Strategy::Offchain),
    // Depositors are the other side of leveraged trades.
    ("gains_like", Strategy::Leveraged),
    ("ostium_like", Strategy::Leveraged),
];

/// The strategy that the tags imply, with its tag; of several, the one with the fewest points.
fn strategy_of(features: &[String]) -> Option<(&'static str, Strategy)> {
    let named = STRATEGY_OF_TAG.into_iter().filter(|(tag, _)| features.iter().any(|feature| feature == tag));
    named.min_by_key(|(_, strategy)| tables::strategy_points(*strategy))
}

/// A vault's id; `None` if the address is invalid.
pub(super) fn vault_id(protocol: &str, chain_id: i64, address: &str) -> Option<String> {
    let (_, address) = Address::parse_any(address)?;
    Some(VaultId::new(protocol, ChainId(u64::try_from(chain_id).ok()?), &address).as_str().to_owned())
}

/// A vault that lends its deposit asset depends on that asset and on the collateral; any other holds assets.
const fn mode_of(strategy: Strategy) -> AssetMode {
    match strategy {
        Strategy::LendingPool | Strategy::IsolatedLending | Strategy::CuratedLending => AssetMode::Lending,
        Strategy::Savings
        | Strategy::AutoCompound
        | Strategy::VaultOfVaults
        | Strategy::Leveraged
        | Strategy::Offchain => AssetMode::Holdings,
    }
}

fn non_blank(text: String) -> Option<String> {
    (!text.trim().is_empty()).then_some(text)
}

impl Adapter for Vaults {
    const FILE: &'static str = "vaults.jsonl.gz";
    const NEEDED_BY: &'static [&'static str] = &[
        VaultHistoryVaults::FILE,
        YieldVaults::FILE,
        VaultHistory::FILE,
        Incidents::FILE,
        Bridges::FILE,
        Exposures::FILE,
    ];
    type Row = Row;

    fn learn(&self, row: &Row, known: &mut Known) {
        if let Some(id) = vault_id(&row.protocol_slug, row.chain_id, &row.address) {
            let vault = ListedVault { id, asset_decimals: Some(row.asset_decimals), listed_in: Self::FILE };
            known.list((row.chain_id, row.address.clone()), (row.chain_id, row.asset_address.clone()), vault);
        }
    }

    fn observe(&self, row: Row, known: &Known) -> Observed {
        // An invalid address is passed on, so that ingest reports the fault.
        let vault_id = vault_id(&row.protocol_slug, row.chain_id, &row.address).unwrap_or_else(|| row.address.clone());
        let ended = self.ended.get(&(row.chain_id, row.address.clone())).copied().unwrap_or_default();
        let state = state(&row, vault_id.clone());
        let is_exposed = self.exposed.contains(&(row.chain_id, row.address.clone()));
        let exposure = (!is_exposed).then(|| unread(row.observed_at, &row.source, vault_id));
        let vault = vault(row, ended, known);
        let observed = [Observation::Vault(Box::new(vault)), Observation::VaultState(state)];
        Observed::As(observed.into_iter().chain(exposure.map(Observation::Exposure)).collect())
    }
}

/// An exposure that says that the vault's holdings were not read.
pub(super) fn unread(observed_at: Timestamp, source: &str, vault_id: String) -> Exposure {
    Exposure {
        kind: Kind,
        observed_at: At(observed_at),
        source: source.to_owned(),
        vault_id,
        status: ExposuresStatus::Unavailable,
        basis: None,
        evidence: None,
        parts: Vec::new(),
    }
}

/// Only the value was read; rates, gates and the borrow side are unknown.
fn state(row: &Row, vault_id: String) -> VaultState {
    VaultState {
        kind: Kind,
        observed_at: At(row.observed_at),
        source: row.source.clone(),
        vault_id,
        tvl_usd: row.nav_usd,
        tvl_native: Some(row.nav_native),
        base_apr: None,
        utilization: None,
        borrow_apr: None,
        active_loans_usd: None,
        borrow_status: BorrowStatus::Unknown,
        incentives: IncentivesStatus::Unavailable,
        deposit_status: DepositStatus::Unknown,
        withdraw_status: WithdrawStatus::Unknown,
        deposit_capacity_usd: None,
        price_per_share: None,
        bad_debt_usd: None,
        needs_risk_review: false,
    }
}

/// The curator stays null, because a matching name is no proof.
fn vault(row: Row, ended: Ended, known: &Known) -> Vault {
    let strategy = strategy_of(&row.features);
    let mut evidence = BTreeMap::new();
    let mut derived = |field: &str, from: &str| evidence.insert(field.to_owned(), format!("{}: {from}", row.source));
    derived("first_seen_at", "first deposit or withdrawal seen (lower bound of the age)");
    if let Some((tag, _)) = strategy {
        derived("strategy", &format!("feature tag {tag}"));
    }
    let is_stablecoin = known.stablecoins.contains(&(row.chain_id, row.asset_address.clone()));
    Vault {
        kind: Kind,
        observed_at: At(row.observed_at),
        source: row.source,
        id: String::new(),
        protocol_id: row.protocol_slug,
        chain_id: row.chain_id,
        name: non_blank(row.name).unwrap_or_else(|| row.address.clone()),
        address: row.address,
        symbol: non_blank(row.symbol),
        asset_symbol: row.asset_symbol.and_then(non_blank),
        asset_address: Some(row.asset_address),
        asset_decimals: Some(row.asset_decimals),
        curator_id: None,
        strategy: strategy.map(|(_, strategy)| strategy),
        asset_mode: strategy.map_or(AssetMode::Holdings, |(_, strategy)| mode_of(strategy)),
        deployed_at: None,
        first_seen_at: Some(At(row.first_seen)),
        is_immutable: None,
        timelock_seconds: None,
        signers: None,
        exit: Exit::Unknown,
        source_code: Source::Unknown,
        is_active: ended.is_active(),
        is_shutdown: ended.is_shutdown,
        is_stablecoin,
        is_lsd: false,
        single_exposure: false,
        no_il: false,
        management_fee: row.mgmt_fee,
        performance_fee: row.perf_fee,
        tags: row.features,
        flags: row.flags.into_iter().chain(ended.flags()).collect(),
        evidence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strategy(tags: &[&str]) -> Option<Strategy> {
        let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        strategy_of(&tags).map(|(_, strategy)| strategy)
    }

    #[test]
    fn a_strategy_is_derived_from_unambiguous_tags() {
        assert_eq!(strategy(&["morpho_like"]), Some(Strategy::CuratedLending));
        assert_eq!(strategy(&["fluid_like", "kiln_metavault_like"]), Some(Strategy::VaultOfVaults));
        assert_eq!(strategy(&["erc_7540_like", "lagoon_like"]), Some(Strategy::Offchain));
        assert_eq!(strategy(&["erc_7540_like", "ipor_like"]), None);
        assert_eq!(strategy(&[]), None);
    }

    #[test]
    fn of_contradicting_tags_the_strategy_with_fewest_points_is_used() {
        assert_eq!(strategy(&["fluid_like", "yearn_v3_like"]), Some(Strategy::VaultOfVaults));
        assert_eq!(strategy(&["yearn_v3_like", "fluid_like"]), Some(Strategy::VaultOfVaults));
    }
}
