//! The data of the catalog: the registries and one flat record per vault.

use crate::facts::IncentivesStatus;
use crate::store::markets::RESERVE_GATES;
use crate::store::vaults::rewards::{self, Rates};
use crate::store::{At, Db, StoreError, decode_enum, decode_optional_enum};
use rds_shared::model::ids::{Address, ChainId, Namespace, VaultId};
use rds_shared::model::status::{BorrowStatus, Breakdown, DepositStatus, ScoreStatus, TvlStatus, WithdrawStatus};
use rds_shared::model::vault::Reward;
use rds_shared::rules::borrow::{BorrowCost, lends_to_nobody};
use rds_shared::rules::tiers::Tier;
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::vault::Strategy;
use rds_shared::wire::Timestamp;
use sqlx::Row;
use sqlx::postgres::PgRow;
use std::sync::LazyLock;

#[derive(Debug, Clone, PartialEq)]
pub struct ChainFacts {
    /// EIP-155 chain id, or the registry's own number.
    pub id: ChainId,
    /// Name of the chain in paths and filters.
    pub slug: String,
    pub name: String,
    /// Address format.
    pub namespace: Namespace,
    /// Symbol of the native coin.
    pub native_symbol: Option<String>,
    /// URL of a block explorer.
    pub explorer_url: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ProtocolFacts {
    /// Slug.
    pub id: String,
    pub name: String,
    pub logo_url: Option<String>,
    pub website_url: Option<String>,
    /// Name of the deployed version.
    pub version: Option<String>,
    /// Deployment time of that version; if unknown, the time it was first seen.
    pub version_deployed_at: Option<Timestamp>,
    /// Number of audits of the deployed version; null if not investigated.
    pub audits: Option<u32>,
    /// Date of the newest audit.
    pub newest_audit_at: Option<Timestamp>,
    /// URL of the audit reports.
    pub audit_report_url: Option<String>,
    /// The route that shows how its vaults use deposits.
    pub breakdown: Option<Breakdown>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CuratorFacts {
    /// Slug.
    pub id: String,
    pub name: String,
    /// Description in one sentence.
    pub one_liner: Option<String>,
    pub logo_url: Option<String>,
    pub website_url: Option<String>,
    /// Time of the first observation.
    pub created_at: Timestamp,
}

/// The registries of chains, protocols and curators.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Registry {
    /// By id, without withheld chains.
    pub chains: Vec<ChainFacts>,
    /// By id.
    pub protocols: Vec<ProtocolFacts>,
    /// By id.
    pub curators: Vec<CuratorFacts>,
}

/// All data of a list row. Amounts are in USD, rates are fractions; null means "not observed".
#[derive(Debug, Clone, PartialEq)]
pub struct VaultFacts {
    /// `{protocol_id}-{chain_id}-{address}`.
    pub id: VaultId,
    pub name: String,
    /// Symbol of the share token.
    pub symbol: Option<String>,
    /// Contract of the share token.
    pub address: Address,
    pub protocol_id: String,
    pub protocol_name: String,
    /// The protocol's deployed version.
    pub protocol_version: Option<String>,
    pub chain_id: ChainId,
    pub chain_name: String,
    /// Name of the chain in paths.
    pub chain_slug: String,
    /// False while the chain is withheld.
    pub is_served: bool,
    /// Symbol of the deposit asset.
    pub asset_symbol: Option<String>,
    /// Contract of the deposit asset.
    pub asset_address: Option<Address>,
    /// Category of the deposit asset; null if the registry has no asset at that contract.
    pub asset_category: Option<String>,
    pub curator_id: Option<String>,
    pub curator_name: Option<String>,
    /// True if it holds a token pegged to a currency.
    pub is_stablecoin: bool,
    /// True if it holds a liquid staking derivative.
    pub is_lsd: bool,
    /// True if it is exposed to one asset only.
    pub single_exposure: bool,
    /// True if it bears no impermanent loss.
    pub no_il: bool,
    /// False once the vault is shut down or gone.
    pub is_active: bool,
    /// True if its contracts report a shutdown.
    pub is_shutdown: bool,
    /// Whether its protocol is a money market, so that `gross_interest_apy` can be derived.
    pub is_money_market: bool,
    /// Null if the read failed or the value has no price.
    pub tvl_usd: Option<f64>,
    /// Whether `tvl_usd` was read.
    pub tvl_status: TvlStatus,
    /// Annual interest net of fees.
    pub base_apr: Option<f64>,
    /// `base_apr` plus priced supply rewards.
    pub apr_net: Option<f64>,
    /// Borrowed divided by supplied; may exceed 1.
    pub utilization: Option<f64>,
    /// Gross annual borrow rate.
    pub borrow_apr: Option<f64>,
    /// Cost of borrowing including campaigns.
    pub borrow: BorrowCost,
    /// Current campaigns and fee streams of both sides.
    pub rewards: Vec<Reward>,
    /// Whether the market lends.
    pub borrow_status: BorrowStatus,
    /// Value lent out.
    pub active_loans_usd: Option<f64>,
    /// Whether deposits are accepted.
    pub deposit_status: DepositStatus,
    /// Whether withdrawals are possible.
    pub withdraw_status: WithdrawStatus,
    /// Remaining deposit capacity; null means uncapped, unpriced or unknown.
    pub deposit_capacity_usd: Option<f64>,
    /// Time of the newest state observation.
    pub last_synced_at: Option<Timestamp>,
    /// Time of the newest identity observation, whether or not a state was ever observed.
    pub told_at: Timestamp,
    /// Strategy label; null if the source does not state it.
    pub strategy_type: Option<String>,
    /// Number of audits of the protocol's deployed version; null if not investigated.
    pub audits: Option<u32>,
    pub auditors: Vec<String>,
    /// The published score.
    pub score: Option<MilliPoints>,
    pub tier: Option<Tier>,
    /// Whether there is a score.
    pub score_status: ScoreStatus,
    /// The run that last confirmed the score.
    pub score_run_id: Option<String>,
    /// Completion time of that run.
    pub score_computed_at: Option<Timestamp>,
    /// When the published score or tier last changed.
    pub score_updated_at: Option<Timestamp>,
    /// Whether the data is quarantined for poor quality.
    pub needs_risk_review: bool,
    /// The data version of the last change to the vault, its observations or campaigns, or of its last scoring.
    pub changed_version: i64,
    /// The data version of the newest state observation.
    pub synced_version: i64,
    /// The data version in which the published score or tier last changed.
    pub published_version: Option<i64>,
}

pub async fn load_registry(db: &Db) -> Result<Registry, StoreError> {
    let mut registry = Registry::default();
    let chains = sqlx::query(
        "SELECT chain_id, slug, name, namespace, native_symbol, explorer_url FROM chain WHERE is_served ORDER BY chain_id",
    );
    for row in chains.fetch_all(&db.pool).await? {
        let namespace: String = row.try_get("namespace")?;
        registry.chains.push(ChainFacts {
            id: chain_id(&row)?,
            slug: row.try_get("slug")?,
            name: row.try_get("name")?,
            namespace: Namespace::parse(&namespace)
                .ok_or(StoreError::Corrupt { column: "chain.namespace", text: namespace })?,
            native_symbol: row.try_get("native_symbol")?,
            explorer_url: row.try_get("explorer_url")?,
        });
    }
    let protocols = sqlx::query(
        "SELECT id, name, logo_url, website_url, version, version_deployed_at, audits, newest_audit_at, audit_report_url, \
                breakdown \
         FROM protocol ORDER BY id",
    );
    for row in protocols.fetch_all(&db.pool).await? {
        registry.protocols.push(ProtocolFacts {
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            logo_url: row.try_get("logo_url")?,
            website_url: row.try_get("website_url")?,
            version: row.try_get("version")?,
            version_deployed_at: instant(&row, "version_deployed_at")?,
            audits: count(&row, "audits")?,
            newest_audit_at: instant(&row, "newest_audit_at")?,
            audit_report_url: row.try_get("audit_report_url")?,
            breakdown: decode_optional_enum("protocol.breakdown", row.try_get("breakdown")?)?,
        });
    }
    let curators =
        sqlx::query("SELECT id, name, one_liner, logo_url, website_url, created_at FROM curator ORDER BY id");
    for row in curators.fetch_all(&db.pool).await? {
        registry.curators.push(CuratorFacts {
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            one_liner: row.try_get("one_liner")?,
            logo_url: row.try_get("logo_url")?,
            website_url: row.try_get("website_url")?,
            created_at: row.try_get::<At, _>("created_at")?.0,
        });
    }
    Ok(registry)
}

/// The vaults whose row changed after version `since`, or all of them, in byte order of their ids, and the data version of that state.
/// Vaults are never deleted; one that no longer exists is returned as inactive.
pub async fn load_vaults(db: &Db, since: Option<i64>) -> Result<(i64, Vec<VaultFacts>), StoreError> {
    // Version and rows must come from the same snapshot.
    let mut tx = db.snapshot().await?;
    let version: i64 = sqlx::query_scalar("SELECT version FROM data_version").fetch_one(&mut *tx).await?;
    if since == Some(version) {
        return Ok((version, Vec::new()));
    }
    let changed = format!("{} WHERE p.changed_version > $1 ORDER BY v.id COLLATE \"C\"", *VAULT_FACTS);
    let rows = sqlx::query(&changed).bind(since.unwrap_or(-1)).fetch_all(&mut *tx).await?;
    let ids: Option<Vec<String>> = match since {
        None => None,
        Some(_) => Some(rows.iter().map(|row| row.try_get("id")).collect::<Result<_, _>>()?),
    };
    let mut running = rewards::running(&mut *tx, ids.as_deref()).await?;
    drop(tx);
    let facts = rows.iter().map(|row| {
        let rewards = running.remove(row.try_get::<&str, _>("id")?).unwrap_or_default();
        vault_facts(row, rewards)
    });
    Ok((version, facts.collect::<Result<_, _>>()?))
}

/// Every vault has a row in `vault_score`, inserted in the same transaction as the vault.
///
/// Gates of a hub-and-spoke reserve take precedence over the vault's own observation.
pub(crate) static VAULT_FACTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT v.id, v.name, v.symbol, v.address, v.protocol_id, v.chain_id, v.asset_symbol, v.asset_address, v.curator_id, \
            v.is_stablecoin, v.is_lsd, v.single_exposure, v.no_il, v.is_active, v.is_shutdown, \
            coalesce(v.strategy, pr.strategy) AS strategy_type, \
            pr.name AS protocol_name, pr.version AS protocol_version, pr.money_market, pr.audits, pr.auditors, \
            c.name AS chain_name, c.slug AS chain_slug, c.is_served, cu.name AS curator_name, \
            s.tvl_usd, s.base_apr, s.utilization, s.borrow_apr, s.active_loans_usd, \
            coalesce(gate.borrow_status, s.borrow_status, 'unknown') AS borrow_status, coalesce(s.incentives, 'unavailable') AS incentives, \
            coalesce(gate.deposit_status, s.deposit_status, 'unknown') AS deposit_status, coalesce(s.withdraw_status, 'unknown') AS withdraw_status, \
            CASE WHEN gate.deposit_status IS NULL THEN s.deposit_capacity_usd ELSE gate.deposit_capacity_usd END AS deposit_capacity_usd, \
            coalesce(s.needs_risk_review, false) AS needs_risk_review, s.observed_at AS last_synced_at, v.observed_at AS told_at, \
            p.score, p.tier, p.run_id, p.computed_at, p.updated_at, p.changed_version, p.synced_version, p.published_version, \
            (SELECT min(a.category COLLATE \"C\") FROM asset a WHERE a.chain_id = v.chain_id AND a.address = v.asset_address) AS asset_category \
     FROM vault v JOIN protocol pr ON pr.id = v.protocol_id JOIN chain c USING (chain_id) \
     LEFT JOIN curator cu ON cu.id = v.curator_id \
     LEFT JOIN vault_state s ON s.vault_id = v.id JOIN vault_score p ON p.vault_id = v.id {RESERVE_GATES}"
    )
});

/// Parses a row of [`VAULT_FACTS`].
pub(crate) fn vault_facts(row: &PgRow, running: Vec<Reward>) -> Result<VaultFacts, StoreError> {
    let (protocol_id, chain_id) = (row.try_get::<String, _>("protocol_id")?, chain_id(row)?);
    let address = address("vault.address", row.try_get("address")?)?;
    let asset_address: Option<String> = row.try_get("asset_address")?;
    let (base_apr, borrow_apr) = (row.try_get("base_apr")?, row.try_get("borrow_apr")?);
    let strategy: Option<String> = row.try_get("strategy_type")?;
    let mut incentives: IncentivesStatus = decode_enum("vault_state.incentives", row.try_get("incentives")?)?;
    let mut borrow_status = decode_enum::<BorrowStatus>("vault_state.borrow_status", row.try_get("borrow_status")?)?;
    // For strategies without borrowers, missing data means "not applicable" instead of "unknown".
    if decode_optional_enum::<Strategy>("vault.strategy", strategy.as_deref())?.is_some_and(lends_to_nobody) {
        if borrow_status == BorrowStatus::Unknown {
            borrow_status = BorrowStatus::NotApplicable;
        }
        if incentives == IncentivesStatus::Unavailable {
            incentives = IncentivesStatus::NotApplicable;
        }
    }
    let rates = Rates::of(base_apr, borrow_apr, incentives, &running);
    let tvl_usd: Option<f64> = row.try_get("tvl_usd")?;
    let score: Option<i32> = row.try_get("score")?;
    let tier: Option<&str> = row.try_get("tier")?;
    Ok(VaultFacts {
        id: VaultId::new(&protocol_id, chain_id, &address),
        name: row.try_get("name")?,
        symbol: row.try_get("symbol")?,
        address,
        protocol_id,
        protocol_name: row.try_get("protocol_name")?,
        protocol_version: row.try_get("protocol_version")?,
        chain_id,
        chain_name: row.try_get("chain_name")?,
        chain_slug: row.try_get("chain_slug")?,
        is_served: row.try_get("is_served")?,
        asset_symbol: row.try_get("asset_symbol")?,
        asset_address: asset_address
            .map(|text| crate::store::registry::catalog::address("vault.asset_address", text))
            .transpose()?,
        asset_category: row.try_get("asset_category")?,
        curator_id: row.try_get("curator_id")?,
        curator_name: row.try_get("curator_name")?,
        is_stablecoin: row.try_get("is_stablecoin")?,
        is_lsd: row.try_get("is_lsd")?,
        single_exposure: row.try_get("single_exposure")?,
        no_il: row.try_get("no_il")?,
        is_active: row.try_get("is_active")?,
        is_shutdown: row.try_get("is_shutdown")?,
        is_money_market: row.try_get("money_market")?,
        tvl_usd,
        tvl_status: if tvl_usd.is_some() { TvlStatus::Observed } else { TvlStatus::Unavailable },
        base_apr,
        apr_net: rates.apr_net,
        utilization: row.try_get("utilization")?,
        borrow_apr,
        borrow: rates.borrow,
        rewards: running,
        borrow_status,
        active_loans_usd: row.try_get("active_loans_usd")?,
        deposit_status: decode_enum::<DepositStatus>("vault_state.deposit_status", row.try_get("deposit_status")?)?,
        withdraw_status: decode_enum::<WithdrawStatus>("vault_state.withdraw_status", row.try_get("withdraw_status")?)?,
        deposit_capacity_usd: row.try_get("deposit_capacity_usd")?,
        last_synced_at: instant(row, "last_synced_at")?,
        told_at: row.try_get::<At, _>("told_at")?.0,
        strategy_type: strategy,
        audits: count(row, "audits")?,
        auditors: row.try_get("auditors")?,
        score: score.and_then(MilliPoints::new),
        tier: decode_optional_enum::<Tier>("vault_score.tier", tier)?,
        score_status: if score.is_some() { ScoreStatus::Scored } else { ScoreStatus::Unscored },
        score_run_id: row.try_get("run_id")?,
        score_computed_at: instant(row, "computed_at")?,
        score_updated_at: instant(row, "updated_at")?,
        needs_risk_review: row.try_get("needs_risk_review")?,
        changed_version: row.try_get("changed_version")?,
        synced_version: row.try_get("synced_version")?,
        published_version: row.try_get("published_version")?,
    })
}

pub(crate) fn instant(row: &PgRow, column: &str) -> Result<Option<Timestamp>, StoreError> {
    Ok(row.try_get::<Option<At>, _>(column)?.map(|at| at.0))
}

fn count(row: &PgRow, column: &str) -> Result<Option<u32>, StoreError> {
    Ok(row.try_get::<Option<i32>, _>(column)?.and_then(|number| u32::try_from(number).ok()))
}

/// The table enforces that ids are positive.
pub(crate) fn chain_id(row: &PgRow) -> Result<ChainId, StoreError> {
    Ok(ChainId(row.try_get::<i64, _>("chain_id")?.unsigned_abs()))
}

pub fn address(column: &'static str, text: String) -> Result<Address, StoreError> {
    let read = Address::parse_any(&text).map(|(_, address)| address);
    read.ok_or(StoreError::Corrupt { column, text })
}
