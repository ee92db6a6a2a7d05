//! Events by subject: the incidents of a protocol, the events of a market, vaults with critical incidents.

pub mod detail;
pub mod feed;
pub mod pages;
pub mod places;
pub mod states;

use super::{At, Db, StoreError};
use crate::columns::{DbIdText, DbList};
use crate::db_enum::DbEnum;
use crate::decode::{DbVaultId, Nullable};
use crate::shared_row::{shared_row, structs};
use rds_facts::Reference;
use rds_shared::model::event::{CriticalVault, MarketEvent};
use rds_shared::model::protocol::ProtocolIncident;
use rds_shared::model::status::{IncidentSeverity, RemediationStatus, Severity};
use rds_shared::wire::Timestamp;
use serde_json::{Map, Value};
use sqlx::types::Json;

/// The newest `limit` published incidents linked to a protocol or to one of its vaults, newest first. A group counts once, with its
/// newest such incident.
pub async fn incidents_of_protocol(db: &Db, id: &str, limit: u32) -> Result<Vec<ProtocolIncident>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT e.*, EXISTS (SELECT FROM event_link l WHERE l.event_id = e.id AND l.scope = 'protocol' AND l.affects_protocol_score) \
                         AS affects_protocol_score \
         FROM ( \
             SELECT f.event_id FROM event_feed f WHERE f.event_type = 'incident' AND f.protocol_ids @> ARRAY[$1] \
             UNION ALL \
             (SELECT DISTINCT ON (r.group_key) r.event_id FROM event_repeat r \
              WHERE r.event_type = 'incident' AND r.protocol_ids @> ARRAY[$1] AND NOT EXISTS ( \
                  SELECT FROM event_feed f WHERE f.group_key = r.group_key AND f.event_type = 'incident' AND f.protocol_ids @> ARRAY[$1]) \
              ORDER BY r.group_key, r.occurred_at DESC, r.event_id DESC) \
         ) AS shown JOIN event e ON e.id = shown.event_id \
         ORDER BY e.occurred_at DESC, e.id DESC LIMIT $2",
    )
    .bind(id)
    .bind(i64::from(limit))
    .fetch_all(&db.pool)
    .await?;
    Ok(structs(rows))
}

/// The newest `limit` published events of a market: its own, and bad debt of its vaults. Telemetry is left out.
pub async fn of_market(db: &Db, contract: &str, market_id: &str, limit: u32) -> Result<Vec<MarketEvent>, StoreError> {
    // Each branch of the union uses its own index. An event shows a vault of this market if it has one; only the market's own event may show
    // another vault.
    let rows = sqlx::query_as(
        "WITH member AS MATERIALIZED ( \
             SELECT v.id FROM market_reserve r JOIN vault v ON v.chain_id = r.chain_id AND v.address = r.token_address \
             JOIN chain c ON c.chain_id = v.chain_id AND c.is_served WHERE r.contract = $1 \
         ), shown AS ( \
             (SELECT e.id FROM event e JOIN event_served s ON s.event_id = e.id AND s.is_served \
              WHERE e.market = $1 AND e.state = 'published' AND NOT e.is_telemetry ORDER BY e.occurred_at DESC, e.id DESC LIMIT $2) \
             UNION \
             (SELECT e.id FROM event e JOIN event_served s ON s.event_id = e.id AND s.is_served \
              WHERE e.id IN (SELECT l.event_id FROM member m JOIN event_link l ON l.scope = 'vault' AND l.subject_id = m.id) \
                AND e.event_type = 'BadDebt' AND e.state = 'published' AND NOT e.is_telemetry \
              ORDER BY e.occurred_at DESC, e.id DESC LIMIT $2) \
         ) \
         SELECT e.*, $3::text AS market_id, coalesce(named.of_market, CASE WHEN e.market = $1 THEN named.of_any END) AS vault_id \
         FROM shown JOIN event e USING (id) CROSS JOIN LATERAL ( \
             SELECT min(v.id COLLATE \"C\") FILTER (WHERE v.id IN (SELECT id FROM member)) AS of_market, \
                    min(v.id COLLATE \"C\") AS of_any \
             FROM event_link l JOIN vault v ON v.id = l.subject_id JOIN chain c ON c.chain_id = v.chain_id AND c.is_served \
             WHERE l.event_id = e.id AND l.scope = 'vault' AND e.scope = 'vault') AS named \
         ORDER BY e.occurred_at DESC, e.id DESC LIMIT $2",
    )
    .bind(contract)
    .bind(i64::from(limit))
    .bind(market_id)
    .fetch_all(&db.pool)
    .await?;
    Ok(structs(rows))
}

/// Number of days for which an incident counts as recent.
const RECENT_DAYS: i64 = 365;

/// The `limit` largest active vaults with a critical incident in the last 365 days, each with its newest such incident.
///
/// A vault's own incidents count, and those of its protocol that are flagged as affecting its score. With `flagged_only`, the vault's own
/// incidents need that flag too.
pub async fn critical_vaults(
    db: &Db,
    now: Timestamp,
    flagged_only: bool,
    limit: u32,
) -> Result<Vec<CriticalVault>, StoreError> {
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

shared_row! { ProtocolIncident {
    id: DbIdText, title, severity: DbEnum<Severity>, incident_severity: Nullable<DbEnum<IncidentSeverity>>,
    occurred_at: At, loss_amount_usd = "loss_usd", remediation_status: Nullable<DbEnum<RemediationStatus>>,
    affects_protocol_score, links: DbList<Reference>
} }
shared_row! { MarketEvent {
    id, market_id, event_type, severity: DbEnum<Severity>, title, description, scope, vault_id: Nullable<DbVaultId>,
    loss_amount_usd = "loss_usd", remediation_status: Nullable<DbEnum<RemediationStatus>>, tx_hash,
    block_number: Nullable<i64>, occurred_at: At, detected_at: At = "observed_at", data: DbData
} }
shared_row! { CriticalVault {
    vault_id: DbVaultId, vault_name, chain_name, protocol_name, curator_name, tvl_usd,
    last_incident_at: At = "occurred_at", days_since_incident: i64, incident_title = "title",
    incident_severity: Nullable<DbEnum<IncidentSeverity>>, event_severity: DbEnum<Severity> = "severity"
} }

/// The column `event.data`.
#[derive(sqlx::Type)]
#[sqlx(transparent)]
struct DbData(Json<Map<String, Value>>);

impl From<DbData> for Map<String, Value> {
    fn from(DbData(Json(data)): DbData) -> Self {
        data
    }
}
