//! Events by subject: the incidents of a protocol, the events of a market, vaults with critical incidents.

pub mod detail;
pub mod feed;
pub mod pages;
pub mod places;
pub mod states;

use super::{At, Db, StoreError, decode_enum, decode_optional_enum};
use crate::store::events::feed::links;
use crate::store::registry::catalog::instant;
use rds_shared::model::event::{CriticalVault, MarketEvent};
use rds_shared::model::ids::VaultId;
use rds_shared::model::protocol::ProtocolIncident;
use rds_shared::model::status::{IncidentSeverity, RemediationStatus, Severity};
use rds_shared::wire::Timestamp;
use serde_json::{Map, Value};
use sqlx::Row;
use sqlx::postgres::PgRow;
use sqlx::types::Json;

/// The newest `limit` published incidents linked to a protocol or to one of its vaults, newest first. A group counts once, with its
/// newest such incident.
pub async fn incidents_of_protocol(db: &Db, id: &str, limit: u32) -> Result<Vec<ProtocolIncident>, StoreError> {
    let rows = sqlx::query(
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
    let incident = |row: &PgRow| {
        Ok(ProtocolIncident {
            id: row.try_get::<i64, _>("id")?.to_string(),
            title: row.try_get("title")?,
            severity: decode_enum::<Severity>("event.severity", row.try_get("severity")?)?,
            incident_severity: incident_severity(row)?,
            occurred_at: row.try_get::<At, _>("occurred_at")?.0,
            loss_amount_usd: row.try_get("loss_usd")?,
            remediation_status: remediation(row)?,
            affects_protocol_score: row.try_get("affects_protocol_score")?,
            links: links(row)?,
        })
    };
    rows.iter().map(incident).collect()
}

/// The newest `limit` published events of a market: its own, and bad debt of its vaults. Telemetry is left out.
pub async fn of_market(db: &Db, contract: &str, market_id: &str, limit: u32) -> Result<Vec<MarketEvent>, StoreError> {
    // Each branch of the union uses its own index. An event shows a vault of this market if it has one; only the market's own event may show
    // another vault.
    let rows = sqlx::query(
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
         SELECT e.*, coalesce(named.of_market, CASE WHEN e.market = $1 THEN named.of_any END) AS vault_id \
         FROM shown JOIN event e USING (id) CROSS JOIN LATERAL ( \
             SELECT min(v.id COLLATE \"C\") FILTER (WHERE v.id IN (SELECT id FROM member)) AS of_market, \
                    min(v.id COLLATE \"C\") AS of_any \
             FROM event_link l JOIN vault v ON v.id = l.subject_id JOIN chain c ON c.chain_id = v.chain_id AND c.is_served \
             WHERE l.event_id = e.id AND l.scope = 'vault' AND e.scope = 'vault') AS named \
         ORDER BY e.occurred_at DESC, e.id DESC LIMIT $2",
    )
    .bind(contract)
    .bind(i64::from(limit))
    .fetch_all(&db.pool)
    .await?;
    let event = |row: &PgRow| {
        let (block, vault): (Option<i64>, Option<String>) = (row.try_get("block_number")?, row.try_get("vault_id")?);
        let Json(data): Json<Map<String, Value>> = row.try_get("data")?;
        Ok(MarketEvent {
            id: row.try_get("id")?,
            market_id: market_id.to_owned(),
            event_type: row.try_get("event_type")?,
            severity: decode_enum::<Severity>("event.severity", row.try_get("severity")?)?,
            title: row.try_get("title")?,
            description: row.try_get("description")?,
            scope: row.try_get("scope")?,
            vault_id: vault.as_deref().map(vault_id).transpose()?,
            loss_amount_usd: row.try_get("loss_usd")?,
            remediation_status: remediation(row)?,
            tx_hash: row.try_get("tx_hash")?,
            block_number: block.and_then(|block| u64::try_from(block).ok()),
            occurred_at: row.try_get::<At, _>("occurred_at")?.0,
            detected_at: row.try_get::<At, _>("observed_at")?.0,
            data,
        })
    };
    rows.iter().map(event).collect()
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
    let rows = sqlx::query(
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
                  s.tvl_usd, n.occurred_at, n.title, n.incident_severity, n.severity \
         FROM newest n JOIN vault v ON v.id = n.vault_id AND v.is_active AND NOT v.is_shutdown \
         JOIN chain ch ON ch.chain_id = v.chain_id AND ch.is_served JOIN protocol pr ON pr.id = v.protocol_id \
         LEFT JOIN curator cu ON cu.id = v.curator_id LEFT JOIN vault_state s ON s.vault_id = v.id \
         ORDER BY s.tvl_usd DESC NULLS LAST, v.id COLLATE \"C\" LIMIT $4",
    )
    .bind(At(now))
    .bind(At(since))
    .bind(flagged_only)
    .bind(i64::from(limit))
    .fetch_all(&db.pool)
    .await?;
    let vault = |row: &PgRow| {
        let last = instant(row, "occurred_at")?.unwrap_or_default();
        Ok(CriticalVault {
            vault_id: vault_id(row.try_get("vault_id")?)?,
            vault_name: row.try_get("vault_name")?,
            chain_name: row.try_get("chain_name")?,
            protocol_name: row.try_get("protocol_name")?,
            curator_name: row.try_get("curator_name")?,
            tvl_usd: row.try_get("tvl_usd")?,
            last_incident_at: last,
            days_since_incident: u64::try_from(now.seconds_since(last) / 86_400).unwrap_or(0),
            incident_title: row.try_get("title")?,
            incident_severity: incident_severity(row)?,
            event_severity: decode_enum::<Severity>("event.severity", row.try_get("severity")?)?,
        })
    };
    rows.iter().map(vault).collect()
}

fn vault_id(text: &str) -> Result<VaultId, StoreError> {
    VaultId::parse(text).ok_or_else(|| StoreError::Corrupt { column: "vault.id", text: text.to_owned() })
}

fn incident_severity(row: &PgRow) -> Result<Option<IncidentSeverity>, StoreError> {
    decode_optional_enum("event.incident_severity", row.try_get("incident_severity")?)
}

fn remediation(row: &PgRow) -> Result<Option<RemediationStatus>, StoreError> {
    decode_optional_enum("event.remediation_status", row.try_get("remediation_status")?)
}
