//! API keys and their organisations.

pub mod edge_outbox;
pub mod index_tokens;
pub mod spent_assertions;
pub mod usage;

use super::{At, Db, StoreError, Tx};
use crate::decode::{DbPlan, Nullable};
use rds_shared::access::{KeyDigest, KeyRecord, Plan};
use rds_shared::wire::Timestamp;
use serde::Serialize;
use serde_json::Value;
use sqlx::FromRow;

/// The properties of a new key.
#[derive(Debug, Clone)]
pub struct CreateKey {
    pub org: String,
    pub plan: Plan,
    /// Contracted requests per minute for this key only.
    pub rpm: Option<u32>,
    /// Whether the key's holder serves several clients with the key.
    pub shared: bool,
}

/// An API key as the CLI lists it.
#[derive(Debug, Clone, PartialEq, Serialize, FromRow)]
pub struct KeyRow {
    pub id: i64,
    /// First characters of the key.
    pub prefix: String,
    /// Name of the organisation that holds the key.
    pub org: String,
    #[sqlx(try_from = "DbPlan")]
    pub plan: Plan,
    /// Requests per minute: contracted, or the plan's default.
    #[sqlx(flatten, try_from = "RpmRow")]
    pub rpm: u32,
    /// Stored metadata as a JSON object; it has the member `contracted_rpm` if a rate was contracted.
    pub metadata: Value,
    /// Whether the key's holder serves several clients with the key.
    #[sqlx(rename = "is_shared")]
    pub shared: bool,
    #[sqlx(try_from = "At")]
    pub created_at: Timestamp,
    /// Time of the key's latest counted request.
    #[sqlx(try_from = "Nullable<At>")]
    pub last_used_at: Option<Timestamp>,
    #[sqlx(try_from = "Nullable<At>")]
    pub revoked_at: Option<Timestamp>,
    /// False once revoked, which is permanent.
    pub is_active: bool,
}

/// The result of a revocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revocation {
    /// The key was active and is now revoked.
    Revoked,
    /// The key had been revoked before.
    Already,
    /// There is no key with this id.
    Unknown,
}

impl Revocation {
    pub fn of(hit: bool, known: bool) -> Self {
        match (hit, known) {
            (true, _) => Revocation::Revoked,
            (false, true) => Revocation::Already,
            (false, false) => Revocation::Unknown,
        }
    }
}

/// The columns of a [`KeyRecord`]; read as a [`RecordRow`].
pub(super) const RECORD: &str =
    "k.id, k.org_id, k.plan, k.contracted_rpm, k.is_shared, k.revoked_at IS NULL AS is_active, k.version";

/// A key's requests per minute: contracted, or the plan's default.
#[derive(FromRow)]
struct RpmRow {
    plan: DbPlan,
    contracted_rpm: Option<i32>,
}

impl From<RpmRow> for u32 {
    fn from(row: RpmRow) -> Self {
        let contracted = row.contracted_rpm.and_then(|rpm| u32::try_from(rpm).ok());
        contracted.unwrap_or(row.plan.0.default_rpm())
    }
}

/// The columns of [`RECORD`].
#[derive(FromRow)]
pub(super) struct RecordRow {
    id: i64,
    org_id: i64,
    plan: DbPlan,
    #[sqlx(flatten)]
    rpm: RpmRow,
    is_shared: bool,
    is_active: bool,
    version: i64,
}

impl From<RecordRow> for KeyRecord {
    fn from(row: RecordRow) -> Self {
        KeyRecord {
            id: row.id,
            org_id: row.org_id,
            plan: row.plan.0,
            rpm: row.rpm.into(),
            shared: row.is_shared,
            active: row.is_active,
            version: row.version,
        }
    }
}

/// Adds a key, and its organisation with the key's plan if it does not exist. Returns the key's id.
pub async fn insert(
    tx: &mut Tx<'_>,
    request: &CreateKey,
    prefix: &str,
    digest: &KeyDigest,
    now: Timestamp,
) -> Result<i64, StoreError> {
    let sql = "
        -- insert_key
        WITH org AS (
            -- The update changes nothing: it makes an existing row come back.
            INSERT INTO organisation (name, plan, created_at) VALUES ($1, $4, $7)
            ON CONFLICT (name) DO UPDATE SET name = excluded.name
            RETURNING id
        )
        INSERT INTO api_key (org_id, prefix, digest, plan, metadata, is_shared, created_at)
        SELECT id, $2, $3, $4, jsonb_strip_nulls(jsonb_build_object('contracted_rpm', $5::integer)), $6, $7 FROM org
        RETURNING id";
    let id = sqlx::query_scalar(sql)
        .bind(&request.org) // $1 name
        .bind(prefix)
        .bind(digest.as_bytes().as_slice())
        .bind(request.plan.as_str())
        .bind(request.rpm.and_then(|rpm| i32::try_from(rpm).ok())) // $5 contracted_rpm
        .bind(request.shared)
        .bind(At(now)) // $7 created_at
        .fetch_one(&mut **tx)
        .await?;
    Ok(id)
}

/// The key with this digest, active or revoked.
pub async fn find(db: &Db, digest: &KeyDigest) -> Result<Option<KeyRecord>, StoreError> {
    let sql = format!("/* find_key */ SELECT {RECORD} FROM api_key k WHERE k.digest = $1");
    let row: Option<RecordRow> =
        sqlx::query_as(&sql).bind(digest.as_bytes().as_slice()).fetch_optional(&db.pool).await?;
    Ok(row.map(KeyRecord::from))
}

/// The stored keys that may match a presented key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Candidates {
    /// This key, active or revoked.
    Key(KeyRecord),
    /// Id and bcrypt hash of each active key that has the prefix and no digest. At most one of the hashes matches the presented key.
    Unproved(Vec<(i64, String)>),
}

#[derive(FromRow)]
struct CandidateRow {
    #[sqlx(flatten, try_from = "RecordRow")]
    record: KeyRecord,
    bcrypt_hash: Option<String>,
}

/// The key with this digest, or at most `limit` active keys with this prefix that have a bcrypt hash instead of a digest.
///
/// Both are searched in one statement, so that a key which gets its digest concurrently is found either way.
pub async fn candidates(db: &Db, digest: &KeyDigest, prefix: &str, limit: u32) -> Result<Candidates, StoreError> {
    let sql = format!(
        "/* key_candidates */ SELECT {RECORD}, k.bcrypt_hash FROM api_key k \
         WHERE k.digest = $1 OR (k.prefix = $2 AND k.digest IS NULL AND k.revoked_at IS NULL) \
         ORDER BY k.digest IS NULL, k.id LIMIT $3"
    );
    let query = sqlx::query_as(&sql).bind(digest.as_bytes().as_slice()).bind(prefix).bind(i64::from(limit));
    let mut unproved = Vec::new();
    for CandidateRow { record, bcrypt_hash } in query.fetch_all(&db.pool).await? {
        match bcrypt_hash {
            None => return Ok(Candidates::Key(record)),
            Some(hash) => unproved.push((record.id, hash)),
        }
    }
    Ok(Candidates::Unproved(unproved))
}

/// Stores the digest of a key's text after its bcrypt hash has verified the text. `None` if the key has a digest already.
///
/// The returned record is the one written by this statement, so it includes a concurrent revocation.
pub async fn give_digest(db: &Db, id: i64, digest: &KeyDigest) -> Result<Option<KeyRecord>, StoreError> {
    let sql = format!(
        "/* give_digest */ UPDATE api_key k SET digest = $2, bcrypt_hash = NULL WHERE id = $1 AND digest IS NULL RETURNING {RECORD}"
    );
    let row: Option<RecordRow> =
        sqlx::query_as(&sql).bind(id).bind(digest.as_bytes().as_slice()).fetch_optional(&db.pool).await?;
    Ok(row.map(KeyRecord::from))
}

/// Revokes an active key permanently. `false` if it was revoked before or does not exist.
pub async fn revoke(tx: &mut Tx<'_>, id: i64, now: Timestamp) -> Result<bool, StoreError> {
    let sql = "
        -- revoke_key
        UPDATE api_key SET revoked_at = $2, version = key_version_after(version) WHERE id = $1 AND revoked_at IS NULL";
    Ok(sqlx::query(sql).bind(id).bind(At(now)).execute(&mut **tx).await?.rows_affected() == 1)
}

/// Whether a key with this id exists, active or revoked.
pub async fn exists(tx: &mut Tx<'_>, id: i64) -> Result<bool, StoreError> {
    Ok(sqlx::query_scalar("SELECT EXISTS (SELECT FROM api_key WHERE id = $1)").bind(id).fetch_one(&mut **tx).await?)
}

/// Puts an organisation and its active keys on `plan`; contracted rates of keys stay. Returns the ids of the keys that changed, or `None`
/// if the organisation does not exist.
pub async fn align(tx: &mut Tx<'_>, org: &str, plan: Plan) -> Result<Option<Vec<i64>>, StoreError> {
    let sql = "UPDATE organisation SET plan = $2 WHERE name = $1 RETURNING id";
    let org: Option<i64> = sqlx::query_scalar(sql).bind(org).bind(plan.as_str()).fetch_optional(&mut **tx).await?;
    let Some(org) = org else { return Ok(None) };
    let sql = "
        -- align_keys
        UPDATE api_key SET plan = $2, version = key_version_after(version)
        WHERE org_id = $1 AND plan <> $2 AND revoked_at IS NULL
        RETURNING id";
    Ok(Some(sqlx::query_scalar(sql).bind(org).bind(plan.as_str()).fetch_all(&mut **tx).await?))
}

/// The ids of an organisation's active keys; `None` if the organisation does not exist.
pub async fn of_org(db: &Db, org: &str) -> Result<Option<Vec<i64>>, StoreError> {
    let sql = "
        -- keys_of_org
        SELECT ARRAY(SELECT k.id FROM api_key k WHERE k.org_id = o.id AND k.revoked_at IS NULL ORDER BY k.id)
        FROM organisation o WHERE o.name = $1";
    Ok(sqlx::query_scalar(sql).bind(org).fetch_optional(&db.pool).await?)
}

/// All keys, oldest first.
pub async fn all(db: &Db) -> Result<Vec<KeyRow>, StoreError> {
    let sql = format!(
        "/* keys */ SELECT {RECORD}, k.prefix, k.metadata, k.created_at, k.last_used_at, k.revoked_at, o.name AS org \
         FROM api_key k JOIN organisation o ON o.id = k.org_id ORDER BY k.id"
    );
    Ok(sqlx::query_as(&sql).fetch_all(&db.pool).await?)
}
