//! Webhook subscriptions: rows, states, secrets.

pub mod deliveries;
pub mod event_leases;
pub mod fanout;
pub mod lists;
pub mod secrets;
pub mod upkeep;

use super::{At, Db, StoreError, Tx};
use crate::db_enum::DbEnum;
use crate::decode::{DbEnums, Joined, Nullable, OuterJoined};
use crate::shared_row::{Shared, shared_row};
use rds_shared::push::breaker::{Breaker, DisabledReason, FailureRun, Status};
use rds_shared::push::event_type::EventType;
use rds_shared::wire::Timestamp;
use sqlx::FromRow;
use sqlx::postgres::PgRow;

/// The subject of a basket subscription.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ToBasket {
    pub basket_id: String,
    /// The pinned version, if any.
    pub pinned_version_id: Option<String>,
}

impl OuterJoined for ToBasket {
    const KEY: &'static str = "basket_id";
}

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Subscription {
    pub id: i64,
    /// The subject of a basket subscription; `None` for a generic one.
    #[sqlx(flatten, try_from = "Joined<ToBasket>")]
    pub basket: Option<ToBasket>,
    pub url: String,
    /// Subscribed event types; empty for a basket subscription.
    #[sqlx(try_from = "DbEnums<EventType>")]
    pub families: Vec<EventType>,
    /// The owner's description.
    pub description: Option<String>,
    /// State of the subscription, and the key on whose behalf it delivers.
    #[sqlx(flatten, try_from = "Shared<Breaker>")]
    pub breaker: Breaker,
    #[sqlx(try_from = "At")]
    pub created_at: Timestamp,
    /// Time of the last change of the subscription's settings or state.
    #[sqlx(try_from = "At")]
    pub updated_at: Timestamp,
}

/// A subscription's signing secrets, encrypted.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct SealedSecrets {
    /// The newest secret.
    #[sqlx(rename = "secret")]
    pub current: Vec<u8>,
    /// The previous secret and the end of its use; the end is `None` until a service sets it ([`secrets::keep_overlaps`]).
    #[sqlx(flatten, try_from = "PreviousRow")]
    pub previous: Option<(Vec<u8>, Option<Timestamp>)>,
}

#[derive(FromRow)]
struct PreviousRow {
    previous_secret: Option<Vec<u8>>,
    previous_until: Option<At>,
}

impl From<PreviousRow> for Option<(Vec<u8>, Option<Timestamp>)> {
    fn from(row: PreviousRow) -> Self {
        row.previous_secret.map(|secret| (secret, row.previous_until.map(Timestamp::from)))
    }
}

/// A subscription to insert.
#[derive(Debug)]
pub struct NewSubscription<'a> {
    /// Id of the subscription, drawn before the insert, because the secret's encryption is bound to the id.
    pub id: i64,
    /// Id of the owning organisation.
    pub org: i64,
    pub url: &'a str,
    /// Subscribed event types; empty for a basket subscription.
    pub families: &'a [EventType],
    /// The subject of a basket subscription; `None` for a generic one.
    pub basket: Option<&'a ToBasket>,
    /// The owner's description.
    pub description: Option<&'a str>,
    pub secret: &'a [u8],
    /// Initial state of the subscription.
    pub breaker: Breaker,
}

const COLUMNS: &str = "s.id, s.basket_id, s.pinned_version_id, s.url, s.families, s.description, s.status, s.paused_until, s.disabled_reason, s.key_id, s.failure_count, \
     s.latest_failure_at, s.second_latest_failure_at, s.pauses, s.finals_since, s.created_at, s.updated_at";

shared_row! { Breaker { credential = "key_id", pauses: i16, finals_since: At; status, failures } }
shared_row! { FailureRun {
    count: i64 = "failure_count", latest: Nullable<At> = "latest_failure_at",
    second_latest: Nullable<At> = "second_latest_failure_at"
} }

#[derive(FromRow)]
struct StatusRow {
    status: String,
    paused_until: Option<At>,
    disabled_reason: Option<DbEnum<DisabledReason>>,
}

impl FromRow<'_, PgRow> for Shared<Status> {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let StatusRow { status, paused_until, disabled_reason } = StatusRow::from_row(row)?;
        match (status.as_str(), paused_until, disabled_reason) {
            ("active", None, None) => Ok(Shared(Status::Active)),
            ("paused", Some(At(until)), None) => Ok(Shared(Status::Paused(until))),
            ("disabled", None, Some(DbEnum(reason))) => Ok(Shared(Status::Disabled(reason))),
            _ => Err(sqlx::Error::ColumnDecode {
                index: "status".to_owned(),
                source: format!("{status:?} contradicts the end of the pause or the reason").into(),
            }),
        }
    }
}

/// A subscription with its signing secrets.
#[derive(FromRow)]
struct WithSecrets {
    #[sqlx(flatten)]
    subscription: Subscription,
    #[sqlx(flatten)]
    secrets: SealedSecrets,
}

/// Locks the organisation so that its subscriptions are created one at a time; returns the current number of subscriptions.
pub async fn lock_organisation(tx: &mut Tx<'_>, org: i64) -> Result<i64, StoreError> {
    sqlx::query("SELECT FROM organisation WHERE id = $1 FOR NO KEY UPDATE").bind(org).execute(&mut **tx).await?;
    let count = "SELECT count(*) FROM webhook_subscription WHERE org_id = $1";
    Ok(sqlx::query_scalar(count).bind(org).fetch_one(&mut **tx).await?)
}

/// Whether `key` is an active key of `org`. Locks the key, so a revocation waits until the transaction ends.
pub async fn is_live_key(tx: &mut Tx<'_>, key: i64, org: i64) -> Result<bool, StoreError> {
    let sql = "SELECT FROM api_key WHERE id = $1 AND org_id = $2 AND revoked_at IS NULL FOR SHARE";
    Ok(sqlx::query(sql).bind(key).bind(org).fetch_optional(&mut **tx).await?.is_some())
}

/// Draws the id of the next subscription.
pub async fn next_id(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    let sql = "SELECT nextval(pg_get_serial_sequence('webhook_subscription', 'id'))";
    Ok(sqlx::query_scalar(sql).fetch_one(&mut **tx).await?)
}

/// Inserts a subscription; it receives the operations that the journal numbers from now on.
pub async fn insert(tx: &mut Tx<'_>, new: &NewSubscription<'_>, now: Timestamp) -> Result<Subscription, StoreError> {
    let sql = format!(
        "/* insert_webhook */ INSERT INTO webhook_subscription AS s (id, org_id, created_by_key_id, key_id, url, description, \
             families, secret, status, failure_count, pauses, finals_since, since_seq, created_at, updated_at, \
             basket_id, pinned_version_id) \
         VALUES ($1, $2, $3, $3, $4, $5, $6, $7, 'active', 0, 0, $8, (SELECT head FROM journal_state), $9, $9, $10, $11) \
         RETURNING {COLUMNS}"
    );
    let families: Vec<&str> = new.families.iter().map(|family| family.as_str()).collect();
    let inserted = sqlx::query_as(&sql)
        .bind(new.id)
        .bind(new.org)
        .bind(new.breaker.credential) // $3 created_by_key_id, key_id
        .bind(new.url)
        .bind(new.description)
        .bind(families)
        .bind(new.secret)
        .bind(At(new.breaker.finals_since))
        .bind(At(now)) // $9 created_at, updated_at
        .bind(new.basket.map(|it| &it.basket_id))
        .bind(new.basket.and_then(|it| it.pinned_version_id.as_ref()))
        .fetch_one(&mut **tx)
        .await?;
    Ok(inserted)
}

/// An earlier creation with the same idempotency key.
#[derive(Debug, FromRow)]
pub struct CreatedAs {
    /// Digest of the request.
    pub request_digest: Vec<u8>,
    /// The key that made the request.
    #[sqlx(rename = "created_by_key_id")]
    pub by: i64,
    /// Whether the secret was rotated since.
    pub is_rotated: bool,
    #[sqlx(flatten)]
    pub subscription: Subscription,
    #[sqlx(flatten)]
    pub secrets: SealedSecrets,
}

/// The creation with the idempotency key `name` after `since`, if any.
pub async fn created_as(
    db: impl sqlx::PgExecutor<'_>,
    org: i64,
    name: &str,
    since: Timestamp,
) -> Result<Option<CreatedAs>, StoreError> {
    let sql = format!(
        "/* webhook_created_as */ SELECT c.wish AS request_digest, c.is_rotated, s.created_by_key_id, {COLUMNS}, s.secret, s.previous_secret, s.previous_until \
         FROM webhook_creation c JOIN webhook_subscription s ON s.id = c.subscription_id \
         WHERE c.org_id = $1 AND c.idempotency_key = $2 AND c.created_at > $3"
    );
    Ok(sqlx::query_as(&sql).bind(org).bind(name).bind(At(since)).fetch_optional(db).await?)
}

/// Records a creation under its idempotency key; replaces an expired one.
pub async fn name_creation(
    tx: &mut Tx<'_>,
    org: i64,
    idempotency_key: &str,
    request_digest: &[u8],
    subscription: i64,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "
        -- name_webhook_creation
        INSERT INTO webhook_creation (org_id, idempotency_key, wish, subscription_id, created_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (org_id, idempotency_key)
        DO UPDATE SET wish = excluded.wish, subscription_id = excluded.subscription_id, is_rotated = FALSE,
            created_at = excluded.created_at";
    let created_at = At(now);
    let query =
        sqlx::query(sql).bind(org).bind(idempotency_key).bind(request_digest).bind(subscription).bind(created_at);
    query.execute(&mut **tx).await?;
    Ok(())
}

/// An organisation's subscriptions to a basket, or its generic ones if `basket` is `None`, oldest first.
pub async fn of_org(db: &Db, org: i64, basket: Option<&str>) -> Result<Vec<Subscription>, StoreError> {
    let sql = format!(
        "/* webhooks */ SELECT {COLUMNS} FROM webhook_subscription s \
         WHERE s.org_id = $1 AND s.basket_id IS NOT DISTINCT FROM $2 ORDER BY s.id"
    );
    Ok(sqlx::query_as(&sql).bind(org).bind(basket).fetch_all(&db.pool).await?)
}

/// An organisation's subscriptions to any basket, oldest first.
pub async fn of_baskets(db: &Db, org: i64) -> Result<Vec<Subscription>, StoreError> {
    let sql = format!(
        "/* basket_webhooks */ SELECT {COLUMNS} FROM webhook_subscription s \
         WHERE s.org_id = $1 AND s.basket_id IS NOT NULL ORDER BY s.id"
    );
    Ok(sqlx::query_as(&sql).bind(org).fetch_all(&db.pool).await?)
}

/// A generic subscription of an organisation, with its signing secrets.
pub async fn find(db: &Db, org: i64, id: i64) -> Result<Option<(Subscription, SealedSecrets)>, StoreError> {
    let sql = format!(
        "/* webhook */ SELECT {COLUMNS}, s.secret, s.previous_secret, s.previous_until FROM webhook_subscription s \
         WHERE s.org_id = $1 AND s.id = $2 AND s.basket_id IS NULL"
    );
    let row: Option<WithSecrets> = sqlx::query_as(&sql).bind(org).bind(id).fetch_optional(&db.pool).await?;
    Ok(row.map(|row| (row.subscription, row.secrets)))
}

/// A subscription of an organisation to a basket, or a generic one; locked until the transaction ends.
pub async fn find_locked(
    tx: &mut Tx<'_>,
    org: i64,
    basket: Option<&str>,
    id: i64,
) -> Result<Option<Subscription>, StoreError> {
    let sql = format!(
        "/* webhook_locked */ SELECT {COLUMNS} FROM webhook_subscription s \
         WHERE s.org_id = $1 AND s.id = $2 AND s.basket_id IS NOT DISTINCT FROM $3 FOR NO KEY UPDATE"
    );
    Ok(sqlx::query_as(&sql).bind(org).bind(id).bind(basket).fetch_optional(&mut **tx).await?)
}

/// Locks those of the subscriptions that attempts may change, by ascending id, and returns them.
///
/// Successful attempts change nothing at a subscription without failures. `succeeded` are the subscriptions that have only such attempts.
pub async fn lock_changing(tx: &mut Tx<'_>, ids: &[i64], succeeded: &[i64]) -> Result<Vec<Subscription>, StoreError> {
    let sql = format!(
        "/* lock_changing_webhooks */ SELECT {COLUMNS} FROM webhook_subscription s \
         WHERE s.id = ANY($1) AND (NOT s.id = ANY($2) OR s.status <> 'active' OR s.failure_count > 0 OR s.pauses > 0 \
             OR EXISTS (SELECT FROM webhook_delivery d WHERE d.subscription_id = s.id AND d.state = 'failed_terminal' \
                        AND d.finished_at > s.finals_since)) \
         ORDER BY s.id FOR NO KEY UPDATE"
    );
    Ok(sqlx::query_as(&sql).bind(ids).bind(succeeded).fetch_all(&mut **tx).await?)
}

/// Locks the subscriptions that deliver on behalf of a key, and returns them.
pub async fn lock_of_key(tx: &mut Tx<'_>, key: i64) -> Result<Vec<Subscription>, StoreError> {
    let sql = format!(
        "/* lock_webhooks_of_key */ SELECT {COLUMNS} FROM webhook_subscription s WHERE s.key_id = $1 ORDER BY s.id \
         FOR NO KEY UPDATE"
    );
    Ok(sqlx::query_as(&sql).bind(key).fetch_all(&mut **tx).await?)
}

/// Locks up to 200 subscriptions whose pause is over, and returns them; skips those locked by another process.
pub async fn lock_resuming(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<Subscription>, StoreError> {
    let sql = format!(
        "/* lock_resuming_webhooks */ SELECT {COLUMNS} FROM webhook_subscription s \
         WHERE s.status = 'paused' AND s.paused_until <= $1 ORDER BY s.id LIMIT 200 FOR NO KEY UPDATE SKIP LOCKED"
    );
    Ok(sqlx::query_as(&sql).bind(At(now)).fetch_all(&mut **tx).await?)
}

/// Stores a subscription's state. `touched` is the new `updated_at`, if the owner sees a change.
pub async fn save(tx: &mut Tx<'_>, id: i64, breaker: &Breaker, touched: Option<Timestamp>) -> Result<(), StoreError> {
    let (paused_until, reason) = match breaker.status {
        Status::Active => (None, None),
        Status::Paused(until) => (Some(At(until)), None),
        Status::Disabled(reason) => (None, Some(reason.as_str())),
    };
    let sql = "
        -- save_webhook_state
        UPDATE webhook_subscription
        SET status = $2, paused_until = $3, disabled_reason = $4, key_id = $5, failure_count = $6, latest_failure_at = $7,
            second_latest_failure_at = $8, pauses = $9, finals_since = $10, updated_at = coalesce($11, updated_at)
        WHERE id = $1";
    sqlx::query(sql)
        .bind(id)
        .bind(breaker.status.as_str())
        .bind(paused_until)
        .bind(reason)
        .bind(breaker.credential) // $5 key_id
        .bind(i64::from(breaker.failures.count))
        .bind(breaker.failures.latest.map(At))
        .bind(breaker.failures.second_latest.map(At))
        .bind(i16::from(breaker.pauses))
        .bind(At(breaker.finals_since))
        .bind(touched.map(At)) // $11 updated_at
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Deletes a subscription to a basket, or a generic one. Its attempts in progress are not recorded, and [`upkeep::prune_removed`] deletes its
/// deliveries. `false` if the organisation has none with this id.
pub async fn delete(tx: &mut Tx<'_>, org: i64, basket: Option<&str>, id: i64) -> Result<bool, StoreError> {
    let sql = "DELETE FROM webhook_subscription WHERE org_id = $1 AND id = $2 AND basket_id IS NOT DISTINCT FROM $3";
    Ok(sqlx::query(sql).bind(org).bind(id).bind(basket).execute(&mut **tx).await?.rows_affected() == 1)
}
