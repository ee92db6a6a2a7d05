//! The data of the catalog: the registries and one flat record per vault.

use crate::db_enum::DbEnum;
use crate::decode::{DbAddress, DbChainId, DbMilliPoints, DbNamespace, DbVaultId, Nullable};
use crate::markets::RESERVE_GATES;
use crate::vaults::rewards::{self, Rates};
use crate::{At, Db, StoreError};
use rds_facts::IncentivesStatus;
use rds_shared::model::evidence::{EvidenceCounts, ScoreEvidence};
use rds_shared::model::ids::{Address, ChainId, Namespace, VaultId};
use rds_shared::model::status::{BorrowStatus, Breakdown, DepositStatus, ScoreStatus, TvlStatus, WithdrawStatus};
use rds_shared::model::vault::Reward;
use rds_shared::rules::borrow::{BorrowCost, has_no_borrow_side};
use rds_shared::rules::tiers::Tier;
use rds_shared::scoring::vault::Strategy;
use rds_shared::scoring::{MilliPoints, Ppm, ScoreBasis};
use rds_shared::wire::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, PgExecutor};
use std::sync::LazyLock;

#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct ChainFacts {
    /// EIP-155 chain id, or the registry's own number.
    #[sqlx(rename = "chain_id", try_from = "DbChainId")]
    pub id: ChainId,
    /// Name of the chain in paths and filters.
    pub slug: String,
    pub name: String,
    /// Address format.
    #[sqlx(try_from = "DbNamespace")]
    pub namespace: Namespace,
    /// Symbol of the native coin.
    pub native_symbol: Option<String>,
    /// URL of a block explorer.
    pub explorer_url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct ProtocolFacts {
    /// Slug.
    pub id: String,
    pub name: String,
    pub logo_url: Option<String>,
    pub website_url: Option<String>,
    /// Name of the deployed version.
    pub version: Option<String>,
    /// Deployment time of `version`; if unknown, the time when that version was first seen.
    #[sqlx(try_from = "Nullable<At>")]
    pub version_deployed_at: Option<Timestamp>,
    /// Number of audits of the deployed version; null if not investigated.
    #[sqlx(try_from = "Nullable<i32>")]
    pub audits: Option<u32>,
    /// Date of the newest audit.
    #[sqlx(try_from = "Nullable<At>")]
    pub newest_audit_at: Option<Timestamp>,
    /// URL of the audit reports.
    pub audit_report_url: Option<String>,
    /// The route that shows how the protocol's vaults use deposits.
    #[sqlx(try_from = "Nullable<DbEnum<Breakdown>>")]
    pub breakdown: Option<Breakdown>,
}

#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct CuratorFacts {
    /// Slug.
    pub id: String,
    pub name: String,
    /// Description in one sentence.
    pub one_liner: Option<String>,
    pub logo_url: Option<String>,
    pub website_url: Option<String>,
    /// Time of the first observation.
    #[sqlx(try_from = "At")]
    pub created_at: Timestamp,
}

/// The registries of chains, protocols and curators.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Registry {
    /// In ascending order of id; withheld chains are left out.
    pub chains: Vec<ChainFacts>,
    /// In ascending order of id.
    pub protocols: Vec<ProtocolFacts>,
    /// In ascending order of id.
    pub curators: Vec<CuratorFacts>,
    /// The answers on record, without those about assets and vaults on withheld chains.
    pub evidence: EvidenceCounts,
}

/// All data of a list row. Amounts are in USD, rates are fractions; null means "not observed".
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct VaultFacts {
    /// `{protocol_id}-{chain_id}-{address}`.
    #[sqlx(try_from = "DbVaultId")]
    pub id: VaultId,
    pub name: String,
    /// Symbol of the share token.
    pub symbol: Option<String>,
    /// Contract of the share token.
    #[sqlx(try_from = "DbAddress")]
    pub address: Address,
    pub protocol_id: String,
    pub protocol_name: String,
    /// The protocol's deployed version.
    pub protocol_version: Option<String>,
    #[sqlx(try_from = "DbChainId")]
    pub chain_id: ChainId,
    pub chain_name: String,
    /// Name of the chain in paths.
    pub chain_slug: String,
    /// False while the chain is withheld.
    pub is_served: bool,
    /// Symbol of the deposit asset.
    pub asset_symbol: Option<String>,
    /// Contract of the deposit asset.
    #[sqlx(try_from = "Nullable<DbAddress>")]
    pub asset_address: Option<Address>,
    /// Category of the deposit asset; null if the registry has no asset at that contract.
    pub asset_category: Option<String>,
    pub curator_id: Option<String>,
    pub curator_name: Option<String>,
    /// True if the vault holds a token pegged to a currency.
    pub is_stablecoin: bool,
    /// True if the vault holds a liquid staking derivative.
    pub is_lsd: bool,
    /// True if the vault is exposed to one asset only.
    pub single_exposure: bool,
    /// True if the vault bears no impermanent loss.
    pub no_il: bool,
    /// False once the vault is shut down or gone.
    pub is_active: bool,
    /// True if the vault's contracts report a shutdown.
    pub is_shutdown: bool,
    /// Whether the vault's protocol is a money market, so that `gross_interest_apy` can be derived.
    pub is_money_market: bool,
    /// Null if the read failed or the value has no price.
    pub tvl_usd: Option<f64>,
    /// Whether `tvl_usd` was read.
    #[sqlx(try_from = "DbEnum<TvlStatus>")]
    pub tvl_status: TvlStatus,
    /// Annual interest net of fees.
    pub base_apr: Option<f64>,
    /// `base_apr` plus priced supply rewards.
    #[sqlx(skip)]
    pub apr_net: Option<f64>,
    /// Borrowed divided by supplied; may exceed 1.
    pub utilization: Option<f64>,
    /// Gross annual borrow rate.
    pub borrow_apr: Option<f64>,
    /// Cost of borrowing including campaigns.
    #[sqlx(flatten, try_from = "BorrowRow")]
    pub borrow: BorrowCost,
    /// Current campaigns and fee streams of both sides.
    #[sqlx(skip)]
    pub rewards: Vec<Reward>,
    /// Whether the market lends.
    #[sqlx(try_from = "DbEnum<BorrowStatus>")]
    pub borrow_status: BorrowStatus,
    /// Value lent out.
    pub active_loans_usd: Option<f64>,
    /// Whether deposits are accepted.
    #[sqlx(try_from = "DbEnum<DepositStatus>")]
    pub deposit_status: DepositStatus,
    /// Whether withdrawals are possible.
    #[sqlx(try_from = "DbEnum<WithdrawStatus>")]
    pub withdraw_status: WithdrawStatus,
    /// Remaining deposit capacity; null means uncapped, unpriced or unknown.
    pub deposit_capacity_usd: Option<f64>,
    /// Time of the newest state observation.
    #[sqlx(try_from = "Nullable<At>")]
    pub last_synced_at: Option<Timestamp>,
    /// Time of the newest identity observation, whether or not a state was ever observed.
    #[sqlx(try_from = "At")]
    pub identity_observed_at: Timestamp,
    /// Strategy label; null if the source does not state it.
    pub strategy_type: Option<String>,
    /// Number of audits of the protocol's deployed version; null if not investigated.
    #[sqlx(try_from = "Nullable<i32>")]
    pub audits: Option<u32>,
    pub auditors: Vec<String>,
    /// The published score.
    #[sqlx(try_from = "Nullable<DbMilliPoints>")]
    pub score: Option<MilliPoints>,
    #[sqlx(try_from = "Nullable<DbEnum<Tier>>")]
    pub tier: Option<Tier>,
    /// Whether there is a score.
    #[sqlx(try_from = "DbEnum<ScoreStatus>")]
    pub score_status: ScoreStatus,
    /// The run that last confirmed the score.
    pub score_run_id: Option<String>,
    /// Completion time of that run.
    #[sqlx(try_from = "Nullable<At>")]
    pub score_computed_at: Option<Timestamp>,
    /// When the published score or tier last changed.
    #[sqlx(try_from = "Nullable<At>")]
    pub score_updated_at: Option<Timestamp>,
    /// What the score rests on.
    #[sqlx(flatten, try_from = "EvidenceRow")]
    pub evidence: ScoreEvidence,
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
    let chains = sqlx::query_as(
        "SELECT chain_id, slug, name, namespace, native_symbol, explorer_url FROM chain WHERE is_served ORDER BY chain_id",
    );
    let protocols = sqlx::query_as(
        "SELECT id, name, logo_url, website_url, version, version_deployed_at, audits, newest_audit_at, audit_report_url, \
                breakdown \
         FROM protocol ORDER BY id",
    );
    let curators =
        sqlx::query_as("SELECT id, name, one_liner, logo_url, website_url, created_at FROM curator ORDER BY id");
    Ok(Registry {
        chains: chains.fetch_all(&db.pool).await?,
        protocols: protocols.fetch_all(&db.pool).await?,
        curators: curators.fetch_all(&db.pool).await?,
        evidence: evidence_counts(&db.pool).await?,
    })
}

/// Counts the answers that are not withdrawn, one that is read on a chain again and again once, without those about assets and vaults on withheld chains.
pub async fn evidence_counts(db: impl PgExecutor<'_>) -> Result<EvidenceCounts, StoreError> {
    let (asset_answers, answered_assets, protocol_answers, answered_protocols): (i64, i64, i64, i64) = sqlx::query_as(
        "SELECT assets.answers, assets.subjects, protocols.answers, protocols.subjects FROM \
            (SELECT count(DISTINCT (w.asset_id, w.dimension, w.question, w.answer, \
                 CASE WHEN w.evidence IS NULL THEN (w.as_of, w.source_url) END)) AS answers, \
                 count(DISTINCT a.id) AS subjects FROM asset_answer w JOIN asset a ON a.id = w.asset_id \
             JOIN chain c ON c.chain_id = a.chain_id AND c.is_served WHERE NOT w.withdrawn) AS assets, \
            (SELECT count(*) AS answers, count(DISTINCT w.subject) AS subjects FROM protocol_answer w \
             LEFT JOIN vault v ON v.id = w.subject LEFT JOIN chain c ON c.chain_id = v.chain_id \
             WHERE NOT w.withdrawn AND c.is_served IS NOT FALSE) AS protocols",
    )
    .fetch_one(db)
    .await?;
    Ok(EvidenceCounts {
        asset_answers: asset_answers.unsigned_abs(),
        answered_assets: answered_assets.unsigned_abs(),
        protocol_answers: protocol_answers.unsigned_abs(),
        answered_protocols: answered_protocols.unsigned_abs(),
    })
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
    let rows: Vec<VaultRow> = sqlx::query_as(&changed).bind(since.unwrap_or(-1)).fetch_all(&mut *tx).await?;
    let ids: Option<Vec<String>> = since.map(|_| rows.iter().map(|row| row.facts.id.to_string()).collect());
    let mut running = rewards::running(&mut *tx, ids.as_deref()).await?;
    drop(tx);
    let facts = rows.into_iter().map(|row| {
        let rewards = running.remove(row.facts.id.as_str()).unwrap_or_default();
        row.with_rewards(rewards)
    });
    Ok((version, facts.collect()))
}

/// The query for the facts of all vaults. Every vault has a row in `vault_score`, inserted in the same transaction as the vault.
///
/// Gates of a hub-and-spoke reserve take precedence over the vault's own observation.
pub(crate) static VAULT_FACTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT v.id, v.name, v.symbol, v.address, v.protocol_id, v.chain_id, v.asset_symbol, v.asset_address, v.curator_id, \
            v.is_stablecoin, v.is_lsd, v.single_exposure, v.no_il, v.is_active, v.is_shutdown, \
            coalesce(v.strategy, answered.strategy, pr.strategy) AS strategy_type, \
            pr.name AS protocol_name, pr.version AS protocol_version, pr.money_market AS is_money_market, \
            greatest(pr.audits, answered.reports) AS audits, \
            CASE WHEN pr.auditors = '{{}}' THEN coalesce(answered.firms, '{{}}') ELSE pr.auditors END AS auditors, \
            c.name AS chain_name, c.slug AS chain_slug, c.is_served, cu.name AS curator_name, \
            s.tvl_usd, CASE WHEN s.tvl_usd IS NULL THEN 'unavailable' ELSE 'observed' END AS tvl_status, \
            s.base_apr, s.utilization, s.borrow_apr, s.active_loans_usd, \
            coalesce(gate.borrow_status, s.borrow_status, 'unknown') AS borrow_status, coalesce(s.incentives, 'unavailable') AS incentives, \
            coalesce(gate.deposit_status, s.deposit_status, 'unknown') AS deposit_status, coalesce(s.withdraw_status, 'unknown') AS withdraw_status, \
            CASE WHEN gate.deposit_status IS NULL THEN s.deposit_capacity_usd ELSE gate.deposit_capacity_usd END AS deposit_capacity_usd, \
            coalesce(s.needs_risk_review, false) AS needs_risk_review, greatest(s.observed_at, s.read_at) AS last_synced_at, v.observed_at AS identity_observed_at, \
            p.score, p.tier, CASE WHEN p.score IS NULL THEN 'unscored' ELSE 'scored' END AS score_status, \
            p.run_id AS score_run_id, p.computed_at AS score_computed_at, p.updated_at AS score_updated_at, \
            p.basis AS score_basis, p.coverage AS score_coverage, p.lowest AS lowest_score, p.highest AS highest_score, \
            p.changed_version, p.synced_version, p.published_version, \
            (SELECT min(a.category COLLATE \"C\") FROM asset a WHERE a.chain_id = v.chain_id AND a.address = v.asset_address) AS asset_category \
     FROM vault v JOIN protocol pr ON pr.id = v.protocol_id JOIN chain c USING (chain_id) \
     LEFT JOIN curator cu ON cu.id = v.curator_id \
     LEFT JOIN LATERAL (SELECT nullif(count(DISTINCT value->>'firm') FILTER (WHERE input = 'audit'), 0)::int AS reports, \
                       array_agg(DISTINCT value->>'firm' ORDER BY value->>'firm') FILTER (WHERE input = 'audit') AS firms, \
                       (array_agg(value #>> '{{}}' ORDER BY as_of DESC, value #>> '{{}}') FILTER (WHERE input = 'strategy'))[1] AS strategy \
                FROM protocol_answer a WHERE a.subject = v.protocol_id AND NOT a.withdrawn) AS answered ON true \
     LEFT JOIN vault_state s ON s.vault_id = v.id JOIN vault_score p ON p.vault_id = v.id {RESERVE_GATES}"
    )
});

/// A row of [`VAULT_FACTS`].
#[derive(FromRow)]
pub(crate) struct VaultRow {
    /// Without rewards, and with rates that ignore them.
    #[sqlx(flatten)]
    facts: VaultFacts,
    strategy_type: Option<DbEnum<Strategy>>,
    incentives: DbEnum<IncentivesStatus>,
}

/// The columns that state what a score rests on; null before the first run that computes them.
#[derive(FromRow)]
struct EvidenceRow {
    score_basis: Option<DbEnum<ScoreBasis>>,
    score_coverage: Option<i32>,
    #[sqlx(try_from = "Nullable<DbMilliPoints>")]
    lowest_score: Option<MilliPoints>,
    #[sqlx(try_from = "Nullable<DbMilliPoints>")]
    highest_score: Option<MilliPoints>,
}

impl From<EvidenceRow> for ScoreEvidence {
    fn from(row: EvidenceRow) -> Self {
        let Some(DbEnum(score_basis)) = row.score_basis else { return ScoreEvidence::NONE };
        ScoreEvidence {
            score_basis,
            score_coverage: Ppm(row.score_coverage.unwrap_or(0).into()),
            lowest_score: row.lowest_score,
            highest_score: row.highest_score,
        }
    }
}

/// The columns that give the cost of borrowing without campaigns.
#[derive(FromRow)]
struct BorrowRow {
    borrow_apr: Option<f64>,
    incentives: DbEnum<IncentivesStatus>,
}

impl From<BorrowRow> for BorrowCost {
    fn from(row: BorrowRow) -> Self {
        Rates::of(None, row.borrow_apr, row.incentives.0, &[]).borrow
    }
}

impl VaultRow {
    /// The vault with its running campaigns.
    pub(crate) fn with_rewards(self, running: Vec<Reward>) -> VaultFacts {
        let VaultRow { mut facts, strategy_type, incentives: DbEnum(mut incentives) } = self;
        // For strategies without borrowers, missing data means "not applicable" instead of "unknown".
        if strategy_type.is_some_and(|DbEnum(strategy)| has_no_borrow_side(strategy)) {
            if facts.borrow_status == BorrowStatus::Unknown {
                facts.borrow_status = BorrowStatus::NotApplicable;
            }
            if incentives == IncentivesStatus::Unavailable {
                incentives = IncentivesStatus::NotApplicable;
            }
        }
        let rates = Rates::of(facts.base_apr, facts.borrow_apr, incentives, &running);
        VaultFacts { apr_net: rates.apr_net, borrow: rates.borrow, rewards: running, ..facts }
    }
}

/// Parses a row of [`VAULT_FACTS`].
pub(crate) fn vault_facts(row: &PgRow, running: Vec<Reward>) -> Result<VaultFacts, StoreError> {
    Ok(VaultRow::from_row(row)?.with_rewards(running))
}

pub fn address(column: &'static str, text: String) -> Result<Address, StoreError> {
    let read = Address::parse_any(&text).map(|(_, address)| address);
    read.ok_or(StoreError::Corrupt { column, text })
}
