//! Candidates for baskets, in their current state.

use crate::{At, StoreError, Tx};
use sqlx::FromRow;

/// A vault as a candidate.
#[derive(Debug, Clone, FromRow)]
pub struct VaultRow {
    pub id: String,
    pub protocol_id: String,
    /// Whether the vault is active and its chain is served.
    pub is_available: bool,
    pub score: Option<i32>,
    pub since: Option<At>,
    pub tvl_usd: Option<f64>,
    pub observed_at: Option<At>,
    pub needs_risk_review: bool,
    /// The deposit asset.
    pub asset_id: Option<String>,
    /// The assets whose hard fail excludes the vault: the deposit asset of a lending vault, otherwise assets with a large enough share.
    pub depends_on: Vec<String>,
}

/// An asset as a candidate, or as the underlying of a candidate.
#[derive(Debug, Clone, FromRow)]
pub struct AssetRow {
    pub id: String,
    /// Whether the asset's chain is served.
    pub is_available: bool,
    pub category: String,
    pub underlying: Option<String>,
    pub attestation_cadence: Option<String>,
    pub issuer: Option<String>,
    pub discovered_at: At,
    pub review_status: Option<String>,
    pub refreshed_at: Option<At>,
    pub offchain_pct: Option<f64>,
    pub aum_usd: Option<f64>,
    pub score: Option<i32>,
    /// When the newest of the asset's current hard-fail flags was raised.
    pub hard_fail_since: Option<At>,
}

/// All scored, active vaults on served chains, and every vault in `held` whatever its state; with `only_held`, only the vaults in
/// `held`.
///
/// A vault that does not lend depends on the assets of which it holds at least the share `holding_from`.
pub async fn vaults(
    tx: &mut Tx<'_>,
    held: &[&str],
    only_held: bool,
    holding_from: f64,
) -> Result<Vec<VaultRow>, StoreError> {
    let sql = "
        -- basket_candidate_vaults
        SELECT v.id, v.protocol_id, v.is_active AND c.is_served AS is_available, p.score, coalesce(v.deployed_at, v.first_seen_at) AS since,
               s.tvl_usd, s.observed_at, coalesce(s.needs_risk_review, false) AS needs_risk_review,
               deposit.id AS asset_id,
               CASE v.asset_mode WHEN 'lending' THEN array_remove(ARRAY[deposit.id], NULL)
                    ELSE ARRAY(SELECT part->>'asset_id' FROM exposure e, jsonb_array_elements(e.parts) AS part
                               WHERE e.vault_id = v.id AND part->>'asset_id' IS NOT NULL AND (part->>'share')::double precision >= $3)
               END AS depends_on
        FROM vault v JOIN chain c USING (chain_id) JOIN vault_score p ON p.vault_id = v.id LEFT JOIN vault_state s ON s.vault_id = v.id
        CROSS JOIN LATERAL (SELECT min(a.id COLLATE \"C\") AS id FROM asset a
                            WHERE a.chain_id = v.chain_id AND a.address = v.asset_address) AS deposit
        WHERE v.id = ANY($1) OR (NOT $2 AND v.is_active AND c.is_served AND p.score IS NOT NULL)
        ORDER BY v.id COLLATE \"C\"";
    Ok(sqlx::query_as(sql).bind(held).bind(only_held).bind(holding_from).fetch_all(&mut **tx).await?)
}

pub async fn assets(tx: &mut Tx<'_>) -> Result<Vec<AssetRow>, StoreError> {
    let sql = "
        -- basket_candidate_assets
        SELECT a.id, c.is_served AS is_available, a.category, a.underlying, a.attestation_cadence, a.discovered_at,
               coalesce(a.issuer->>'id', a.issuer->>'name') AS issuer,
               r.review_status, coalesce(r.last_refresh_at, r.observed_at) AS refreshed_at,
               (r.backing_profile->>'offchain_pct')::double precision AS offchain_pct,
               (r.institutional->>'aum_usd')::double precision AS aum_usd, s.score,
               (SELECT max((e->>'at')::timestamptz) FROM jsonb_array_elements(r.hard_fail_events) AS e
                WHERE e->>'transition' = 'triggered' AND e->>'flag' = ANY(s.hard_fail_flags)) AS hard_fail_since
        FROM asset a JOIN chain c USING (chain_id)
        LEFT JOIN (SELECT DISTINCT ON (asset_id) * FROM asset_version ORDER BY asset_id, observed_at DESC) AS r ON r.asset_id = a.id
        LEFT JOIN asset_score s ON s.asset_id = a.id
        ORDER BY a.id COLLATE \"C\"";
    Ok(sqlx::query_as(sql).fetch_all(&mut **tx).await?)
}
