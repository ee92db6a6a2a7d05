//! The counts of the health record, and whether the database responds.

use crate::graph::signers;
use crate::registry::catalog::evidence_counts;
use crate::scoring::fail_safe::{self, Stored};
use crate::service::status::newest_sync;
use crate::{At, Db, StoreError};
use rds_shared::graph::evidence::Signer;
use rds_shared::model::evidence::EvidenceCounts;
use rds_shared::wire::Timestamp;
use sqlx::FromRow;

/// Counts for `GET /v1/health`. "Active" vaults exclude vaults on withheld chains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthFacts {
    pub vaults: u64,
    /// Time of the newest state observation of a served vault.
    pub last_sync: Option<Timestamp>,
    /// Completion time of the latest published score run.
    pub last_run: Option<Timestamp>,
    pub fail_safe: Stored,
    /// The registered signers of decisions.
    pub signers: Vec<Signer>,
    /// Number of exposures of active vaults, and number of these exposures whose asset has a review.
    pub exposures: (u64, u64),
    /// Deposit assets of active vaults, per chain.
    pub identities: Vec<ChainIdentities>,
    /// Number of assets without an approved review.
    pub review_backlog: u64,
    /// The answers on record.
    pub evidence: EvidenceCounts,
    /// Observed TVL of active vaults, in whole USD: of all, of those with a score, and of those
    /// whose exposures have known members, whether or not the members' shares are known.
    pub tvl: (u64, u64, u64),
}

/// Deposit assets on one chain.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ChainIdentities {
    #[sqlx(try_from = "i64")]
    pub chain_id: u64,
    /// Number of distinct contracts.
    #[sqlx(try_from = "i64")]
    pub total: u64,
    /// Number of contracts with an approved review.
    #[sqlx(try_from = "i64")]
    pub approved: u64,
}

/// Checks that the database responds. The caller applies a timeout.
pub async fn ping(db: &Db) -> Result<(), StoreError> {
    sqlx::query("SELECT 1").execute(&db.pool).await?;
    Ok(())
}

/// The database's clock; also shows that the database responds. The caller applies a timeout.
pub async fn clock(db: &Db) -> Result<Timestamp, StoreError> {
    let now: At = sqlx::query_scalar("/* database_clock */ SELECT clock_timestamp()").fetch_one(&db.pool).await?;
    Ok(now.into())
}

/// Reads all counts of the health record.
pub async fn facts(db: &Db) -> Result<HealthFacts, StoreError> {
    let (vaults, review_backlog): (i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM vault v JOIN chain c USING (chain_id) WHERE v.is_active AND c.is_served) AS vaults, \
                (SELECT count(*) FROM asset a JOIN chain c USING (chain_id) WHERE c.is_served AND NOT EXISTS ( \
                    SELECT FROM asset_version r WHERE r.asset_id = a.id AND r.review_status = 'reviewed')) AS backlog",
    )
    .fetch_one(&db.pool)
    .await?;
    let last_run = "SELECT completed_at FROM score_run WHERE mode = 'normal' ORDER BY version DESC LIMIT 1";
    let last_run: Option<At> = sqlx::query_scalar(last_run).fetch_optional(&db.pool).await?;
    let (exposures, reviewed): (i64, i64) = sqlx::query_as(
        "SELECT count(*) AS total, count(*) FILTER (WHERE EXISTS ( \
                    SELECT FROM asset_version r WHERE r.asset_id = part->>'asset_id')) AS reviewed \
         FROM exposure e JOIN vault v ON v.id = e.vault_id AND v.is_active JOIN chain c ON c.chain_id = v.chain_id AND c.is_served, \
              jsonb_array_elements(e.parts) AS part",
    )
    .fetch_one(&db.pool)
    .await?;
    let identities = sqlx::query_as(
        "SELECT chain_id, count(*) AS total, count(*) FILTER (WHERE approved) AS approved FROM ( \
             SELECT v.chain_id, v.asset_address, bool_or(r.review_status = 'reviewed') IS TRUE AS approved \
             FROM vault v JOIN chain c ON c.chain_id = v.chain_id AND c.is_served LEFT JOIN asset a ON a.chain_id = v.chain_id AND a.address = v.asset_address \
             LEFT JOIN asset_version r ON r.asset_id = a.id \
             WHERE v.is_active AND v.asset_address IS NOT NULL GROUP BY 1, 2) AS identity \
         GROUP BY chain_id ORDER BY chain_id",
    )
    .fetch_all(&db.pool)
    .await?;
    let (all, scored, known): (f64, f64, f64) = sqlx::query_as(
        "SELECT coalesce(sum(s.tvl_usd), 0), coalesce(sum(s.tvl_usd) FILTER (WHERE p.score IS NOT NULL), 0), \
                coalesce(sum(s.tvl_usd) FILTER (WHERE p.basis IN ('complete', 'partial', 'bound')), 0) \
         FROM vault v JOIN chain c USING (chain_id) JOIN vault_state s ON s.vault_id = v.id JOIN vault_score p ON p.vault_id = v.id \
         WHERE v.is_active AND c.is_served",
    )
    .fetch_one(&db.pool)
    .await?;
    // A sum of non-negative amounts; whole dollars are exact enough for a percentage.
    let whole = |usd: f64| usd.max(0.0) as u64;
    Ok(HealthFacts {
        evidence: evidence_counts(&db.pool).await?,
        tvl: (whole(all), whole(scored), whole(known)),
        vaults: vaults.unsigned_abs(),
        last_sync: newest_sync(db).await?,
        last_run: last_run.map(Timestamp::from),
        fail_safe: fail_safe::read(&db.pool).await?,
        signers: signers::list(&db.pool).await?,
        exposures: (exposures.unsigned_abs(), reviewed.unsigned_abs()),
        identities,
        review_backlog: review_backlog.unsigned_abs(),
    })
}
