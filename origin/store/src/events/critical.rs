//! Vaults with a recent critical incident.

use crate::db_enum::DbEnum;
use crate::decode::{DbVaultId, Nullable};
use crate::shared_row::{shared_row, structs};
use crate::{At, Db, StoreError};
use rds_shared::model::event::CriticalVault;
use rds_shared::model::status::{IncidentSeverity, Severity};
use rds_shared::wire::Timestamp;

/// Number of days for which an incident counts as recent.
const RECENT_DAYS: i64 = 365;

/// The `limit` largest active vaults with a critical incident in the last 365 days, each with its newest such incident.
///
/// A vault's own incidents count, and its protocol's incidents that are flagged as affecting the protocol's score. With `flagged_only`,
/// the vault's own incidents need that flag too.
pub async fn vaults(db: &Db, now: Timestamp, flagged_only: bool, limit: u32) -> Result<Vec<CriticalVault>, StoreError> {
    let since = now.plus_seconds(-RECENT_DAYS * 86_400);
    let rows = sqlx::query_as(
        "WITH critical AS MATERIALIZED ( \
             SELECT e.id, e.occurred_at, e.title, e.incident_severity, e.severity \
             FROM event e JOIN event_served s ON s.event_id = e.id AND s.is_served \
             WHERE e.state = 'published' AND e.event_type = 'Incident' AND e.occurred_at BETWEEN $2 AND $1 \
               AND (e.severity = 'Critical' OR e.incident_severity = 'major') \
         ), concerned AS ( \
             SELECT l.subject_id AS vault_id, c.* FROM critical c JOIN event_link l ON l.event_id = c.id AND l.scope = 'vault' \
             WHERE l.affects_protocol_score OR NOT $3 \
             UNION ALL \
             SELECT v.id, c.* FROM critical c \
             JOIN event_link l ON l.event_id = c.id AND l.scope = 'protocol' AND l.affects_protocol_score \
             JOIN vault v ON v.protocol_id = l.subject_id \
         ), newest AS ( \
             SELECT DISTINCT ON (vault_id) * FROM concerned ORDER BY vault_id, occurred_at DESC, id DESC \
         ) SELECT v.id AS vault_id, v.name AS vault_name, ch.name AS chain_name, pr.name AS protocol_name, cu.name AS curator_name, \
                  s.tvl_usd, n.occurred_at, trunc(extract(epoch FROM $1 - n.occurred_at) / 86400)::bigint AS days_since_incident, \
                  n.title, n.incident_severity, n.severity \
         FROM newest n JOIN vault v ON v.id = n.vault_id AND v.is_active AND NOT v.is_shutdown \
         JOIN chain ch ON ch.chain_id = v.chain_id AND ch.is_served JOIN protocol pr ON pr.id = v.protocol_id \
         LEFT JOIN curator cu ON cu.id = v.curator_id LEFT JOIN vault_state s ON s.vault_id = v.id \
         ORDER BY s.tvl_usd DESC NULLS LAST, v.id COLLATE \"C\" LIMIT $4",
    )
    .bind(At(now)) // $1, the end of the range
    .bind(At(since)) // $2, its beginning
    .bind(flagged_only)
    .bind(i64::from(limit))
    .fetch_all(&db.pool)
    .await?;
    Ok(structs(rows))
}

shared_row! { CriticalVault {
    vault_id: DbVaultId, vault_name, chain_name, protocol_name, curator_name, tvl_usd,
    last_incident_at: At = "occurred_at", days_since_incident: i64, incident_title = "title",
    incident_severity: Nullable<DbEnum<IncidentSeverity>>, event_severity: DbEnum<Severity> = "severity"
} }
