//! Rotation of webhook secrets: the writes of the operator's command, and of the services afterwards.

use super::{At, Db, StoreError, Tx};
use rds_shared::wire::Timestamp;

/// The encrypted secret of a generic or basket subscription, locked until the transaction ends.
pub async fn lock(tx: &mut Tx<'_>, id: i64) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = "select secret from webhook_subscription where id = $1 for no key update";
    Ok(sqlx::query_scalar(sql).bind(id).fetch_optional(&mut **tx).await?)
}

/// Replaces the secret by `next`. The old secret continues to sign for `overlap_seconds`; with 0 it is dropped at once.
///
/// The first service that sees the rotation sets the end of the overlap, by the service's clock.
pub async fn rotate(
    tx: &mut Tx<'_>,
    id: i64,
    next: &[u8],
    overlap_seconds: i32,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "
        -- rotate_webhook_secret
        update webhook_subscription
        set secret = $2, previous_secret = case when $3 > 0 then secret end, previous_seconds = nullif($3, 0),
            previous_until = null, updated_at = greatest(updated_at, $4)
        where id = $1";
    sqlx::query(sql).bind(id).bind(next).bind(overlap_seconds).bind(At(now)).execute(&mut **tx).await?;
    let sql = "update webhook_creation set is_rotated = true where subscription_id = $1";
    sqlx::query(sql).bind(id).execute(&mut **tx).await?;
    Ok(())
}

/// A subscription's id, its encrypted secret and the previous one.
pub type Sealed = (i64, Vec<u8>, Option<Vec<u8>>);

/// The next `n` generic or basket subscriptions with an id above `after`, locked until the transaction ends.
pub async fn lock_next(tx: &mut Tx<'_>, after: i64, n: i64) -> Result<Vec<Sealed>, StoreError> {
    let sql = "
        -- lock_webhook_secrets
        select id, secret, previous_secret from webhook_subscription where id > $1 order by id limit $2 for no key update";
    Ok(sqlx::query_as(sql).bind(after).bind(n).fetch_all(&mut **tx).await?)
}

/// Stores the same secrets under a new encryption; `None` leaves one unchanged.
pub async fn reseal(
    tx: &mut Tx<'_>,
    id: i64,
    secret: Option<&[u8]>,
    previous: Option<&[u8]>,
) -> Result<(), StoreError> {
    let sql = "
        -- reseal_webhook_secret
        update webhook_subscription
        set secret = coalesce($2, secret), previous_secret = coalesce($3, previous_secret) where id = $1";
    sqlx::query(sql).bind(id).bind(secret).bind(previous).execute(&mut **tx).await?;
    Ok(())
}

/// Sets the end of overlaps that have just begun, and deletes secrets whose overlap is over.
pub async fn keep_overlaps(db: &Db, now: Timestamp) -> Result<(), StoreError> {
    let sql = "
        -- keep_webhook_overlaps
        update webhook_subscription
        set previous_until = case when previous_until is null then $1 + make_interval(secs => previous_seconds) end,
            previous_secret = case when previous_until is null then previous_secret end,
            previous_seconds = case when previous_until is null then previous_seconds end
        where previous_secret is not null and (previous_until is null or previous_until <= $1)";
    sqlx::query(sql).bind(At(now)).execute(&db.pool).await?;
    Ok(())
}
