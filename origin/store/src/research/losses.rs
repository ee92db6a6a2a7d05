//! Inputs of the hindsight study: the first loss of each vault, the incidents of assets, and the assets of served chains.

use crate::{At, StoreError, Tx};
use rds_shared::research::outcome::{BASE_WITHIN_DAYS, LOSS_FROM_BP};
use sqlx::FromRow;

/// The earliest loss of a vault.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct FirstLoss {
    pub vault_id: String,
    pub protocol_id: String,
    /// The date of the incident, or the time of the first price that shows the fall.
    pub lost_at: At,
    /// The incident; `None` if the loss is a fall of the price.
    pub event_id: Option<i64>,
    /// Every incident that counts against the vault, also later ones, ascending.
    pub incident_ids: Vec<i64>,
    /// Ids of the vault's deposit asset, in order: a registry may know one contract under several ids, or under none.
    pub deposit_ids: Vec<String>,
    /// Ids of the asset that is the vault's share token, in order.
    pub share_ids: Vec<String>,
}

/// The earliest loss of each vault on a served chain, in order of vault id.
///
/// A loss is a published incident that names the vault, one of its protocol that counts against it and lies within the window of a
/// stored sample (so that the vault existed), or a fall of the price within such a window.
pub async fn first_losses(tx: &mut Tx<'_>) -> Result<Vec<FirstLoss>, StoreError> {
    let sql = "WITH incident AS ( \
             SELECT v.id AS vault_id, e.id AS event_id, e.occurred_at \
             FROM event e JOIN event_link l ON l.event_id = e.id AND l.scope = 'vault' JOIN vault v ON v.id = l.subject_id \
             JOIN chain c ON c.chain_id = v.chain_id AND c.is_served \
             WHERE e.event_type = 'Incident' AND e.state = 'published' \
             UNION \
             SELECT v.id, e.id, e.occurred_at \
             FROM (SELECT DISTINCT vault_id, as_of, horizon_days FROM research_sample WHERE incident) AS s \
             JOIN vault v ON v.id = s.vault_id \
             JOIN event_link l ON l.scope = 'protocol' AND l.subject_id = v.protocol_id AND l.affects_protocol_score \
             JOIN event e ON e.id = l.event_id AND e.event_type = 'Incident' AND e.state = 'published' \
                  AND e.occurred_at > s.as_of AND e.occurred_at <= s.as_of + make_interval(days => s.horizon_days) \
         ), losing AS ( \
             SELECT DISTINCT ON (vault_id, horizon_days) vault_id, horizon_days, as_of FROM research_sample \
             WHERE price_loss ORDER BY vault_id, horizon_days, as_of \
         ), fall AS ( \
             SELECT w.vault_id, min(fell.at) AS lost_at FROM losing AS w CROSS JOIN LATERAL ( \
                 SELECT min(observed_at) AS at FROM ( \
                     SELECT observed_at, price_per_share::numeric AS pps, \
                            max(price_per_share::numeric) OVER (ORDER BY observed_at) AS peak \
                     FROM vault_snapshot h WHERE h.vault_id = w.vault_id AND price_per_share > 0 \
                         AND observed_at <= w.as_of + make_interval(days => w.horizon_days) \
                         AND observed_at >= (SELECT max(b.observed_at) FROM vault_snapshot b WHERE b.vault_id = w.vault_id \
                                                 AND b.price_per_share > 0 AND b.observed_at <= w.as_of \
                                                 AND b.observed_at > w.as_of - make_interval(days => $1))) AS reading \
                 WHERE observed_at > w.as_of AND div((peak - pps) * 10000, peak) >= $2) AS fell \
             WHERE fell.at IS NOT NULL GROUP BY w.vault_id \
         ), loss AS ( \
             SELECT vault_id, occurred_at AS lost_at, event_id FROM incident \
             UNION ALL SELECT vault_id, lost_at, NULL FROM fall \
         ) \
         SELECT DISTINCT ON (l.vault_id COLLATE \"C\") l.vault_id, v.protocol_id, l.lost_at, l.event_id, \
                coalesce(known.ids, '{}') AS incident_ids, \
                ARRAY(SELECT a.id FROM asset a WHERE a.chain_id = v.chain_id AND a.address = v.asset_address \
                      ORDER BY a.id COLLATE \"C\") AS deposit_ids, \
                ARRAY(SELECT a.id FROM asset a WHERE a.chain_id = v.chain_id AND a.address = v.address \
                      ORDER BY a.id COLLATE \"C\") AS share_ids \
         FROM loss l JOIN vault v ON v.id = l.vault_id \
         LEFT JOIN (SELECT vault_id, array_agg(event_id ORDER BY event_id) AS ids FROM incident GROUP BY vault_id) AS known \
              ON known.vault_id = l.vault_id \
         ORDER BY l.vault_id COLLATE \"C\", l.lost_at, l.event_id NULLS LAST";
    Ok(sqlx::query_as(sql)
        .bind(i32::try_from(BASE_WITHIN_DAYS).unwrap_or(i32::MAX))
        .bind(LOSS_FROM_BP)
        .fetch_all(&mut **tx)
        .await?)
}

/// An incident of an asset's own contract.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct AssetIncident {
    pub asset_id: String,
    pub occurred_at: At,
}

/// The published incidents of assets on served chains, by asset id and date: those of the vault whose share token the asset is, and the
/// attacks of the security registry that name the asset's contract as a victim.
pub async fn asset_incidents(tx: &mut Tx<'_>) -> Result<Vec<AssetIncident>, StoreError> {
    let sql = "SELECT a.id COLLATE \"C\" AS asset_id, e.occurred_at \
               FROM asset a JOIN chain c ON c.chain_id = a.chain_id AND c.is_served \
               JOIN vault v ON v.chain_id = a.chain_id AND v.address = a.address \
               JOIN event_link l ON l.scope = 'vault' AND l.subject_id = v.id \
               JOIN event e ON e.id = l.event_id AND e.event_type = 'Incident' AND e.state = 'published' \
               UNION \
               SELECT a.id COLLATE \"C\", s.attacked_at \
               FROM security_event s CROSS JOIN LATERAL unnest(s.victims) AS victim \
               JOIN asset a ON a.chain_id = s.chain_id AND a.address = victim \
               JOIN chain c ON c.chain_id = a.chain_id AND c.is_served \
               WHERE s.state = 'published' \
               ORDER BY asset_id, occurred_at";
    Ok(sqlx::query_as(sql).fetch_all(&mut **tx).await?)
}

/// What the study needs to know about an asset besides its answers.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct StudiedAsset {
    pub id: String,
    pub category: String,
    /// Id of the asset that this one wraps.
    pub underlying: Option<String>,
}

/// The assets on served chains, in order of id.
pub async fn studied_assets(tx: &mut Tx<'_>) -> Result<Vec<StudiedAsset>, StoreError> {
    let sql = "SELECT a.id, a.category, a.underlying FROM asset a JOIN chain c USING (chain_id) WHERE c.is_served \
               ORDER BY a.id COLLATE \"C\"";
    Ok(sqlx::query_as(sql).fetch_all(&mut **tx).await?)
}
