//! Baskets as served: versions, constituents and rules.
//!
//! Constituents on a withheld chain are read and marked; a caller that serves them must leave out their ids.

pub mod candidates;
pub mod indices;
pub mod overview;
pub mod versions;

use super::{At, Db, StoreError, Tx};
use crate::columns::{DbContentHash, DbPpm};
use crate::db_enum::DbEnum;
use crate::decode::{DbMilliPoints, Nullable};
use crate::shared_row::{Shared, shared_row};
use rds_facts::Eligibility;
use rds_shared::model::basket::{
    BasketMethodologyRow, BasketRow, BasketVersionRow, ConstituentType, ListedBasketVersion, Methodology, SupportStatus,
};
use rds_shared::model::version_signature::VersionSignature;
use rds_shared::rules::baskets::definition::{Caps, Definition, Weighting};
use rds_shared::rules::baskets::rebalance_triggers::Trigger;
use rds_shared::rules::baskets::weights::Constituent;
use rds_shared::wire::Timestamp;
use rds_shared::wire::page::PageRequest;
use sqlx::{FromRow, PgExecutor};
use std::collections::{BTreeSet, HashMap};

pub use crate::baskets::overview::{Overview, overview};

/// The support status of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromRow)]
pub struct Support {
    #[sqlx(try_from = "Nullable<At>")]
    pub deprecated_at: Option<Timestamp>,
    #[sqlx(try_from = "Nullable<At>")]
    pub retired_at: Option<Timestamp>,
}

impl Support {
    /// The status as served.
    pub const fn status(self) -> SupportStatus {
        match (self.deprecated_at, self.retired_at) {
            (_, Some(_)) => SupportStatus::Retired,
            (Some(_), None) => SupportStatus::Deprecated,
            (None, None) => SupportStatus::Current,
        }
    }
}

/// A version with its basket and its rules.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct StoredVersion {
    #[sqlx(flatten, try_from = "Shared<BasketVersionRow>")]
    pub row: BasketVersionRow,
    /// Its number among the basket's versions, from 1.
    pub number: i32,
    /// The basket's current name.
    pub name: String,
    /// The basket's name when the version was made.
    #[sqlx(rename = "basket_name")]
    pub made_as: String,
    /// Kind of constituents.
    #[sqlx(try_from = "DbEnum<ConstituentType>")]
    pub constituent_type: ConstituentType,
    /// When a rebalance last made or reproduced the version; the next rebalance is due relative to it. Not served.
    #[sqlx(try_from = "At")]
    pub confirmed_at: Timestamp,
    /// Methodology version that the rebalance at `confirmed_at` used.
    pub confirmed_under: String,
    #[sqlx(flatten)]
    pub support: Support,
    /// The succeeding version, if one was named.
    #[sqlx(rename = "successor_id")]
    pub successor: Option<String>,
    #[sqlx(flatten, try_from = "RulesRow")]
    pub methodology: Methodology,
}

impl StoredVersion {
    /// The version with the basket's name at the time, so that the response for a past instant does not change when the basket is
    /// renamed.
    pub fn under_its_name(self) -> Self {
        StoredVersion { name: self.made_as.clone(), ..self }
    }

    /// The version as it was made. Its URL may be cached for a year, so later support data is left out.
    pub fn as_made(self) -> Self {
        StoredVersion { support: Support::default(), successor: None, ..self.under_its_name() }
    }

    /// The successor, if the version is retired.
    pub fn retired_for(&self) -> Option<&str> {
        self.support.retired_at.and(self.successor.as_deref())
    }

    /// Whether the basket still has the name it had when the version was made.
    pub fn is_as_made(&self) -> bool {
        self.name == self.made_as
    }

    /// The list row of the basket with this version.
    pub fn basket(&self) -> BasketRow {
        BasketRow {
            id: self.row.basket_id.clone(),
            name: self.name.clone(),
            constituent_type: self.constituent_type,
            version_id: self.row.version_id.clone(),
            effective_from: self.row.effective_from,
            content_hash: self.row.content_hash,
            last_rebalanced_at: self.row.effective_from.0,
        }
    }
}

/// The constituents of a version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members {
    /// In ascending order of ids.
    pub constituents: Vec<Constituent>,
    /// Ids of constituents on withheld chains.
    pub withheld: BTreeSet<String>,
}

/// Selects versions with their basket, rules and support status. Conditions are appended.
const VERSION: &str = "SELECT v.*, g.address AS signer_address, b.name, b.constituent_type, coalesce(k.confirmed_at, v.effective_from) AS confirmed_at, \
            coalesce(k.methodology_version, v.methodology_version) AS confirmed_under, \
            s.deprecated_at, s.retired_at, s.successor_id, m.summary, m.doc_url, m.eligibility_rule, m.pivot, m.min_constituents, \
            m.single_name, m.issuer, m.floor, m.version \
     FROM basket_version v JOIN basket b ON b.id = v.basket_id \
     JOIN basket_methodology m ON m.basket_id = v.basket_id AND m.version = v.methodology_version \
     LEFT JOIN decision_signer g ON g.key_id = v.signing_key_id \
     LEFT JOIN basket_version_confirmed k ON k.version_id = v.version_id \
     LEFT JOIN basket_version_support s ON s.version_id = v.version_id";

/// Every published basket with its version in force, by id.
pub async fn current(db: &Db) -> Result<Vec<StoredVersion>, StoreError> {
    let sql = format!(
        "{VERSION} WHERE v.number = (SELECT max(number) FROM basket_version o WHERE o.basket_id = b.id) \
         ORDER BY b.id COLLATE \"C\""
    );
    Ok(sqlx::query_as(&sql).fetch_all(&db.pool).await?)
}

/// Whether webhooks can subscribe to a basket, or to one of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It exists and is not retired.
    Stands,
    /// The basket does not exist or has no version yet.
    NoBasket,
    /// The basket has no such version.
    NoVersion,
    /// The version is retired.
    Retired {
        /// The succeeding version.
        successor: String,
    },
}

/// Whether webhooks can subscribe to a basket, or to its version `version_id` if given.
pub async fn availability(
    db: impl PgExecutor<'_>,
    basket_id: &str,
    version_id: Option<&str>,
) -> Result<Availability, StoreError> {
    let sql = "SELECT EXISTS (SELECT FROM basket_version WHERE basket_id = $1), v.version_id IS NOT NULL, \
                   s.successor_id \
               FROM (SELECT) AS asked LEFT JOIN basket_version v ON v.basket_id = $1 AND v.version_id = $2 \
               LEFT JOIN basket_version_support s ON s.version_id = v.version_id AND s.retired_at IS NOT NULL";
    let (has_versions, has_this, successor): (bool, bool, Option<String>) =
        sqlx::query_as(sql).bind(basket_id).bind(version_id).fetch_one(db).await?;
    Ok(match (has_versions, version_id.is_none() || has_this, successor) {
        (false, _, _) => Availability::NoBasket,
        (true, false, _) => Availability::NoVersion,
        (true, true, Some(successor)) => Availability::Retired { successor },
        (true, true, None) => Availability::Stands,
    })
}

/// Locks a basket against new versions and changes of support status until the transaction ends.
pub async fn lock_support(tx: &mut Tx<'_>, basket_id: &str) -> Result<(), StoreError> {
    sqlx::query("SELECT FROM basket WHERE id = $1 FOR SHARE").bind(basket_id).execute(&mut **tx).await?;
    Ok(())
}

/// The version of a basket in force at an instant, or now; `None` before the first.
pub async fn in_force(
    db: impl PgExecutor<'_>,
    basket_id: &str,
    at: Option<Timestamp>,
) -> Result<Option<StoredVersion>, StoreError> {
    let sql = format!(
        "{VERSION} WHERE v.basket_id = $1 AND ($2::timestamptz IS NULL OR v.effective_from <= $2) ORDER BY v.number DESC LIMIT 1"
    );
    Ok(sqlx::query_as(&sql).bind(basket_id).bind(at.map(At)).fetch_optional(db).await?)
}

pub async fn version(db: impl PgExecutor<'_>, version_id: &str) -> Result<Option<StoredVersion>, StoreError> {
    let sql = format!("{VERSION} WHERE v.version_id = $1");
    Ok(sqlx::query_as(&sql).bind(version_id).fetch_optional(db).await?)
}

/// A page of a basket's versions, newest first, and their total number.
pub async fn versions(
    db: &Db,
    basket_id: &str,
    page: PageRequest,
) -> Result<(Vec<ListedBasketVersion>, u64), StoreError> {
    let mut tx = db.snapshot().await?;
    let total: i64 = sqlx::query_scalar("SELECT count(*) FROM basket_version WHERE basket_id = $1")
        .bind(basket_id)
        .fetch_one(&mut *tx)
        .await?;
    let sql = format!("{VERSION} WHERE v.basket_id = $1 ORDER BY v.number DESC OFFSET $2 LIMIT $3");
    let rows: Vec<StoredVersion> = sqlx::query_as(&sql)
        .bind(basket_id)
        .bind(i64::try_from(page.offset()).unwrap_or(i64::MAX))
        .bind(i64::try_from(page.rows()).unwrap_or(i64::MAX))
        .fetch_all(&mut *tx)
        .await?;
    let listed = |StoredVersion { row, support, successor, .. }| ListedBasketVersion {
        version: row,
        support_status: support.status(),
        deprecated_at: support.deprecated_at,
        retired_at: support.retired_at,
        successor_version_id: successor,
    };
    Ok((rows.into_iter().map(listed).collect(), total.unsigned_abs()))
}

#[derive(FromRow)]
struct MemberRow {
    version_id: String,
    #[sqlx(flatten, try_from = "Shared<Constituent>")]
    constituent: Constituent,
    is_withheld: bool,
}

/// The constituents of each of these versions.
pub async fn members(db: impl PgExecutor<'_>, version_ids: &[&str]) -> Result<HashMap<String, Members>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT c.*, EXISTS (SELECT FROM vault v JOIN chain h USING (chain_id) WHERE v.id = c.id AND NOT h.is_served) \
             OR EXISTS (SELECT FROM asset a JOIN chain h USING (chain_id) WHERE a.id = c.id AND NOT h.is_served) AS is_withheld \
         FROM basket_constituent c WHERE c.version_id = ANY($1) ORDER BY c.id COLLATE \"C\"",
    );
    let mut members: HashMap<String, Members> = HashMap::new();
    for MemberRow { version_id, constituent, is_withheld } in rows.bind(version_ids).fetch_all(db).await? {
        let of = members.entry(version_id).or_default();
        if is_withheld {
            of.withheld.insert(constituent.id.clone());
        }
        of.constituents.push(constituent);
    }
    Ok(members)
}

#[derive(FromRow)]
struct ActivatedRow {
    #[sqlx(flatten)]
    rules: RulesRow,
    observed_at: At,
    #[sqlx(try_from = "Nullable<At>")]
    retired_at: Option<Timestamp>,
}

/// The rules of a basket that have come into force, newest first; `None` if the basket does not exist or has no version yet.
pub async fn methodologies(
    db: &Db,
    basket_id: &str,
    now: Timestamp,
) -> Result<Option<Vec<BasketMethodologyRow>>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT m.*, lead(m.observed_at) OVER (ORDER BY m.observed_at, m.version) AS retired_at \
         FROM basket_methodology m WHERE m.basket_id = $1 AND m.observed_at <= $2 \
             AND EXISTS (SELECT FROM basket_version v WHERE v.basket_id = m.basket_id) \
         ORDER BY m.observed_at DESC, m.version DESC",
    );
    let rows = rows.bind(basket_id).bind(At(now)).fetch_all(&db.pool).await?;
    let served = |ActivatedRow { rules, observed_at, retired_at }| BasketMethodologyRow {
        version: rules.version.clone(),
        doc_url: rules.doc_url.clone(),
        content_hash: Definition::from(rules).content_hash(),
        activated_at: observed_at.into(),
        retired_at,
        is_active: retired_at.is_none(),
    };
    Ok((!rows.is_empty()).then(|| rows.into_iter().map(served).collect()))
}

/// The rules of a basket in force at `now`.
pub async fn active_rules(tx: &mut Tx<'_>, basket_id: &str, now: Timestamp) -> Result<Option<Definition>, StoreError> {
    let sql = "SELECT * FROM basket_methodology WHERE basket_id = $1 AND observed_at <= $2 \
               ORDER BY observed_at DESC, version DESC LIMIT 1";
    let row: Option<RulesRow> = sqlx::query_as(sql).bind(basket_id).bind(At(now)).fetch_optional(&mut **tx).await?;
    Ok(row.map(Definition::from))
}

/// Ids of all baskets, including those without a version.
pub async fn ids(db: &Db) -> Result<Vec<String>, StoreError> {
    Ok(sqlx::query_scalar("SELECT id FROM basket ORDER BY id COLLATE \"C\"").fetch_all(&db.pool).await?)
}

/// The kind of constituents of every basket.
pub async fn constituent_types(tx: &mut Tx<'_>) -> Result<HashMap<String, String>, StoreError> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT id, constituent_type FROM basket").fetch_all(&mut **tx).await?;
    Ok(rows.into_iter().collect())
}

/// For every basket: whether `in_basket_a` of an asset refers to the basket, and when this was observed.
pub async fn marked(tx: &mut Tx<'_>) -> Result<HashMap<String, (bool, At)>, StoreError> {
    let rows: Vec<(String, bool, At)> =
        sqlx::query_as("SELECT id, is_basket_a, observed_at FROM basket").fetch_all(&mut **tx).await?;
    Ok(rows.into_iter().map(|(id, is_it, at)| (id, (is_it, at))).collect())
}

/// The content hash of every version of every basket's rules.
pub async fn rule_hashes(tx: &mut Tx<'_>) -> Result<HashMap<(String, String), [u8; 32]>, StoreError> {
    let rows: Vec<(String, String, Vec<u8>)> =
        sqlx::query_as("SELECT basket_id, version, content_hash FROM basket_methodology").fetch_all(&mut **tx).await?;
    let corrupt =
        |bytes| StoreError::Corrupt { column: "basket_methodology.content_hash", text: format!("{bytes:02x?}") };
    let read = |(basket, version, hash): (_, _, Vec<u8>)| Ok(((basket, version), hash.try_into().map_err(corrupt)?));
    rows.into_iter().map(read).collect()
}

shared_row! { VersionSignature { signing_key_id, signer_address, signature } }
shared_row! { Constituent { id, issuer, score: DbMilliPoints, weight: DbPpm } }
shared_row! { BasketVersionRow {
    version_id, basket_id, effective_from: At, trigger_reason: DbEnum<Trigger>, prior_version_id, methodology_version,
    content_hash: DbContentHash, created_at: At; signed
} }

/// A row of `basket_methodology`.
#[derive(FromRow)]
struct RulesRow {
    basket_id: String,
    version: String,
    summary: String,
    doc_url: Option<String>,
    #[sqlx(json)]
    eligibility_rule: Eligibility,
    pivot: DbMilliPoints,
    #[sqlx(try_from = "i32")]
    min_constituents: u32,
    single_name: DbPpm,
    issuer: DbPpm,
    floor: DbPpm,
}

impl From<RulesRow> for Definition {
    fn from(row: RulesRow) -> Self {
        let caps = Caps::new(row.single_name.into(), row.issuer.into(), row.floor.into());
        Definition {
            basket_id: row.basket_id,
            methodology_version: row.version,
            eligibility: row.eligibility_rule.rule(),
            weighting: Weighting {
                pivot: row.pivot.into(),
                // The fallback is unreachable: the table enforces the same bounds.
                caps: caps.unwrap_or(Caps::VAULTS),
                min_constituents: row.min_constituents,
            },
        }
    }
}

impl From<RulesRow> for Methodology {
    fn from(mut row: RulesRow) -> Self {
        let (summary, doc_url) = (std::mem::take(&mut row.summary), row.doc_url.take());
        Methodology::new(&row.into(), summary, doc_url)
    }
}
