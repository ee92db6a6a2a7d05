//! Rotation of webhook secrets: the writes of the operator's command, and of the services afterwards.

use crate::{At, Db, StoreError, Tx};
use rds_shared::wire::Timestamp;

/// The encrypted secret of a generic or basket subscription, locked until the transaction ends.
pub async fn lock(tx: &mut Tx<'_>, id: i64) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = "SELECT secret FROM webhook_subscription WHERE id = $1 FOR NO KEY UPDATE";
    Ok(sqlx::query_scalar(sql).bind(id).fetch_optional(&mut **tx).await?)
}

/// Replaces the secret. The old secret continues to sign for `overlap_seconds`; with 0 it is deleted immediately.
///
/// The first service that sees the rotation sets the end of the overlap, by the service's clock.
pub async fn rotate(
    tx: &mut Tx<'_>,
    id: i64,
    secret: &[u8],
    overlap_seconds: i32,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "
        -- rotate_webhook_secret
        UPDATE webhook_subscription
        SET secret = $2, previous_secret = CASE WHEN $3 > 0 THEN secret END, previous_seconds = nullif($3, 0),
            previous_until = NULL, updated_at = greatest(updated_at, $4)
        WHERE id = $1";
    let updated_at = At(now);
    sqlx::query(sql).bind(id).bind(secret).bind(overlap_seconds).bind(updated_at).execute(&mut **tx).await?;
    let sql = "UPDATE webhook_creation SET is_rotated = TRUE WHERE subscription_id = $1";
    sqlx::query(sql).bind(id).execute(&mut **tx).await?;
    Ok(())
}

/// A subscription's id, its encrypted secret and the previous one.
pub type Sealed = (i64, Vec<u8>, Option<Vec<u8>>);

/// The next `n` generic or basket subscriptions with an id above `after`, locked until the transaction ends.
pub async fn lock_next(tx: &mut Tx<'_>, after: i64, n: i64) -> Result<Vec<Sealed>, StoreError> {
    let sql = "
        -- lock_webhook_secrets
        SELECT id, secret, previous_secret FROM webhook_subscription WHERE id > $1 ORDER BY id LIMIT $2 FOR NO KEY UPDATE";
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
        UPDATE webhook_subscription
        SET secret = coalesce($2, secret), previous_secret = coalesce($3, previous_secret) WHERE id = $1";
    sqlx::query(sql).bind(id).bind(secret).bind(previous).execute(&mut **tx).await?;
    Ok(())
}

/// Sets the end of overlaps that have just begun, and deletes secrets whose overlap is over.
pub async fn keep_overlaps(db: &Db, now: Timestamp) -> Result<(), StoreError> {
    let sql = "
        -- keep_webhook_overlaps
        UPDATE webhook_subscription
        SET previous_until = CASE WHEN previous_until IS NULL THEN $1 + make_interval(secs => previous_seconds) END,
            previous_secret = CASE WHEN previous_until IS NULL THEN previous_secret END,
            previous_seconds = CASE WHEN previous_until IS NULL THEN previous_seconds END
        WHERE previous_secret IS NOT NULL AND (previous_until IS NULL OR previous_until <= $1)";
    sqlx::query(sql).bind(At(now)).execute(&db.pool).await?;
    Ok(())
}
