//! Data of the vault detail route: JSON documents, rewards and events of one vault.

use crate::db_enum::DbEnum;
use crate::decode::Nullable;
use crate::registry::catalog::{self, VAULT_FACTS, VaultFacts};
use crate::scoring::protocol_answers;
use crate::shared_row::{shared_row, structs};
use crate::vaults::rewards;
use crate::{At, StoreError};
use rds_facts::{ExposureBasis, ProtocolAnswer};
use rds_shared::model::status::Severity;
use rds_shared::model::vault_history::VaultEvent;
use rds_shared::wire::Timestamp;
use serde_json::value::RawValue;
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection, PgExecutor};

/// The data of the detail route.
#[derive(Debug, Clone)]
pub struct DetailFacts {
    /// The data of the list row.
    pub vault: VaultFacts,
    /// The four score vectors as JSON.
    pub risk_vectors: Box<RawValue>,
    /// `score_provenance` as JSON.
    pub score_provenance: Box<RawValue>,
    /// URL of the protocol's website.
    pub protocol_website: Option<String>,
    /// When the protocol first went live.
    pub protocol_launched_at: Option<Timestamp>,
    /// Date of the newest audit of the deployed version.
    pub newest_audit_at: Option<Timestamp>,
    /// URL of the audit reports.
    pub audit_report_url: Option<String>,
    /// True if no key can change the contract.
    pub is_immutable: Option<bool>,
    /// Delay of changes, in seconds.
    pub timelock_seconds: Option<u64>,
    /// Deployment time; if unknown, the time when the vault was first seen.
    pub deployed_at: Option<Timestamp>,
    /// Warnings that the source of the vault's data states.
    pub flags: Vec<String>,
    /// The source's own tags.
    pub tags: Vec<String>,
    /// How the exposures were derived, with the instant of the observation; null for exposures that were read.
    pub exposure_basis: Option<(ExposureBasis, Timestamp)>,
    /// The answers about the vault and its protocol, by input, newest first.
    pub answers: Vec<ProtocolAnswer>,
}

/// The part of [`DetailFacts`] that the list row does not have.
#[derive(FromRow)]
struct DetailRow {
    #[sqlx(json)]
    vectors: Box<RawValue>,
    #[sqlx(flatten)]
    provenance: ProvenanceRow,
    website_url: Option<String>,
    #[sqlx(try_from = "Nullable<At>")]
    launched_at: Option<Timestamp>,
    #[sqlx(try_from = "Nullable<At>")]
    newest_audit_at: Option<Timestamp>,
    audit_report_url: Option<String>,
    is_immutable: Option<bool>,
    #[sqlx(try_from = "Nullable<i64>")]
    timelock_seconds: Option<u64>,
    #[sqlx(try_from = "Nullable<At>")]
    deployed_at: Option<Timestamp>,
    flags: Vec<String>,
    tags: Vec<String>,
    exposure_basis: Option<Json<ExposureBasis>>,
    #[sqlx(try_from = "Nullable<At>")]
    exposures_observed_at: Option<Timestamp>,
}

/// The data of one vault. `db` must be inside a snapshot transaction, so that score and provenance belong to the same run.
pub async fn vault(db: &mut PgConnection, id: &str) -> Result<Option<DetailFacts>, StoreError> {
    let found = sqlx::query(&format!("{} WHERE v.id = $1", *VAULT_FACTS)).bind(id).fetch_optional(&mut *db).await?;
    let Some(row) = found else { return Ok(None) };
    let ids = [id.to_owned()];
    let rewards = rewards::running(&mut *db, Some(&ids)).await?.remove(id).unwrap_or_default();
    let vault = catalog::vault_facts(&row, rewards)?;
    let row: DetailRow = sqlx::query_as(
        "SELECT p.vectors, p.provenance::text AS provenance, p.run_id, \
                pr.website_url, pr.launched_at, pr.newest_audit_at, pr.audit_report_url, \
                v.is_immutable, v.timelock_seconds, coalesce(v.deployed_at, v.first_seen_at) AS deployed_at, v.flags, v.tags, \
                x.basis AS exposure_basis, x.observed_at AS exposures_observed_at, \
                ARRAY(SELECT DISTINCT coalesce('vault:' || n.id, a.id) COLLATE \"C\" AS id \
                      FROM exposure e CROSS JOIN jsonb_to_recordset(e.parts) AS part (asset_id text, vault_id text) \
                      LEFT JOIN asset a ON a.id = part.asset_id LEFT JOIN vault n ON n.id = part.vault_id \
                      JOIN chain c ON c.chain_id = coalesce(n.chain_id, a.chain_id) AND NOT c.is_served \
                      WHERE e.vault_id = v.id ORDER BY id) AS withheld \
         FROM vault v JOIN vault_score p ON p.vault_id = v.id JOIN protocol pr ON pr.id = v.protocol_id \
              LEFT JOIN exposure x ON x.vault_id = v.id WHERE v.id = $1",
    )
    .bind(id)
    .fetch_one(&mut *db)
    .await?;
    let answers = protocol_answers::of_subjects(&mut *db, &[id, &vault.protocol_id]).await?;
    Ok(Some(DetailFacts {
        answers,
        exposure_basis: row.exposure_basis.map(|Json(basis)| basis).zip(row.exposures_observed_at),
        vault,
        risk_vectors: row.vectors,
        score_provenance: row.provenance.document()?,
        protocol_website: row.website_url,
        protocol_launched_at: row.launched_at,
        newest_audit_at: row.newest_audit_at,
        audit_report_url: row.audit_report_url,
        is_immutable: row.is_immutable,
        timelock_seconds: row.timelock_seconds,
        deployed_at: row.deployed_at,
        flags: row.flags,
        tags: row.tags,
    }))
}

#[derive(FromRow)]
struct ProvenanceRow {
    provenance: String,
    run_id: String,
    withheld: Vec<String>,
}

impl ProvenanceRow {
    /// Inserts the id of the run that last confirmed the document and masks the ids of `withheld` exposures. Each masked id stays
    /// distinct, so that the asset vector can still be recomputed.
    fn document(self) -> Result<Box<RawValue>, StoreError> {
        const OPEN: &str = "\"score_run_id\":\"\"";
        let mut text = self.provenance.replacen(OPEN, &format!("\"score_run_id\":\"{}\"", self.run_id), 1);
        for (number, id) in (1..).zip(self.withheld) {
            text = text.replace(&format!("\"id\":\"{id}\""), &format!("\"id\":\"withheld-{number}\""));
        }
        RawValue::from_string(text)
            .map_err(|error| StoreError::Corrupt { column: "vault_score.provenance", text: error.to_string() })
    }
}

/// The newest `limit` events of a vault, newest first, including its protocol's events that affect its score.
pub async fn events(db: impl PgExecutor<'_>, id: &str, limit: u32) -> Result<Vec<VaultEvent>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT e.id, e.event_type, e.severity, e.title, e.description, e.tx_hash, e.block_number, e.occurred_at, e.source, \
                e.observed_at, e.retracted_at, e.retracted_reason \
         FROM event e JOIN event_served s ON s.event_id = e.id AND s.is_served WHERE e.id IN ( \
             SELECT l.event_id FROM event_link l JOIN vault v ON v.id = $1 \
             WHERE (l.scope = 'vault' AND l.subject_id = v.id) \
                OR (l.scope = 'protocol' AND l.subject_id = v.protocol_id AND l.affects_protocol_score)) \
           AND e.state = 'published' ORDER BY e.occurred_at DESC, e.id DESC LIMIT $2",
    )
    .bind(id)
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?;
    Ok(structs(rows))
}

shared_row! { VaultEvent {
    id, event_type, severity: DbEnum<Severity>, title, description, tx_hash, block_number: Nullable<i64>,
    occurred_at: At, source, detected_at: Nullable<At> = "observed_at", retracted_at: Nullable<At>, retracted_reason
} }
