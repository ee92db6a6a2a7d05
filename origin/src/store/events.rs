//! Events as the feed serves them: of a curator's vaults, and the incidents of a protocol.

use super::catalog::instant;
use super::{At, Db, StoreError, word};
use crate::ingest::kinds::Reference;
use rds_shared::model::event::{EventRow, Link};
use rds_shared::model::ids::ChainId;
use rds_shared::model::protocol::ProtocolIncident;
use rds_shared::model::status::{IncidentSeverity, RemediationStatus, Severity};
use sqlx::Row;
use sqlx::postgres::PgRow;
use sqlx::types::Json;

/// The events that touch any vault of a curator: its own, or its protocol's where they affect its score.
const OF_CURATOR: &str = "SELECT l.event_id, min(v.id COLLATE \"C\") AS vault_id FROM vault v JOIN event_link l \
     ON (l.scope = 'vault' AND l.subject_id = v.id) \
     OR (l.scope = 'protocol' AND l.subject_id = v.protocol_id AND l.affects_protocol_score) \
     JOIN event e ON e.id = l.event_id AND e.retracted_at IS NULL \
     WHERE v.curator_id = $1 GROUP BY l.event_id";

/// A slice of the events of a curator's vaults, newest first, and how many there are in all.
pub async fn for_curator(db: &Db, id: &str, offset: u64, limit: u32) -> Result<(Vec<EventRow>, u64), StoreError> {
    let total: i64 = sqlx::query_scalar(&format!("SELECT count(*) FROM ({OF_CURATOR}) AS touching"))
        .bind(id)
        .fetch_one(&db.pool)
        .await?;
    // Protocol and chain are those of one of the vaults that the event touches, the same one every time.
    let rows = sqlx::query(&format!(
        "SELECT e.*, pr.id AS protocol_id, pr.name AS protocol_name, c.chain_id, c.name AS chain_name, \
                cu.id AS curator_id, cu.name AS curator_name \
         FROM ({OF_CURATOR}) AS touching JOIN event e ON e.id = touching.event_id JOIN vault v ON v.id = touching.vault_id \
         JOIN protocol pr ON pr.id = v.protocol_id JOIN chain c ON c.chain_id = v.chain_id JOIN curator cu ON cu.id = v.curator_id \
         ORDER BY e.occurred_at DESC, e.id DESC OFFSET $2 LIMIT $3"
    ))
    .bind(id)
    .bind(i64::try_from(offset).unwrap_or(i64::MAX))
    .bind(i64::from(limit))
    .fetch_all(&db.pool)
    .await?;
    let rows = rows.iter().map(event_row).collect::<Result<_, _>>()?;
    Ok((rows, u64::try_from(total).unwrap_or(0)))
}

/// The newest `limit` incidents linked to a protocol or to any of its vaults, newest first.
pub async fn incidents_of_protocol(db: &Db, id: &str, limit: u32) -> Result<Vec<ProtocolIncident>, StoreError> {
    let rows = sqlx::query(
        "SELECT e.*, bool_or(l.scope = 'protocol' AND l.affects_protocol_score) AS affects_protocol_score \
         FROM event e JOIN event_link l ON l.event_id = e.id \
         LEFT JOIN vault v ON l.scope = 'vault' AND v.id = l.subject_id \
         WHERE e.event_type = 'Incident' AND e.retracted_at IS NULL \
           AND (v.protocol_id = $1 OR (l.scope = 'protocol' AND l.subject_id = $1)) \
         GROUP BY e.id ORDER BY e.occurred_at DESC, e.id DESC LIMIT $2",
    )
    .bind(id)
    .bind(i64::from(limit))
    .fetch_all(&db.pool)
    .await?;
    let incident = |row: &PgRow| {
        Ok(ProtocolIncident {
            id: row.try_get::<i64, _>("id")?.to_string(),
            title: row.try_get("title")?,
            severity: word::<Severity>("event.severity", row.try_get("severity")?)?,
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

fn event_row(row: &PgRow) -> Result<EventRow, StoreError> {
    let chain_id: i64 = row.try_get("chain_id")?;
    Ok(EventRow {
        id: row.try_get::<i64, _>("id")?.to_string(),
        event_type: row.try_get("event_type")?,
        severity: word::<Severity>("event.severity", row.try_get("severity")?)?,
        title: row.try_get("title")?,
        description: row.try_get("description")?,
        occurred_at: instant(row, "occurred_at")?.unwrap_or_default(),
        protocol_id: row.try_get("protocol_id")?,
        protocol_name: row.try_get("protocol_name")?,
        chain_id: Some(ChainId(chain_id.unsigned_abs())),
        chain_name: row.try_get("chain_name")?,
        curator_id: row.try_get("curator_id")?,
        curator_name: row.try_get("curator_name")?,
        incident_severity: incident_severity(row)?,
        loss_amount_usd: row.try_get("loss_usd")?,
        remediation_status: remediation(row)?,
        links: links(row)?,
        occurrence_count: 1,
        group_key: None,
    })
}

fn incident_severity(row: &PgRow) -> Result<Option<IncidentSeverity>, StoreError> {
    let text: Option<&str> = row.try_get("incident_severity")?;
    text.map(|text| word("event.incident_severity", text)).transpose()
}

fn remediation(row: &PgRow) -> Result<Option<RemediationStatus>, StoreError> {
    let text: Option<&str> = row.try_get("remediation_status")?;
    text.map(|text| word("event.remediation_status", text)).transpose()
}

fn links(row: &PgRow) -> Result<Vec<Link>, StoreError> {
    let Json(links): Json<Vec<Reference>> = row.try_get("links")?;
    Ok(links.into_iter().map(|Reference { label, url }| Link { label, url }).collect())
}
