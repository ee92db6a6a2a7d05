//! The drafts that the auto-publish pass may publish without an editor.

use crate::{StoreError, Tx};

/// Drafts that the auto-publish pass may publish: they touch the tracked universe, or a listed case states their loss.
const PUBLISHABLE_DRAFTS: &str = "security_event s LEFT JOIN chain c USING (chain_id) \
     WHERE s.state = 'draft' AND coalesce(c.is_served, true) \
       AND (s.affects_tracked_universe OR EXISTS ( \
            SELECT FROM loss_case l WHERE l.security_source = s.source AND l.security_source_id = s.source_id \
            AND l.is_active AND l.loss_usd > 0 AND l.contamination->>'verified_by' IS NULL))";

/// The drafts with the oldest attacks that may be published without an editor, at most `limit`.
pub async fn drafts(tx: &mut Tx<'_>, limit: u32) -> Result<Vec<i64>, StoreError> {
    let sql = format!("SELECT s.id FROM {PUBLISHABLE_DRAFTS} ORDER BY s.attacked_at, s.id LIMIT $1");
    Ok(sqlx::query_scalar(&sql).bind(i64::from(limit)).fetch_all(&mut **tx).await?)
}

/// Number of drafts that may be published without an editor.
pub async fn count_drafts(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    let count: i64 =
        sqlx::query_scalar(&format!("SELECT count(*) FROM {PUBLISHABLE_DRAFTS}")).fetch_one(&mut **tx).await?;
    Ok(count.unsigned_abs())
}
