//! A vault of the catalog: the row with every derived field, its encoded bytes, and further fields for filters.

use rds_shared::model::money::{rounded_rate, rounded_usd};
use rds_shared::model::vault::{RewardedVault, VaultRow};
use rds_shared::model::vault_score::{ScoreFacts, VaultScoreRow};
use rds_shared::read_model::vaults::{EncodedVault, REWARDED_PROTOCOL};
use rds_shared::rules::borrow::gross_interest_apy;
use rds_shared::rules::liquidity::liquidity;
use rds_shared::rules::real_yield::real_yield_share;
use rds_shared::select::vaults::{VaultColumns, VaultTraits};
use rds_shared::wire::{ChangeClock, Timestamp};
use rds_store::registry::catalog::VaultFacts;
use std::sync::Arc;

#[derive(Debug)]
pub struct Vault {
    /// The row as lists serve it, without `freshness_seconds`, which is computed for each response.
    pub row: VaultRow,
    /// The vault's rows in the lists, as JSON.
    pub encoded: Arc<EncodedVault>,
    /// False once the vault is shut down or gone. Such a vault is found by id and address, but is not listed.
    pub is_active: bool,
    /// Whether the vault's contracts report a shutdown.
    pub is_shutdown: bool,
    /// Whether the newest reading is quarantined for poor data quality.
    pub needs_risk_review: bool,
    /// Category of the deposit asset; `None` if the asset is not registered.
    pub asset_category: Option<String>,
    /// The data version of the last change of the vault, its readings, its campaigns or its score.
    pub changed_version: i64,
    synced_version: i64,
    published_version: Option<i64>,
    identity_observed_at: Timestamp,
}

impl Vault {
    /// Derives and encodes the row. The encoded rows are those of `previous`, an earlier state of the vault, if they are equal.
    ///
    /// Fails only if the row cannot be encoded as JSON.
    pub fn new(facts: VaultFacts, previous: Option<&Vault>) -> Result<Self, serde_json::Error> {
        let row = row_of(&facts);
        let run = ScoreFacts {
            is_active: facts.is_active,
            run_id: facts.score_run_id,
            computed_at: facts.score_computed_at,
            needs_risk_review: facts.needs_risk_review,
        };
        let is_rewarded = facts.protocol_id == REWARDED_PROTOCOL;
        let rewarded = is_rewarded.then(|| RewardedVault { row: row.clone(), rewards: facts.rewards });
        let traits = VaultTraits {
            stablecoin: facts.is_stablecoin,
            lsd: facts.is_lsd,
            single_exposure: facts.single_exposure,
            no_il: facts.no_il,
        };
        let columns = VaultColumns::of(&row, &facts.chain_slug, facts.symbol.as_deref(), traits);
        let encoded = EncodedVault::encode(&columns, &row, &VaultScoreRow::of(&row, run), rewarded.as_ref())?;
        let kept = previous.map(|vault| &vault.encoded).filter(|earlier| earlier.row() == encoded.row());
        Ok(Vault {
            encoded: kept.map_or_else(|| Arc::new(encoded), Arc::clone),
            row,
            is_active: facts.is_active,
            is_shutdown: facts.is_shutdown,
            needs_risk_review: facts.needs_risk_review,
            asset_category: facts.asset_category,
            changed_version: facts.changed_version,
            synced_version: facts.synced_version,
            published_version: facts.published_version,
            identity_observed_at: facts.identity_observed_at,
        })
    }

    /// The data version and instant of the last change on `clock`; `None` if there was none.
    pub fn changed(&self, clock: ChangeClock) -> Option<(i64, Timestamp)> {
        match clock {
            // A vault without a reading counts as changed when it was first observed; otherwise the change feed would never contain it.
            ChangeClock::Sync => {
                Some((self.synced_version, self.row.last_synced_at.unwrap_or(self.identity_observed_at)))
            }
            ChangeClock::Score => self.published_version.zip(self.row.score_updated_at),
        }
    }
}

/// The list row of a vault: stored facts, and fields derived by the shared rules.
pub fn row_of(facts: &VaultFacts) -> VaultRow {
    // Liquidity is derived from the rounded values, so that it agrees with the published TVL and utilization.
    let (tvl_usd, utilization) = (facts.tvl_usd.map(rounded_usd), facts.utilization.map(rounded_rate));
    let liquidity = liquidity(tvl_usd, utilization);
    VaultRow {
        id: facts.id.clone(),
        name: facts.name.clone(),
        address: facts.address.clone(),
        protocol_id: facts.protocol_id.clone(),
        protocol_name: facts.protocol_name.clone(),
        chain_id: facts.chain_id,
        chain_name: facts.chain_name.clone(),
        asset_symbol: facts.asset_symbol.clone(),
        // An unknown value is served as 0, with `tvl_status` `unavailable`.
        tvl_usd: tvl_usd.unwrap_or(0.0),
        apr_net: facts.apr_net,
        base_apr: facts.base_apr,
        utilization,
        borrow_apr: facts.borrow_apr,
        borrow_reward_apr: facts.borrow.reward_apr,
        borrow_apr_net: facts.borrow.apr_net,
        borrow_incentive_status: facts.borrow.status,
        has_borrow_rewards: facts.borrow.has_rewards,
        borrow_status: facts.borrow_status,
        gross_interest_apy: gross_interest_apy(facts.is_money_market, facts.borrow_apr, facts.utilization),
        active_loans_usd: facts.active_loans_usd,
        available_liquidity_usd: liquidity.available_usd,
        liquidity_deficit_usd: liquidity.deficit_usd,
        liquidity_status: liquidity.status,
        total_score: facts.score,
        risk_tier: facts.tier,
        strategy_type: facts.strategy_type.clone(),
        curator_name: facts.curator_name.clone(),
        is_audited: facts.audits.is_some_and(|audits| audits > 0),
        deposit_status: facts.deposit_status,
        withdraw_status: facts.withdraw_status,
        is_depositable: facts.deposit_status.is_depositable(),
        deposit_capacity_usd: facts.deposit_capacity_usd,
        freshness_seconds: None,
        last_synced_at: facts.last_synced_at,
        score_status: facts.score_status,
        score_updated_at: facts.score_updated_at,
        tvl_status: facts.tvl_status,
        real_yield_share: real_yield_share(facts.base_apr, facts.apr_net),
        curator_id: facts.curator_id.clone(),
        evidence: facts.evidence,
    }
}
