//! What was read on chains, and who reads now.

use crate::{At, Db, StoreError, Tx};
use rds_facts::ReadField;
use serde_json::Value;
use sqlx::{Connection, FromRow, PgConnection};
use std::collections::{BTreeMap, BTreeSet};

/// First key of the advisory locks of chains; the second is the chain's id.
const LOCK: i32 = 0x7264_7363;
/// The same for the backfill of chains.
const BACKFILL_LOCK: i32 = 0x7264_7362;

/// The right to read a chain. It ends when it is dropped, because that closes its connection.
#[derive(Debug)]
pub struct ChainLock(PgConnection);

/// The right to read the chain, unless another process has it.
pub async fn lock(db: &Db, chain_id: i64) -> Result<Option<ChainLock>, StoreError> {
    try_lock(db, LOCK, chain_id).await
}

/// The right to read the chain's past, unless another process has it.
pub async fn lock_backfill(db: &Db, chain_id: i64) -> Result<Option<ChainLock>, StoreError> {
    try_lock(db, BACKFILL_LOCK, chain_id).await
}

async fn try_lock(db: &Db, kind: i32, chain_id: i64) -> Result<Option<ChainLock>, StoreError> {
    let mut connection = db.pool.acquire().await?.detach();
    let locked: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock($1, hashint8($2))")
        .bind(kind)
        .bind(chain_id)
        .fetch_one(&mut connection)
        .await?;
    Ok(locked.then_some(ChainLock(connection)))
}

impl ChainLock {
    /// Whether the lock still stands: its connection may have been lost.
    pub async fn stands(&mut self) -> bool {
        self.0.ping().await.is_ok()
    }
}

/// The newest block at which a chain was read.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Cursor {
    pub chain_id: i64,
    pub block_number: i64,
    pub block_hash: String,
    /// Up to this block, new vaults were looked for.
    pub searched_to: Option<i64>,
    /// Factories whose events were looked at up to the same block.
    pub factories: Vec<String>,
    /// Why the chain is not read any more.
    pub halted: Option<String>,
    /// The block's time.
    pub observed_at: At,
}

/// How far the chain was read; `None` if it never was.
pub async fn cursor(db: &Db, chain_id: i64) -> Result<Option<Cursor>, StoreError> {
    let sql = "SELECT chain_id, block_number, block_hash, searched_to, factories, halted, observed_at FROM chain_sync WHERE chain_id = $1";
    Ok(sqlx::query_as(sql).bind(chain_id).fetch_optional(&db.pool).await?)
}

/// A vault to read.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ReadVault {
    pub id: String,
    pub protocol_id: String,
    pub address: String,
}

/// The active vaults of these protocols on the chain, by id.
pub async fn vaults(db: &Db, chain_id: i64, protocols: &[&str]) -> Result<Vec<ReadVault>, StoreError> {
    let sql = "SELECT id, protocol_id, address FROM vault WHERE chain_id = $1 AND protocol_id = ANY($2) AND is_active \
               ORDER BY id COLLATE \"C\"";
    Ok(sqlx::query_as(sql).bind(chain_id).bind(protocols).fetch_all(&db.pool).await?)
}

/// The newest reading of a field.
#[derive(Debug, Clone, PartialEq)]
pub struct Newest {
    pub value: Value,
    pub observed_at: At,
    /// The contracts that were asked.
    pub contracts: Vec<String>,
}

/// The newest readings of a vault.
pub type OfVault = BTreeMap<ReadField, Newest>;

/// The newest readings of every field of the chain's vaults, by vault.
pub async fn newest(db: &Db, chain_id: i64) -> Result<BTreeMap<String, OfVault>, StoreError> {
    #[derive(FromRow)]
    struct Row {
        vault_id: String,
        field: String,
        value: Value,
        observed_at: At,
        contracts: Vec<String>,
    }
    let rows: Vec<Row> = sqlx::query_as(
        // One look into the primary key for each vault and field: a backfill leaves a reading for each day.
        "SELECT v.id AS vault_id, f.field, r.value, r.observed_at, r.contracts \
         FROM vault v CROSS JOIN unnest($2::text[]) AS f (field) CROSS JOIN LATERAL ( \
             SELECT coalesce(value, 'null') AS value, observed_at, \
                    ARRAY(SELECT DISTINCT call->>'contract' FROM jsonb_array_elements(calls) AS call) AS contracts \
             FROM chain_reading WHERE vault_id = v.id AND field = f.field ORDER BY observed_at DESC LIMIT 1) AS r \
         WHERE v.chain_id = $1",
    )
    .bind(chain_id)
    .bind(ReadField::ALL.map(ReadField::as_str))
    .fetch_all(&db.pool)
    .await?;
    let mut newest: BTreeMap<String, OfVault> = BTreeMap::new();
    for Row { vault_id, field, value, observed_at, contracts } in rows {
        // A field that only a newer version of the service knows is left out.
        let Ok(field) = serde_json::from_value(Value::String(field)) else { continue };
        newest.entry(vault_id).or_default().insert(field, Newest { value, observed_at, contracts });
    }
    Ok(newest)
}

/// When it was last tried whether a vault takes a deposit.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct DepositTrial {
    pub vault_id: String,
    pub observed_at: At,
    /// What the vault answered to `maxDeposit` then, as hex.
    pub max_deposit: Option<String>,
}

/// The chain's vaults whose newest deposit status comes from a trial, by id: its calls are that of `maxDeposit` and then that of `gate`, the
/// contract of the trial.
pub async fn deposit_trials(db: &Db, chain_id: i64, gate: &str) -> Result<BTreeMap<String, DepositTrial>, StoreError> {
    let sql = "SELECT v.id AS vault_id, r.observed_at, r.calls->0->>'answer' AS max_deposit \
               FROM vault v CROSS JOIN LATERAL ( \
                   SELECT observed_at, calls FROM chain_reading WHERE vault_id = v.id AND field = 'deposit_status' \
                   ORDER BY observed_at DESC LIMIT 1) AS r \
               WHERE v.chain_id = $1 AND r.calls->1->>'contract' = $2";
    let rows: Vec<DepositTrial> = sqlx::query_as(sql).bind(chain_id).bind(gate).fetch_all(&db.pool).await?;
    Ok(rows.into_iter().map(|row| (row.vault_id.clone(), row)).collect())
}

/// What the registry has on a chain.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Addresses of vaults.
    pub vaults: BTreeSet<String>,
    /// Addresses of contracts that look like vaults.
    pub candidates: BTreeSet<String>,
    /// Addresses of assets.
    pub assets: BTreeSet<String>,
}

/// What the registry has on the chain.
pub async fn known(db: &Db, chain_id: i64) -> Result<Known, StoreError> {
    // One that was found on a fork may be found again.
    let vaults = "SELECT address FROM vault WHERE chain_id = $1 AND observed_at <> 'epoch'";
    let vaults: Vec<String> = sqlx::query_scalar(vaults).bind(chain_id).fetch_all(&db.pool).await?;
    let candidates = "SELECT address FROM chain_candidate WHERE chain_id = $1";
    let candidates: Vec<String> = sqlx::query_scalar(candidates).bind(chain_id).fetch_all(&db.pool).await?;
    let assets = asset_ids(db, chain_id).await?.into_keys().collect();
    Ok(Known { vaults: vaults.into_iter().collect(), candidates: candidates.into_iter().collect(), assets })
}

/// The ids of the chain's assets, by contract. Of two assets with one contract, the first in id order counts, as in scoring.
pub async fn asset_ids(db: &Db, chain_id: i64) -> Result<BTreeMap<String, String>, StoreError> {
    let sql = "SELECT DISTINCT ON (address) address, id FROM asset WHERE chain_id = $1 AND address IS NOT NULL ORDER BY address, id";
    let rows: Vec<(String, String)> = sqlx::query_as(sql).bind(chain_id).fetch_all(&db.pool).await?;
    Ok(rows.into_iter().collect())
}

/// The ids of the chain's vaults, by contract. Of two vaults with one contract, the first in id order counts.
pub async fn vault_ids(db: &Db, chain_id: i64) -> Result<BTreeMap<String, String>, StoreError> {
    let sql =
        "SELECT DISTINCT ON (address) address, id FROM vault WHERE chain_id = $1 AND is_active ORDER BY address, id";
    let rows: Vec<(String, String)> = sqlx::query_as(sql).bind(chain_id).fetch_all(&db.pool).await?;
    Ok(rows.into_iter().collect())
}

/// An asset whose contract is read.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct HeldAsset {
    pub id: String,
    pub address: String,
    pub category: String,
}

/// The chain's assets with a contract that active vaults of these protocols take as deposits or are exposed to, by id.
pub async fn held_assets(db: &Db, chain_id: i64, protocols: &[&str]) -> Result<Vec<HeldAsset>, StoreError> {
    let sql = "SELECT a.id, a.address, a.category FROM asset a WHERE a.chain_id = $1 AND a.address IS NOT NULL AND ( \
                   EXISTS (SELECT FROM vault v WHERE v.chain_id = $1 AND v.asset_address = a.address \
                       AND v.is_active AND v.protocol_id = ANY($2)) \
                   OR EXISTS (SELECT FROM exposure e JOIN vault v ON v.id = e.vault_id \
                       WHERE e.parts @> jsonb_build_array(jsonb_build_object('asset_id', a.id)) \
                           AND v.is_active AND v.protocol_id = ANY($2))) \
               ORDER BY a.id COLLATE \"C\"";
    Ok(sqlx::query_as(sql).bind(chain_id).bind(protocols).fetch_all(&db.pool).await?)
}

/// When and up to which block the holders of a vault were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownHolders {
    pub observed_at: At,
    pub indexed_to_block: i64,
}

/// The newest holders of these vaults, of those whose newest ones are complete and come from `source`.
pub async fn holders_read_at(
    db: &Db,
    vault_ids: &[&str],
    source: &str,
) -> Result<BTreeMap<String, KnownHolders>, StoreError> {
    let sql = "SELECT vault_id, observed_at, indexed_to_block FROM ( \
                   SELECT DISTINCT ON (vault_id) vault_id, observed_at, indexed_to_block, source, coverage_status FROM holder_snapshot \
                   WHERE vault_id = ANY($1) ORDER BY vault_id, observed_at DESC) newest \
               WHERE source = $2 AND coverage_status = 'complete' AND indexed_to_block IS NOT NULL";
    let rows: Vec<(String, At, i64)> = sqlx::query_as(sql).bind(vault_ids).bind(source).fetch_all(&db.pool).await?;
    let known = |(id, observed_at, indexed_to_block)| (id, KnownHolders { observed_at, indexed_to_block });
    Ok(rows.into_iter().map(known).collect())
}

/// Holder and balance, as decimal digits, of every position of the vault's newest holders.
pub async fn balances(db: &Db, vault_id: &str) -> Result<Vec<(String, String)>, StoreError> {
    let sql = "SELECT holder, balance_raw FROM vault_position WHERE vault_id = $1 \
               AND observed_at = (SELECT max(observed_at) FROM holder_snapshot WHERE vault_id = $1)";
    Ok(sqlx::query_as(sql).bind(vault_id).fetch_all(&db.pool).await?)
}

/// A price feed, as it is stored.
#[derive(Debug, Clone, Default, PartialEq, FromRow)]
pub struct KnownFeed {
    pub address: String,
    pub feed_kind: Option<String>,
    pub asset: Option<String>,
    pub quote: Option<String>,
    pub description: Option<String>,
    pub other_descriptions: Vec<String>,
    pub vendor: Option<String>,
    pub heartbeat_seconds: Option<i64>,
    pub deviation_threshold: Option<f64>,
    pub last_answer: Option<String>,
    pub last_update_at: Option<At>,
    pub used_by: Vec<String>,
    pub reserve_symbols: Vec<String>,
    pub observed_at: At,
}

/// The chain's price feeds, by contract.
pub async fn feeds(db: &Db, chain_id: i64) -> Result<BTreeMap<String, KnownFeed>, StoreError> {
    let sql = "SELECT address, feed_kind, asset, quote, description, other_descriptions, vendor, heartbeat_seconds, \
                      deviation_threshold, last_answer, last_update_at, used_by, reserve_symbols, observed_at \
               FROM oracle_feed WHERE chain_id = $1";
    let rows: Vec<KnownFeed> = sqlx::query_as(sql).bind(chain_id).fetch_all(&db.pool).await?;
    Ok(rows.into_iter().map(|row| (row.address.clone(), row)).collect())
}

/// A vault's newest exposures.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct KnownExposure {
    pub vault_id: String,
    pub status: String,
    pub parts: Value,
    pub observed_at: At,
    /// Whether they were read on the chain.
    pub is_read: bool,
}

/// The newest exposures of the chain's vaults, by vault.
pub async fn exposures(db: &Db, chain_id: i64) -> Result<BTreeMap<String, KnownExposure>, StoreError> {
    let sql = "SELECT e.vault_id, e.status, e.parts, e.observed_at, e.evidence IS NOT NULL AS is_read FROM exposure e JOIN vault v ON v.id = e.vault_id WHERE v.chain_id = $1";
    let rows: Vec<KnownExposure> = sqlx::query_as(sql).bind(chain_id).fetch_all(&db.pool).await?;
    Ok(rows.into_iter().map(|row| (row.vault_id.clone(), row)).collect())
}

/// Withholds the chains that are halted, and serves again those of `synced` that are resumed, as they were before. Returns how many
/// changed. A source that states a halted chain as served does not change that.
pub async fn follow_halts(tx: &mut Tx<'_>, synced: &[String]) -> Result<usize, StoreError> {
    let halted = "WITH halted AS ( \
             UPDATE chain_sync s SET was_served = coalesce(s.was_served, c.is_served) FROM chain c \
             WHERE c.chain_id = s.chain_id AND s.halted IS NOT NULL AND (s.was_served IS NULL OR c.is_served) RETURNING s.chain_id) \
         UPDATE chain c SET is_served = false FROM halted h WHERE h.chain_id = c.chain_id AND c.is_served";
    let halted = sqlx::query(halted).execute(&mut **tx).await?.rows_affected();
    let resumed = "WITH resumed AS ( \
             UPDATE chain_sync s SET was_served = NULL FROM chain_sync before \
             WHERE before.chain_id = s.chain_id AND s.chain_id::text = ANY($1) AND s.halted IS NULL AND s.was_served IS NOT NULL \
             RETURNING s.chain_id, before.was_served) \
         UPDATE chain c SET is_served = true FROM resumed r WHERE r.chain_id = c.chain_id AND r.was_served AND NOT c.is_served";
    let resumed = sqlx::query(resumed).bind(synced).execute(&mut **tx).await?.rows_affected();
    Ok(usize::try_from(halted.saturating_add(resumed)).unwrap_or(usize::MAX))
}

/// A block at which the chain was read.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ReadAt {
    pub block_number: i64,
    pub block_hash: String,
}

/// The newest blocks at which something was read of the chain, newest first.
pub async fn read_blocks(db: &Db, chain_id: i64, limit: i64) -> Result<Vec<ReadAt>, StoreError> {
    let sql = "SELECT block_number, block_hash FROM chain_reading WHERE chain_id = $1 \
               UNION SELECT (evidence->>'block_number')::bigint, evidence->>'block_hash' FROM asset_answer \
               WHERE (evidence->>'chain_id')::bigint = $1 ORDER BY block_number DESC LIMIT $2";
    Ok(sqlx::query_as(sql).bind(chain_id).bind(limit).fetch_all(&db.pool).await?)
}

/// How far every chain was read, with the number of vaults that have readings and of candidates.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct ChainStatus {
    pub chain_id: i64,
    pub block_number: i64,
    pub block_hash: String,
    /// The block's time.
    pub observed_at: At,
    pub halted: Option<String>,
    pub vaults: i64,
    pub candidates: i64,
}

/// How far every chain was read.
pub async fn status(db: &Db) -> Result<Vec<ChainStatus>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT chain_id, block_number, block_hash, observed_at, halted, \
                (SELECT count(*) FROM vault v WHERE v.chain_id = s.chain_id \
                    AND EXISTS (SELECT FROM chain_reading r WHERE r.vault_id = v.id)) AS vaults, \
                (SELECT count(*) FROM chain_candidate c WHERE c.chain_id = s.chain_id) AS candidates \
         FROM chain_sync s ORDER BY chain_id",
    )
    .fetch_all(&db.pool)
    .await?)
}

/// How far a chain is read, as callers may know it.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct ChainStanding {
    pub chain_id: i64,
    pub slug: String,
    pub halted: Option<String>,
    /// Time of the newest block that was read; `None` if the chain never was.
    pub read_to: Option<At>,
    /// Operators that answered otherwise than the others, ascending.
    pub dissenters: Vec<String>,
    /// For each of them, the time of the newest block about which it did.
    pub dissented_at: Vec<At>,
}

/// The chains that were read, and those with these ids, by slug. A chain is left out if it is withheld for another reason than its halt.
pub async fn standings(db: &Db, configured: &[i64]) -> Result<Vec<ChainStanding>, StoreError> {
    let sql = "SELECT c.chain_id, c.slug, s.halted, s.observed_at AS read_to, \
                ARRAY(SELECT operator FROM chain_dissent d WHERE d.chain_id = c.chain_id ORDER BY operator) AS dissenters, \
                ARRAY(SELECT observed_at FROM chain_dissent d WHERE d.chain_id = c.chain_id ORDER BY operator) AS dissented_at \
         FROM chain c LEFT JOIN chain_sync s ON s.chain_id = c.chain_id \
         WHERE (s.chain_id IS NOT NULL OR c.chain_id = ANY($1)) AND coalesce(s.was_served, c.is_served) ORDER BY c.slug COLLATE \"C\"";
    Ok(sqlx::query_as(sql).bind(configured).fetch_all(&db.pool).await?)
}

/// Records that operators answered otherwise than the others about the block of this time.
pub async fn note_dissent(db: &Db, chain_id: i64, operators: &[String], at: At) -> Result<(), StoreError> {
    let sql = "INSERT INTO chain_dissent (chain_id, operator, observed_at) SELECT $1, operator, $3 FROM unnest($2::text[]) AS operator \
               ON CONFLICT (chain_id, operator) DO UPDATE SET observed_at = excluded.observed_at";
    sqlx::query(sql).bind(chain_id).bind(operators).bind(at).execute(&db.pool).await?;
    Ok(())
}

/// Time of the newest reading of the chain before block `before`; `None` if there is none.
pub async fn last_read_before(db: &Db, chain_id: i64, before: i64) -> Result<Option<At>, StoreError> {
    let sql = "SELECT max(observed_at) FROM chain_reading WHERE chain_id = $1 AND block_number < $2";
    Ok(sqlx::query_scalar(sql).bind(chain_id).bind(before).fetch_one(&db.pool).await?)
}
