//! Events by subject: the incidents of a protocol, and the events of a market.

pub mod critical;
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
use rds_shared::model::event::MarketEvent;
use rds_shared::model::protocol::ProtocolIncident;
use rds_shared::model::status::{IncidentSeverity, RemediationStatus, Severity};
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
    // Each branch of the union uses its own index. `vault_id` is a vault of this market if the event is linked to one; only the
    // market's own events may name another vault.
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

/// The column `event.data`.
#[derive(sqlx::Type)]
#[sqlx(transparent)]
struct DbData(Json<Map<String, Value>>);

impl From<DbData> for Map<String, Value> {
    fn from(DbData(Json(data)): DbData) -> Self {
        data
    }
}
